//! Frames that arrive at ports while no switch runs are counted by the process that pauses the neighbours.

use crate::support::network::{config, frame, Host, Network, CONFIG, LIMIT};
use weir_core::Quanta;
use weir_dataplane::Dataplane;
use weir_switchd::daemon::{Programs, RunningDataplane};
use weir_switchd::keeper::hold::Hold;
use weir_switchd::keeper::link::HeldLink;

/// More than a socket's minimum receive buffer holds.
const FRAMES: u32 = 3_000;
/// The EtherType of a pause.
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

fn link(device: &str) -> HeldLink {
    HeldLink {
        ifindex: nix::net::if_::if_nametoindex(device).unwrap(),
        // A sent frame is not a received one.
        pause: frame(0, 60),
        refresh_micros: 1_000,
    }
}

#[test]
#[ignore = "needs root"]
fn data_frames_that_no_program_takes_are_counted() {
    let _network = Network::new();
    let host = Host::new("h0");
    host.send(&frame(0, 1_000));
    let hold = Hold::begin(vec![link("p0"), link("p1")]).unwrap();
    assert_eq!(hold.take_missed(), 0, "it came before");
    for number in 0..FRAMES {
        host.send(&frame(number, 1_000));
    }
    host.pause(Quanta(1));
    assert_eq!(hold.take_missed(), u64::from(FRAMES));
    assert_eq!(hold.take_missed(), 0, "told once");
    hold.end(&[]);
}

/// The switch still runs, or runs again: its program receives the frames.
#[test]
#[ignore = "needs root"]
fn frames_that_a_switch_takes_are_not_missed() {
    let network = Network::new();
    let dataplane = network.start().unwrap();
    let hold = Hold::begin(vec![link("p0")]).unwrap();
    let (sender, receiver) = (Host::new("h0"), Host::new("h1"));
    for number in 0..10 {
        sender.send(&frame(number, 1_000));
    }
    for number in 0..10 {
        assert_eq!(receiver.receive(), frame(number, 1_000));
    }
    assert_eq!(hold.take_missed(), 0);
    hold.end(&[]);
    let stopped = dataplane
        .stop(std::time::Duration::ZERO, Programs::Detach)
        .unwrap();
    assert_eq!(stopped.missed, 0);
}

/// A switch that hands over leaves its programs attached: devices are not reset, and arriving frames are counted.
#[test]
#[ignore = "needs root"]
fn programs_that_stay_for_the_next_switch_take_nothing() {
    let network = Network::new();
    let index = nix::net::if_::if_nametoindex("p0").unwrap();
    let attached = |port: &str| weir_ebpf::pinned_device(&network.pins.join(port));
    let (sender, receiver) = (Host::new("h0"), Host::new("h1"));
    let forwards = |number| {
        sender.send(&frame(number, 1_000));
        // An ending switch pauses its neighbours.
        let mut frames = std::iter::repeat_with(|| receiver.receive());
        let data = frames.find(|frame| frame[12..14] != MAC_CONTROL);
        assert_eq!(data, Some(frame(number, 1_000)));
    };
    let dataplane = network.start().unwrap();
    forwards(0);
    let hold = Hold::begin(vec![link("p0")]).unwrap();
    dataplane.stop(LIMIT, Programs::Leave).unwrap();
    assert_eq!(attached("p0"), Some(index));
    (1..6).for_each(|number| sender.send(&frame(number, 1_000)));
    assert_eq!(hold.take_missed(), 5);

    let dataplane = network.start().unwrap();
    forwards(6);
    assert_eq!(hold.take_missed(), 0);
    dataplane.stop(LIMIT, Programs::Leave).unwrap();

    // The next switch has this device under another name; the first one's pins do not block it.
    let renamed = CONFIG.replacen("device = \"p0\"", "name = \"a\"\ndevice = \"p0\"", 1);
    let renamed = renamed.replace("ports = [\"p0\"]", "ports = [\"a\"]");
    let dataplane = Dataplane::start(&config(&renamed), &network.pins).unwrap();
    forwards(7);
    assert_eq!((attached("p0"), attached("a")), (None, Some(index)));
    dataplane.stop(LIMIT, Programs::Detach).unwrap();
    network.assert_nothing_attached();
    hold.end(&[]);
}
