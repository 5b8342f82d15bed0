//! Two switches on one link with different configurations: assumed neighbour, D, and coding of Feedback. With and
//! without LLDP between them.

use weir_core::config::{LevelRules, RouteConfig};
use weir_core::control::neighbours::{AnnouncedPort, LevelMismatch, Neighbours, NeighboursConfig};
use weir_core::wire::lldp::basic::{ChassisId, PortIdentifier, TimeToLive};
use weir_core::wire::lldp::weir::{AnnouncedMode, Depth, Weir, WeirV1};
use weir_core::wire::lldp::{Announcement, FRAME_LENGTH_MAX};
use weir_core::wire::ControlFrame;
use weir_core::{
    BitRate, Budgets, Bytes, ClassConfig, ClassMode, Command, CommandError, Duration,
    FeedbackCoding, Frame, FrameHandle, Instant, Level, MacAddress, Neighbour, PfcThresholds,
    PortConfig, PortId, PortRole, Priority, Switch, SwitchConfig, Transmission,
};

const P3: Priority = Priority::ALL[3];
const GAMMA: u64 = 1536;
const LENGTH: Bytes = Bytes::new(1522);
const LINK: PortId = PortId::new(0);
const HOST: PortId = PortId::new(1);
/// A frame's time at 1 Gbit/s, rounded up.
const STEP: Duration = Duration::from_micros(13);
const STEPS: u64 = 20_000;
/// Steps in which the host behind the second switch accepts one frame.
const SLOW: u64 = 3;

#[derive(Clone, Copy)]
struct Setting {
    depth: u8,
    neighbour: Neighbour,
    coding: FeedbackCoding,
    round_trip: Duration,
}

const USUAL: Setting = Setting {
    depth: 2,
    neighbour: Neighbour::Enhanced,
    coding: FeedbackCoding::Pfc,
    round_trip: Duration::ZERO,
};

fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, number])
}

fn switch(index: usize, setting: Setting) -> Switch {
    let lossy = ClassConfig {
        headroom_by_cable: false,
        mode: ClassMode::Lossy {
            buffer: Bytes::new(GAMMA),
        },
        weight: 1,
        scheduler: Default::default(),
        age_limit: None,
        ecn: None,
        pool: None,
        credits: None,
    };
    let mut classes = [lossy; 8];
    classes[P3.index()].mode = ClassMode::Level {
        rules: LevelRules::default(),
        budgets: Budgets::new(&vec![Bytes::new(4 * GAMMA); setting.depth.into()]).unwrap(),
        edge: PfcThresholds::new(
            Bytes::new(8 * 1024),
            Bytes::new(4 * 1024),
            Bytes::new(8 * 1024),
        )
        .unwrap(),
    };
    let port = |role, number: u8| {
        let own = address(0x80 + number + 8 * index as u8);
        PortConfig::new(role, BitRate::from_mbit(1000), own)
    };
    let ports = vec![
        PortConfig {
            neighbour: setting.neighbour,
            feedback: setting.coding,
            round_trip: setting.round_trip,
            ..port(PortRole::Fabric, 0)
        },
        port(PortRole::Edge, 1),
    ];
    // Host 0 at switch 0, host 1 at switch 1.
    let routes = (0..2)
        .map(|host| {
            let way = if host == index { HOST } else { LINK };
            RouteConfig::new(address(host as u8), vec![way])
        })
        .collect();
    Switch::new(SwitchConfig {
        frame_length_max: LENGTH,
        ..SwitchConfig::new(ports, classes, routes)
    })
    .unwrap()
}

