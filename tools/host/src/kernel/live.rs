//! State reported by a running process: an abstract Unix socket that sends a text to each client. It belongs to the
//! process's network namespace and disappears with the process. Also notifies the service manager.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    accept4, bind, connect, getsockopt, listen, send, socket, sockopt, AddressFamily, Backlog,
    MsgFlags, SockFlag, SockType, UnixAddr,
};
use nix::unistd::{geteuid, Pid};

/// Maximum number of answers at a time; further clients wait.
const ANSWERS_MAX: usize = 16;
/// Maximum number of waiting clients.
const WAITING_MAX: i32 = 64;
/// Maximum length of a text in bytes.
const TEXT_MAX: u64 = 64 << 10;
/// Maximum time to wait for a stalled process.
const PATIENCE: Duration = Duration::from_secs(2);

fn stream(flags: SockFlag) -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::Unix, SockType::Stream);
    Ok(socket(family, kind, flags | SockFlag::SOCK_CLOEXEC, None)?)
}

fn address(name: &str) -> io::Result<UnixAddr> {
    Ok(UnixAddr::new_abstract(name.as_bytes())?)
}

/// Returns true if the peer runs as root or as this user, since any user may take an abstract name.
fn is_trusted(socket: &impl AsFd) -> io::Result<bool> {
    let peer = getsockopt(socket, sockopt::PeerCredentials)?;
    Ok(peer.uid() == 0 || peer.uid() == geteuid().as_raw())
}

/// A name held by one process.
#[derive(Debug)]
pub struct Live(OwnedFd);

impl Live {
    /// Claims the name.
    ///
    /// # Errors
    ///
    /// `AddrInUse` if another process holds it, or another error of the kernel.
    pub fn claim(name: &str) -> io::Result<Self> {
        let socket = stream(SockFlag::SOCK_NONBLOCK)?;
        bind(socket.as_raw_fd(), &address(name)?)?;
        listen(&socket, Backlog::new(WAITING_MAX)?)?;
        Ok(Self(socket))
    }

    /// Returns the descriptor, which is readable when a client is waiting.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Answers waiting clients without blocking, even if they do not read.
    ///
    /// # Errors
    ///
    /// The kernel's error, or that of `text`.
    pub fn answer(&self, text: impl Fn() -> io::Result<String>) -> io::Result<()> {
        for _ in 0..ANSWERS_MAX {
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            let asker = match accept4(self.0.as_raw_fd(), flags) {
                Ok(asker) => own(asker),
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR | Errno::ECONNABORTED | Errno::EMFILE | Errno::ENFILE) => continue,
                Err(error) => return Err(error.into()),
            };
            if is_trusted(&asker)? {
                let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
                // The client may be gone.
                let _ = send(asker.as_raw_fd(), text()?.as_bytes(), flags);
            }
        }
        Ok(())
    }
}

#[allow(unsafe_code)] // nix returns a plain number
fn own(fd: std::os::fd::RawFd) -> OwnedFd {
    // SAFETY: accept4 has just created it, and it has no other owner.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Returns the process that holds the name, with a connection to it; `None` if there is none.
fn reach(name: &str) -> io::Result<Option<(Pid, OwnedFd)>> {
    let socket = stream(SockFlag::empty())?;
    match connect(socket.as_raw_fd(), &address(name)?) {
        Ok(()) if !is_trusted(&socket)? => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("a process of another user has taken the name @{name}"),
        )),
        Ok(()) => {
            let peer = getsockopt(&socket, sockopt::PeerCredentials)?;
            Ok(Some((Pid::from_raw(peer.pid()), socket)))
        }
        Err(Errno::ECONNREFUSED | Errno::ENOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the process that holds the name; `None` if there is none, or it has ended.
///
/// # Errors
///
/// The kernel's error.
pub fn process(name: &str) -> io::Result<Option<Pid>> {
    Ok(reach(name)?.map(|(process, _)| process))
}

/// Returns the process that holds the name, and its text, which is empty if it has just ended or is another version.
///
/// # Errors
///
/// When it does not answer in time, or the kernel's error.
pub fn ask(name: &str) -> io::Result<Option<(Pid, String)>> {
    let Some((process, socket)) = reach(name)? else {
        return Ok(None);
    };
    let stream = UnixStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = String::new();
    stream.take(TEXT_MAX).read_to_string(&mut text)?;
    Ok(Some((process, text)))
}

/// Notifies the service manager that the process is ready (sd_notify(3)); does nothing without one.
///
/// # Errors
///
/// The kernel's error.
pub fn notify_ready() -> io::Result<()> {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
        return Ok(());
    };
    let address = match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
        _ => SocketAddr::from_pathname(&name)?,
    };
    let sent = UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address);
    sent.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_a_name_and_whoever_asks_is_answered() {
        let name = format!("weir-host.test.{}", std::process::id());
        assert_eq!(process(&name).unwrap(), None);
        assert!(ask(&name).unwrap().is_none());
        let live = Live::claim(&name).unwrap();
        let again = Live::claim(&name).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AddrInUse);
        live.answer(|| unreachable!("nobody asks")).unwrap();
        let asker = {
            let name = name.clone();
            std::thread::spawn(move || ask(&name).unwrap().unwrap())
        };
        let mut wanted = [nix::poll::PollFd::new(
            live.fd(),
            nix::poll::PollFlags::POLLIN,
        )];
        nix::poll::poll(&mut wanted, nix::poll::PollTimeout::NONE).unwrap();
        live.answer(|| Ok("well".to_owned())).unwrap();
        assert_eq!(asker.join().unwrap(), (Pid::this(), "well".to_owned()));
        // A client that only needs the process ID disconnects before the answer.
        assert_eq!(process(&name).unwrap(), Some(Pid::this()));
        live.answer(|| Ok("well".to_owned())).unwrap();
        drop(live);
        assert_eq!(process(&name).unwrap(), None);
    }
}
