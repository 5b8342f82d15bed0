//! The bounded queue between logging threads and the writing thread.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{bounded, Receiver, Sender};
use tracing_subscriber::fmt::MakeWriter;

use super::journal::{Journal, JournalEntry};

/// Maximum number of entries waiting to be written.
const QUEUE_CAPACITY: usize = 4_096;
/// Time that the end of the daemon waits for the last entries.
const FLUSH_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug)]
enum Entry {
    /// A whole line for standard error.
    Line(Vec<u8>),
    /// An entry for the journal.
    Journal(JournalEntry),
    /// Reports that all earlier entries are written.
    Flush(Sender<()>),
}

/// Accepts entries without waiting.
#[derive(Clone, Debug)]
pub(super) struct LogQueue {
    entries: Sender<Entry>,
    lost: Arc<AtomicU64>,
}

/// Writes the last entries when it is dropped.
#[derive(Debug)]
pub struct LogGuard {
    entries: Sender<Entry>,
}

/// Starts the thread; lines go to `output`, journal entries to `journal`.
pub(super) fn start(
    output: impl Write + Send + 'static,
    journal: Option<Journal>,
) -> io::Result<(LogQueue, LogGuard)> {
    let (entries, queued) = bounded(QUEUE_CAPACITY);
    let lost = Arc::new(AtomicU64::new(0));
    let queue = LogQueue {
        entries: entries.clone(),
        lost: Arc::clone(&lost),
    };
    std::thread::Builder::new()
        .name("weir-log".to_owned())
        .spawn(move || write_entries(&queued, &lost, output, journal.as_ref()))?;
    Ok((queue, LogGuard { entries }))
}

fn write_entries(
    entries: &Receiver<Entry>,
    lost: &AtomicU64,
    mut output: impl Write,
    journal: Option<&Journal>,
) {
    // A failure to write the log cannot be reported anywhere.
    for entry in entries {
        match entry {
            Entry::Line(bytes) => {
                let _ = output.write_all(&bytes);
            }
            Entry::Journal(entry) => {
                if let Some(journal) = journal {
                    journal.write(&entry);
                }
            }
            Entry::Flush(done) => {
                let _ = output.flush();
                let _ = done.send(());
            }
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let told = format!("{lost} log lines lost: the log reader is too slow");
            match journal {
                Some(journal) => journal.warn(&told),
                None => {
                    let _ = writeln!(output, "{told}");
                }
            }
        }
    }
}

impl LogQueue {
    pub(super) fn push_journal(&self, entry: JournalEntry) {
        self.push(Entry::Journal(entry));
    }

    fn push(&self, entry: Entry) {
        if self.entries.try_send(entry).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<'a> MakeWriter<'a> for LogQueue {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        self.clone()
    }
}

impl Write for LogQueue {
    /// Accepts a whole line: tracing-subscriber writes each with one call.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(Entry::Line(bytes.to_vec()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LogGuard {
    /// Waits, for at most a second, until everything logged so far is written.
    pub fn flush(&self) {
        let (done, written) = bounded(1);
        if self
            .entries
            .send_timeout(Entry::Flush(done), FLUSH_WAIT)
            .is_ok()
        {
            // There is no remedy for a blocked reader.
            let _ = written.recv_timeout(FLUSH_WAIT);
        }
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.flush();
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
        let (mut writer, guard) = start(
            Gated {
                gate,
                written: Arc::clone(&written),
            },
            None,
        )
        .unwrap();
        for _ in 0..QUEUE_CAPACITY + 10 {
            assert_eq!(writer.write(b"line\n").unwrap(), 5);
        }
        drop(open);
        guard.flush();
        let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        let lines = text.lines().filter(|line| *line == "line").count();
        assert!((QUEUE_CAPACITY..QUEUE_CAPACITY + 10).contains(&lines));
        assert!(text.contains("log lines lost"));
    }
}
