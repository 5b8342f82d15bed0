//! MAC control frames: PAUSE and PFC (IEEE 802.3 Annex 31B and 31D).

pub const PRIORITIES: usize = 8;
/// Longest pause, in quanta of 512 bit times.
pub const LONGEST: u16 = u16::MAX;
/// Length of a PFC frame without the padding to 60 bytes.
pub const PFC_BYTES: usize = 34;

const TO: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x01];
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];
const PAUSE: [u8; 2] = [0, 0x01];
const PFC: [u8; 2] = [0x01, 0x01];
const SHORTEST: usize = 60;

/// Builds a PFC frame that pauses `priority` for `quanta`; 0 resumes it.
pub fn pfc(from: [u8; 6], priority: usize, quanta: u16) -> Vec<u8> {
    let mut times = [None; PRIORITIES];
    times[priority] = Some(quanta);
    frame(from, times)
}

/// Returns the payload of a hostile host: every priority paused for the longest time.
pub fn all_paused(from: [u8; 6]) -> [u8; PFC_BYTES] {
    let mut bytes = [0; PFC_BYTES];
    bytes.copy_from_slice(&frame(from, [Some(LONGEST); PRIORITIES])[..PFC_BYTES]);
    bytes
}

fn frame(from: [u8; 6], times: [Option<u16>; PRIORITIES]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SHORTEST);
    bytes.extend(TO);
    bytes.extend(from);
    bytes.extend(MAC_CONTROL);
    bytes.extend(PFC);
    let enabled = |(priority, time): (usize, &Option<u16>)| u16::from(time.is_some()) << priority;
    let enable: u16 = times.iter().enumerate().map(enabled).sum();
    bytes.extend(enable.to_be_bytes());
    for time in times {
        bytes.extend(time.unwrap_or(0).to_be_bytes());
    }
    bytes.resize(SHORTEST, 0);
    bytes
}

/// Contents of a MAC control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Quanta by priority, for those enabled in the frame.
    Pfc([Option<u16>; PRIORITIES]),
    /// Quanta for all priorities.
    Pause(u16),
    /// Another MAC control frame.
    Unknown,
}

/// Parses a frame; returns `None` unless it is a MAC control frame.
pub fn read(frame: &[u8]) -> Option<Heard> {
    let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    if frame.get(12..14)? != MAC_CONTROL {
        return None;
    }
    let quanta = |at| word(at).unwrap_or(0);
    Some(match frame.get(14..16) {
        Some(opcode) if opcode == PAUSE => Heard::Pause(quanta(16)),
        Some(opcode) if opcode == PFC => {
            let enable = quanta(16);
            let time = |p: usize| (enable >> p & 1 == 1).then(|| quanta(18 + 2 * p));
            Heard::Pfc(std::array::from_fn(time))
        }
        _ => Heard::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pfc_frame_is_read_as_it_was_written() {
        let frame = pfc([2, 0, 0, 0, 0, 1], 3, 77);
        assert_eq!(frame.len(), 60);
        // IEEE 802.3 Annex 31D, by hand.
        assert_eq!(&frame[12..20], [0x88, 0x08, 1, 1, 0, 8, 0, 0]);
        let mut times = [None; PRIORITIES];
        times[3] = Some(77);
        assert_eq!(read(&frame), Some(Heard::Pfc(times)));
        assert_eq!(read(&[0; 60]), None);
    }
}
