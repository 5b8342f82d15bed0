//! Reports the daemon's state to the service manager (sd_notify(3)).

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use crate::model::clock;

/// Sends `state`, such as `READY=1`, to the socket named by `NOTIFY_SOCKET`. Does nothing without it; a failure is only
/// logged, since the daemon works without it.
pub fn notify(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    if let Err(error) = send(name.as_bytes(), state) {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}

/// Reports that the configuration is being read again; `READY=1` ends it (sd_notify(3), Type=notify-reload).
pub fn notify_reloading() {
    let micros = clock::now().as_nanos() / 1_000;
    notify(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
}

/// Returns the time that the service manager waits for `WATCHDOG=1` before it ends this process; `None` if it does not watch
/// it.
pub fn watchdog_limit() -> Option<Duration> {
    let variable = |name| std::env::var(name).ok();
    limit(
        variable("WATCHDOG_USEC").as_deref(),
        variable("WATCHDOG_PID").as_deref(),
        std::process::id(),
    )
}

/// Returns the limit, unless the variables were inherited from another process (sd_watchdog_enabled(3)).
fn limit(micros: Option<&str>, meant: Option<&str>, ours: u32) -> Option<Duration> {
    if meant.is_some_and(|meant| meant.parse() != Ok(ours)) {
        return None;
    }
    let micros: u64 = micros?.parse().ok()?;
    (micros > 0).then(|| Duration::from_micros(micros))
}

fn send(name: &[u8], state: &str) -> io::Result<()> {
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name))?,
    };
    UnixDatagram::unbound()?
        .send_to_addr(state.as_bytes(), &address)
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_process_that_is_watched_beats() {
        let half = Some(Duration::from_millis(500));
        assert_eq!(limit(Some("500000"), Some("7"), 7), half);
        assert_eq!(limit(Some("500000"), None, 7), half);
        for (micros, meant) in [
            (Some("500000"), Some("8")),
            (Some("500000"), Some("")),
            (Some("0"), None),
            (Some("soon"), None),
            (None, Some("7")),
        ] {
            assert_eq!(limit(micros, meant, 7), None, "{micros:?} {meant:?}");
        }
    }

    #[test]
    fn the_manager_is_notified() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str().as_bytes(), "READY=1").unwrap();
        let mut buffer = [0; 32];
        let length = manager.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"READY=1");
    }
}
