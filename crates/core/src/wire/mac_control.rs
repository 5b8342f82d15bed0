//! MAC control frames: PAUSE (IEEE 802.3 Annex 31B) and PFC (Annex 31D, IEEE 802.1Qbb).

use super::ethernet::{
    start_frame, EthernetView, ETHERTYPE_MAC_CONTROL, FRAME_LENGTH_MIN, HEADER_LENGTH,
    MAC_CONTROL_ADDRESS,
};
use super::WireError;
use crate::units::{MacAddress, Priority, Quanta, PRIORITY_COUNT};

/// Opcode of PAUSE.
pub const OPCODE_PAUSE: u16 = 0x0001;
/// Opcode of PFC.
pub const OPCODE_PFC: u16 = 0x0101;

const OPCODE_LENGTH: usize = 2;
const PAUSE_LENGTH: usize = 2;
const PFC_LENGTH: usize = 2 + 2 * PRIORITY_COUNT;

/// Contents of a MAC control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacControl {
    /// 802.3x: stop all data frames for this long.
    Pause {
        /// Zero resumes.
        quanta: Quanta,
    },
    /// 802.1Qbb: for each given priority, stop it for this long or, with zero, resume it.
    Pfc {
        /// By priority; `None` if the class-enable bit is off.
        times: [Option<Quanta>; PRIORITY_COUNT],
    },
}

/// The bytes of a MAC control frame with a known opcode and complete parameters.
#[derive(Clone, Copy, Debug)]
pub struct MacControlView<'a> {
    opcode: u16,
    parameters: &'a [u8],
}

impl<'a> MacControlView<'a> {
    /// Checks length, EtherType and opcode of a whole frame.
    ///
    /// # Errors
    ///
    /// See [`WireError`]. The destination is not checked: Annex 31B also allows the station's own address.
    pub fn new_checked(frame: &'a [u8]) -> Result<Self, WireError> {
        let ethernet = EthernetView::new_checked(frame)?;
        if ethernet.ethertype() != ETHERTYPE_MAC_CONTROL {
            return Err(WireError::WrongProtocol);
        }
        let payload = ethernet.payload();
        let opcode = payload
            .first_chunk::<OPCODE_LENGTH>()
            .map(|bytes| u16::from_be_bytes(*bytes))
            .ok_or(WireError::TooShort)?;
        let length = match opcode {
            OPCODE_PAUSE => PAUSE_LENGTH,
            OPCODE_PFC => PFC_LENGTH,
            other => return Err(WireError::UnknownOpcode(other)),
        };
        let parameters = payload
            .get(OPCODE_LENGTH..OPCODE_LENGTH + length)
            .ok_or(WireError::TooShort)?;
        Ok(Self { opcode, parameters })
    }

    /// [`OPCODE_PAUSE`] or [`OPCODE_PFC`].
    pub fn opcode(&self) -> u16 {
        self.opcode
    }

    fn word(&self, index: usize) -> u16 {
        u16::from_be_bytes([self.parameters[2 * index], self.parameters[2 * index + 1]])
    }
}

impl MacControl {
    /// Parses a whole frame. The upper byte of PFC's class-enable vector is reserved and ignored on receipt (Annex
    /// 31D).
    ///
    /// # Errors
    ///
    /// See [`WireError`].
    pub fn parse(frame: &[u8]) -> Result<Self, WireError> {
        let view = MacControlView::new_checked(frame)?;
        if view.opcode() == OPCODE_PAUSE {
            return Ok(Self::Pause {
                quanta: Quanta(view.word(0)),
            });
        }
        let enabled = view.word(0);
        let times = core::array::from_fn(|index| {
            (enabled & (1 << index) != 0).then(|| Quanta(view.word(1 + index)))
        });
        Ok(Self::Pfc { times })
    }

    /// Writes the whole frame, 60 B, and returns its length; `None` if `buffer` is shorter.
    pub fn emit(&self, source: MacAddress, buffer: &mut [u8]) -> Option<usize> {
        let frame = start_frame(
            buffer,
            FRAME_LENGTH_MIN,
            MAC_CONTROL_ADDRESS,
            source,
            ETHERTYPE_MAC_CONTROL,
        )?;
        let mut put = |word: usize, value: u16| {
            let at = HEADER_LENGTH + 2 * word;
            frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
        };
        match self {
            Self::Pause { quanta } => {
                put(0, OPCODE_PAUSE);
                put(1, quanta.0);
            }
            Self::Pfc { times } => {
                put(0, OPCODE_PFC);
                let mut enabled = 0;
                for (priority, time) in Priority::ALL.into_iter().zip(times) {
                    if let Some(time) = time {
                        enabled |= 1 << priority.get();
                        put(2 + priority.index(), time.0);
                    }
                }
                put(1, enabled);
            }
        }
        Some(FRAME_LENGTH_MIN)
    }
}
