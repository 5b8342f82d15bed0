//! Lasting changes at run time: they survive a restart, can be saved to the file, and can be rolled back.

use std::path::PathBuf;

use serde_json::Value;
use weir_config::daemon::DaemonConfig;
use weir_core::config::Algorithm;
use weir_core::VlanMode;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::faults::Scene;
use weir_tests::switches::switchctl;

/// No host has this address: its frames follow the route.
const NOBODY: &str = "02:00:00:00:00:99";

/// A line with traffic whose switches have keepers.
fn kept() -> Scene {
    kept_with(|_| ())
}

fn kept_with(change: impl FnMut(&mut DaemonConfig)) -> Scene {
    let mut scene = Scene::line(change);
    let _ = scene.reports();
    for switch in &mut scene.stage.switches {
        switch
            .start_with_keeper()
            .unwrap_or_else(|error| panic!("{error:#}"));
    }
    scene.start_hosts();
    scene
}

fn ports(switch: &SwitchProcess) -> Vec<String> {
    let ports = switch.config.ports.iter();
    ports.map(|port| port.name.clone()).collect()
}

/// Returns a command's JSON, and true if its exit status was 0.
fn json(switch: &SwitchProcess, words: &[&str]) -> (Value, bool) {
    let output = switchctl(&switch.config.api_socket)
        .arg("--json")
        .args(words)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let value = serde_json::from_str(&text);
    let value = value.unwrap_or_else(|error| panic!("{words:?}: {error}: {text}{errors}"));
    (value, output.status.success())
}

fn good(switch: &SwitchProcess, words: &[&str]) -> Value {
    let (value, success) = json(switch, words);
    assert!(success, "{words:?}: {value}");
    value
}

fn change(switch: &SwitchProcess) {
    let ports = ports(switch);
    let (first, second) = (&*ports[0], &*ports[1]);
    good(switch, &["route", "set", NOBODY, first, second]);
    good(switch, &["route", "pin", NOBODY, "1234abcd", second]);
    good(
        switch,
        &["pfcwd", "start", "--action", "alert", first, "300"],
    );
}

/// Returns the changes of [`change`] made by hand, or in the file.
fn keys(settings: &Value) -> Vec<String> {
    let settings = settings.as_array().unwrap().iter();
    let keys = settings.map(|setting| setting["key"].as_str().unwrap().to_owned());
    keys.filter(|key| !key.contains(".pfcwd.")).collect()
}

fn expected() -> Vec<String> {
    ["buckets", "destination", "pins.1234abcd", "ports"]
        .map(|key| format!("route.{NOBODY}.{key}"))
        .to_vec()
}

fn configuration(switch: &SwitchProcess) -> Value {
    switch.get("/v1/config").unwrap()
}

fn is_watched(switch: &SwitchProcess) -> bool {
    let pfcwd: Value = switch.get("/v1/pfcwd").unwrap();
    pfcwd["ports"][0]["watchdog"]["detection_milliseconds"] == 300
}

