//! Messages between keeper and switch, one line of JSON each. The keeper may be older than the switch that it has started,
//! so messages and optional fields may be added.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::UnixStream;
use weir_core::switch::{LevelGauges, PriorityGauges};
use weir_core::wire::ethernet::FRAME_LENGTH_MIN;
use weir_core::wire::mac_control::MacControl;
use weir_core::{Priority, Quanta};
use weir_dataplane::messages::PortSnapshot;

use crate::cli::Kept;
use crate::control::info::{PortInfo, SwitchInfo};
use crate::control::Restarted;

/// Environment variable set by a keeper that supports [`ToKeeper::Prepare`] and related messages.
pub const PREPARES: &str = "WEIR_KEEPER_PREPARES";
/// The value of [`PREPARES`] from this keeper. From 2 on it knows [`ToKeeper::Unready`], from 3 on [`ToKeeper::Way`] and
/// [`ToKeeper::Discard`], from 4 on [`ToKeeper::Resume`].
pub const LEVEL: &str = "4";
const KNOWS_REASONS: u32 = 2;
/// See [`LEVEL`].
pub const KNOWS_WAYS_BACK: u32 = 3;
const KNOWS_RESUMING: u32 = 4;
/// Time for the next switch to be ready.
pub const PREPARE_WAIT: Duration = Duration::from_secs(60);
/// Maximum line length in bytes; 256 ports need less.
const LINE_BYTES_MAX: usize = 256 * 1024;
const ANSWER_WAIT: Duration = Duration::from_secs(2);
/// Time for a process to end and free all of its packet memory.
const DISCARD_WAIT: Duration = Duration::from_secs(30);
const REFRESHES_PER_PAUSE: u32 = 4;
/// Minimum refresh interval; shorter timers are inaccurate.
const REFRESH_MIN: Duration = Duration::from_micros(50);
/// Maximum refresh interval. The Feedback of a draining switch ends a pause at a neighbour with Levels; it is valid for some
/// refreshes, and the pause must be repeated before it expires.
const REFRESH_MAX: Duration = Duration::from_millis(10);

/// Messages from the switch to the keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToKeeper {
    /// Prepare the next switch while the old one runs; see [`PREPARES`].
    Prepare,
    /// The next switch is ready and waits for [`FromKeeper::Go`].
    Prepared,
    /// The next switch cannot be prepared, or the one taking over cannot start.
    Unready {
        /// Reason and remedy.
        why: String,
    },
    /// The switch's program starts again in its present state with `--in-force` and this file, in case the next switch
    /// fails.
    Way {
        /// File with the configuration in force.
        in_force: PathBuf,
    },
    /// The next switch is not needed: it was only a trial.
    Discard,
    /// To hold the neighbours, from now until the next [`ToKeeper::Ready`] or [`ToKeeper::Resume`].
    Hold {
        /// One link for each neighbour.
        links: Vec<HeldLink>,
    },
    /// To resume the neighbours: the switch continues as well.
    Resume {
        /// As in [`ToKeeper::Ready`].
        resumed: Vec<ResumedLink>,
    },
    /// The switch has ended, with this many frames of lossless classes in it.
    Left {
        /// Number of frames.
        frames: u64,
        /// Frames that arrived after the switch stopped receiving from their port.
        #[serde(default)]
        missed: u64,
    },
    /// The switch no longer blocks the next one, though its process may still take time to end.
    PlaceFree,
    /// The switch forwards.
    Ready {
        /// Frames that release neighbours. Other neighbours are paused by the switch itself, or until their pause expires.
        resumed: Vec<ResumedLink>,
    },
}

/// Answers from the keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromKeeper {
    /// The next switch is as ready as it can be.
    Prepared {
        /// Reason why it is not ready; it is then started after this one has ended.
        #[serde(default)]
        refused: Option<String>,
    },
    /// The previous switch has handed over.
    Go,
    /// The next switch has ended.
    Discarded,
    /// The neighbours are paused.
    Held,
    /// The neighbours are not paused.
    NotHeld {
        /// Reason.
        why: String,
    },
    /// The neighbours, paused until this switch was ready, are released.
    Released {
        /// Time from the first pause to the last, in µs.
        held_micros: u64,
        /// Frames that the previous switch could not send.
        lost_frames: u64,
        /// Frames of any class that arrived while no switch ran.
        #[serde(default)]
        missed_frames: u64,
        /// Failure of the next switch, if this one runs the previous configuration again.
        #[serde(default)]
        failed: Option<String>,
    },
}