fn agent(index: usize, setting: Setting, now: Instant) -> Neighbours {
    let mut weir = WeirV1 {
        coding: Some(setting.coding),
        ..WeirV1::default()
    };
    // As announced by the daemon.
    weir.modes[P3.index()] = match Level::new(setting.depth).and_then(Depth::new) {
        Some(depth) if setting.neighbour != Neighbour::Regular => AnnouncedMode::Level(depth),
        _ => AnnouncedMode::Pfc,
    };
    let port = AnnouncedPort {
        identifier: PortIdentifier::interface_name("up").unwrap(),
        announcement: Announcement {
            weir: Some(Weir::V1(weir)),
            ..Announcement::new(TimeToLive::STANDARD)
        },
        configured: setting.neighbour,
        is_fabric: true,
    };
    let config = NeighboursConfig {
        chassis: ChassisId::mac(address(index as u8)),
        interval: Duration::from_secs(30),
        ports: vec![port],
    };
    Neighbours::new(config, now)
}

struct Side {
    switch: Switch,
    agent: Option<Neighbours>,
    /// Frames received by its host, and lost ones.
    delivered: u64,
    dropped: u64,
    next: u32,
}

impl Side {
    fn inject(&mut self, now: Instant, port: PortId, to: usize) {
        loop {
            self.next = (self.next + 1) % 60;
            let frame = Frame {
                handle: FrameHandle(self.next),
                length: LENGTH,
                priority: P3,
                destination: address(to as u8),
                source: address(0x40),
                flow_hash: 0,
            };
            match self.switch.receive(now, port, frame) {
                // The handle is in use.
                Err(weir_core::DropReason::TableFull) => {}
                Err(_) => return self.dropped += 1,
                Ok(_) => return,
            }
        }
    }

    fn hear(&mut self, now: Instant, frame: &ControlFrame) {
        let mut buffer = [0; 256];
        let length = frame.emit(address(0x70), &mut buffer).unwrap();
        let bytes = &buffer[..length];
        let taken = match frame {
            ControlFrame::Mac(_) => self.switch.receive_mac_control(now, LINK, bytes),
            _ => self.switch.receive_clcm(now, LINK, bytes),
        };
        taken.unwrap();
    }

    fn mismatch(&self) -> Option<LevelMismatch> {
        self.agent.as_ref()?.findings(LINK).level
    }
}

/// Lets both hosts send whenever they may.
fn run(settings: [Setting; 2], lldp: bool) -> [Side; 2] {
    let mut now = Instant::from_nanos(1_000_000_000);
    let mut sides = [0, 1].map(|index| Side {
        switch: switch(index, settings[index]),
        agent: lldp.then(|| agent(index, settings[index], now)),
        delivered: 0,
        dropped: 0,
        next: 0,
    });
    for step in 0..STEPS {
        now = now + STEP;
        for me in 0..2 {
            exchange_lldp(&mut sides, me, now);
            sides[me].switch.handle_timeout(now);
        }
        for me in 0..2 {
            send_by_link(&mut sides, me, now);
            if me == 0 || step % SLOW == 0 {
                send_to_host(&mut sides[me], now);
            }
            if !sides[me].switch.gauges(now, HOST, P3).pausing {
                sides[me].inject(now, HOST, 1 - me);
            }
        }
    }
    sides
}

fn exchange_lldp(sides: &mut [Side; 2], me: usize, now: Instant) {
    let mut said = Vec::new();
    let Some(agent) = &mut sides[me].agent else {
        return;
    };
    agent.handle_timeout(now);
    while let Some((_, lldp)) = agent.poll_transmit(now) {
        let mut buffer = [0; FRAME_LENGTH_MAX];
        let length = lldp.emit(address(0x71), &mut buffer).unwrap();
        said.push(buffer[..length].to_vec());
    }
    let commands: Vec<Command> = std::iter::from_fn(|| agent.poll_command()).collect();
    while agent.poll_report().is_some() {}
    for command in commands {
        sides[me].switch.apply(now, command).unwrap();
    }
    for bytes in said {
        if let Some(other) = &mut sides[1 - me].agent {
            other.receive(now, LINK, &bytes);
        }
    }
}

