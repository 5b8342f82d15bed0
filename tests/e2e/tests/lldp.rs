//! LLDP on real links: an lldpd as the neighbour of a switch, and two switches that discover each other.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use weir_api::daemon::Credits;
use weir_api::neighbors::Neighbor;
use weir_config::daemon::DaemonConfig;
use weir_config::scenario::Scenario;
use weir_core::{Budgets, Bytes, ClassMode, CreditConfig, CreditFallback, CreditState, Priority};
use weir_lab::lab::configuration::lab_config;
use weir_lab::lab::names::Names;
use weir_lab::lab::process::{inside, Process};
use weir_lab::lab::switches::SwitchProcess;
use weir_lab::lab::topology::{plan, Topology};
use weir_tests::switches::{self, events, switchctl};
use weir_tests::{inline_scenario, printed, until, Bench, Directory};

const METRICS: &str = "127.0.0.1:9464";
const END_LIMIT: Duration = Duration::from_secs(60);

/// An lldpd does not answer a new neighbour at once: this makes it announce more often, with the same lifetime.
const LLDPD_CONF: &str = "configure system hostname 'peer'
configure lldp tx-interval 1
configure lldp tx-hold 120
";

/// An lldpd isolated from the host's: it has its own socket, configuration and chroot.
struct Lldpd {
    process: Process,
    socket: PathBuf,
}

impl Lldpd {
    fn start(bench: &Bench, host: &str) -> Self {
        let (socket, config) = (bench.file("lldpd.sock"), bench.file("lldpd.conf"));
        std::fs::write(&config, LLDPD_CONF).unwrap();
        // The path of the chroot is compiled in; mounts there are visible only to this process.
        let script =
            "mkdir -p /run/lldpd && mount -t tmpfs lldpd /run/lldpd && exec lldpd -d \"$@\"";
        let process = bench.start(
            host,
            &[
                "unshare",
                "--mount",
                "sh",
                "-c",
                script,
                "lldpd",
                "-u",
                socket.to_str().unwrap(),
                "-I",
                bench.host_device(),
                "-O",
                config.to_str().unwrap(),
            ],
        );
        Self { process, socket }
    }

    /// Returns its only neighbour, as reported by lldpcli.
    fn neighbor(&self) -> Option<Value> {
        let mut lldpcli = Command::new("lldpcli");
        let output = lldpcli
            .arg("-u")
            .arg(&self.socket)
            .args(["-f", "json0", "show", "neighbors", "details"])
            .output()
            .unwrap();
        let shown: Value = serde_json::from_slice(&output.stdout).ok()?;
        let interfaces = shown["lldp"][0]["interface"].as_array()?;
        assert_eq!(interfaces.len(), 1, "{shown}");
        Some(interfaces[0].clone())
    }
}

fn metric(text: &str, series: &str) -> f64 {
    text.lines()
        .find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
        .unwrap_or_else(|| panic!("no {series} in\n{text}"))
}

fn neighbors(switch: &SwitchProcess) -> Vec<Neighbor> {
    switch.get("/v1/neighbors").unwrap()
}

fn the_neighbor(switch: &SwitchProcess) -> Option<Neighbor> {
    neighbors(switch).into_iter().next()
}

