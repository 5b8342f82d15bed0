//! The path to a collector: a UDP socket that is never waited for.
//!
//! The socket is not connected: a running switch may not call connect(2).

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration as StdDuration;

use nix::sys::socket::{setsockopt, sockopt};
use tokio::time::Instant as TokioInstant;

use crate::control::exporting::socket_for;

/// Time between two attempts to get a socket, or to reach the dataplane.
pub(super) const RETRY: StdDuration = StdDuration::from_secs(1);

/// A collector, and a socket for it.
pub(super) struct Collector {
    address: SocketAddr,
    socket: Option<UdpSocket>,
    retry_at: TokioInstant,
}

/// Outcome of one datagram.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The kernel accepted it.
    pub is_sent: bool,
    /// An error was returned for an earlier one.
    pub is_refused: bool,
    /// The last error.
    pub error: Option<String>,
}

impl Collector {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            socket: None,
            retry_at: TokioInstant::now(),
        }
    }

    /// Sends a datagram, or loses it.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Outcome {
        if self.socket.is_none() && TokioInstant::now() >= self.retry_at {
            self.retry_at = TokioInstant::now() + RETRY;
            match open(self.address) {
                Ok(socket) => self.socket = Some(socket),
                Err(error) => {
                    return Outcome {
                        error: Some(error.to_string()),
                        ..Outcome::default()
                    }
                }
            }
        }
        let Some(socket) = &self.socket else {
            return Outcome::default();
        };
        let first = socket.send_to(bytes, self.address).err();
        // What came back for an earlier datagram is reported in place of sending this one.
        let second = first
            .as_ref()
            .and_then(|_| socket.send_to(bytes, self.address).err());
        Outcome {
            is_sent: second.is_none(),
            is_refused: first.is_some() && second.is_none(),
            error: second.or(first).map(|error| error.to_string()),
        }
    }
}

/// A socket that never blocks, and reports returned errors, within its receive buffer.
fn open(collector: SocketAddr) -> io::Result<UdpSocket> {
    let socket = socket_for(collector)?;
    socket.set_nonblocking(true)?;
    match collector {
        SocketAddr::V4(_) => setsockopt(&socket, sockopt::Ipv4RecvErr, &true)?,
        SocketAddr::V6(_) => setsockopt(&socket, sockopt::Ipv6RecvErr, &true)?,
    }
    Ok(socket)
}
