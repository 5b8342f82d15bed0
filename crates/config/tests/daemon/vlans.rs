//! `tag`, `trunks`, `vlan-mode` and routes by VLAN.

use std::path::Path;

use weir_config::daemon::DaemonConfig;
use weir_core::{VlanId, VlanMode, VlanPort, VlanSet};

/// One port for each text, named p0, p1 and so on, followed by routes.
fn file(ports: &[&str], routes: &str) -> String {
    let mut text = "name = \"s1\"\n".to_owned();
    for (index, port) in ports.iter().enumerate() {
        text += &format!(
            "[[port]]\nname = \"p{index}\"\ndevice = \"eth{index}\"\nrole = \"edge\"\nrate = \"1Gbit\"\n{port}\n"
        );
    }
    text + routes
}

fn accepted(ports: &[&str], routes: &str) -> DaemonConfig {
    let text = file(ports, routes);
    DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap_or_else(|error| panic!("{error}"))
}

/// The file is refused with all of `said`.
fn refused(ports: &[&str], routes: &str, said: &[&str]) {
    let text = file(ports, routes);
    let error = DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap_err();
    for words in said {
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
}

fn vlan(number: u16) -> VlanId {
    VlanId::new(number).unwrap()
}

#[test]
fn modes_are_derived_as_in_open_vswitch() {
    let config = accepted(
        &[
            "tag = 10",
            "trunks = [10, \"20-22\", 0]",
            "tag = 10\nvlan-mode = \"native-untagged\"",
            "tag = 10\nvlan-mode = \"native-tagged\"\ntrunks = [20]",
            "",
        ],
        "",
    );
    let some: VlanSet = [0, 10, 20, 21, 22].into_iter().map(vlan).collect();
    let twenty = [vlan(20)].into_iter().collect();
    assert_eq!(
        config.core(&[]).vlans,
        [
            VlanPort::access(vlan(10)),
            VlanPort::trunk(some),
            VlanPort::native_untagged(vlan(10), VlanSet::all()),
            VlanPort::native_tagged(vlan(10), twenty),
            VlanPort::trunk(VlanSet::all()),
        ]
    );
    assert_eq!(config.ports[0].vlan_mode(), VlanMode::Access);
    let text = config.to_toml();
    assert!(text.contains("trunks = [0, 10, \"20-22\"]"), "{text}");
    assert_eq!(DaemonConfig::parse(&text, Path::new("x")).unwrap(), config);
    // Without any of the keys tags are ignored, and no memory is reserved for copies.
    let plain = accepted(&["", ""], "");
    assert!(!plain.is_vlan_aware() && plain.core(&[]).vlans.is_empty());
    let aware = accepted(&["tag = 5", ""], "");
    assert_eq!(aware.umem_frames(), plain.umem_frames() + 256);
}

#[test]
fn impossible_vlans_are_refused_with_line_key_and_remedy() {
    for (port, said) in [
        (
            "tag = 0",
            vec![":7: port.p0.tag: 0 is not a VLAN; valid are 1 to 4094"],
        ),
        ("tag = 4095", vec!["4095 is not a VLAN"]),
        ("trunks = [\"9-5\"]", vec!["trunks", "write \"5-9\""]),
        ("trunks = [\"a\"]", vec!["a range such as \"20-29\""]),
        ("trunks = [5000]", vec!["5000 is not a VLAN"]),
        ("vlan-mode = \"trunks\"", vec!["vlan-mode", "trunk"]),
        (
            "vlan-mode = \"access\"",
            vec!["`access` needs a VLAN of its own: write `tag`"],
        ),
        ("vlan-mode = \"native-tagged\"", vec!["write `tag`"]),
        ("tag = 5\nvlan-mode = \"trunk\"", vec!["add 5 to `trunks`"]),
        (
            "tag = 5\ntrunks = [6]",
            vec!["does not apply to an access port"],
        ),
        (
            "tag = 5\nvlan-mode = \"native-untagged\"\ntrunks = [0, 6]",
            vec!["remove 0"],
        ),
    ] {
        refused(&[port], "", &said);
    }
}

#[test]
fn routes_by_vlan_lead_to_ports_that_carry_it() {
    let route = |rest: &str| format!("[[route]]\ndestination = \"02:00:00:00:00:01\"\n{rest}\n");
    let ports = ["tag = 10", "trunks = [10, 20]", "trunks = [20]"];
    let both = route("vlan = 20\nports = [\"p1\", \"p2\"]") + &route("ports = [\"p1\"]");
    let config = accepted(&ports, &both);
    assert_eq!(config.routes[0].vlan, Some(vlan(20)));
    let text = config.to_toml();
    assert_eq!(DaemonConfig::parse(&text, Path::new("x")).unwrap(), config);
    // Each is distinguished when two files are compared.
    let other = accepted(&ports, &route("ports = [\"p1\"]"));
    let keys: Vec<String> = config
        .changes_to(&other)
        .into_iter()
        .map(|it| it.key)
        .collect();
    assert!(
        keys.iter()
            .all(|key| key.starts_with("route.02:00:00:00:00:01@20.")),
        "{keys:?}"
    );
    refused(
        &ports,
        &route("vlan = 10\nports = [\"p1\", \"p2\"]"),
        &["port `p2` does not carry VLAN 10", "`trunks`"],
    );
    refused(
        &ports,
        &route("ports = [\"p1\", \"p2\"]"),
        &[
            "port `p2` carries other VLANs than `p1`",
            "a route for each VLAN",
        ],
    );
    refused(
        &ports,
        &(route("vlan = 20\nports = [\"p1\"]") + &route("vlan = 20\nports = [\"p2\"]")),
        &["02:00:00:00:00:01 in VLAN 20"],
    );
    refused(
        &["", ""],
        &route("vlan = 20\nports = [\"p1\"]"),
        &["no port has VLANs"],
    );
}
