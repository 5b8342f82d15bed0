//! Commands of an endpoint on standard input.

use std::io::{self, Read};

use weir_core::units::{Instant, Priority, Quanta, PRIORITY_COUNT};
use weir_core::wire::mac_control::MacControl;

/// Longest line, in bytes.
pub const LINE_BYTES_MAX: usize = 256;

/// A command line on standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `begin NANOS`: start traffic at this time of `CLOCK_MONOTONIC`, in nanoseconds.
    Begin(Instant),
    /// `stop-sending`: send no further data frame.
    StopSending,
    /// `snapshot`: print counters.
    Snapshot,
    /// `finish`: write the report and exit; also at the end of the input.
    Finish,
    /// `pfc PRIORITY QUANTA` or `pause QUANTA`: send this MAC control frame to the neighbour. 0 quanta resume. Models a host
    /// that pauses its switch, or a pause storm.
    Inject(MacControl),
    /// `obey-pfc` or `ignore-pfc`: obey PFC from now on, or not.
    ObeyPfc(bool),
}

/// Parses one line.
///
/// # Errors
/// Describes the line and the valid commands.
pub fn parse(line: &str) -> Result<Command, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["begin", nanos] => match nanos.parse() {
            Ok(nanos) => Ok(Command::Begin(Instant::from_nanos(nanos))),
            Err(_) => Err(format!("`{nanos}` is not a time in nanoseconds")),
        },
        ["stop-sending"] => Ok(Command::StopSending),
        ["snapshot"] => Ok(Command::Snapshot),
        ["finish"] => Ok(Command::Finish),
        ["obey-pfc"] => Ok(Command::ObeyPfc(true)),
        ["ignore-pfc"] => Ok(Command::ObeyPfc(false)),
        ["pause", time] => Ok(Command::Inject(MacControl::Pause {
            quanta: quanta(time)?,
        })),
        ["pfc", priority, time] => {
            let priority = priority.parse().ok().and_then(Priority::new);
            let priority = priority.ok_or_else(|| "the priority must be 0 to 7".to_owned())?;
            let mut times = [None; PRIORITY_COUNT];
            times[priority.index()] = Some(quanta(time)?);
            Ok(Command::Inject(MacControl::Pfc { times }))
        }
        _ => Err(format!(
            "unknown command `{line}`; valid: begin NANOS, stop-sending, snapshot, finish, obey-pfc, ignore-pfc, pause QUANTA, pfc PRIORITY QUANTA"
        )),
    }
}

fn quanta(text: &str) -> Result<Quanta, String> {
    text.parse()
        .map(Quanta)
        .map_err(|_| format!("`{text}` is not a time in quanta, 0 to 65535"))
}

/// Splits a stream of bytes into lines of at most [`LINE_BYTES_MAX`].
#[derive(Debug, Default)]
pub struct LineReader {
    pending: Vec<u8>,
    /// True while the rest of an overlong line is skipped.
    skipping: bool,
}

/// Result of one read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Complete lines; `Err` for one that was too long.
    pub lines: Vec<Result<String, String>>,
    /// True at the end of the input.
    pub ended: bool,
}

impl LineReader {
    /// Reads once and returns the completed lines.
    ///
    /// # Errors
    /// Those of `input`.
    pub fn read_from(&mut self, mut input: impl Read) -> io::Result<Lines> {
        let mut bytes = [0; 4096];
        let count = input.read(&mut bytes)?;
        let mut found = Lines {
            ended: count == 0,
            ..Lines::default()
        };
        for byte in &bytes[..count] {
            if *byte == b'\n' {
                let line = String::from_utf8_lossy(&self.pending).trim().to_owned();
                self.pending.clear();
                if !std::mem::take(&mut self.skipping) && !line.is_empty() {
                    found.lines.push(Ok(line));
                }
            } else if self.skipping {
                continue;
            } else if self.pending.len() == LINE_BYTES_MAX {
                self.skipping = true;
                found
                    .lines
                    .push(Err(format!("line longer than {LINE_BYTES_MAX} B")));
            } else {
                self.pending.push(*byte);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_mean_what_is_documented() {
        let at = Instant::from_nanos(12);
        assert_eq!(parse("begin 12"), Ok(Command::Begin(at)));
        assert!(parse("begin soon").unwrap_err().contains("`soon`"));
        assert_eq!(parse("stop-sending"), Ok(Command::StopSending));
        assert_eq!(parse("finish"), Ok(Command::Finish));
        assert_eq!(parse("obey-pfc"), Ok(Command::ObeyPfc(true)));
        assert_eq!(parse("ignore-pfc"), Ok(Command::ObeyPfc(false)));
        assert_eq!(parse("snapshot"), Ok(Command::Snapshot));
        assert_eq!(
            parse("pause 7"),
            Ok(Command::Inject(MacControl::Pause { quanta: Quanta(7) }))
        );
        let mut times = [None; PRIORITY_COUNT];
        times[3] = Some(Quanta::MAX);
        assert_eq!(
            parse("pfc 3 65535"),
            Ok(Command::Inject(MacControl::Pfc { times }))
        );
        for bad in [
            "",
            "stop",
            "pfc 8 1",
            "pfc 3",
            "pfc 3 65536",
            "pause -1",
            "finish now",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lines_come_in_pieces_and_long_ones_are_refused() {
        let mut reader = LineReader::default();
        assert_eq!(reader.read_from(&b"snap"[..]).unwrap(), Lines::default());
        let long = "x".repeat(2 * LINE_BYTES_MAX);
        let text = format!("shot\r\n\n{long}\nfinish\n");
        let found = reader.read_from(text.as_bytes()).unwrap();
        assert_eq!(found.lines.len(), 3);
        assert_eq!(found.lines[0].as_deref(), Ok("snapshot"));
        assert!(found.lines[1].is_err());
        assert_eq!(found.lines[2].as_deref(), Ok("finish"));
        assert!(reader.read_from(&b""[..]).unwrap().ended);
    }
}
