//! Reads arrivals from frames in a pcap or pcapng file.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use anyhow::{bail, Context, Result};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::DataLink;
use weir_config::scenario::Scenario;
use weir_config::switch::headroom::Charging;
use weir_core::units::LINE_OVERHEAD;
use weir_core::{Bytes, MacAddress};

use super::line::Thinned;
use crate::network::recorded::{Recorded, RecordedFlow};
use crate::network::{gigabits, kilobits, scenario_charging};

/// The first bytes of a pcapng file.
const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// epb_flags, bits 0 and 1: the frame left the interface.
const DIRECTION: u32 = 0b11;
const OUTBOUND: u32 = 0b10;
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
/// Frame length whose half is the maximum error of lines, in bytes.
const FRAME: f64 = 1500.0;

/// Properties of a received frame that determine arrivals.
struct Frame {
    /// Time in µs.
    time: f64,
    source: MacAddress,
    destination: MacAddress,
    /// Priority of its tag; 0 without one.
    priority: u8,
    /// From the destination address to the last payload byte.
    length: Bytes,
}

/// Data sent so far by one (source, destination, class).
struct Gathered {
    sum: f64,
    charged: u64,
    on_line: u64,
    longest: Bytes,
    wasteful: Bytes,
    line: Thinned,
}

/// Reads frames between hosts of the scenario in its classes. Skips frames that a pcapng file marks as outgoing, since a
/// switch captures them twice.
pub fn read(mut file: impl BufRead, scenario: &Scenario) -> Result<Recorded> {
    let is_pcapng = file.fill_buf()?.starts_with(&SECTION_HEADER);
    let mut gathering = Gathering::new(scenario);
    if is_pcapng {
        read_pcapng(file, &mut gathering)?;
    } else {
        read_pcap(file, &mut gathering)?;
    }
    gathering.finish()
}

fn read_pcap(file: impl Read, gathering: &mut Gathering<'_>) -> Result<()> {
    let mut reader = PcapReader::new(file).context("neither a run's JSON nor pcap nor pcapng")?;
    check_link(reader.header().datalink)?;
    while let Some(packet) = reader.next_packet() {
        let packet = packet?;
        let micros = packet.timestamp.as_nanos() as f64 / 1e3;
        gathering.take(micros, packet.orig_len, &packet.data)?;
    }
    Ok(())
}

