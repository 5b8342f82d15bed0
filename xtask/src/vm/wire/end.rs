//! A host: sends frames to a port of the switch, obeys its pauses, and receives its frames.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::control::{self, Heard, PRIORITIES};
use super::host;
use crate::vm::nic::sockets;

/// Duration of 512 bit times at the rate of all ports ([`RATE`](crate::vm::switch::RATE)).
const QUANTUM: Duration = Duration::from_nanos(5_120);
/// A NIC that accepts no frame for this long is stuck.
const SEND_LIMIT: Duration = Duration::from_secs(5);
/// Interval at which the receiving thread checks for its end.
const LOOK: Duration = Duration::from_millis(100);
const FRAME_BYTES_MAX: usize = 65_536;

/// Pauses received by a host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pauses {
    /// PFC entries with a time above zero, by priority.
    pub xoff: [u64; PRIORITIES],
    /// PFC entries with a time of zero, by priority.
    pub xon: [u64; PRIORITIES],
    /// Pauses that expired before the next XOFF without an XON, by priority.
    pub lapsed: [u64; PRIORITIES],
    until: [Option<Instant>; PRIORITIES],
}

#[derive(Debug)]
pub struct End {
    /// Number of its port.
    pub number: usize,
    socket: Arc<UnixDatagram>,
    inbox: Receiver<Vec<u8>>,
    pauses: Arc<Mutex<Pauses>>,
    /// Destination of all frames while this end is part of a cable.
    patched: Arc<Mutex<Option<Arc<UnixDatagram>>>>,
    ended: Arc<AtomicBool>,
    receiving: Option<JoinHandle<()>>,
}

impl End {
    /// Creates the host at device `number`. [`connect`](Self::connect) it once the emulator runs.
    pub fn new(directory: &Path, number: usize) -> Result<Self> {
        let [_, own] = sockets(directory, number);
        let socket = UnixDatagram::bind(&own).with_context(|| own.clone())?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.set_write_timeout(Some(SEND_LIMIT))?;
        let socket = Arc::new(socket);
        let (to_inbox, inbox) = mpsc::channel();
        let pauses = Arc::new(Mutex::new(Pauses::default()));
        let patched = Arc::default();
        let ended = Arc::new(AtomicBool::new(false));
        let receiving = {
            let (socket, pauses, ended) = (socket.clone(), pauses.clone(), ended.clone());
            let patched = Arc::clone(&patched);
            std::thread::spawn(move || receive(&socket, &to_inbox, &pauses, &patched, &ended))
        };
        Ok(Self {
            number,
            socket,
            inbox,
            pauses,
            patched,
            ended,
            receiving: Some(receiving),
        })
    }

    /// Connects to the emulator's socket.
    pub fn connect(&self, directory: &Path) -> Result<()> {
        let [nic, _] = sockets(directory, self.number);
        self.socket.connect(&nic).with_context(|| nic.clone())
    }

    /// Sends a frame; waits while the NIC has no room.
    ///
    /// # Errors
    ///
    /// When the NIC accepts none for [`SEND_LIMIT`].
    pub fn send(&self, frame: &[u8]) -> Result<()> {
        let sent = self.socket.send(frame);
        sent.with_context(|| format!("the NIC at port {} takes no frame", self.number))?;
        Ok(())
    }

    /// Pauses the switch at this port for `quanta`; 0 resumes it.
    pub fn pause(&self, priority: usize, quanta: u16) -> Result<()> {
        self.send(&control::pfc(host(self.number), priority, quanta))
    }

    /// Returns the next frame that is not a MAC control frame; `None` if none arrives in time.
    pub fn receive(&self, limit: Duration) -> Option<Vec<u8>> {
        self.inbox.recv_timeout(limit).ok()
    }

    /// Discards frames received until now.
    pub fn clear(&self) {
        while self.inbox.try_recv().is_ok() {}
    }

    /// Returns the switch's pauses until now.
    pub fn pauses(&self) -> Pauses {
        *self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the switch pauses `priority` here.
    pub fn is_paused(&self, priority: u8) -> bool {
        let until = self.pauses().until[usize::from(priority)];
        until.is_some_and(|until| Instant::now() < until)
    }
}

/// A cable between the devices of two ends, which receive nothing while it exists. Dropping it removes it.
#[derive(Debug)]
pub struct Patch<'a>([&'a End; 2]);

impl<'a> Patch<'a> {
    /// Connects the two ends.
    pub fn between(one: &'a End, other: &'a End) -> Self {
        for (from, to) in [(one, other), (other, one)] {
            from.patch(Some(to.socket.clone()));
        }
        Self([one, other])
    }
}

impl Drop for Patch<'_> {
    fn drop(&mut self) {
        for end in self.0 {
            end.patch(None);
        }
    }
}

impl End {
    fn patch(&self, to: Option<Arc<UnixDatagram>>) {
        *self.patched.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.receiving.take() {
            let _ = thread.join();
        }
    }
}

fn receive(
    socket: &UnixDatagram,
    inbox: &Sender<Vec<u8>>,
    pauses: &Mutex<Pauses>,
    patched: &Mutex<Option<Arc<UnixDatagram>>>,
    ended: &AtomicBool,
) {
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    while !ended.load(Ordering::Relaxed) {
        let length = match socket.recv(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            // The guest has ended.
            Err(_) => {
                std::thread::sleep(LOOK);
                continue;
            }
        };
        let frame = &buffer[..length];
        let to = patched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(to) = to {
            // The test notices frames that a NIC refuses, since they are missing.
            let _ = to.send(frame);
            continue;
        }
        match control::read(frame) {
            Some(heard) => note(
                &mut pauses.lock().unwrap_or_else(PoisonError::into_inner),
                heard,
            ),
            None if inbox.send(frame.to_vec()).is_err() => return,
            None => {}
        }
    }
}

fn note(pauses: &mut Pauses, heard: Heard) {
    let times = match heard {
        Heard::Pfc(times) => times,
        Heard::Pause(quanta) => [Some(quanta); PRIORITIES],
        Heard::Unknown => return,
    };
    let now = Instant::now();
    for (priority, quanta) in times.into_iter().enumerate() {
        let Some(quanta) = quanta else { continue };
        let count = if quanta > 0 {
            &mut pauses.xoff
        } else {
            &mut pauses.xon
        };
        count[priority] += 1;
        if quanta > 0 && pauses.until[priority].is_some_and(|until| until < now) {
            pauses.lapsed[priority] += 1;
        }
        pauses.until[priority] = (quanta > 0).then(|| now + QUANTUM * u32::from(quanta));
    }
}
