//! `[dataplane]` and the queues of a port: threads, memory, bursts.

use std::path::Path;

use weir_config::daemon::{DaemonConfig, HugePages, Workers};
use weir_core::{Bytes, Duration};

const PORTS: &str = r#"
name = "s1"

[[port]]
device = "veth0"
role = "fabric"
rate = "10Gbit"
queue = 1
queues = 3

[[port]]
device = "veth1"
role = "edge"
rate = "100Mbit"
"#;

fn parse(dataplane: &str) -> Result<DaemonConfig, String> {
    let text = format!("{PORTS}\n[dataplane]\n{dataplane}\n");
    DaemonConfig::parse(&text, Path::new("s1.toml")).map_err(|error| error.to_string())
}

#[test]
fn threads_and_memory() {
    let plain = parse("").unwrap().dataplane;
    assert_eq!(plain.workers, Workers::Count(1));
    assert_eq!(plain.huge_pages, HugePages::Auto);
    assert_eq!(plain.busy_poll, Duration::ZERO);
    let said = "workers = 4\nworker-cpus = [2, 5]\nbusy-poll = \"20us\"\nhuge-pages = \"require\"";
    let config = parse(said).unwrap();
    assert_eq!(config.dataplane.workers, Workers::Count(4));
    assert_eq!(config.dataplane.worker_cpus, [2, 5]);
    assert_eq!(config.dataplane.busy_poll, Duration::from_micros(20));
    assert_eq!(config.dataplane.huge_pages, HugePages::Require);
    let auto = parse("workers = \"auto\"").unwrap();
    assert_eq!(auto.dataplane.workers, Workers::Auto);
    for config in [config, auto] {
        let text = config.to_toml();
        let read = DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap();
        assert_eq!(read, config, "{text}");
    }
}

#[test]
fn contradictory_settings_are_refused() {
    for (wrong, said) in [
        (
            "workers = 0",
            "dataplane.workers: must be \"auto\" or a number of threads from 1 to 64",
        ),
        (
            "workers = \"all\"",
            "dataplane.workers: must be \"auto\" or a number of threads from 1 to 64",
        ),
        (
            "huge-pages = \"on\"",
            "dataplane.huge-pages: unknown value `on`",
        ),
        ("busy-poll = 20", "dataplane.busy-poll: 20 has no unit"),
        ("shaper-burst = \"3000B\"", "dataplane.shaper-burst: "),
    ] {
        let error = parse(wrong).unwrap_err();
        assert!(error.contains(said), "{wrong}: {error}");
    }
}

/// Chunks for every queue, and queues that no other port has.
#[test]
fn each_queue_is_a_socket() {
    let config = parse("").unwrap();
    assert_eq!(
        (config.ports[0].queue, config.ports[0].queue_count),
        (1, Some(3))
    );
    assert_eq!(
        (config.ports[1].queue, config.ports[1].queue_count),
        (0, None)
    );
    let one_less = parse("rx-ring = 1024").unwrap();
    assert_eq!(config.umem_frames() - one_less.umem_frames(), 4 * 1024);

    let refused = |from: &str, to: &str| {
        let text = PORTS.replace(from, to);
        let parsed = DaemonConfig::parse(&text, Path::new("s1.toml"));
        parsed.unwrap_err().to_string()
    };
    let error = refused("\"veth1\"", "\"veth0\"\nqueue = 3");
    assert!(error.contains("veth0 queue 3"), "{error}");
    let error = refused("queues = 3", "queues = 64");
    assert!(
        error.contains("queues: 64 is not between 1 and 63"),
        "{error}"
    );
}

#[test]
fn catching_up_is_bounded_by_line_time_and_at_least_two_frames() {
    let core = parse("").unwrap().core(&[]);
    assert_eq!(core.shaper_burst, Bytes::new(3000));
    assert_eq!(core.shaper_burst_time, Duration::from_micros(200));
}