fn read_pcapng(file: impl Read, gathering: &mut Gathering<'_>) -> Result<()> {
    let mut reader = PcapNgReader::new(file)?;
    // Resolutions in the current section.
    let mut tick_micros: Vec<f64> = Vec::new();
    while let Some(block) = reader.next_block() {
        match block? {
            Block::SectionHeader(_) => tick_micros.clear(),
            Block::InterfaceDescription(interface) => {
                check_link(interface.linktype)?;
                tick_micros.push(resolution_micros(&interface));
            }
            Block::EnhancedPacket(packet) => {
                let is_out = packet.options.iter().any(
                    |option| matches!(option, EnhancedPacketOption::Flags(flags) if flags & DIRECTION == OUTBOUND),
                );
                if is_out {
                    gathering.outbound += 1;
                    continue;
                }
                let tick = tick_micros.get(packet.interface_id as usize);
                let tick = tick.context("a frame of an interface without a description block")?;
                // The library returns the file's ticks as if they were nanoseconds.
                let micros = packet.timestamp.as_nanos() as f64 * tick;
                gathering.take(micros, packet.original_len, &packet.data)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_link(link: DataLink) -> Result<()> {
    match link {
        DataLink::ETHERNET => Ok(()),
        other => bail!("the capture is of link type {other:?}, not of Ethernet frames"),
    }
}

/// Returns a tick of an interface's timestamps in µs: if_tsresol, by default 1.
fn resolution_micros(interface: &InterfaceDescriptionBlock<'_>) -> f64 {
    const IS_BINARY: u8 = 0x80;
    let options = interface.options.iter();
    let mut resolutions = options.filter_map(|option| match option {
        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
        _ => None,
    });
    match resolutions.next() {
        Some(power) if power & IS_BINARY != 0 => 1e6 * 0.5f64.powi(i32::from(power & !IS_BINARY)),
        Some(power) => 10f64.powi(6 - i32::from(power)),
        None => 1.0,
    }
}

struct Gathering<'a> {
    scenario: &'a Scenario,
    charging: Charging,
    /// By sender, receiver and class.
    flows: BTreeMap<(usize, usize, usize), Gathered>,
    /// Host by address, class by priority.
    hosts: BTreeMap<MacAddress, usize>,
    classes: BTreeMap<u8, usize>,
    /// Beginning of the recording, in the file's time.
    origin: Option<f64>,
    /// Time of the last frame since the origin.
    span: f64,
    others: u64,
    outbound: u64,
}

impl<'a> Gathering<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let hosts = scenario.hosts.iter().enumerate();
        let mut classes = BTreeMap::new();
        for (index, class) in scenario.classes.iter().enumerate() {
            classes.extend(class.priorities.iter().map(|one| (one.get(), index)));
        }
        Self {
            scenario,
            charging: scenario_charging(scenario),
            flows: BTreeMap::new(),
            hosts: hosts.map(|(index, host)| (host.address, index)).collect(),
            classes,
            origin: None,
            span: 0.0,
            others: 0,
            outbound: 0,
        }
    }

    fn take(&mut self, micros: f64, length: u32, data: &[u8]) -> Result<()> {
        let frame = frame(micros, length, data);
        let known = frame.as_ref().and_then(|frame| {
            let from = *self.hosts.get(&frame.source)?;
            let to = *self.hosts.get(&frame.destination)?;
            let class = *self.classes.get(&frame.priority)?;
            Some((from, to, class))
        });
        let (Some(frame), Some(key)) = (frame, known) else {
            self.others += 1;
            return Ok(());
        };
        let on_line = frame.length + LINE_OVERHEAD;
        let rate = gigabits(self.scenario.hosts[key.0].line.rate);
        let amount = kilobits(on_line.get() as f64);
        // A frame's timestamp is the end of its arrival, which took its time on the line.
        let origin = *self.origin.get_or_insert(frame.time - amount / rate);
        let time = (frame.time - origin).max(self.span);
        self.span = time;
        let flow = self.flows.entry(key).or_insert_with(|| Gathered {
            sum: 0.0,
            charged: 0,
            on_line: 0,
            longest: Bytes::ZERO,
            wasteful: frame.length,
            line: Thinned::new(kilobits(FRAME) / 2.0),
        });
        if flow.sum == 0.0 {
            flow.line.push((time - amount / rate).max(0.0), 0.0)?;
        }
        flow.sum += amount;
        flow.on_line += on_line.get();
        flow.charged += self.charging.charged(frame.length).get();
        flow.longest = flow.longest.max(frame.length);
        if self.charging.factor(frame.length) > self.charging.factor(flow.wasteful) {
            flow.wasteful = frame.length;
        }
        flow.line.push(time, flow.sum)
    }

    fn finish(self) -> Result<Recorded> {
        let mut flows = Vec::new();
        for ((from, to, class), flow) in self.flows {
            flows.push(RecordedFlow {
                from,
                to,
                class,
                via: None,
                longest: flow.longest,
                wasteful: flow.wasteful,
                charge: flow.charged as f64 / flow.on_line as f64,
                points: flow.line.finish()?.into(),
            });
        }
        let mut notes = Vec::new();
        if self.others > 0 {
            notes.push(format!(
                "{} frames of the capture are none between hosts of the scenario in one of its classes and are left out",
                self.others
            ));
        }
        if self.outbound > 0 {
            notes.push(format!(
                "{} frames that went out of the captured ports are left out",
                self.outbound
            ));
        }
        Ok(Recorded {
            flows,
            span: self.span,
            notes,
        })
    }
}

/// Returns `None` for data shorter than an Ethernet header.
fn frame(time: f64, length: u32, data: &[u8]) -> Option<Frame> {
    let address = |at: usize| -> Option<MacAddress> {
        let bytes: [u8; 6] = data.get(at..at + 6)?.try_into().ok()?;
        Some(MacAddress(bytes))
    };
    let kind: [u8; 2] = data.get(12..14)?.try_into().ok()?;
    let priority = match TAGS.contains(&kind) {
        true => data.get(14)? >> 5,
        false => 0,
    };
    Some(Frame {
        time,
        destination: address(0)?,
        source: address(6)?,
        priority,
        length: Bytes::new(u64::from(length)),
    })
}
