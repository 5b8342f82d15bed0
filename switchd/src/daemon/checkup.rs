//! The doctor's checks at the start: logs problems that do not prevent the start, with their remedies.

use std::path::PathBuf;

use weir_config::daemon::DaemonConfig;
use weir_doctor::{judge, Facts, Grade, Running, RunningPort, Wanted};

use super::AttachedPort;

/// Runs the checks on a separate thread once the ports are `attached`, since devices may answer slowly.
pub fn start(config: DaemonConfig, file: PathBuf, attached: &[AttachedPort]) {
    let ports = config.ports.iter().zip(attached);
    let ports = ports.map(|(port, attached)| RunningPort {
        device: port.device.clone(),
        mode: attached.xdp_mode.to_owned(),
        zero_copy: attached.zero_copy,
        ..RunningPort::default()
    });
    let running = Running {
        pid: std::process::id(),
        ports: ports.collect(),
    };
    let wanted = Wanted {
        config,
        file: Some(file),
        running: Some(running),
    };
    let thread = std::thread::Builder::new().name("weir-doctor".into());
    if let Err(error) = thread.spawn(move || log_problems(&wanted)) {
        tracing::warn!(%error, "cannot check the host");
    }
}

fn log_problems(wanted: &Wanted) {
    let ports = wanted.config.ports.iter();
    let devices: Vec<&str> = ports.map(|port| &*port.device).collect();
    // The programs belong to this daemon.
    let facts = Facts::read(&devices, &|_| (None, None));
    let findings = judge(&facts, wanted);
    let problems = findings.iter().filter(|it| it.grade == Grade::Problem);
    for problem in problems {
        let mend = problem.remedy.as_ref().map(ToString::to_string);
        tracing::warn!(
            device = problem.device,
            check = problem.check.name(),
            mend,
            "{}",
            problem.found
        );
    }
}