#[test]
fn a_switch_and_an_lldpd_see_each_other() {
    let mut bench = Bench::new(&[], |config| {
        config.metrics.listen = Some(METRICS.parse().unwrap());
    });
    let mut lldpd = Lldpd::start(&bench, "h1");
    let seen = until("lldpd sees the switch", || lldpd.neighbor());
    assert_eq!(seen["chassis"][0]["name"][0]["value"], "s1", "{seen}");
    let identifier = &seen["port"][0]["id"][0];
    assert_eq!(identifier["type"], "ifname", "{seen}");
    assert_eq!(identifier["value"], "h1", "{seen}");
    assert_eq!(seen["port"][0]["ttl"][0]["value"], "121", "{seen}");
    let bridge = &seen["chassis"][0]["capability"][0];
    assert_eq!(
        (&bridge["type"], &bridge["enabled"]),
        (&"Bridge".into(), &true.into()),
        "{seen}"
    );
    // TLVs unknown to it arrive completely: PFC for priority 3, and ours.
    let text = seen.to_string();
    assert!(text.contains("08,08"), "PFC: {seen}");
    assert!(text.contains("02,57,45"), "our own: {seen}");

    let neighbor = until("the switch sees lldpd", || the_neighbor(&bench.switch));
    assert_eq!(neighbor.system_name.as_deref(), Some("peer"));
    assert_eq!(
        (neighbor.port.as_str(), neighbor.kind.as_str()),
        ("h1", "regular")
    );
    let shown = printed(switchctl(&bench.switch.config.api_socket).arg("neighbors"));
    let line = shown.lines().nth(1).unwrap_or_default();
    for word in ["h1", "peer", "regular", "the neighbour announces none"] {
        assert!(line.contains(word), "{word}: {shown}");
    }
    let scraped = bench.output("s1", &["curl", "-s", &format!("http://{METRICS}/metrics")]);
    let mismatch = |what| {
        metric(
            &scraped,
            &format!("weir_lldp_mismatch{{port=\"h1\",what=\"{what}\"}}"),
        )
    };
    assert_eq!(
        ["pfc", "pfc_not_announced", "level"].map(mismatch),
        [0.0, 1.0, 0.0]
    );
    assert_eq!(metric(&scraped, "weir_lldp_neighbours{port=\"h1\"}"), 1.0);
    assert_eq!(events(&bench.switch, "pfc_mismatch").len(), 1);

    // Each notifies the other at its end.
    switches::end(&mut bench.switch);
    until("lldpd forgets the switch", || {
        lldpd.neighbor().is_none().then_some(())
    });
    switches::start(&mut bench.switch);
    until("lldpd sees it again", || lldpd.neighbor());
    until("and it sees lldpd", || the_neighbor(&bench.switch));
    // Its exit status is ignored: 1 has been seen after a shutdown message.
    lldpd.process.ask_to_end();
    assert!(lldpd.process.wait(END_LIMIT).unwrap().is_some());
    let lost = until("the switch forgets lldpd", || {
        events(&bench.switch, "neighbour_lost").pop()
    });
    assert_eq!(lost.details["reason"], "goodbye");
    until("its mismatch ends", || {
        (events(&bench.switch, "pfc_mismatch_ended").len() == 1).then_some(())
    });
    assert_eq!(neighbors(&bench.switch), []);
    bench.end();
}

/// Two switches, a host on each; priority 3 uses the Level protocol.
const TWO_SWITCHES: &str = r#"
name = "two-switches"
description = "Two switches on one link"
duration = "1s"
seed = 1
[link-defaults]
rate = "100Mbit"
[[class]]
name = "lossless"
priority = 3
mode = "level"
max-hops = 3
xoff = "60KiB"
xon = "52KiB"
headroom = "3MiB"
[[switch]]
name = "s1"
[[switch]]
name = "s2"
[[host]]
name = "h1"
switch = "s1"
[[host]]
name = "h2"
switch = "s2"
[[link]]
ends = ["s1", "s2"]
[[flow]]
name = "a"
from = "h1"
to = "h2"
class = "lossless"
[expect]
lost = 0
"#;

/// `s1` and `s2`. The fields are dropped in this order.
struct Pair {
    switches: [SwitchProcess; 2],
    scenario: Scenario,
    _topology: Topology,
    names: Names,
    _directory: Directory,
}

/// The class of [`TWO_SWITCHES`] with PFC, and with credits: its buffer is the same.
const LEVELS: &str = "mode = \"level\"\nmax-hops = 3\nxoff = \"60KiB\"\nxon = \"52KiB\"";
const PFC: &str = "mode = \"pfc\"\nxoff = \"3MiB\"\nxon = \"2MiB\"";
const CREDITS: CreditConfig = CreditConfig {
    size: Bytes::new(2048),
    overhead: 0,
    fallback: CreditFallback::Pfc,
};

