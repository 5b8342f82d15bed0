//! Between the keeper and the switch: a line of JSON for each message. A keeper may be older than the switch that it has
//! started: messages may be added, and fields that may be missing.

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

use crate::cli::Kept;
use crate::control::info::{PortInfo, SwitchInfo};
use crate::control::Restarted;
use crate::dataplane::messages::PortSnapshot;

/// Set in the environment by a keeper that knows [`ToKeeper::Prepare`] and what belongs to it: an older one would not.
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
/// A longer line is not one of ours: 256 ports take less.
const LINE_BYTES_MAX: usize = 256 * 1024;
const ANSWER_WAIT: Duration = Duration::from_secs(2);
/// Time for the end of a process with all its packet memory.
const DISCARD_WAIT: Duration = Duration::from_secs(30);
const REFRESHES_PER_PAUSE: u32 = 4;
/// Shorter timers are inaccurate.
const REFRESH_MIN: Duration = Duration::from_micros(50);
/// The Feedback of a switch that drains ends a pause at a neighbour with Levels; it counts for some
/// refreshes, and the pause must be repeated before it ends.
const REFRESH_MAX: Duration = Duration::from_millis(10);

/// Messages of the switch to the keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToKeeper {
    /// Request to prepare the next switch, beside the present one: see [`PREPARES`].
    Prepare,
    /// The next switch is ready, and waits for [`FromKeeper::Go`].
    Prepared,
    /// The next switch cannot be ready, or one that has the place cannot start.
    Unready {
        /// Why not, and what to do.
        why: String,
    },
    /// The switch's program starts again as it runs now with `--in-force` and this file: the way back where the next switch fails.
    Way {
        /// The text of the configuration that is in force.
        in_force: PathBuf,
    },
    /// The next switch is not wanted: it was only tried.
    Discard,
    /// To hold the neighbours, from now until the next [`ToKeeper::Ready`] or [`ToKeeper::Resume`].
    Hold {
        /// One for each neighbour.
        links: Vec<HeldLink>,
    },
    /// To let the neighbours go on: the switch does, too.
    Resume {
        /// As in [`ToKeeper::Ready`].
        resumed: Vec<ResumedLink>,
    },
    /// The switch has ended, with this many frames of lossless classes in it.
    Left {
        /// Number of frames.
        frames: u64,
        /// Frames that came when no switch took them from their port any more.
        #[serde(default)]
        missed: u64,
    },
    /// Nothing of the switch blocks the next one any more, though its process may take its time to
    /// end.
    PlaceFree,
    /// The switch forwards.
    Ready {
        /// Frames that release neighbours; others are held by the switch itself, or until their
        /// pause is over.
        resumed: Vec<ResumedLink>,
    },
}

/// Answers of the keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromKeeper {
    /// The next switch is as ready as it can be.
    Prepared {
        /// Why it is not, and will be started when this one has ended.
        #[serde(default)]
        refused: Option<String>,
    },
    /// The place is free.
    Go,
    /// The next switch has ended.
    Discarded,
    /// The neighbours are held.
    Held,
    /// They are not.
    NotHeld {
        /// Why not.
        why: String,
    },
    /// The neighbours were held for a switch that was ready just now, and may go on.
    Released {
        /// From the first pause to the last, in µs.
        held_micros: u64,
        /// Frames that the switch before could not send.
        lost_frames: u64,
        /// Frames of any class that came while no switch was there.
        #[serde(default)]
        missed_frames: u64,
        /// Why the next switch failed, where this is the one from before again.
        #[serde(default)]
        failed: Option<String>,
    },
}

/// Frame that holds one neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLink {
    /// The device's index.
    pub ifindex: u32,
    /// The whole frame that holds it.
    pub pause: Vec<u8>,
    /// Between two of them, in µs.
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

/// Returns the frames that hold all neighbours of a switch: every lossless class by PFC, whatever
/// else a link uses, since every neighbour obeys that.
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

/// Which neighbours go on, now that a switch is there which has these gauges: classes that it does not hold itself.
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

/// A whole PFC frame with one pause time for several classes.
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

/// The switch's end.
#[derive(Debug)]
pub struct KeeperLink {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    line: Vec<u8>,
}

impl KeeperLink {
    /// By standard input, which the keeper has made a socket.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn by_standard_input() -> io::Result<Self> {
        let descriptor = io::stdin().as_fd().try_clone_to_owned()?;
        let stream = StdStream::from(descriptor);
        // Asks whether it is a socket at all.
        stream.peer_addr()?;
        stream.set_nonblocking(true)?;
        let (reader, writer) = UnixStream::from_std(stream)?.into_split();
        Ok(Self {
            reader: BufReader::new(reader),
            writer,
            line: Vec::new(),
        })
    }

    /// The keeper can have the next switch made ready.
    pub fn prepares(&self) -> bool {
        std::env::var_os(PREPARES).is_some()
    }

    /// The keeper starts what ran before where the next switch fails.
    pub fn goes_back(&self) -> bool {
        level() >= KNOWS_WAYS_BACK
    }

    /// Names the file by which this switch can be started again as it runs now.
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

    /// Ends the next switch, which was only tried; it has ended when this returns.
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

    /// Reports that this switch, which was to be the next one, cannot be; returns once the keeper knows.
    pub async fn unready(&mut self, why: &str) {
        if level() >= KNOWS_REASONS {
            let why = why.to_owned();
            // A keeper that is gone needs no reason.
            let _ = write_line(&mut self.writer, &ToKeeper::Unready { why }).await;
            let end = read_line::<FromKeeper>(&mut self.reader, &mut self.line);
            let _ = tokio::time::timeout(ANSWER_WAIT, end).await;
        }
    }

    /// Has the next switch made ready; returns why it is not.
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

    /// Reports that this switch is ready, and waits until the place is free. It may be stopped
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// When the keeper is gone: this switch will not be used.
    pub async fn wait_for_the_place(&mut self) -> io::Result<()> {
        write_line(&mut self.writer, &ToKeeper::Prepared).await?;
        match read_line(&mut self.reader, &mut self.line).await? {
            Some(FromKeeper::Go) => Ok(()),
            Some(other) => Err(unexpected(&other)),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Has the neighbours held; they are when this returns.
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

    /// The keeper can let held neighbours go on while the switch goes on.
    pub fn can_resume(&self) -> bool {
        level() >= KNOWS_RESUMING
    }

    /// Lets held neighbours go on: this switch does, too.
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

    /// Reports the frames left in the switch at its end, and those that it missed then.
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

/// Returns the keeper's capabilities, by [`PREPARES`].
pub fn level() -> u32 {
    let value = std::env::var(PREPARES).unwrap_or_default();
    value.parse().unwrap_or(1)
}

fn unexpected(answer: &FromKeeper) -> io::Error {
    io::Error::other(format!("unexpected answer from the keeper: {answer:?}"))
}

/// Returns the next message; `None` at the end. A partly read one stays in `line` when this is
/// dropped.
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

    /// An older keeper or switch may be at the other end of an upgrade.
    #[test]
    fn what_older_ones_do_not_say_is_none() {
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