#[test]
fn a_restart_keeps_what_was_changed_and_save_writes_it_down() {
    let mut scene = kept();
    scene.wait_for_all(50);
    let switch = scene.switch(0);
    let file: PathBuf = switch.config_file().to_owned();
    let before = std::fs::read_to_string(&file).unwrap();
    assert_eq!(configuration(switch)["by_hand"], Value::Array(Vec::new()));
    change(switch);
    assert_eq!(keys(&configuration(switch)["by_hand"]), expected());

    let restart = switch.restart().unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(restart.lost_frames, 0);
    assert_eq!(keys(&configuration(switch)["by_hand"]), expected());
    assert!(is_watched(switch));
    let route: Value = switch.get(&format!("/v1/routes/{NOBODY}")).unwrap();
    assert_eq!(route["flow_pins"][0]["flow_hash"], "1234abcd", "{route}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);

    let compared = good(
        switch,
        &["config", "diff", "--running", file.to_str().unwrap()],
    );
    assert_eq!(compared["changes"], Value::Array(Vec::new()));
    let named = compared["by_hand"].as_array().unwrap();
    assert!(expected()
        .iter()
        .all(|key| named.contains(&key.as_str().into())));
    let shown = good(switch, &["config", "save", "--dry-run"]);
    assert_eq!(keys(&shown["saved"]), expected());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    let saved = good(switch, &["config", "save"]);
    assert_eq!(keys(&saved["saved"]), expected());
    assert_eq!(saved["kept"], Value::Array(Vec::new()));
    let backup = saved["backup"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(backup).unwrap(), before);
    // Nothing is by hand any more, and a second save has nothing to do.
    assert_eq!(configuration(switch)["by_hand"], Value::Array(Vec::new()));
    let again = good(switch, &["config", "save"]);
    assert_eq!(keys(&again["saved"]), Vec::<String>::new());

    // The file alone suffices now.
    switch.end_process().unwrap();
    switch
        .start_with_keeper()
        .unwrap_or_else(|error| panic!("{error:#}"));
    assert!(is_watched(switch));
    let route: Value = switch.get(&format!("/v1/routes/{NOBODY}")).unwrap();
    assert_eq!(route["flow_pins"][0]["flow_hash"], "1234abcd", "{route}");
    scene.end();
}

/// Routes are identified by VLAN and address: the one for VLAN 20 and the one for all are two, wherever they lead.
#[test]
fn a_route_of_one_vlan_is_kept_by_restart_and_reload_and_saved_with_its_vlan() {
    let mut scene = kept_with(|config| {
        for port in &mut config.ports {
            port.vlan_mode = Some(VlanMode::Trunk);
        }
    });
    let switch = scene.switch(0);
    let ports = ports(switch);
    let (first, second) = (&*ports[0], &*ports[1]);
    good(switch, &["route", "set", NOBODY, first]);
    good(switch, &["route", "set", NOBODY, second, "--vlan", "20"]);
    let expected = [
        "NOBODY.buckets",
        "NOBODY.destination",
        "NOBODY.ports",
        "NOBODY@20.buckets",
        "NOBODY@20.destination",
        "NOBODY@20.ports",
        "NOBODY@20.vlan",
    ]
    .map(|key| format!("route.{}", key.replace("NOBODY", NOBODY)));
    let members = |switch: &SwitchProcess| {
        let of = |path: String| {
            let route: Value = switch.get(&path).unwrap();
            let members = route["members"].as_array().unwrap();
            assert_eq!(members.len(), 1, "{route}");
            members[0]["port"].as_str().unwrap().to_owned()
        };
        [
            of(format!("/v1/routes/{NOBODY}")),
            of(format!("/v1/routes/{NOBODY}@20")),
        ]
    };
    let set = [first, second].map(str::to_owned);
    assert_eq!(members(switch), set);
    assert_eq!(keys(&configuration(switch)["by_hand"]), expected);
    // A reload of a file that changes another setting.
    let file: PathBuf = switch.config_file().to_owned();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        format!("{text}\n[[station]]\nmac = \"02:00:00:00:00:98\"\naddresses = [\"10.1.1.1\"]\n"),
    )
    .unwrap();
    good(switch, &["reload"]);
    assert_eq!(members(switch), set);
    assert_eq!(keys(&configuration(switch)["by_hand"]), expected);
    let restart = switch.restart().unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(restart.lost_frames, 0);
    assert_eq!(members(switch), set);
    assert_eq!(keys(&configuration(switch)["by_hand"]), expected);

    let saved = good(switch, &["config", "save"]);
    assert_eq!(keys(&saved["saved"]), expected);
    assert_eq!(configuration(switch)["by_hand"], Value::Array(Vec::new()));
    // The file alone suffices now, and one of the two can be removed without the other.
    switch.end_process().unwrap();
    switch
        .start_with_keeper()
        .unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(members(switch), set);
    good(switch, &["route", "remove", NOBODY, "--vlan", "20"]);
    good(switch, &["config", "save"]);
    let read = DaemonConfig::load(&file).unwrap();
    let left: Vec<_> = read
        .routes
        .iter()
        .filter(|route| route.destination.to_string() == NOBODY)
        .map(|route| route.vlan)
        .collect();
    assert_eq!(left, [None]);
    scene.end();
}

