use super::*;

const HARDWARE: Nature<'_> = Nature {
    device: "eth0",
    kind: None,
    mode: None,
    hardware: ETHERNET,
    master: None,
    lower: None,
};

fn of_kind(kind: &'static str, mode: Option<u32>) -> Nature<'static> {
    Nature {
        kind: Some(kind),
        mode,
        lower: Some("eno1"),
        ..HARDWARE
    }
}

fn refusal(nature: Nature<'_>, mode: XdpMode, has_lossless: bool) -> String {
    nature.fit(mode, has_lossless).unwrap_err().to_string()
}

#[test]
fn rows_are_sorted_and_unique() {
    let keys = KINDS.iter().map(|kind| (kind.name, kind.mode.is_none()));
    let keys: Vec<_> = keys.collect();
    assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:?}");
    assert!(MASTERS.windows(2).all(|pair| pair[0].name < pair[1].name));
}

/// Each use of a device, with refusals and remedies.
#[test]
fn every_kind_has_its_judgement() {
    use XdpMode::{Auto, Generic, Native};
    assert_eq!(HARDWARE.fit(Native, true), Ok(Fit::Any));
    assert_eq!(of_kind("veth", None).fit(Native, true), Ok(Fit::Any));
    assert_eq!(of_kind("macsec", None).fit(Auto, true), Ok(Fit::NotKnown));

    let backup = of_kind("bond", Some(1));
    for mode in [Auto, Generic] {
        assert!(matches!(
            backup.fit(mode, true),
            Ok(Fit::GenericOnly { .. })
        ));
    }
    let native = refusal(backup, Native, false);
    assert!(native.contains("xdp-mode = \"auto\""), "{native}");
    let balanced = of_kind("bond", Some(0));
    assert!(matches!(
        balanced.fit(Auto, false),
        Ok(Fit::GenericOnly { .. })
    ));
    let lossless = refusal(balanced, Auto, true);
    assert!(lossless.contains("use mode active-backup"), "{lossless}");

    let vlan = of_kind("vlan", None);
    assert_eq!(vlan.fit(Auto, false), Ok(Fit::Any));
    assert!(refusal(vlan, Auto, true)
        .ends_with("make `eno1` the port, and set `trunks` or `tag` there"));

    let passthru = of_kind("macvlan", Some(8));
    assert_eq!(passthru.fit(Auto, false), Ok(Fit::Any));
    assert!(refusal(passthru, Auto, true).ends_with("make `eno1` the port"));
    for (kind, mode, part) in [
        ("macvlan", Some(4), "`mode passthru`"),
        ("netkit", None, "use a veth pair instead"),
        ("dummy", None, "ip link add eth0 type veth"),
        ("bridge", None, "nomaster"),
        ("ifb", None, "drops all that is sent"),
        ("ipvlan", Some(0), "make `eno1` the port"),
    ] {
        for lossless in [false, true] {
            let text = refusal(of_kind(kind, mode), Auto, lossless);
            assert!(text.contains(part), "{kind}: {text}");
        }
    }
}

#[test]
fn devices_without_ethernet_frames_are_refused() {
    let hardware = |kind, hardware| Nature {
        kind,
        hardware,
        ..HARDWARE
    };
    for (nature, part) in [
        (
            hardware(None, LOOPBACK),
            "is the loopback device: frames sent by the switch come back",
        ),
        (hardware(Some("wireguard"), 65_534), "is a WireGuard tunnel"),
        (hardware(Some("tun"), 65_534), "(type 65534)"),
        (hardware(None, 32), "(type 32)"),
    ] {
        let text = refusal(nature, XdpMode::Auto, false);
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(
        hardware(Some("tun"), ETHERNET).fit(XdpMode::Auto, true),
        Ok(Fit::Any)
    );
}

#[test]
fn the_refusal_of_a_bridge_port_names_its_bridge() {
    let under = |kind| Nature {
        master: Some(("br0", kind)),
        ..of_kind("veth", None)
    };
    let text = refusal(under(Some("bridge")), XdpMode::Auto, false);
    assert!(
        text.starts_with("is a port of the bridge `br0`: "),
        "{text}"
    );
    assert!(
        text.ends_with("run `ip link set dev eth0 nomaster`"),
        "{text}"
    );
    // Packets reach the program before the routing table.
    assert_eq!(under(Some("vrf")).fit(XdpMode::Auto, true), Ok(Fit::Any));
    assert_eq!(under(None).fit(XdpMode::Auto, true), Ok(Fit::Any));
}

/// The book has no placeholders, and every remedy has its names filled in.
#[test]
fn no_placeholder_is_left() {
    assert!(!(rows() + &master_rows()).contains('{'));
    for kind in KINDS {
        let nature = of_kind(kind.name, kind.mode);
        for mode in [XdpMode::Auto, XdpMode::Native] {
            if let Err(refusal) = nature.fit(mode, true) {
                assert!(!refusal.to_string().contains('{'), "{refusal}");
            }
        }
    }
    for master in MASTERS {
        let nature = Nature {
            master: Some(("m0", Some(master.name))),
            ..HARDWARE
        };
        let text = refusal(nature, XdpMode::Auto, false);
        assert!(text.contains("m0") && !text.contains('{'), "{text}");
    }
}
