//! Which classes may use the express path.

use weir_core::Priority;

use super::{parse, GOOD, LEVELS};

/// The good file, whose first class is lossless, with `express` of that class.
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
fn what_else_keeps_a_class_off_does_so_for_a_lossless_one() {
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
fn a_class_with_levels_does_not_use_it() {
    let mode = "mode = \"level\"\n";
    let file = LEVELS.replacen(mode, &format!("{mode}express = \"on\"\n"), 1);
    let error = parse(&file).unwrap_err();
    let complaint = "class `lossless` cannot use the express path: its frames have Levels";
    assert!(error.contains(complaint), "{error}");
}
