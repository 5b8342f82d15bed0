//! What comes to ports while no switch is there is counted by whoever holds the neighbours.

#[path = "support/network.rs"]
mod network;

use network::{frame, Host, Network};
use weir_core::Quanta;
use weir_switchd::daemon::RunningDataplane;
use weir_switchd::keeper::hold::Hold;
use weir_switchd::keeper::link::HeldLink;

/// More than the least receive buffer of a socket holds.
const FRAMES: u32 = 3_000;

fn link(device: &str) -> HeldLink {
    HeldLink {
        ifindex: nix::net::if_::if_nametoindex(device).unwrap(),
        // What is sent itself did not come.
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

/// The switch is there still, or already: its program takes them.
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
    let stopped = dataplane.stop(std::time::Duration::ZERO).unwrap();
    assert_eq!(stopped.missed, 0);
}