impl Pair {
    /// Starts both; `change` modifies the second one's configuration last.
    fn new(change: impl FnOnce(&mut DaemonConfig)) -> Self {
        Self::of(TWO_SWITCHES, |_| {}, change)
    }

    /// Starts both with a class of credits; `change` modifies the second one's configuration last.
    fn with_credits(change: impl FnOnce(&mut DaemonConfig)) -> Self {
        let text = TWO_SWITCHES.replace(LEVELS, PFC);
        Self::of(&text, give_credits, |config| {
            give_credits(config);
            change(config);
        })
    }

    /// Starts the switches of a scenario; `first` and `second` modify their configurations last.
    fn of(
        text: &str,
        first: impl FnOnce(&mut DaemonConfig),
        second: impl FnOnce(&mut DaemonConfig),
    ) -> Self {
        let scenario = inline_scenario("two-switches.toml", text);
        let names = Names::new();
        let directory = Directory(names.directory().to_owned());
        let topology = Topology::build(&plan(&scenario, &names), &names)
            .unwrap_or_else(|error| panic!("{error:#}"));
        let switches = [
            start(&scenario, &names, 0, first),
            start(&scenario, &names, 1, second),
        ];
        Self {
            switches,
            scenario,
            _topology: topology,
            names,
            _directory: directory,
        }
    }

    /// Ends the second switch and starts it with the scenario's configuration.
    fn restart_second(&mut self) {
        self.switches[1]
            .end_process()
            .unwrap_or_else(|error| panic!("{error:#}"));
        self.switches[1] = start(&self.scenario, &self.names, 1, |_| {});
    }

    /// Waits until each sees the other as `kind`; returns both neighbours.
    fn until_kind(&self, kind: &str) -> [Neighbor; 2] {
        until(&format!("both are {kind} to each other"), || {
            let [one, other] = &self.switches;
            let heard = [the_neighbor(one)?, the_neighbor(other)?];
            heard
                .iter()
                .all(|heard| heard.kind == kind)
                .then_some(heard)
        })
    }

    /// Returns the second switch's counts on the link of PFC with time zero, and of Feedback.
    fn heard(&self) -> (f64, f64) {
        let text = self.metrics(1);
        let of = |name: &str, rest: &str| {
            metric(
                &text,
                &format!("{name}{{port=\"s1\",priority=\"3\",direction=\"rx\"{rest}}}"),
            )
        };
        let resumes = of("weir_pfc_frames_total", ",kind=\"xon\"");
        (resumes, of("weir_level_feedback_frames_total", ""))
    }

