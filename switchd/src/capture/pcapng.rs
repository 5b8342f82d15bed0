//! Captures as pcapng (draft-ietf-opsawg-pcapng), with nanoseconds.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::{DataLink, Endianness};
use weir_core::{Instant, PortId};
use weir_dataplane::tap::{Record, Tap};

use super::describe;
use crate::control::info::SwitchInfo;
use crate::model::clock;
use crate::model::sight::Direction;

/// if_tsresol: 10^-9 s.
const NANOSECONDS: u8 = 9;
/// epb_flags.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// if_filter: a capture filter as text follows.
const FILTER_IS_TEXT: u8 = 0;

/// Writes blocks into memory.
pub struct Encoder {
    writer: PcapNgWriter<Vec<u8>>,
    interfaces: Vec<PortId>,
    depths: [u8; 8],
    /// Wall clock in nanoseconds since 1970 at the zero of the monotonic clock.
    epoch_nanos: u64,
    began: Instant,
}

/// Failure to write a block. It does not happen, since blocks are written to memory.
pub type EncodeError = pcap_file::PcapError;

impl Encoder {
    /// Begins a section with an interface for each port that `tap` records.
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn new(info: &SwitchInfo, tap: &Tap, filter: &str) -> Result<Self, EncodeError> {
        let version = env!("CARGO_PKG_VERSION");
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            major_version: 1,
            minor_version: 0,
            section_length: -1,
            options: vec![
                SectionHeaderOption::OS(Cow::Borrowed("Linux")),
                SectionHeaderOption::UserApplication(Cow::Owned(format!(
                    "Weir {version}, switch {}",
                    info.name
                ))),
            ],
        };
        let mut writer = PcapNgWriter::with_section_header(Vec::new(), section)?;
        let plan = tap.plan();
        let interfaces: Vec<PortId> = plan.ports.iter().collect();
        for port in &interfaces {
            let Some(port) = info.ports.get(port.index()) else {
                continue;
            };
            let mut options = vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(&port.name)),
                InterfaceDescriptionOption::IfDescription(Cow::Owned(format!(
                    "port {} of switch {}, device {}",
                    port.name, info.name, port.device
                ))),
                InterfaceDescriptionOption::IfMacAddr(Cow::Owned(port.address().0.to_vec())),
                InterfaceDescriptionOption::IfSpeed(port.rate.get()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ];
            if !filter.is_empty() {
                let text = [&[FILTER_IS_TEXT], filter.as_bytes()].concat();
                options.push(InterfaceDescriptionOption::IfFilter(Cow::Owned(text)));
            }
            writer.write_pcapng_block(InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: plan.snap_bytes as u32,
                options,
            })?;
        }
        let began = clock::now();
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos() as u64;
        Ok(Self {
            writer,
            interfaces,
            depths: describe::depths(info),
            epoch_nanos: wall.saturating_sub(began.as_nanos()),
            began,
        })
    }

    /// Writes a frame.
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn frame(&mut self, record: &Record) -> Result<(), EncodeError> {
        let interface = self.interfaces.iter().position(|port| *port == record.port);
        let at = self.wall(record.at);
        let comment = describe::comment(record, &self.depths, at);
        let flags = match record.direction {
            Direction::In => INBOUND,
            Direction::Out => OUTBOUND,
        };
        let block = EnhancedPacketBlock {
            interface_id: interface.unwrap_or(0) as u32,
            timestamp: std::time::Duration::from_nanos(at),
            original_len: record.length as u32,
            data: Cow::Borrowed(record.bytes()),
            options: vec![
                EnhancedPacketOption::Comment(Cow::Owned(comment)),
                EnhancedPacketOption::Flags(flags),
            ],
        };
        self.writer.write_pcapng_block(block)?;
        Ok(())
    }

    /// Writes the counts so far of every interface.
    ///
    /// # Errors
    ///
    /// See [`EncodeError`].
    pub fn statistics(&mut self, tap: &Tap) -> Result<(), EncodeError> {
        let now = words_swapped(self.wall(clock::now()));
        let began = words_swapped(self.wall(self.began));
        for (interface, port) in self.interfaces.iter().enumerate() {
            let figures = tap.figures(*port);
            let block = InterfaceStatisticsBlock {
                interface_id: interface as u32,
                timestamp: now,
                options: vec![
                    InterfaceStatisticsOption::IsbStartTime(began),
                    InterfaceStatisticsOption::IsbEndTime(now),
                    InterfaceStatisticsOption::IsbIfRecv(figures.seen),
                    InterfaceStatisticsOption::IsbIfDrop(figures.lost),
                    InterfaceStatisticsOption::IsbFilterAccept(figures.matched),
                    InterfaceStatisticsOption::IsbUsrDeliv(figures.copied),
                ],
            };
            self.writer.write_pcapng_block(block)?;
        }
        Ok(())
    }

    /// Returns the number of bytes that wait to be taken.
    pub fn len(&self) -> usize {
        self.writer.get_ref().len()
    }

    /// True when nothing waits to be taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the whole blocks written since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.get_mut())
    }

    fn wall(&self, at: Instant) -> u64 {
        self.epoch_nanos.saturating_add(at.as_nanos())
    }
}

/// Swaps the words of a timestamp. A statistics block has the high word first; the library writes the time as one number,
/// low word first.
fn words_swapped(time: u64) -> u64 {
    time.rotate_left(32)
}
