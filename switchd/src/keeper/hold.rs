//! Pauses neighbours while no switch runs: a thread of the keeper sends pauses through packet sockets.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::socket::{send, MsgFlags};
use weir_dataplane::{drop_apart, packet_socket};

use super::link::{HeldLink, ResumedLink};

/// Pauses neighbours until it is dropped.
#[derive(Debug)]
pub struct Hold {
    began: Instant,
    /// By link, counters of frames that reached devices while no switch received them.
    counters: Vec<OwnedFd>,
    /// Each message requests a pause at once; closing the channel ends the pauses.
    again: Option<mpsc::Sender<()>>,
    /// Returns the sockets when it ends.
    thread: Option<JoinHandle<Vec<Held>>>,
}

impl Hold {
    /// Pauses every neighbour before it returns.
    ///
    /// # Errors
    ///
    /// When a socket cannot be opened. Devices that are missing or down are skipped: no neighbour sends there.
    pub fn begin(links: Vec<HeldLink>) -> io::Result<Self> {
        let mut held = Vec::with_capacity(links.len());
        let mut counters = Vec::with_capacity(links.len());
        for link in links {
            // Neighbours are paused even if arriving frames cannot be counted.
            match packet_socket::open_for_counting(link.ifindex) {
                Ok(counter) => counters.push(counter),
                Err(error) => {
                    tracing::debug!(%error, link.ifindex, "cannot count frames missed during the restart")
                }
            }
            match packet_socket::open_for_sending(link.ifindex) {
                Ok(socket) => held.push(Held {
                    socket,
                    due: Instant::now(),
                    link,
                }),
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        let began = Instant::now();
        held.iter_mut().for_each(|link| link.refresh(began));
        let (again, asked) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("weir-hold".to_owned())
            .spawn(move || keep_on(held, &asked))?;
        Ok(Self {
            began,
            counters,
            again: Some(again),
            thread: Some(thread),
        })
    }

    /// Returns the time of the first pause.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Returns the data frames that arrived since the last call while no switch received them.
    pub fn take_missed(&self) -> u64 {
        let counts = self
            .counters
            .iter()
            .map(|counter| packet_socket::take_count(counter.as_raw_fd()));
        counts.sum()
    }

    /// Pauses the neighbours now: the switch sent last, and its Feedback does not pause neighbours that understand it.
    pub fn refresh(&self) {
        if let Some(again) = &self.again {
            let _ = again.send(());
        }
    }

    /// Releases all neighbours, sending `resumed` to these; the others resume when their pause expires. Returns the duration
    /// of the hold.
    pub fn end(mut self, resumed: &[ResumedLink]) -> Duration {
        // No pause is sent after this.
        let held = self.release();
        for link in resumed {
            let known = held.iter().find(|held| held.link.ifindex == link.ifindex);
            match known {
                Some(known) => send_now(&known.socket, &link.frame),
                // Without a device there is no neighbour.
                None => drop(
                    packet_socket::open_for_sending(link.ifindex)
                        .map(|socket| send_now(&socket, &link.frame)),
                ),
            }
        }
        let time = self.began.elapsed();
        drop_apart((held, self));
        time
    }

    fn release(&mut self) -> Vec<Held> {
        drop(self.again.take());
        // It cannot panic; even then the pauses would expire.
        let thread = self.thread.take();
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}

#[derive(Debug)]
struct Held {
    socket: OwnedFd,
    due: Instant,
    link: HeldLink,
}

impl Held {
    fn refresh(&mut self, now: Instant) {
        self.due = now + Duration::from_micros(self.link.refresh_micros.max(1));
        // A device that is down or missing has no neighbour to pause; a full queue is retried with the next refresh.
        send_now(&self.socket, &self.link.pause);
    }
}

/// Sends a frame, or skips it if that is impossible now.
fn send_now(socket: &OwnedFd, frame: &[u8]) {
    let _ = send(socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT);
}

/// Refreshes every pause until the channel closes, and returns the sockets, since closing them takes time.
fn keep_on(mut held: Vec<Held>, asked: &mpsc::Receiver<()>) -> Vec<Held> {
    let mut is_asked = false;
    loop {
        let now = Instant::now();
        for link in held.iter_mut().filter(|link| is_asked || link.due <= now) {
            link.refresh(now);
        }
        let next = held.iter().map(|link| link.due).min();
        let outcome = match next {
            Some(due) => asked.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => asked.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match outcome {
            Ok(()) => is_asked = true,
            Err(RecvTimeoutError::Timeout) => is_asked = false,
            Err(RecvTimeoutError::Disconnected) => return held,
        }
    }
}
