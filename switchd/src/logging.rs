//! The daemon's log on standard error.
//!
//! Lines go through a bounded queue to a thread of their own: whoever reads standard error may stop
//! reading, and neither dataplane nor control plane may wait for that. Lines that find the queue full
//! are lost, and the log says how many.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{bounded, Receiver, Sender};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{reload, EnvFilter, Registry};

/// Lines that wait to be written at most.
const QUEUE_CAPACITY: usize = 4_096;
/// How long the end of the daemon waits for the last lines.
const FLUSH_WAIT: Duration = Duration::from_secs(1);

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Why the log cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The level is not one.
    #[error(
        "`{level}` is not a log level: write error, warn, info, debug or trace, or a list such as \
         warn,weir_switchd=debug ({reason})"
    )]
    Level {
        /// What was given.
        level: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The thread that writes cannot be started.
    #[error("cannot start the log's thread: {0}")]
    Thread(#[from] io::Error),
    /// There is a log already.
    #[error("the log is set up already")]
    Twice,
}

/// Sets up the log of the whole process.
///
/// # Errors
///
/// See [`LogError`].
pub fn start(level: &str, format: LogFormat) -> Result<(LogGuard, LevelHandle), LogError> {
    let filter = filter(level)?;
    let (writer, guard) = queue(io::stderr())?;
    let (filter, handle) = reload::Layer::new(filter);
    let lines = fmt::layer().with_ansi(false).with_writer(writer);
    let registry = tracing_subscriber::registry().with(filter);
    match format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    }
    .map_err(|_| LogError::Twice)?;
    Ok((guard, LevelHandle(handle)))
}

/// Changes what is logged.
#[derive(Clone, Debug)]
pub struct LevelHandle(reload::Handle<EnvFilter, Registry>);

impl LevelHandle {
    /// Logs by `level` from now on.
    ///
    /// # Errors
    ///
    /// [`LogError::Level`].
    pub fn set(&self, level: &str) -> Result<(), LogError> {
        // The log itself lives as long as the process.
        let _ = self.0.reload(filter(level)?);
        Ok(())
    }
}

fn filter(level: &str) -> Result<EnvFilter, LogError> {
    EnvFilter::try_new(level).map_err(|error| LogError::Level {
        level: level.to_owned(),
        reason: error.to_string(),
    })
}

/// Writes the last lines when it is dropped.
#[derive(Debug)]
pub struct LogGuard {
    lines: Sender<Line>,
}

impl LogGuard {
    /// Waits, for a second at most, until what was logged so far is written.
    pub fn flush(&self) {
        let (done, written) = bounded(1);
        if self
            .lines
            .send_timeout(Line::Flush(done), FLUSH_WAIT)
            .is_ok()
        {
            // Nothing more can be done about a reader that does not read.
            let _ = written.recv_timeout(FLUSH_WAIT);
        }
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.flush();
    }
}

#[derive(Debug)]
enum Line {
    Text(Vec<u8>),
    Flush(Sender<()>),
}

#[derive(Clone, Debug)]
struct QueueWriter {
    lines: Sender<Line>,
    lost: Arc<AtomicU64>,
}

fn queue(output: impl Write + Send + 'static) -> io::Result<(QueueWriter, LogGuard)> {
    let (lines, queued) = bounded(QUEUE_CAPACITY);
    let lost = Arc::new(AtomicU64::new(0));
    let writer = QueueWriter {
        lines: lines.clone(),
        lost: Arc::clone(&lost),
    };
    std::thread::Builder::new()
        .name("weir-log".to_owned())
        .spawn(move || write_lines(&queued, &lost, output))?;
    Ok((writer, LogGuard { lines }))
}

fn write_lines(lines: &Receiver<Line>, lost: &AtomicU64, mut output: impl Write) {
    // There is nowhere to report that the log cannot be written.
    for line in lines {
        match line {
            Line::Text(bytes) => {
                let _ = output.write_all(&bytes);
            }
            Line::Flush(done) => {
                let _ = output.flush();
                let _ = done.send(());
            }
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(
                output,
                "{lost} log lines were lost: the log is read too slowly"
            );
        }
    }
}

impl<'a> MakeWriter<'a> for QueueWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        self.clone()
    }
}

impl Write for QueueWriter {
    /// Takes a whole line: tracing-subscriber writes each with one call.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(Line::Text(bytes.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Blocks in `write` until its gate opens.
    struct Gated {
        gate: Receiver<()>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Gated {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.gate.recv();
            self.written.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stuck_reader_costs_lines_and_never_waits() {
        let (open, gate) = bounded::<()>(0);
        let written = Arc::default();
        let (mut writer, guard) = queue(Gated {
            gate,
            written: Arc::clone(&written),
        })
        .unwrap();
        for _ in 0..QUEUE_CAPACITY + 10 {
            assert_eq!(writer.write(b"line\n").unwrap(), 5);
        }
        drop(open);
        guard.flush();
        let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        let lines = text.lines().filter(|line| *line == "line").count();
        assert!((QUEUE_CAPACITY..QUEUE_CAPACITY + 10).contains(&lines));
        assert!(text.contains("log lines were lost"));
    }
}