/// Frame that pauses one neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLink {
    /// The device's index.
    pub ifindex: u32,
    /// The whole PFC frame.
    pub pause: Vec<u8>,
    /// Refresh interval in µs.
    pub refresh_micros: u64,
}

/// Frame that releases one neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumedLink {
    /// The device's index.
    pub ifindex: u32,
    /// The whole frame.
    pub frame: Vec<u8>,
}

/// Returns the frames that pause all neighbours of a switch. Every lossless class uses PFC, since every
/// neighbour obeys it, regardless of the link's other settings.
pub fn held_links(info: &SwitchInfo, pause_time: Quanta) -> Vec<HeldLink> {
    info.ports
        .iter()
        .filter(|port| !port.attached.get().is_absent())
        .map(|port| {
            let span = Duration::from_nanos(pause_time.at(port.rate).as_nanos());
            let refresh = (span / REFRESHES_PER_PAUSE).clamp(REFRESH_MIN, REFRESH_MAX);
            HeldLink {
                ifindex: port.ifindex(),
                pause: pfc(port, info.lossless(), pause_time),
                refresh_micros: refresh.as_micros() as u64,
            }
        })
        .collect()
}

/// Returns the frames that release neighbours of a switch with these gauges, for the classes that it does not pause itself.
pub fn resumed_links(info: &SwitchInfo, ports: &[PortSnapshot]) -> Vec<ResumedLink> {
    let held_by_switch = |gauges: &PriorityGauges| {
        let is_closed = |levels: LevelGauges| levels.feedback_sent >= levels.depth;
        gauges.pausing || gauges.levels.is_some_and(is_closed)
    };
    info.ports
        .iter()
        .zip(ports)
        .filter(|(port, _)| !port.attached.get().is_absent())
        .map(|(port, snapshot)| {
            let free = info
                .lossless()
                .filter(|priority| !held_by_switch(&snapshot.gauges[priority.index()]));
            ResumedLink {
                ifindex: port.ifindex(),
                frame: pfc(port, free, Quanta::ZERO),
            }
        })
        .collect()
}

/// Builds a whole PFC frame with one pause time for several classes.
fn pfc(port: &PortInfo, priorities: impl Iterator<Item = Priority>, quanta: Quanta) -> Vec<u8> {
    let mut times = [None; Priority::ALL.len()];
    for priority in priorities {
        times[priority.index()] = Some(quanta);
    }
    let mut frame = vec![0; FRAME_LENGTH_MIN];
    let length = MacControl::Pfc { times }.emit(port.address(), &mut frame);
    frame.truncate(length.unwrap_or_default());
    frame
}

/// The switch's end of the connection.
#[derive(Debug)]
pub struct KeeperLink {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    line: Vec<u8>,
}

impl KeeperLink {
    /// Uses standard input, to which the keeper has connected a socket.
    ///
    /// # Errors
    ///
    /// When it is not a socket.
    pub fn by_standard_input() -> io::Result<Self> {
        let descriptor = io::stdin().as_fd().try_clone_to_owned()?;
        let stream = StdStream::from(descriptor);
        // Fails if it is not a socket.
        stream.peer_addr()?;
        stream.set_nonblocking(true)?;
        let (reader, writer) = UnixStream::from_std(stream)?.into_split();
        Ok(Self {
            reader: BufReader::new(reader),
            writer,
            line: Vec::new(),
        })
    }

    /// Returns true if the keeper can prepare the next switch.
    pub fn prepares(&self) -> bool {
        std::env::var_os(PREPARES).is_some()
    }

    /// Returns true if the keeper restarts the previous switch when the next one fails.
    pub fn goes_back(&self) -> bool {
        level() >= KNOWS_WAYS_BACK
    }

    /// Sends the file with which this switch can be started again in its present state.
    ///
    /// # Errors
    ///
    /// When the keeper is gone.
    pub async fn name_way(&mut self, in_force: PathBuf) -> io::Result<()> {
        if !self.goes_back() {
            return Ok(());
        }
        write_line(&mut self.writer, &ToKeeper::Way { in_force }).await
    }

