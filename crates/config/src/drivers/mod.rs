//! What is known of network drivers, and what follows from it for the packet memory.
//!
//! [`table`] has the facts, one row for each driver; the book's page is generated from it. [`offloads`] lists what a NIC can
//! be told not to do. [`kinds`] has the kinds of devices: hardware, veth, bond, VLAN device and so on.
//!
//! Design: docs/src/internals/design/devices.md.

pub mod kernels;
pub mod kinds;
mod offloads;
mod reports;
mod table;

use weir_core::Bytes;

use crate::daemon::{DataplaneConfig, ZeroCopy};

pub use offloads::{up_with_lro, Harmful, HARMFUL, LRO};
pub use reports::{report_rows, reports, Report, REPORTS};
pub use table::DRIVERS;

/// Bytes of `struct skb_shared_info` behind a buffer, as the kernel aligns it.
const SHARED_INFO: Bytes = Bytes::new(320);
/// What the kernel rounds the buffers of a frame of several to, since Linux 7.1 (`xsk_pool_get_rx_frame_size`).
const CHAIN_UNIT: Bytes = Bytes::new(128);
/// A time stamp that igb and igc take off the front of a received frame: a full buffer then looks shorter by this.
const TIME_STAMP: Bytes = Bytes::new(16);
/// The sizes of a chunk that the kernel takes.
const CHUNKS: [Bytes; 2] = [DataplaneConfig::CHUNK_MIN, Bytes::new(4096)];

/// What a driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// As `ethtool -i` has it.
    pub name: &'static str,
    /// It runs XDP programs itself.
    pub native: bool,
    /// A program can write metadata in front of a frame.
    pub metadata: bool,
    /// What zero-copy needs; `None` where the driver has none.
    pub zero_copy: Option<&'static str>,
    /// In zero-copy: receive buffers are whole multiples of this.
    pub granularity: Bytes,
    /// In zero-copy: bytes at a buffer's end that stay free.
    pub tailroom: Bytes,
    /// In zero-copy: what becomes of a frame that is longer than a buffer.
    pub too_long: TooLong,
    /// `rxvlan` takes the tag out of a frame before the program sees it.
    pub strips_tags: bool,
    /// Longer frames take several buffers, which the device fills only if `lro` was on as it was brought up, though a switch
    /// can only use it with `lro` off. `None` where buffers have nothing to do with `lro`.
    pub lro_above: Option<Bytes>,
    /// Whether MAC control frames other than PAUSE, PFC among them, come to the program.
    pub mac_control: MacControlFrames,
    /// `ethtool -S` alone has the frames for which a queue had no buffer: under this name, once for each queue.
    pub no_buffer: Option<&'static str>,
    /// Frames that programs redirect to the device, and those of AF_XDP, leave by one queue in the order in which they came.
    pub keeps_order: bool,
    /// It drops a frame that it has no room for, unless it has a queueing discipline: then it says so, and the frame stays in the
    /// TX ring. Since Linux 6.18.
    pub needs_queueing: bool,
    /// It counts the frames that AF_XDP sends as sent, as a test has shown.
    pub counts_sent: bool,
    /// What attaching a program does to queues and link.
    pub attaching: &'static str,
    /// Where all this is from.
    pub source: &'static str,
}

/// What a driver does in zero-copy with a frame that is longer than its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLong {
    /// It drops the frame.
    Dropped,
    /// It chains buffers, for sockets that take such frames; otherwise it drops the frame.
    Chained,
    /// It hands over every buffer as a frame of its own: the sender writes the headers of the second.
    Cut,
}

impl TooLong {
    /// In the book.
    const fn word(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Chained => "chained",
            Self::Cut => "**cut into frames**",
        }
    }
}

/// Whether a NIC passes MAC control frames other than PAUSE on to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacControlFrames {
    /// It does.
    Passed,
    /// The driver has it do that only with `ethtool -K DEVICE rx-all on`.
    WithRxAll,
    /// The driver says nothing of it: its firmware decides.
    NotKnown,
}

impl MacControlFrames {
    /// In the book.
    const fn word(self) -> &'static str {
        match self {
            Self::Passed => "yes",
            Self::WithRxAll => "**with `rx-all on`**",
            Self::NotKnown => "not known",
        }
    }
}

/// What is assumed of a driver that has no row: the worst of those that have one.
pub const UNKNOWN: Driver = Driver {
    name: "any other",
    native: true,
    metadata: true,
    zero_copy: Some("not known"),
    granularity: Bytes::new(1024),
    tailroom: SHARED_INFO,
    too_long: TooLong::Cut,
    strips_tags: true,
    lro_above: None,
    mac_control: MacControlFrames::NotKnown,
    no_buffer: None,
    keeps_order: false,
    needs_queueing: false,
    counts_sent: false,
    attaching: "not known",
    source: "assumed: the worst of all others",
};

