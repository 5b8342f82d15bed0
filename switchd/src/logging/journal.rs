//! Entries of systemd's journal: one field for each field of an event.
//!
//! `tracing_journald` implements the journal's protocol, but writes to its socket on the event's thread, which may block.
//! Events are therefore copied into the log's queue, and emitted a second time for the library on the log's thread.

use std::fmt::{self, Write};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use tracing::dispatcher::{self, Dispatch};
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber};
use tracing_journald::{Priority, PriorityMappings};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::Layer;

use super::queue::LogQueue;

pub(super) const SOCKET: &str = "/run/systemd/journal/socket";
/// Identifier for `journalctl -t`.
const IDENTIFIER: &str = "weir-switchd";
/// Prefix of the names of events' fields: `port` becomes `WEIR_PORT`.
const FIELD_PREFIX: &str = "WEIR";
/// Maximum number of fields of an event, including the message.
const FIELDS_MAX: usize = 32;
/// An event's text, without its fields.
const MESSAGE: &str = "message";

/// Returns true when the service manager has connected standard error to the journal:
/// `JOURNAL_STREAM` then has its device and inode (systemd.exec(5)).
pub(super) fn has_standard_error() -> bool {
    let Some(stream) = std::env::var_os("JOURNAL_STREAM") else {
        return false;
    };
    let metadata = io::stderr()
        .as_fd()
        .try_clone_to_owned()
        .and_then(|descriptor| std::fs::File::from(descriptor).metadata());
    metadata.is_ok_and(|file| *stream == *format!("{}:{}", file.dev(), file.ino()))
}

#[derive(Debug)]
pub(super) struct Journal(Dispatch);

impl Journal {
    pub(super) fn connect() -> io::Result<Self> {
        let journal = tracing_journald::Layer::new()?
            .with_syslog_identifier(IDENTIFIER.to_owned())
            .with_field_prefix(Some(FIELD_PREFIX.to_owned()))
            .with_priority_mappings(PriorityMappings {
                info: Priority::Informational,
                debug: Priority::Debug,
                ..PriorityMappings::new()
            });
        // Events here have passed the filter already. Off means that this subscriber wants no other events; otherwise every
        // event of every level would be evaluated by its thread.
        let subscriber = tracing_subscriber::registry()
            .with(LevelFilter::OFF)
            .with(journal);
        Ok(Self(Dispatch::new(subscriber)))
    }

    /// Writes `entry`; may block.
    pub(super) fn write(&self, entry: &JournalEntry) {
        let Some((first, _)) = entry.values.first() else {
            return;
        };
        let mut values = [(first, None); FIELDS_MAX];
        for (place, (field, text)) in values.iter_mut().zip(&entry.values) {
            *place = (field, Some(text as &dyn tracing::Value));
        }
        let fields = entry.metadata.fields();
        dispatcher::with_default(&self.0, || {
            Event::dispatch(entry.metadata, &fields.value_set(&values));
        });
    }

    pub(super) fn warn(&self, message: &str) {
        dispatcher::with_default(&self.0, || tracing::warn!("{message}"));
    }
}

#[derive(Debug)]
pub(super) struct JournalEntry {
    metadata: &'static Metadata<'static>,
    /// The message also contains all other fields, as on standard error.
    values: Vec<(Field, String)>,
}

#[derive(Debug)]
pub(super) struct JournalLayer {
    queue: LogQueue,
}

impl JournalLayer {
    pub(super) fn new(queue: LogQueue) -> Self {
        Self { queue }
    }
}

impl<S: Subscriber> Layer<S> for JournalLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut copy = Copy::default();
        event.record(&mut copy);
        self.queue.push_journal(JournalEntry {
            metadata: event.metadata(),
            values: copy.finish(),
        });
    }
}

#[derive(Debug, Default)]
struct Copy {
    values: Vec<(Field, String)>,
    /// ` name=value` for every field.
    tail: String,
}

impl Copy {
    fn add(&mut self, field: &Field, value: String, shown: fmt::Arguments<'_>) {
        if self.values.len() == FIELDS_MAX {
            return;
        }
        if field.name() != MESSAGE {
            // Writing to a String does not fail.
            let _ = write!(self.tail, " {}={shown}", field.name());
        }
        self.values.push((field.clone(), value));
    }

    fn finish(mut self) -> Vec<(Field, String)> {
        let message = self
            .values
            .iter_mut()
            .find(|(field, _)| field.name() == MESSAGE);
        if let Some((_, text)) = message {
            text.push_str(&self.tail);
        }
        self.values
    }
}

impl Visit for Copy {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.to_owned(), format_args!("{value:?}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"), format_args!("{value:?}"));
    }
}