    /// Ends the next switch after a trial; returns once it has ended.
    ///
    /// # Errors
    ///
    /// When the keeper does not answer.
    pub async fn discard(&mut self) -> io::Result<()> {
        write_line(&mut self.writer, &ToKeeper::Discard).await?;
        match self.answer(DISCARD_WAIT).await? {
            FromKeeper::Discarded => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Reports that this switch, which was to be the next one, cannot start; returns once the keeper has received it.
    pub async fn unready(&mut self, why: &str) {
        if level() >= KNOWS_REASONS {
            let why = why.to_owned();
            // A keeper that has ended needs no reason.
            let _ = write_line(&mut self.writer, &ToKeeper::Unready { why }).await;
            let end = read_line::<FromKeeper>(&mut self.reader, &mut self.line);
            let _ = tokio::time::timeout(ANSWER_WAIT, end).await;
        }
    }

    /// Has the next switch prepared; returns the reason if it is not ready.
    ///
    /// # Errors
    ///
    /// When the keeper does not answer.
    pub async fn prepare(&mut self) -> io::Result<Option<String>> {
        write_line(&mut self.writer, &ToKeeper::Prepare).await?;
        match self.answer(PREPARE_WAIT + ANSWER_WAIT).await? {
            FromKeeper::Prepared { refused } => Ok(refused),
            other => Err(unexpected(&other)),
        }
    }

    /// Reports that this switch is ready, and waits until the previous one has handed over. It may be stopped while it
    /// waits.
    ///
    /// # Errors
    ///
    /// When the keeper is gone; this switch is then not used.
    pub async fn wait_for_the_place(&mut self) -> io::Result<()> {
        write_line(&mut self.writer, &ToKeeper::Prepared).await?;
        match read_line(&mut self.reader, &mut self.line).await? {
            Some(FromKeeper::Go) => Ok(()),
            Some(other) => Err(unexpected(&other)),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Has the neighbours paused; returns once they are.
    ///
    /// # Errors
    ///
    /// When the keeper does not answer.
    pub async fn hold(&mut self, links: Vec<HeldLink>) -> io::Result<()> {
        write_line(&mut self.writer, &ToKeeper::Hold { links }).await?;
        match self.answer(ANSWER_WAIT).await? {
            FromKeeper::Held => Ok(()),
            FromKeeper::NotHeld { why } => Err(io::Error::other(why)),
            other => Err(unexpected(&other)),
        }
    }

    /// The keeper can resume held neighbours while the switch continues.
    pub fn can_resume(&self) -> bool {
        level() >= KNOWS_RESUMING
    }

    /// Resumes held neighbours: this switch continues as well.
    ///
    /// # Errors
    ///
    /// When the keeper does not answer.
    pub async fn resume(&mut self, resumed: Vec<ResumedLink>) -> io::Result<()> {
        write_line(&mut self.writer, &ToKeeper::Resume { resumed }).await?;
        match self.answer(ANSWER_WAIT).await? {
            FromKeeper::Released { .. } => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Reports that the next switch can have the place, if the keeper supports that.
    ///
    /// # Errors
    ///
    /// When the keeper is gone.
    pub async fn give_place(&mut self) -> io::Result<()> {
        if std::env::var_os(PREPARES).is_none() {
            return Ok(());
        }
        write_line(&mut self.writer, &ToKeeper::PlaceFree).await
    }

    /// Reports the frames left in the switch at its end, and those that it missed while ending.
    ///
    /// # Errors
    ///
    /// When the keeper is gone.
    pub async fn left(&mut self, frames: u64, missed: u64) -> io::Result<()> {
        write_line(&mut self.writer, &ToKeeper::Left { frames, missed }).await
    }

    /// Reports that the switch forwards; returns the restart's report if it has replaced another
    /// one.
    ///
    /// # Errors
    ///
    /// When the keeper does not answer.
    pub async fn ready(
        &mut self,
        kept: Kept,
        resumed: Vec<ResumedLink>,
    ) -> io::Result<Option<Restarted>> {
        write_line(&mut self.writer, &ToKeeper::Ready { resumed }).await?;
        if kept == Kept::First {
            return Ok(None);
        }
        match self.answer(ANSWER_WAIT).await? {
            FromKeeper::Released {
                held_micros,
                lost_frames,
                missed_frames,
                failed,
            } => Ok(Some(Restarted {
                held: Duration::from_micros(held_micros),
                lost_frames,
                missed_frames,
                failed,
            })),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits until the keeper is gone, or sends an unrequested message.
    pub async fn gone(&mut self) {
        let _ = read_line::<FromKeeper>(&mut self.reader, &mut self.line).await;
    }

    async fn answer(&mut self, wait: Duration) -> io::Result<FromKeeper> {
        let answer = read_line(&mut self.reader, &mut self.line);
        match tokio::time::timeout(wait, answer).await {
            Ok(Ok(Some(answer))) => Ok(answer),
            Ok(Ok(None)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Returns the keeper's level of support from [`PREPARES`].
pub fn level() -> u32 {
    let value = std::env::var(PREPARES).unwrap_or_default();
    value.parse().unwrap_or(1)
}

fn unexpected(answer: &FromKeeper) -> io::Error {
    io::Error::other(format!("unexpected answer from the keeper: {answer:?}"))
}

/// Returns the next message; `None` at the end. When this future is dropped, a partial message stays in `line`.
pub(super) async fn read_line<T: DeserializeOwned>(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<Option<T>> {
    loop {
        let read = reader.fill_buf().await?;
        if read.is_empty() {
            return Ok(None);
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(read.len(), |end| end + 1);
        line.extend_from_slice(&read[..taken]);
        reader.consume(taken);
        if line.len() > LINE_BYTES_MAX {
            line.clear();
            return Err(io::Error::other("a message is too long"));
        }
        if end.is_some() {
            let message = serde_json::from_slice(line);
            line.clear();
            return Ok(Some(message?));
        }
    }
}

pub(super) async fn write_line(
    writer: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_come_whole_and_in_order() {
        let hold = ToKeeper::Hold {
            links: vec![HeldLink {
                ifindex: 7,
                pause: vec![1, 2],
                refresh_micros: 50,
            }],
        };
        let ready = ToKeeper::Ready {
            resumed: vec![ResumedLink {
                ifindex: 7,
                frame: vec![3],
            }],
        };
        let left = ToKeeper::Left {
            frames: 3,
            missed: 1,
        };
        let messages = [hold, left, ready];
        let (mut here, there) = tokio::io::duplex(16);
        let sent = messages.clone();
        let send = tokio::spawn(async move {
            for message in &sent {
                write_line(&mut here, message).await.unwrap();
            }
        });
        let mut reader = BufReader::with_capacity(5, there);
        let mut line = Vec::new();
        for message in messages {
            let read = read_line(&mut reader, &mut line).await.unwrap();
            assert_eq!(read, Some(message));
        }
        send.await.unwrap();
        let end: Option<ToKeeper> = read_line(&mut reader, &mut line).await.unwrap();
        assert_eq!(end, None);
    }

    /// After an upgrade, the other end may be an older keeper or switch.
    #[test]
    fn missing_values_of_older_versions_are_none() {
        let left = serde_json::from_str(r#"{"left":{"frames":2}}"#).ok();
        assert_eq!(
            left,
            Some(ToKeeper::Left {
                frames: 2,
                missed: 0
            })
        );
        let released = r#"{"released":{"held_micros":9,"lost_frames":0}}"#;
        let released = serde_json::from_str(released).ok();
        let expected = FromKeeper::Released {
            held_micros: 9,
            lost_frames: 0,
            missed_frames: 0,
            failed: None,
        };
        assert_eq!(released, Some(expected));
    }

    #[tokio::test]
    async fn what_is_no_message_or_never_ends_is_refused() {
        let mut line = Vec::new();
        let read = read_line::<ToKeeper>(&mut &b"{\"go\":1}\n"[..], &mut line).await;
        assert!(read.is_err());
        let endless = vec![b' '; LINE_BYTES_MAX + 1];
        let read = read_line::<ToKeeper>(&mut &endless[..], &mut line).await;
        assert!(read.is_err());
    }
}
