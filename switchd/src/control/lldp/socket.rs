//! One port's LLDP socket, and the budget of received frames.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration as StdDuration;

use nix::sys::socket::{send, MsgFlags};
use tokio::sync::mpsc;
use weir_core::{Duration, Instant, PortId};
use weir_dataplane::drop_apart;
use weir_dataplane::packet_socket::take_lost;

use super::super::waitable::Waitable;
use crate::model::clock;

/// Longest frame that is read; a longer one is truncated and then refused.
const FRAME_LENGTH_MAX: usize = 2_048;
/// A neighbour sends at most one frame per second, and one port may receive from four neighbours.
const PER_FRAME: Duration = Duration::from_millis(250);
/// Burst size in frames.
const BURST: u64 = 16;
/// Delay after an error, such as that of a device that went down.
const ERROR_WAIT: StdDuration = StdDuration::from_millis(200);

/// Empty only while it is dropped.
#[derive(Debug)]
pub(super) struct LldpSocket(Option<Waitable>);

/// A frame, and the number of frames lost before it because they arrived too fast.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) port: PortId,
    pub(super) frame: Vec<u8>,
    pub(super) lost: u64,
}

impl LldpSocket {
    /// Needs a tokio runtime.
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        Waitable::new(socket).map(|socket| Self(Some(socket)))
    }

    pub(super) fn send(&self, frame: &[u8]) -> io::Result<()> {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        send(self.open()?.as_raw_fd(), frame, flags)?;
        Ok(())
    }

    fn open(&self) -> io::Result<&Waitable> {
        self.0.as_ref().ok_or(io::ErrorKind::NotConnected.into())
    }
}

impl Drop for LldpSocket {
    /// Neighbours may be paused, and the runtime has to give the place to the next switch.
    fn drop(&mut self) {
        drop_apart(self.0.take());
    }
}

/// Passes frames on until the receiver is closed. Frames beyond the budget wait in the socket, and its overflows are counted
/// as lost, so that a flooding neighbour costs no CPU time here.
pub(super) async fn listen(port: PortId, socket: Arc<LldpSocket>, sender: mpsc::Sender<Heard>) {
    let mut buffer = vec![0; FRAME_LENGTH_MAX];
    let mut budget = Budget::new();
    let Ok(waitable) = socket.open() else {
        return;
    };
    loop {
        let length = match waitable.read(&mut buffer).await {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) => {
                tracing::debug!(%port, %error, "cannot receive LLDP");
                tokio::time::sleep(ERROR_WAIT).await;
                continue;
            }
        };
        let heard = Heard {
            port,
            frame: buffer[..length].to_vec(),
            lost: take_lost(waitable.as_raw_fd()),
        };
        if sender.send(heard).await.is_err() {
            return;
        }
        let wait = budget.take(clock::now());
        if !wait.is_zero() {
            tokio::time::sleep(StdDuration::from_nanos(wait.as_nanos())).await;
        }
    }
}

/// Allows [`BURST`] frames at once, and one per [`PER_FRAME`] in the long run.
#[derive(Debug)]
struct Budget {
    /// Time at which all taken frames are paid for.
    paid_at: Instant,
}

impl Budget {
    const fn new() -> Self {
        Self {
            paid_at: Instant::ZERO,
        }
    }

    /// Charges a frame; returns the delay before the next one.
    fn take(&mut self, now: Instant) -> Duration {
        self.paid_at = self.paid_at.max(now) + PER_FRAME;
        let credit = PER_FRAME.saturating_mul(BURST - 1);
        self.paid_at.saturating_since(now + credit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_four_in_a_second() {
        let mut budget = Budget::new();
        let mut now = Instant::ZERO + Duration::from_secs(1_000);
        let mut taken = 0;
        let begin = now;
        while now.saturating_since(begin) < Duration::from_secs(10) {
            taken += 1;
            now = now + budget.take(now);
        }
        assert_eq!(taken, BURST + 39);
        // After a quiet minute there is credit for one burst again.
        now = now + Duration::from_secs(60);
        let free = (0..100).take_while(|_| budget.take(now).is_zero()).count();
        assert_eq!(free as u64, BURST - 1, "the last of it makes wait");
    }

    /// A socket with SO_LINGER and unsent data stands for one whose close(2) waits.
    #[tokio::test]
    async fn whoever_drops_it_does_not_wait_until_it_is_closed() {
        use std::io::Write;

        use nix::sys::socket::{setsockopt, sockopt};

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: 10,
        };
        setsockopt(&stream, sockopt::Linger, &linger).unwrap();
        stream.set_nonblocking(true).unwrap();
        while stream.write(&[0; 65_536]).is_ok() {}
        let socket = LldpSocket::new(stream.into()).unwrap();
        let began = std::time::Instant::now();
        drop(socket);
        assert!(began.elapsed() < StdDuration::from_secs(5));
    }

    #[tokio::test]
    async fn a_flood_waits_in_the_socket() {
        let (ours, theirs) = nix::sys::socket::socketpair(
            nix::sys::socket::AddressFamily::Unix,
            nix::sys::socket::SockType::SeqPacket,
            None,
            nix::sys::socket::SockFlag::SOCK_CLOEXEC,
        )
        .unwrap();
        for number in 0..40u8 {
            send(theirs.as_raw_fd(), &[number; 60], MsgFlags::MSG_DONTWAIT).unwrap();
        }
        let (sender, mut heard) = mpsc::channel(100);
        let socket = Arc::new(LldpSocket::new(ours).unwrap());
        let began = clock::now();
        let task = tokio::spawn(listen(PortId::new(3), socket, sender));
        for number in 0..20u8 {
            let heard = heard.recv().await.unwrap();
            assert_eq!((heard.port, heard.lost), (PortId::new(3), 0));
            assert_eq!(heard.frame, [number; 60]);
        }
        // Four beyond the burst cost a quarter of a second each.
        let took = clock::now().saturating_since(began);
        assert!(took >= Duration::from_millis(900), "{took:?}");
        task.abort();
    }
}