fn send_by_link(sides: &mut [Side; 2], me: usize, now: Instant) {
    while let Some(sent) = sides[me].switch.transmit(now, LINK) {
        match sent {
            Transmission::Control(frame) => sides[1 - me].hear(now, &frame),
            Transmission::Data { handle, .. } => {
                let _ = sides[me].switch.complete(handle);
                return sides[1 - me].inject(now, LINK, 1 - me);
            }
        }
    }
}

fn send_to_host(side: &mut Side, now: Instant) {
    while let Some(sent) = side.switch.transmit(now, HOST) {
        if let Transmission::Data { handle, .. } = sent {
            let _ = side.switch.complete(handle);
            side.delivered += 1;
            return;
        }
    }
}

/// Checks that the second host receives as much as it accepts, and the first one everything that arrives.
fn assert_both_ways(sides: &[Side; 2], what: &str) {
    let [first, second] = sides;
    assert_eq!((first.dropped, second.dropped), (0, 0), "{what}");
    let (to_first, to_second) = (first.delivered, second.delivered);
    assert!(to_first > STEPS * 9 / 10, "{what}: {to_first} to host 0");
    let most = STEPS / SLOW;
    assert!(to_second > most * 9 / 10, "{what}: {to_second} to host 1");
}

/// The second switch sends Feedback D without an XOFF, and the first one treats it as a short pause: two of three
/// frames that it sent were lost.
#[test]
fn a_one_sided_misjudgement_loses_nothing() {
    for coding in [FeedbackCoding::Pfc, FeedbackCoding::Pause] {
        for depths in [[2, 2], [2, 4], [4, 2]] {
            for lldp in [false, true] {
                let setting = |depth, neighbour| Setting {
                    depth,
                    neighbour,
                    coding,
                    ..USUAL
                };
                let regular = setting(depths[0], Neighbour::Regular);
                let enhanced = setting(depths[1], Neighbour::Enhanced);
                let sides = run([regular, enhanced], lldp);
                assert_both_ways(&sides, &format!("{coding:?}, D {depths:?}, LLDP {lldp}"));
                let [first, second] = [0, 1].map(|side: usize| sides[side].mismatch());
                assert_eq!(first, None, "that is on purpose");
                assert_eq!(second.is_some(), lldp, "{second:?}");
            }
        }
    }
}

#[test]
fn switches_of_different_d_speak_plain_pfc_and_lose_nothing() {
    for neighbour in [Neighbour::Unknown, Neighbour::Enhanced] {
        for depths in [[2, 4], [4, 2]] {
            let settings = depths.map(|depth| Setting {
                depth,
                neighbour,
                ..USUAL
            });
            let sides = run(settings, true);
            assert_both_ways(&sides, &format!("{neighbour:?}, D {depths:?}"));
            for side in &sides {
                assert_eq!(side.switch.neighbour(LINK), Neighbour::Regular);
                assert!(side.mismatch().is_some());
            }
        }
    }
}

/// A neighbour that does not count frames treats a grant as a long pause, and 1 + f permits nothing to one that waits
/// for a grant: the link stalled without any report.
#[test]
fn a_switch_that_grants_frames_falls_back_to_its_neighbours_feedback() {
    let grants = Setting {
        coding: FeedbackCoding::Grants,
        ..USUAL
    };
    let unheard = run([grants, USUAL], false);
    let dropped: u64 = unheard.iter().map(|side| side.dropped).sum();
    assert_eq!(dropped, 0);
    assert_eq!(unheard[1].delivered, 0, "nothing is granted");
    for coding in [FeedbackCoding::Pfc, FeedbackCoding::Pause] {
        let other = Setting { coding, ..USUAL };
        for settings in [[grants, other], [other, grants]] {
            let sides = run(settings, true);
            assert_both_ways(&sides, &format!("grants and {coding:?}"));
            for (side, setting) in sides.iter().zip(settings) {
                assert_eq!(side.switch.neighbour(LINK), Neighbour::Enhanced);
                let ours = setting.coding;
                let found = side.mismatch();
                let said =
                    matches!(found, Some(LevelMismatch::Coding { ours: said, .. }) if said == ours);
                assert!(said, "{found:?}");
            }
        }
    }
    assert_both_ways(&run([grants; 2], true), "grants at both ends");
}

