//! Names are used in paths, labels and shell lines: names that could be misused there are refused.

use super::{parse, GOOD};

/// The message for the good file with `line` replaced by `with`.
fn complaint(line: &str, with: &str) -> Option<String> {
    assert!(GOOD.contains(line), "{line}");
    parse(&GOOD.replacen(line, with, 1)).err()
}

#[test]
fn a_name_contains_no_path() {
    let long = "x".repeat(65);
    let bad = [
        "",
        ".",
        "..",
        "../../etc",
        "a/b",
        "/etc",
        ".hidden",
        "a b",
        "a\\nb",
        "a;b",
        "$(id)",
        "ü",
        &long,
    ];
    for line in ["name = \"s1\"", "name = \"bulk\"", "name = \"h1\""] {
        for name in bad {
            let error = complaint(line, &format!("name = \"{name}\""));
            assert!(
                error.is_some_and(|error| error.contains("invalid name")),
                "{line}: {name}"
            );
        }
    }
}

#[test]
fn letters_digits_and_three_signs_are_accepted() {
    for name in ["S-1.rack_2", "0", &"x".repeat(64)] {
        for known in ["s1", "bulk", "h1"] {
            // A route names the port as well.
            let text = GOOD.replace(&format!("\"{known}\""), &format!("\"{name}\""));
            assert!(parse(&text).is_ok(), "{name}");
        }
    }
}

#[test]
fn device_names_follow_the_kernels_rules() {
    for device in [
        "",
        ".",
        "..",
        "a/b",
        "a b",
        "a:1",
        "sixteen-bytes-xx",
        "a\\tb",
    ] {
        let error = complaint("device = \"veth1\"", &format!("device = \"{device}\""));
        assert!(
            error.is_some_and(|error| error.contains("invalid device name")),
            "{device}"
        );
    }
    for device in ["fifteen-bytes-x", "eth0.100", "enp3s0f0np0", "a+b"] {
        assert_eq!(
            complaint("device = \"veth1\"", &format!("device = \"{device}\"")),
            None
        );
    }
}

/// A port takes its device's name, unless that is not a legal port name.
#[test]
fn a_port_without_a_name_needs_a_device_with_a_legal_name() {
    let error = complaint("device = \"veth0\"", "device = \"a+b\"");
    assert!(error.is_some_and(|error| error.contains("invalid name")));
}