/// The facts about a driver by name.
pub fn driver(name: &str) -> &'static Driver {
    let known = DRIVERS.iter().find(|driver| driver.name == name);
    known.unwrap_or(&UNKNOWN)
}

impl Driver {
    /// A test of Weir has run on it; otherwise its sources were read, or nothing is known.
    pub fn is_tested(&self) -> bool {
        self.source.starts_with("tested")
    }

    /// Whether the longest frame of `config` comes in only where `lro` was on as the device was brought up.
    pub fn needs_lro(&self, config: &DataplaneConfig) -> bool {
        self.lro_above
            .is_some_and(|longest| config.frame_length_max() > longest)
    }

    /// In zero-copy: bytes of a chunk that a frame can have, if frames take one chunk each.
    pub fn buffer(&self, chunk: Bytes) -> Bytes {
        let room = chunk.saturating_sub(DataplaneConfig::XDP_HEADROOM + self.tailroom);
        round_down(room, self.granularity)
    }

    /// In zero-copy: what is as long as this, or longer, is a part of a frame that was cut. `None` where nothing is cut.
    pub fn cut_length(&self, chunk: Bytes) -> Option<Bytes> {
        let cuts = self.too_long == TooLong::Cut;
        cuts.then(|| self.buffer(chunk).saturating_sub(TIME_STAMP))
    }

    /// The longest frame that is received whole in zero-copy, if sockets of `config` are bound with chunks of this size.
    pub fn longest_frame(&self, chunk: Bytes) -> Bytes {
        let below = |cut: Bytes| cut.saturating_sub(Bytes::new(1));
        self.cut_length(chunk).map_or(self.buffer(chunk), below)
    }

    /// Whether frames of `config` are received whole in zero-copy.
    ///
    /// # Errors
    ///
    /// The frame that is too long and the longest that is not.
    pub fn holds_frames(&self, config: &DataplaneConfig) -> Result<(), TooShort> {
        let chunk = config.chunk_size();
        let (needed, has) = match config.has_long_frames() {
            // The kernel binds in zero-copy only where the driver chains buffers. Each of a cell's size at least has to
            // be there for a cell.
            true => (config.cell, chained_part(chunk)),
            false => (config.frame_length_max(), self.longest_frame(chunk)),
        };
        match needed <= has {
            true => Ok(()),
            false => Err(TooShort { chunk, needed, has }),
        }
    }
}

/// A receive buffer that does not hold what it has to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// The chunk that it is in.
    pub chunk: Bytes,
    /// What it has to hold.
    pub needed: Bytes,
    /// What it holds.
    pub has: Bytes,
}

/// In zero-copy: bytes of a chunk in a frame of several. In copy mode they are no fewer.
pub(crate) fn chained_part(chunk: Bytes) -> Bytes {
    let room = chunk.saturating_sub(DataplaneConfig::XDP_HEADROOM + SHARED_INFO);
    round_down(room, CHAIN_UNIT)
}

fn round_down(bytes: Bytes, unit: Bytes) -> Bytes {
    Bytes::new(bytes.get() - bytes.get() % unit.get().max(1))
}

/// The chunk for ports with these drivers: as the file says, or the smallest that holds a frame of `config` in zero-copy
/// on all that may have it. Where none does, frames take several chunks, or zero-copy is refused later.
pub fn chunk_for(config: &DataplaneConfig, drivers: &[&Driver]) -> Bytes {
    let shares = |driver: &&&Driver| driver.zero_copy.is_some();
    let sharing: Vec<_> = drivers.iter().filter(shares).collect();
    if config.zero_copy == ZeroCopy::Off || sharing.is_empty() {
        return config.chunk_size();
    }
    let holds = |chunk: &Bytes| {
        let with = config.with_chunk(*chunk);
        !with.has_long_frames()
            && sharing
                .iter()
                .all(|driver| driver.holds_frames(&with).is_ok())
    };
    let found = CHUNKS.into_iter().find(holds);
    config.chunk.or(found).unwrap_or(config.chunk_size())
}

/// The table of the book's page, in Markdown.
pub fn rows() -> String {
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    let row = |driver: &Driver| {
        let buffers = match driver.zero_copy {
            None => "– | –".to_owned(),
            Some(_) => format!(
                "{} B | {}",
                driver.granularity.get(),
                driver.too_long.word()
            ),
        };
        let lro_above = driver.lro_above;
        let lro_above = lro_above.map_or("–".to_owned(), |it| format!("{} B", it.get()));
        format!(
            "| `{}` | {} | {} | {} | {buffers} | {lro_above} | {} | {} | {} | {} | {} |\n",
            driver.name,
            yes(driver.native),
            yes(driver.metadata),
            driver.zero_copy.unwrap_or("no"),
            yes(driver.strips_tags),
            driver.mac_control.word(),
            yes(driver.keeps_order),
            driver.attaching,
            driver.source
        )
    };
    DRIVERS.iter().chain([&UNKNOWN]).map(row).collect()
}

#[cfg(test)]
mod tests;
