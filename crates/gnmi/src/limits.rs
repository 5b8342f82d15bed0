//! Limits on clients' requests. The error for exceeding a limit names it.

use std::time::Duration;

/// Paths in one Get, and subscriptions in one Subscribe.
pub const PATHS_MAX: usize = 64;
/// Elements of a path, including its prefix.
pub const ELEMENTS_MAX: usize = 32;
/// Keys of one element.
pub const KEYS_MAX: usize = 8;
/// Bytes of a name, of a key's name, of its value, of an origin, and of a target.
pub const TEXT_MAX: usize = 255;
/// Size of a message from a client in bytes.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// Size of an answer to Get in bytes: the default limit of gRPC clients.
pub const RESPONSE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Concurrent calls of Subscribe of all clients together.
pub const STREAMS_MAX: usize = 16;
/// Time limit for the first message of a Subscribe.
pub const FIRST_MESSAGE_WAIT: Duration = Duration::from_secs(10);
/// Minimum interval of samples and heartbeats, and between two checks for changes.
pub const INTERVAL_MIN: Duration = Duration::from_millis(250);
/// Default interval between samples of counters, if the target chooses it.
pub const INTERVAL_DEFAULT: Duration = Duration::from_secs(10);
/// Maximum interval of samples and heartbeats.
pub const INTERVAL_MAX: Duration = Duration::from_secs(24 * 3600);
/// Updates of one notification.
pub const UPDATES_MAX: usize = 256;
/// Messages that wait for a subscriber to read them.
pub const QUEUE_MAX: usize = 8;
/// A subscriber that has read nothing for this long loses its call.
pub const READER_WAIT: Duration = Duration::from_secs(30);
/// Maximum age of values for subscribers: at most eight snapshots per second are taken for all of them together.
pub const LOOK_AGE_MAX: Duration = Duration::from_millis(125);
