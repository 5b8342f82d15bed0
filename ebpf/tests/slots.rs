//! RX ring slots reserved for frames with a credit. Needs root.

use std::os::fd::{AsFd, OwnedFd};

use weir_ebpf::{Extras, Meta, PortProgram, PortSettings, SlotShares, SlotWords, Verdict};

use crate::verdicts::{ethernet, socket, tagged, MAC_CONTROL, XDP_DROP, XDP_REDIRECT};

const LOSSY: u16 = 0;
const LOSSLESS: u16 = 3;
const PAID: u16 = 5;
/// Number of slots: 2 for control frames only, and 4 that lossy frames leave to others.
const SLOTS: u64 = 10;

struct Port {
    program: PortProgram,
    words: SlotWords,
    _socket: OwnedFd,
}

impl Port {
    fn new(part_bytes: u64) -> Self {
        let extras = Extras {
            keeps_slots: true,
            ..Extras::default()
        };
        let program = PortProgram::load_with(&PortSettings::default(), &extras).unwrap();
        let words = program.slot_words(0).unwrap().expect("it keeps slots");
        words.set_shares(SlotShares {
            kept_from_lossless: 2,
            kept_from_lossy: 4,
            lossless: 1 << LOSSLESS,
            part_bytes,
        });
        words.set_credited(1 << PAID);
        let socket = socket();
        program.set_socket(0, socket.as_fd()).unwrap();
        Self {
            program,
            words,
            _socket: socket,
        }
    }

    /// Sends frames until one is dropped, at most `most`; returns the number that had a slot.
    fn send(&self, frame: &[u8], most: u64) -> u64 {
        for sent in 0..most {
            let run = self.program.test_run(frame).unwrap();
            if run.action == XDP_DROP {
                return sent;
            }
            assert_eq!(run.action, XDP_REDIRECT);
            let meta = Meta::read(run.meta[..].try_into().unwrap()).unwrap();
            assert_eq!(meta.has_credit, u16::from(meta.priority) == PAID);
        }
        most
    }
}

fn data(priority: u16) -> Vec<u8> {
    tagged(&[(0x8100, priority << 13)], 0x0800, &[0; 46])
}

fn control() -> Vec<u8> {
    ethernet(MAC_CONTROL, 0x8808, &[0; 46])
}

#[test]
#[ignore = "needs root"]
fn lossy_frames_are_the_first_without_a_slot_and_control_frames_the_last() {
    let port = Port::new(0);
    for frame in [data(LOSSY), data(LOSSLESS), control()] {
        assert_eq!(port.send(&frame, 1), 0, "no limit is set yet");
    }
    port.words.raise_limit(SLOTS);
    assert_eq!(port.send(&data(LOSSY), 100), SLOTS - 4);
    assert_eq!(port.send(&data(LOSSLESS), 100), 2);
    assert_eq!(port.send(&data(LOSSY), 100), 0);
    assert_eq!(port.send(&control(), 100), 2);
    assert_eq!(port.send(&control(), 100), 0);
    assert_eq!(
        port.send(&data(PAID), 100),
        100,
        "a frame with a credit always has one"
    );
    assert_eq!(port.words.entered(), SLOTS);
    port.words.raise_limit(SLOTS + 5);
    assert_eq!(port.send(&data(LOSSY), 100), 1);
    let verdicts = port.program.verdict_counters().unwrap();
    assert_eq!(verdicts.get(Verdict::NoSlot), 3 + 6);
    assert_eq!(verdicts.get(Verdict::Redirected), SLOTS + 100 + 1);
    let not_lost = port.words.begun() - port.words.returned();
    assert_eq!(not_lost, verdicts.get(Verdict::Redirected));
}

#[test]
#[ignore = "needs root"]
fn a_long_frame_takes_a_slot_for_each_part() {
    let port = Port::new(100);
    port.words.raise_limit(SLOTS);
    let long = tagged(&[(0x8100, LOSSLESS << 13)], 0x0800, &[0; 282]);
    assert_eq!(long.len(), 300);
    assert_eq!(port.send(&long, 100), 2);
    assert_eq!(port.words.entered(), 6);
    assert_eq!(port.send(&data(LOSSLESS), 100), 2);
}

/// Without a socket the port's fallback applies, and no slot is taken.
#[test]
#[ignore = "needs root"]
fn a_frame_without_a_socket_takes_no_slot() {
    let port = Port::new(0);
    port.words.raise_limit(SLOTS);
    port.program.forget_sockets();
    port.program.test_run(&data(LOSSY)).unwrap();
    assert_eq!((port.words.entered(), port.words.begun()), (0, 0));
}

#[test]
#[ignore = "needs root"]
fn a_program_without_slots_has_no_words() {
    let program = PortProgram::load(&PortSettings::default()).unwrap();
    assert!(program.slot_words(0).unwrap().is_none());
}
