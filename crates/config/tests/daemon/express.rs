//! Classes that may use the express path.

use weir_core::Priority;

use super::{parse, GOOD};

/// The good file with `express` in its first class, which is lossless.
fn with(express: &str) -> String {
    let class = "name = \"lossless\"\n";
    assert!(GOOD.contains(class));
    GOOD.replacen(class, &format!("{class}express = \"{express}\"\n"), 1)
}

#[test]
fn a_lossless_class_uses_it_only_if_it_says_so() {
    for (file, passes) in [
        (GOOD.to_owned(), false),
        (with("auto"), false),
        (with("off"), false),
        (with("on"), true),
    ] {
        let config = parse(&file).unwrap();
        let class = config.class_of(Priority::ALL[3]).unwrap();
        assert!(class.mode.is_lossless());
        assert_eq!((class.may_pass(), class.needs_room()), (passes, passes));
    }
}

#[test]
fn every_other_exclusion_applies_to_lossless_classes_too() {
    let file = with("on").replacen(
        "express = \"on\"\n",
        "express = \"on\"\nmax-rate = \"60Mbit\"\n",
        1,
    );
    let error = parse(&file).unwrap_err();
    let complaint = "class `lossless` cannot use the express path: it limits their rate";
    assert!(error.contains(complaint), "{error}");
}

#[test]
fn a_class_with_levels_uses_it_where_feedback_is_by_class() {
    let file = |feedback: &str| {
        format!(
            "name = \"s1\"\n[[class]]\nname = \"lossless\"\npriority = 3\nmode = \"level\"\nmax-hops = 3\n\
             xoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"64KiB\"\nexpress = \"on\"\n\
             [[port]]\ndevice = \"veth0\"\nrole = \"fabric\"\nrate = \"1Gbit\"\nneighbour = \"enhanced\"\n\
             feedback = \"{feedback}\"\n"
        )
    };
    let config = parse(&file("pfc")).unwrap();
    assert!(config.class_of(Priority::ALL[3]).unwrap().needs_room());
    for other in ["pause", "grants"] {
        let error = parse(&file(other)).unwrap_err();
        let complaint = format!(
            "class `lossless` has Levels and cannot use the express path: port `veth0` has feedback = \"{other}\""
        );
        assert!(error.contains(&complaint), "{error}");
    }
}
