//! Probes for loops of flooded frames: a frame to a group address that every bridge floods, and that comes back to its sender
//! only round a loop.
//!
//! | offset | length | field |
//! |---|---|---|
//! | 0 | 6 | destination 03-57-45-49-52-01, a group address of local scope |
//! | 6 | 1 | source: 0x06, an individual address of local scope |
//! | 7 | 4 | source: the switch's identifier |
//! | 11 | 1 | source: the port that sent it |
//! | 12 | 2 | EtherType 0x88B6, local experimental EtherType 2 (IEEE 802) |
//! | 14 | 2 | subtype 0x574C ("WL") |
//! | 16 | 44 | zero |

use super::ethernet::{start_frame, FRAME_LENGTH_MIN, HEADER_LENGTH};
use crate::units::{MacAddress, PortId};

/// Where probes go.
pub const LOOP_PROBE_ADDRESS: MacAddress = MacAddress([0x03, 0x57, 0x45, 0x49, 0x52, 0x01]);
const ETHERTYPE: u16 = 0x88b6;
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
    pub fn emit(self, buffer: &mut [u8]) -> Option<usize> {
        let frame = start_frame(
            buffer,
            FRAME_LENGTH_MIN,
            LOOP_PROBE_ADDRESS,
            self.source(),
            ETHERTYPE,
        )?;
        frame[HEADER_LENGTH..HEADER_LENGTH + 2].copy_from_slice(&SUBTYPE.to_be_bytes());
        Some(frame.len())
    }
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
        assert_eq!(probe.emit(&mut buffer), Some(60));
        let view = EthernetView::new_checked(&buffer).unwrap();
        assert_eq!(view.destination(), LOOP_PROBE_ADDRESS);
        assert!(!view.source().is_group() && view.destination().is_group());
        assert_eq!(LoopProbe::from_source(view.source()), Some(probe));
        assert_eq!(LoopProbe::from_source(MacAddress([2, 1, 2, 3, 4, 5])), None);
        assert_eq!(probe.emit(&mut buffer[..59]), None);
    }
}