    fn metrics(&self, switch: usize) -> String {
        let namespace = self.names.namespace(&self.switches[switch].name);
        let mut curl = inside(&namespace, Path::new("curl"));
        let output = curl
            .args(["-s", &format!("http://{METRICS}/metrics")])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn mismatch(&self, switch: usize, what: &str) -> f64 {
        let port = ["s2", "s1"][switch];
        let series = format!("weir_lldp_mismatch{{port=\"{port}\",what=\"{what}\"}}");
        metric(&self.metrics(switch), &series)
    }

    /// Ends both normally, and checks that they leave nothing behind.
    fn end(mut self) {
        for switch in &mut self.switches {
            switches::end(switch);
            weir_tests::assert_nothing_left(&switch.config.run_dir);
        }
    }
}

fn give_credits(config: &mut DaemonConfig) {
    config.classes[0].credits = Some(CREDITS);
}

fn start(
    scenario: &Scenario,
    names: &Names,
    index: usize,
    change: impl FnOnce(&mut DaemonConfig),
) -> SwitchProcess {
    let mut config = lab_config(scenario, index, names);
    config.metrics.listen = Some(METRICS.parse().unwrap());
    change(&mut config);
    let mut switch = SwitchProcess::start(config, names).unwrap();
    switch.ready().unwrap_or_else(|error| panic!("{error:#}"));
    switch
}

#[test]
fn two_switches_learn_each_other_and_drop_the_second_frame() {
    let pair = Pair::new(|_| {});
    let [s2, s1] = pair.until_kind("enhanced");
    assert_eq!(
        (s2.system_name.as_deref(), s2.port_id.as_str()),
        (Some("s2"), "s1")
    );
    assert_eq!(
        (s1.system_name.as_deref(), s1.port_id.as_str()),
        (Some("s1"), "s2")
    );
    assert_eq!(s2.pfc.as_ref().unwrap().priorities, [3]);
    assert!(
        s1.mismatches.is_empty() && s2.mismatches.is_empty(),
        "{s1:?} {s2:?}"
    );
    // Feedback continues with each refresh, and is no longer followed by zero.
    until("Feedback is not followed by zero", || {
        let (resumes, feedback) = pair.heard();
        let later = until("three more Feedbacks", || {
            let later = pair.heard();
            (later.1 >= feedback + 3.0).then_some(later)
        });
        (later.0 == resumes).then_some(())
    });
    pair.end();
}

#[test]
fn a_switch_with_another_d_is_regular_until_it_has_the_same() {
    let mut pair = Pair::new(|config| {
        let class = &mut config.classes[0];
        let ClassMode::Level {
            rules,
            budgets,
            edge,
        } = class.mode
        else {
            panic!("{class:?}")
        };
        let deeper = [budgets.as_slice(), &budgets.as_slice()[..1]].concat();
        class.mode = ClassMode::Level {
            rules,
            budgets: Budgets::new(&deeper).unwrap(),
            edge,
        };
    });
    let [s2, _] = pair.until_kind("regular");
    assert_eq!(
        s2.mismatches,
        ["priority 3 is level with D = 3 here and level with D = 4 at the neighbour"]
    );
    for switch in [0, 1] {
        assert_eq!(pair.mismatch(switch, "level"), 1.0);
        assert_eq!(pair.mismatch(switch, "pfc"), 0.0);
        assert_eq!(events(&pair.switches[switch], "level_mismatch").len(), 1);
    }
    pair.restart_second();
    pair.until_kind("enhanced");
    until("the mismatch ends", || {
        (events(&pair.switches[0], "level_mismatch_ended").len() == 1).then_some(())
    });
    assert_eq!(pair.mismatch(0, "level"), 0.0);
    pair.end();
}

#[test]
fn pfc_that_differs_is_an_event_and_a_metric_until_it_is_mended() {
    let mut pair = Pair::new(|config| {
        let mut other = config.classes[0].clone();
        other.name = "other".to_owned();
        other.priorities = vec![Priority::ALL[5]];
        let ClassMode::Level { edge, .. } = other.mode else {
            panic!("{other:?}")
        };
        other.mode = ClassMode::Pfc(edge);
        config.classes.push(other);
    });
    // It is another class, but the Levels are compatible.
    let [s2, _] = pair.until_kind("enhanced");
    assert_eq!(
        s2.mismatches,
        ["PFC is on for priorities 3 here and 3,5 at the neighbour"]
    );
    let shown = printed(switchctl(&pair.switches[0].config.api_socket).arg("neighbors"));
    assert!(shown.contains("3,5"), "{shown}");
    for switch in [0, 1] {
        assert_eq!(pair.mismatch(switch, "pfc"), 1.0);
        let told = events(&pair.switches[switch], "pfc_mismatch");
        assert_eq!(told.len(), 1, "{told:?}");
    }
    pair.restart_second();
    let [s2, _] = pair.until_kind("enhanced");
    assert!(s2.mismatches.is_empty(), "{s2:?}");
    assert_eq!(events(&pair.switches[0], "pfc_mismatch_ended").len(), 1);
    assert_eq!(pair.mismatch(0, "pfc"), 0.0);
    pair.end();
}

/// Returns the credits of `switch` towards the other one.
fn link_credits(pair: &Pair, switch: usize) -> Credits {
    let port = ["s2", "s1"][switch];
    let all: Vec<Credits> = pair.switches[switch].get("/v1/credits").unwrap();
    let mut all = all.into_iter();
    all.find(|credits| credits.port == port).unwrap()
}

/// The second switch has another limit, then loses the class in a restart. The link stays up meanwhile, so that without LLDP
/// the first one would wait for credits without end.
#[test]
fn two_switches_announce_credits_and_one_that_lost_them_gets_pfc() {
    let mut pair = Pair::with_credits(|config| {
        let ClassMode::Pfc(thresholds) = config.classes[0].mode else {
            panic!("{:?}", config.classes[0])
        };
        let headroom = thresholds.headroom() + Bytes::new(1 << 20);
        config.classes[0].mode = config.classes[0].mode.with_headroom(headroom);
    });
    let heard = pair.until_kind("regular");
    for (neighbor, limit) in heard.iter().zip([3584, 3072]) {
        assert!(neighbor.mismatches.is_empty(), "{neighbor:?}");
        let credits = neighbor.credits.as_ref().unwrap();
        assert!(credits.gives, "{credits:?}");
        let class = &credits.classes[0];
        assert_eq!((class.priority, class.limit), (3, limit));
        assert_eq!((class.size_bytes, class.overhead_bytes), (2048, 0));
        assert_eq!(class.fallback, "pfc");
    }
    for switch in [0, 1] {
        until("both use credits", || {
            let credits = link_credits(&pair, switch);
            let both = [credits.sending.state, credits.receiving.state];
            let agrees = both.iter().all(|state| *state == CreditState::Credits);
            (agrees && credits.announced == Some(true)).then_some(())
        });
    }
    let shown = printed(switchctl(&pair.switches[0].config.api_socket).arg("credits"));
    let line = shown.lines().find(|line| line.starts_with("s2 ")).unwrap();
    assert!(line.ends_with("yes"), "{shown}");

    // The scenario's class is PFC.
    pair.restart_second();
    until("the first switch falls back to PFC", || {
        let credits = link_credits(&pair, 0);
        let is_fallback = credits.sending.state == CreditState::Fallback;
        (is_fallback && credits.announced == Some(false)).then_some(())
    });
    let told = events(&pair.switches[0], "credit_mismatch");
    assert_eq!(told.len(), 1, "{told:?}");
    let words = "credits are on for priorities 3 here and none at the neighbour";
    assert!(told[0].details["mismatch"].starts_with(words), "{told:?}");
    assert_eq!(pair.mismatch(0, "credits"), 1.0);
    assert_eq!(pair.mismatch(0, "pfc"), 0.0, "PFC is on at both ends");
    let shown = printed(switchctl(&pair.switches[0].config.api_socket).arg("neighbors"));
    assert!(shown.contains(words), "{shown}");
    pair.end();
}

/// LLDP of another vendor: nothing waits for it, and the operator is told.
#[test]
fn an_lldpd_announces_no_credits_and_gets_pfc() {
    let bench = Bench::new(&[], |config| {
        config.metrics.listen = Some(METRICS.parse().unwrap());
        give_credits(config);
    });
    let mut lldpd = Lldpd::start(&bench, "h1");
    let neighbor = until("the switch sees lldpd", || the_neighbor(&bench.switch));
    assert_eq!(neighbor.credits, None);
    let words = "credits are on for priorities 3 here, the neighbour announces none";
    let named = neighbor
        .mismatches
        .iter()
        .filter(|it| it.starts_with(words));
    assert_eq!(named.count(), 1, "{neighbor:?}");
    let all: Vec<Credits> = bench.switch.get("/v1/credits").unwrap();
    let credits = all.iter().find(|credits| credits.port == "h1").unwrap();
    assert_eq!(credits.sending.state, CreditState::Fallback);
    assert_eq!(credits.announced, Some(false));
    let scraped = bench.output("s1", &["curl", "-s", &format!("http://{METRICS}/metrics")]);
    for (what, value) in [("credits", 0.0), ("credits_not_announced", 1.0)] {
        let series = format!("weir_lldp_mismatch{{port=\"h1\",what=\"{what}\"}}");
        assert_eq!(metric(&scraped, &series), value, "{what}");
    }
    lldpd.process.ask_to_end();
    assert!(lldpd.process.wait(END_LIMIT).unwrap().is_some());
    bench.end();
}
