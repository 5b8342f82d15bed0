//! `lldp.udp`: announced priorities of UDP ports, and refusals.

use weir_config::daemon::DaemonConfig;
use weir_core::Priority;

use super::{parse, GOOD};

/// The good file with `ports` as the table of UDP ports.
fn with_ports(ports: &str) -> Result<DaemonConfig, String> {
    assert!(GOOD.contains("[lldp]\n"));
    parse(&GOOD.replacen("[lldp]\n", &format!("[lldp]\nudp = {ports}\n"), 1))
}

#[test]
fn ports_are_sorted_whatever_the_order_in_the_file() {
    let config = with_ports("{ 4791 = 3, 53 = 0 }").unwrap();
    assert_eq!(
        config.lldp.udp,
        [
            (53, Priority::new(0).unwrap()),
            (4791, Priority::new(3).unwrap())
        ]
    );
}

#[test]
fn unknown_and_repeated_ports_are_refused_by_name() {
    let many: Vec<String> = (1..=17).map(|port| format!("{port} = 3")).collect();
    for (ports, complaint) in [
        ("{ 0 = 3 }".to_owned(), "`0` is not a UDP port"),
        ("{ 70000 = 3 }".to_owned(), "`70000` is not a UDP port"),
        ("{ roce = 3 }".to_owned(), "`roce` is not a UDP port"),
        ("{ 4791 = 3, 04791 = 4 }".to_owned(), "4791"),
        ("{ 4791 = 8 }".to_owned(), "4791"),
        (format!("{{ {} }}", many.join(", ")), "more than 16 ports"),
    ] {
        let error = with_ports(&ports).unwrap_err();
        assert!(
            error.contains(complaint) && error.contains("lldp"),
            "{ports}: {error}"
        );
    }
}
