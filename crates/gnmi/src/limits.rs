//! Limits on clients' requests. The error for exceeding one names it.

use std::time::Duration;

/// Paths of one Get, and subscriptions of one Subscribe.
pub const PATHS_MAX: usize = 64;
/// Elements of a path, its prefix included.
pub const ELEMENTS_MAX: usize = 32;
/// Keys of one element.
pub const KEYS_MAX: usize = 8;
/// Bytes of a name, of a key's name, of its value, of an origin, and of a target.
pub const TEXT_MAX: usize = 255;
/// Bytes of a message from a client.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// Bytes of an answer to Get: what clients of gRPC take by default.
pub const RESPONSE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Calls of Subscribe at a time, of all clients together.
pub const STREAMS_MAX: usize = 16;
/// The first message of a Subscribe must have come by then.
pub const FIRST_MESSAGE_WAIT: Duration = Duration::from_secs(10);
/// Minimum interval of samples and heartbeats, and between two checks for changes.
pub const INTERVAL_MIN: Duration = Duration::from_millis(250);
/// Between two samples of counters whose subscriber leaves it to the target.
pub const INTERVAL_DEFAULT: Duration = Duration::from_secs(10);
/// The longest interval of samples and heartbeats.
pub const INTERVAL_MAX: Duration = Duration::from_secs(24 * 3600);
/// Updates of one notification.
pub const UPDATES_MAX: usize = 256;
/// Messages that wait for a subscriber to read them.
pub const QUEUE_MAX: usize = 8;
/// A subscriber that has taken nothing for this long loses its call.
pub const READER_WAIT: Duration = Duration::from_secs(30);
/// Maximum age of values for subscribers: however many they are, at most eight snapshots a second
/// are taken for them.
pub const LOOK_AGE_MAX: Duration = Duration::from_millis(125);
