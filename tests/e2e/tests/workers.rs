//! Switches with separate threads for sockets, and ports that receive from several queues.

use std::fs;

use weir_api::run::RunResult;
use weir_config::daemon::Workers;
use weir_lab::lab::names::Names;
use weir_lab::lab::process::inside;
use weir_lab::lab::switches::SwitchProcess;
use weir_tests::iperf::received_bytes;
use weir_tests::{assert_delivered, run_with_workers, scenario, until, Bench, PATIENT_DETECTION};

const QUEUES: u32 = 2;

#[test]
fn a_ring_under_levels_never_stands_still() {
    let overrides = [
        "duration=3s",
        "class.lossless.mode=level",
        PATIENT_DETECTION,
    ];
    let result = run("ring4.toml", &overrides, 2);
    assert!(!result.deadlocked);
}

/// Three links at each switch, and more workers than that.
#[test]
fn a_ring_that_locks_is_released() {
    let overrides = ["duration=6s", "deadlock.policy=breaker"];
    let result = run("ring4.toml", &overrides, 8);
    assert!(result.releases > 0, "it never locked");
}

/// Checks the scenario's expectations, including no losses or reordering, and that nothing was dropped.
fn run(file: &str, overrides: &[&str], workers: usize) -> RunResult {
    let scenario = scenario(file, overrides);
    let result = run_with_workers(&scenario, Workers::Count(workers), |stage| {
        for switch in &stage.switches {
            let ports = switch.config.ports.len();
            assert_eq!(worker_count(switch), workers.min(ports), "{}", switch.name);
        }
    });
    assert_delivered(&result);
    result
}

fn worker_count(switch: &SwitchProcess) -> usize {
    let pid = switch.pid().expect("it runs");
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let names = threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("comm")));
    names
        .filter(|name| name.as_ref().unwrap().starts_with("weir-worker-"))
        .count()
}

#[test]
fn flows_of_all_queues_arrive() {
    for workers in [1, 2] {
        let bench = Bench::prepared("one-switch.toml", &[], two_queues_each, |config| {
            config.forwarding.learning = true;
            config.routes.clear();
            config.dataplane.workers = Workers::Count(workers);
            for port in &mut config.ports {
                port.queue_count = Some(QUEUES);
            }
        });
        bench.give_addresses();
        let mut server = bench.start("h2", &["iperf3", "--server", "--forceflush"]);
        for protocol in [
            &["--parallel", "8", "--time", "2"][..],
            &["--parallel", "8", "--time", "2", "--udp", "--bitrate", "4M"],
        ] {
            let received = until("the server answers", || {
                server.check().unwrap_or_else(|error| panic!("{error:#}"));
                received_bytes(&bench, "10.99.0.2", protocol)
            });
            assert!(received > 100_000, "{protocol:?}: {received} B");
        }
        for (port, device) in bench
            .switch
            .config
            .ports
            .iter()
            .map(|port| (&port.name, &port.device))
        {
            let statistics = bench.output("s1", &["ethtool", "-S", device]);
            for queue in 0..QUEUES {
                let name = format!("rx_queue_{queue}_xdp_packets: ");
                let count = statistics
                    .lines()
                    .find_map(|line| line.trim().strip_prefix(&name));
                let count: u64 = count
                    .unwrap_or_else(|| panic!("{statistics}"))
                    .parse()
                    .unwrap();
                assert!(count > 0, "{port} queue {queue}: {statistics}");
            }
            assert_eq!(bench.port(port).kernel_losses.total(), 0);
        }
        drop(server);
        bench.end();
    }
}

fn two_queues_each(names: &Names) {
    const ALL_DEVICES: &str = "ip -o link show type veth | sed 's/^[0-9]*: \\([^@:]*\\).*/\\1/'";
    for node in ["s1", "h1", "h2"] {
        let mut shell = inside(&names.namespace(node), std::path::Path::new("sh"));
        let script = format!(
            "set -e; for d in $({ALL_DEVICES}); do ethtool -L $d rx {QUEUES} tx {QUEUES}; done"
        );
        let output = shell.args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{node}: {output:?}");
    }
}
