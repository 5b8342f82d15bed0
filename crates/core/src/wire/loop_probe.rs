//! Probes for loops of flooded frames: a frame to a group address that every bridge floods, and that comes back to its sender
//! only round a loop. In a VLAN it has the VLAN's tag behind its source.
//!
//! | offset | length | field |
//! |---|---|---|
//! | 0 | 6 | destination 03-57-45-49-52-01, a group address of local scope; or the broadcast address, where addresses move as in a loop whose devices let no such frame through |
//! | 6 | 1 | source: 0x06, an individual address of local scope |
//! | 7 | 4 | source: the switch's identifier |
//! | 11 | 1 | source: the port that sent it |
//! | 12 | 2 | EtherType 0x88B6, local experimental EtherType 2 (IEEE 802) |
//! | 14 | 2 | subtype 0x574C ("WL") |
//! | 16 | 44 | zero |

use super::ethernet::{start_frame, FRAME_LENGTH_MIN, HEADER_LENGTH};
use crate::sets::vlans::VlanTag;
use crate::units::{MacAddress, PortId};

/// Where probes go.
pub const LOOP_PROBE_ADDRESS: MacAddress = MacAddress([0x03, 0x57, 0x45, 0x49, 0x52, 0x01]);
const ETHERTYPE: u16 = 0x88b6;
const TAG_ETHERTYPE: u16 = 0x8100;
const TAG_LENGTH: usize = 4;
const SUBTYPE: u16 = 0x574c;
const SOURCE_BEGIN: u8 = 0x06;

/// Who sent a probe: all that is in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopProbe {
    /// The switch.
    pub id: u32,
    /// Its port.
    pub port: PortId,
}

impl LoopProbe {
    /// Of a frame to [`LOOP_PROBE_ADDRESS`] from this address; `None` for one that no switch has sent.
    pub fn from_source(source: MacAddress) -> Option<Self> {
        let [begin, a, b, c, d, port] = source.0;
        (begin == SOURCE_BEGIN).then(|| Self {
            id: u32::from_be_bytes([a, b, c, d]),
            port: PortId::new(port),
        })
    }

    /// The address that it is from.
    pub fn source(self) -> MacAddress {
        let [a, b, c, d] = self.id.to_be_bytes();
        MacAddress([SOURCE_BEGIN, a, b, c, d, self.port.get()])
    }

    /// Writes the whole frame and gives its length in bytes; `None` when `buffer` is too small.
    pub fn emit(self, form: ProbeForm, buffer: &mut [u8]) -> Option<usize> {
        let destination = match form.is_broadcast {
            true => MacAddress::BROADCAST,
            false => LOOP_PROBE_ADDRESS,
        };
        let (ethertype, length) = match form.tag {
            Some(_) => (TAG_ETHERTYPE, FRAME_LENGTH_MIN + TAG_LENGTH),
            None => (ETHERTYPE, FRAME_LENGTH_MIN),
        };
        let frame = start_frame(buffer, length, destination, self.source(), ethertype)?;
        let mut at = HEADER_LENGTH;
        if let Some(tag) = form.tag {
            frame[at..at + 2].copy_from_slice(&tag.bits().to_be_bytes());
            frame[at + 2..at + 4].copy_from_slice(&ETHERTYPE.to_be_bytes());
            at += TAG_LENGTH;
        }
        frame[at..at + 2].copy_from_slice(&SUBTYPE.to_be_bytes());
        Some(frame.len())
    }
}

/// How a probe leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeForm {
    /// The tag of its VLAN, where frames of that VLAN leave with one.
    pub tag: Option<VlanTag>,
    /// To the broadcast address.
    pub is_broadcast: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ethernet::EthernetView;

    #[test]
    fn the_source_says_who_sent_it() {
        let probe = LoopProbe {
            id: 0xdead_beef,
            port: PortId::new(200),
        };
        let mut buffer = [0xff; 64];
        let plain = ProbeForm::default();
        assert_eq!(probe.emit(plain, &mut buffer), Some(60));
        let view = EthernetView::new_checked(&buffer).unwrap();
        assert_eq!(view.destination(), LOOP_PROBE_ADDRESS);
        assert!(!view.source().is_group() && view.destination().is_group());
        assert_eq!(LoopProbe::from_source(view.source()), Some(probe));
        assert_eq!(LoopProbe::from_source(MacAddress([2, 1, 2, 3, 4, 5])), None);
        assert_eq!(probe.emit(plain, &mut buffer[..59]), None);
        let tagged = ProbeForm {
            tag: Some(VlanTag::from_bits(0x0014)),
            is_broadcast: true,
        };
        assert_eq!(probe.emit(tagged, &mut buffer), Some(64));
        assert_eq!(buffer[..6], [0xff; 6]);
        assert_eq!(buffer[6..12], probe.source().0);
        assert_eq!(buffer[12..20], [0x81, 0, 0, 0x14, 0x88, 0xb6, 0x57, 0x4c]);
    }
}
