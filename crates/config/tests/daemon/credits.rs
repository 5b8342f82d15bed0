//! Classes with credits: their ring slots, and settings that they exclude.

use super::parse;

const CLASS: &str =
    "[[class]]\nname = \"paid\"\npriority = 3\nmode = \"credit\"\ncredit-limit = \"1MiB\"\n";

fn file(dataplane: &str, class: &str, port: &str) -> String {
    format!(
        "name = \"s1\"\n[dataplane]\n{dataplane}\n{CLASS}{class}\n\
         [[port]]\ndevice = \"veth0\"\nrole = \"fabric\"\nrate = \"1Gbit\"\n{port}\n"
    )
}

#[test]
fn half_of_the_ring_is_kept_unless_the_port_says_otherwise() {
    for (dataplane, port, kept) in [
        ("", "", 1024),
        ("rx-ring = 512", "", 256),
        ("", "credit-slots = 100", 100),
    ] {
        let config = parse(&file(dataplane, "", port)).unwrap();
        assert_eq!(config.kept_slots(&config.ports[0]), Some(kept));
        assert_eq!(config.slots_of_a_credit(), 1);
        assert_eq!(config.core(&[]).ports[0].credit_slots, Some(0));
        assert_eq!(parse(&config.to_toml()).as_ref(), Ok(&config));
        let without = config.without_credits();
        assert_eq!(without.kept_slots(&without.ports[0]), None);
        assert_eq!(without.core(&[]).ports[0].credit_slots, None);
    }
}

/// A frame of several chunks takes as many slots.
#[test]
fn a_credit_may_stand_for_several_slots() {
    let long = file("mtu = \"9000B\"", "credit-size = \"4KiB\"", "");
    let config = parse(&long).unwrap();
    let part = config.slot_part().unwrap().get();
    assert!(part <= 2048 - 256 - 320);
    assert_eq!(
        u64::from(config.slots_of_a_credit()),
        4096u64.div_ceil(part)
    );
}

#[test]
fn settings_that_break_the_guarantee_are_refused() {
    for (dataplane, class, port, complaint) in [
        ("workers = 2", "", "", "class `paid` has credits, which only the thread of the switch core can give"),
        ("", "express = \"on\"", "", "which exclude the express path"),
        ("", "", "queues = 2", "which represent slots of a single ring: write queues = 1"),
        ("", "", "credit-slots = 2000", "2000 of 2048 entries of `rx-ring` leave too few to other frames: write at most 1984"),
        ("rx-ring = 64", "", "", "32 of 64 entries of `rx-ring` leave too few"),
        ("", "", "credit-slots = 1", "1 slots give class `paid` credits for less than two of the longest frames: write at least 2"),
    ] {
        let error = parse(&file(dataplane, class, port)).unwrap_err();
        assert!(error.contains(complaint), "{complaint}: {error}");
    }
    let unused = file("", "", "credit-slots = 100").replace(
        "mode = \"credit\"\ncredit-limit = \"1MiB\"\n",
        "mode = \"lossy\"\n",
    );
    let error = parse(&unused).unwrap_err();
    assert!(
        error.contains("has no effect without a class of mode"),
        "{error}"
    );
}
