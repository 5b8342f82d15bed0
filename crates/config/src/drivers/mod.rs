//! Facts about network drivers, and their consequences for the packet memory.
//!
//! [`table`] has the facts, one row for each driver; the book's page is generated from it. [`offloads`] lists harmful
//! offloads of NICs. [`kinds`] has the kinds of devices: hardware, veth, bond, VLAN device and so on.
//!
//! Design: docs/src/internals/design/devices.md.

pub mod kernels;
pub mod kinds;
mod offloads;
mod reports;
mod table;

use weir_core::Bytes;

use crate::daemon::{DataplaneConfig, ZeroCopy};

pub use offloads::{up_with_lro, Harmful, GRO, HARMFUL, LRO};
pub use reports::{report_rows, reports, Report, REPORTS};
pub use table::DRIVERS;

/// Size of `struct skb_shared_info` behind a buffer, as aligned by the kernel.
const SHARED_INFO: Bytes = Bytes::new(320);
/// Unit to which the kernel rounds the buffers of a multi-buffer frame, since Linux 7.1 (`xsk_pool_get_rx_frame_size`).
const CHAIN_UNIT: Bytes = Bytes::new(128);
/// Time stamp removed by igb and igc from the front of a received frame: a full buffer then appears shorter by this.
const TIME_STAMP: Bytes = Bytes::new(16);
/// Chunk sizes accepted by the kernel.
const CHUNKS: [Bytes; 2] = [DataplaneConfig::CHUNK_MIN, Bytes::new(4096)];

/// Properties of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Name as printed by `ethtool -i`.
    pub name: &'static str,
    /// True if it supports native XDP.
    pub native: bool,
    /// True if a program can write metadata in front of a frame.
    pub metadata: bool,
    /// Requirements of zero-copy; `None` if the driver has none.
    pub zero_copy: Option<&'static str>,
    /// In zero-copy: receive buffers are multiples of this.
    pub granularity: Bytes,
    /// In zero-copy: unused bytes at the end of a buffer.
    pub tailroom: Bytes,
    /// In zero-copy: treatment of a frame longer than a buffer.
    pub too_long: TooLong,
    /// `rxvlan` removes the tag from a frame before the program sees it.
    pub strips_tags: bool,
    /// Frames longer than this take several buffers. The device fills them only if `lro` was on when it was brought up,
    /// but a switch can use it only with `lro` off. `None` if buffers do not depend on `lro`.
    pub lro_above: Option<Bytes>,
    /// Treatment of MAC control frames other than PAUSE, which include PFC.
    pub mac_control: MacControlFrames,
    /// Counter, found only in `ethtool -S`, of frames for which a queue had no buffer: one for each queue.
    pub no_buffer: Option<&'static str>,
    /// Frames redirected to the device by programs, and those of AF_XDP, leave by one queue in order of arrival.
    pub keeps_order: bool,
    /// It drops a frame for which it has no room, unless it has a queueing discipline: then it reports that, and the
    /// frame stays in the TX ring. Since Linux 6.18.
    pub needs_queueing: bool,
    /// It counts frames sent over AF_XDP as sent, as shown by a test.
    pub counts_sent: bool,
    /// Effect of attaching a program on queues and link.
    pub attaching: &'static str,
    /// Source of these facts.
    pub source: &'static str,
}

/// Treatment in zero-copy of a frame longer than its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLong {
    /// Dropped.
    Dropped,
    /// Chained over several buffers for sockets that support it; otherwise dropped.
    Chained,
    /// Split: every buffer is delivered as a separate frame, so the sender controls the headers of the second.
    Cut,
}

impl TooLong {
    /// Word in the book.
    const fn word(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Chained => "chained",
            Self::Cut => "**cut into frames**",
        }
    }
}

/// Treatment of MAC control frames other than PAUSE by a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacControlFrames {
    /// The host receives them.
    Passed,
    /// The host receives them only with `ethtool -K DEVICE rx-all on`.
    WithRxAll,
    /// Unknown: the firmware decides.
    NotKnown,
}

impl MacControlFrames {
    /// Word in the book.
    const fn word(self) -> &'static str {
        match self {
            Self::Passed => "yes",
            Self::WithRxAll => "**with `rx-all on`**",
            Self::NotKnown => "not known",
        }
    }
}

/// Assumptions about a driver without a row: the worst of all rows.
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
    /// Returns true if a test of Weir has run on it; otherwise its sources were read, or nothing is known.
    pub fn is_tested(&self) -> bool {
        self.source.starts_with("tested")
    }

    /// Returns true if the longest frame of `config` arrives only if `lro` was on when the device was brought up.
    pub fn needs_lro(&self, config: &DataplaneConfig) -> bool {
        self.lro_above
            .is_some_and(|longest| config.frame_length_max() > longest)
    }

    /// In zero-copy: bytes of a chunk available for a frame, if frames take one chunk each.
    pub fn buffer(&self, chunk: Bytes) -> Bytes {
        let room = chunk.saturating_sub(DataplaneConfig::XDP_HEADROOM + self.tailroom);
        round_down(room, self.granularity)
    }

    /// In zero-copy: a frame of at least this length is part of a split one. `None` if the driver does not split.
    pub fn cut_length(&self, chunk: Bytes) -> Option<Bytes> {
        let cuts = self.too_long == TooLong::Cut;
        cuts.then(|| self.buffer(chunk).saturating_sub(TIME_STAMP))
    }

    /// The longest frame received whole in zero-copy, if sockets of `config` are bound with chunks of this size.
    pub fn longest_frame(&self, chunk: Bytes) -> Bytes {
        let below = |cut: Bytes| cut.saturating_sub(Bytes::new(1));
        self.cut_length(chunk).map_or(self.buffer(chunk), below)
    }

    /// Checks that frames of `config` are received whole in zero-copy.
    ///
    /// # Errors
    ///
    /// The frame that is too long, and the longest possible one.
    pub fn holds_frames(&self, config: &DataplaneConfig) -> Result<(), TooShort> {
        let chunk = config.chunk_size();
        let (needed, has) = match config.has_long_frames() {
            // The kernel binds in zero-copy only if the driver chains buffers. For each cell there must be a buffer of
            // at least its size.
            true => (config.cell, chained_part(chunk)),
            false => (config.frame_length_max(), self.longest_frame(chunk)),
        };
        match needed <= has {
            true => Ok(()),
            false => Err(TooShort { chunk, needed, has }),
        }
    }
}

/// Error: a receive buffer is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// Size of its chunk.
    pub chunk: Bytes,
    /// Required size.
    pub needed: Bytes,
    /// Available size.
    pub has: Bytes,
}

/// In zero-copy: bytes of a chunk for a frame in several chunks. At least as many in copy mode.
pub(crate) fn chained_part(chunk: Bytes) -> Bytes {
    let room = chunk.saturating_sub(DataplaneConfig::XDP_HEADROOM + SHARED_INFO);
    round_down(room, CHAIN_UNIT)
}

fn round_down(bytes: Bytes, unit: Bytes) -> Bytes {
    Bytes::new(bytes.get() - bytes.get() % unit.get().max(1))
}

/// The chunk size for ports with these drivers: that of the file, or the smallest that holds a frame of `config` in
/// zero-copy with all drivers that may use it. If there is none, frames take several chunks, or zero-copy is refused
/// later.
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

/// The book's table of drivers, in Markdown.
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
