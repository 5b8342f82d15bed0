//! The heartbeat for the service manager: it stops while a thread of the daemon hangs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use weir_lab::lab::process::{program, Process};
use weir_tests::faults::{thread, Held};
use weir_tests::{until, Bench};

/// Heartbeat timeout of the service manager in microseconds.
const LIMIT_MICROS: u64 = 400_000;
/// A timeout so long that no test waits for its heartbeats.
const HOUR_MICROS: u64 = 3_600_000_000;
/// Log message instead of a heartbeat.
const MISSED: &str = "no heartbeat";

/// The daemon of a bench's switch, started like a service.
struct Watched {
    manager: UnixDatagram,
    process: Process,
    log: PathBuf,
}

impl Watched {
    fn start(bench: &mut Bench, limit_micros: u64) -> Self {
        bench.switch.end_process().unwrap();
        let socket = bench.file("notify");
        let manager = UnixDatagram::bind(&socket).unwrap();
        manager.set_nonblocking(true).unwrap();
        // As that of systemd: every user may write, and the switch is not root.
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
        let mut command = bench.command("s1", "env");
        command
            .arg(format!("NOTIFY_SOCKET={}", socket.display()))
            .arg(format!("WATCHDOG_USEC={limit_micros}"))
            .arg(program("weir-switchd").unwrap())
            .arg("--config")
            .arg(bench.switch.config_file());
        let log = bench.file("watched.log");
        let process = Process::start("s1", command, &log).unwrap();
        Self {
            manager,
            process,
            log,
        }
    }

    /// Returns the messages to the service manager since the last call.
    fn messages(&self) -> Vec<String> {
        let mut buffer = [0; 256];
        let mut messages = Vec::new();
        while let Ok(length) = self.manager.recv(&mut buffer) {
            messages.push(String::from_utf8(buffer[..length].to_vec()).unwrap());
        }
        messages
    }

    fn wait_for(&self, message: &str) {
        until(message, || {
            self.messages()
                .iter()
                .any(|heard| heard == message)
                .then_some(())
        });
    }

    fn missed_count(&self) -> usize {
        fs::read_to_string(&self.log)
            .unwrap()
            .matches(MISSED)
            .count()
    }

    fn wait_for_missed(&self, more: usize) {
        let wanted = self.missed_count() + more;
        until("heartbeats are missed", || {
            (self.missed_count() >= wanted).then_some(())
        });
    }
}

#[test]
fn heartbeats_end_while_a_thread_hangs() {
    let mut bench = Bench::new(&[], |_| ());
    let watched = Watched::start(&mut bench, LIMIT_MICROS);
    watched.wait_for("READY=1");
    // Nothing is forwarded, and the daemon is healthy.
    for _ in 0..3 {
        watched.wait_for("WATCHDOG=1");
    }
    for name in ["weir-dataplane", "weir-control"] {
        let held = Held::new(thread(watched.process.id(), name));
        // The answer to an earlier question may have been pending.
        watched.wait_for_missed(1);
        watched.messages();
        watched.wait_for_missed(3);
        assert_eq!(watched.messages(), [""; 0], "{name} hangs");
        held.let_go();
        watched.wait_for("WATCHDOG=1");
    }
    watched.process.end(weir_tests::PATIENCE).unwrap();
    bench.end();
}

/// To the service manager a restarted switch is the same service: its first heartbeat ends the wait for its predecessor's.
#[test]
fn a_switch_that_has_started_sends_its_first_heartbeat_at_once() {
    let mut bench = Bench::new(&[], |_| ());
    let watched = Watched::start(&mut bench, HOUR_MICROS);
    watched.wait_for("WATCHDOG=1");
    watched.process.end(weir_tests::PATIENCE).unwrap();
    bench.end();
}