#[test]
fn what_the_file_has_changed_meanwhile_is_not_written_over() {
    let mut scene = kept();
    let switch = scene.switch(0);
    let file: PathBuf = switch.config_file().to_owned();
    let ports = ports(switch);
    change(switch);
    let mut text = std::fs::read_to_string(&file).unwrap();
    text += &format!(
        "\n[[route]]\ndestination = \"{NOBODY}\"\nports = [\"{}\"]\n",
        ports[1]
    );
    std::fs::write(&file, &text).unwrap();
    let (saved, success) = json(switch, &["config", "save"]);
    assert!(!success);
    assert_eq!(keys(&saved["saved"]), Vec::<String>::new());
    assert!(
        keys(&saved["kept"])
            .iter()
            .any(|key| key.ends_with(".ports")),
        "{saved}"
    );
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains("detection-time = \"300ms\""), "{written}");
    assert!(
        written.ends_with(&format!("ports = [\"{}\"]\n", ports[1])),
        "{written}"
    );
    // A restart also uses the file.
    switch.restart().unwrap_or_else(|error| panic!("{error:#}"));
    let route: Value = switch.get(&format!("/v1/routes/{NOBODY}")).unwrap();
    assert_eq!(route["members"].as_array().unwrap().len(), 1, "{route}");
    scene.end();
}

#[test]
fn any_of_the_last_files_is_in_force_again() {
    // The file then has the weight.
    let mut scene = kept_with(|config| {
        for class in &mut config.classes {
            class.scheduler.algorithm = Algorithm::Ets;
        }
    });
    scene.wait_for_all(50);
    let switch = scene.switch(0);
    let file: PathBuf = switch.config_file().to_owned();
    let first = std::fs::read_to_string(&file).unwrap();
    let weights = |weight: u32| {
        format!(
            "# weight {weight}\n{}",
            first.replace("weight = 1\n", &format!("weight = {weight}\n"))
        )
    };
    for weight in 2..=4 {
        assert_ne!(weights(weight), first);
        std::fs::write(&file, weights(weight)).unwrap();
        good(switch, &["reload"]);
        // No change, and no entry.
        good(switch, &["reload"]);
    }
    let history = good(switch, &["config", "history"]);
    let numbers: Vec<u64> = history["configurations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|past| past["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let weight = |switch: &SwitchProcess| {
        let text = configuration(switch)["text"].as_str().unwrap().to_owned();
        text.lines()
            .find_map(|line| line.strip_prefix("weight = "))
            .unwrap()
            .to_owned()
    };
    assert_eq!(weight(switch), "4");
    let (shown, is_same) = json(switch, &["config", "rollback", "--dry-run"]);
    assert!(!is_same);
    assert_eq!(keys(&shown["changes"]).len(), 1, "{shown}");
    assert_eq!(weight(switch), "4");
    good(switch, &["config", "rollback"]);
    assert_eq!(weight(switch), "3");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), weights(3));
    // It survives a restart, with its outcome, and a kill.
    switch.restart().unwrap_or_else(|error| panic!("{error:#}"));
    let history = good(switch, &["config", "history"]);
    assert_eq!(history["configurations"].as_array().unwrap().len(), 5);
    good(switch, &["config", "rollback", "1"]);
    assert_eq!(weight(switch), "1");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), first);
    let refused = switchctl(&switch.config.api_socket)
        .args(["config", "rollback", "77"])
        .output()
        .unwrap();
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("no configuration 77 is kept"), "{told}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), first);
    // A change that is not confirmed never counted as active.
    std::fs::write(&file, weights(9)).unwrap();
    good(switch, &["reload", "--confirm", "60"]);
    let last = |switch: &SwitchProcess| {
        let history = good(switch, &["config", "history"]);
        history["configurations"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()["number"]
            .as_u64()
    };
    assert_eq!(last(switch), Some(6));
    good(switch, &["confirm"]);
    assert_eq!(last(switch), Some(7));
    let run_dir = switch.config.run_dir.clone();
    scene.assert_lossless();
    scene.end();
    assert!(!run_dir.exists(), "the history goes with the switch");
}