/// Buffers for grants need no room for the round-trip time. Without grants they would: a port then admits no frames
/// that it might lose.
#[test]
fn without_room_for_the_round_trip_a_port_that_gives_up_grants_admits_nothing() {
    let grants = Setting {
        coding: FeedbackCoding::Grants,
        round_trip: Duration::from_millis(5),
        ..USUAL
    };
    let [first, second] = run([grants, USUAL], true);
    assert_eq!((first.dropped, second.dropped), (0, 0));
    assert!(first.mismatch().is_some() && second.mismatch().is_some());
    assert_eq!(first.delivered, 0, "no room for what is under way");
    assert!(
        second.delivered > STEPS / SLOW * 9 / 10,
        "the other way goes"
    );
    let gauges = first.switch.gauges(Instant::FAR_FUTURE, LINK, P3).levels;
    let gauges = gauges.expect("a fabric port of the class");
    assert_eq!(gauges.feedback_sent, gauges.depth);
}

#[test]
fn grants_come_and_go_with_the_neighbour_and_nothing_is_lost() {
    let grants = Setting {
        coding: FeedbackCoding::Grants,
        ..USUAL
    };
    let mut now = Instant::from_nanos(1_000_000_000);
    let mut sides = [0, 1].map(|index| Side {
        switch: switch(index, grants),
        agent: None,
        delivered: 0,
        dropped: 0,
        next: 0,
    });
    let mut before = [0; 2];
    for phase in 0..12u64 {
        // First one end, later the other, as their announcements arrive.
        for (me, since) in [(0, 0), (1, 1)] {
            let coding = match (phase.saturating_sub(since) / 3) % 2 {
                0 => FeedbackCoding::Grants,
                _ => FeedbackCoding::Pfc,
            };
            let command = Command::SetFeedback { port: LINK, coding };
            sides[me].switch.apply(now, command).unwrap();
        }
        for step in 0..2_000 {
            now = now + STEP;
            for me in 0..2 {
                sides[me].switch.handle_timeout(now);
                send_by_link(&mut sides, me, now);
                if me == 0 || step % SLOW == 0 {
                    send_to_host(&mut sides[me], now);
                }
                if !sides[me].switch.gauges(now, HOST, P3).pausing {
                    sides[me].inject(now, HOST, 1 - me);
                }
            }
        }
        let delivered = [0, 1].map(|me: usize| sides[me].delivered);
        assert_eq!(sides[0].dropped + sides[1].dropped, 0, "phase {phase}");
        // Both ends have used the same coding of Feedback for a whole phase.
        if phase % 3 == 2 {
            for (now, before) in delivered.iter().zip(before) {
                assert!(now > &(before + 500), "phase {phase}: {before}, {now}");
            }
        }
        before = delivered;
    }
}

#[test]
fn only_grants_can_be_given_up() {
    let mut of_pfc = switch(0, USUAL);
    let to = |coding| Command::SetFeedback { port: LINK, coding };
    let now = Instant::from_nanos(1);
    assert_eq!(of_pfc.apply(now, to(FeedbackCoding::Pfc)), Ok(()));
    for coding in [FeedbackCoding::Grants, FeedbackCoding::Pause] {
        let refused = of_pfc.apply(now, to(coding));
        assert_eq!(refused, Err(CommandError::FeedbackFixed(LINK)));
    }
    let nowhere = Command::SetFeedback {
        port: PortId::new(9),
        coding: FeedbackCoding::Pfc,
    };
    let refused = of_pfc.apply(now, nowhere);
    assert_eq!(refused, Err(CommandError::NoSuchPort(PortId::new(9))));
}
