//! Tells the service manager how the daemon is (sd_notify(3)).

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::control::clock;

/// Sends `state`, such as `READY=1`, to the socket that `NOTIFY_SOCKET` names. Does nothing without it;
/// a failure is logged only, since the daemon works all the same.
pub fn notify(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    if let Err(error) = send(name.as_bytes(), state) {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}

/// Tells that the configuration is being read again; `READY=1` ends it (sd_notify(3), Type=notify-reload).
pub fn notify_reloading() {
    let micros = clock::now().as_nanos() / 1_000;
    notify(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
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
    fn the_manager_hears_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str().as_bytes(), "READY=1").unwrap();
        let mut buffer = [0; 32];
        let length = manager.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"READY=1");
    }
}
