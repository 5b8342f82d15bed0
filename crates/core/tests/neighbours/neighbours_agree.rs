//! Two LLDP agents on one link, with any configurations, whose announcements are lost, late, and cut short by restarts:
//! the two ends never combine into a pair that loses frames, and agree once nothing changes.
//!
//! Two combinations lose frames: two switches that assume each other to be enhanced although their D differ, and a port
//! that grants frames to one that does not count them. Everything else loses none (`neighbour_changes.rs`). The
//! invariant is that
//!
//! * of two that assume each other to be enhanced with different D, one has `neighbour = "enhanced"` and hears no
//!   neighbour: its configuration is believed, and wrong;
//! * a port whose neighbour is heard, and does not count frames, grants none to it.

use std::collections::VecDeque;

use proptest::prelude::*;
use weir_core::control::neighbours::{AnnouncedPort, Neighbours, NeighboursConfig};
use weir_core::wire::lldp::basic::{ChassisId, PortIdentifier, TimeToLive};
use weir_core::wire::lldp::weir::{AnnouncedMode, Depth, Weir, WeirV1};
use weir_core::wire::lldp::{Announcement, Content, Lldp, FRAME_LENGTH_MAX};
use weir_core::{
    Command, Duration, FeedbackCoding, Instant, Level, MacAddress, Neighbour, PortId, Priority,
};

const LINK: PortId = PortId::new(0);
const P3: Priority = Priority::ALL[3];
const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setting {
    depth: u8,
    neighbour: Neighbour,
    coding: FeedbackCoding,
}

impl Setting {
    fn speaks_levels(self) -> bool {
        self.neighbour != Neighbour::Regular
    }
}

fn setting() -> impl Strategy<Value = Setting> {
    let neighbour = prop_oneof![
        3 => Just(Neighbour::Unknown),
        2 => Just(Neighbour::Enhanced),
        1 => Just(Neighbour::Regular),
    ];
    let coding = prop_oneof![
        3 => Just(FeedbackCoding::Pfc),
        1 => Just(FeedbackCoding::Pause),
        2 => Just(FeedbackCoding::Grants),
    ];
    (2u8..4, neighbour, coding).prop_map(|(depth, neighbour, coding)| Setting {
        depth,
        neighbour,
        // As `port_feedback` of weir-config requires.
        coding: match coding {
            FeedbackCoding::Grants if neighbour != Neighbour::Enhanced => FeedbackCoding::Pfc,
            coding => coding,
        },
    })
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// Seconds pass; announcements whose bit is set are lost.
    Wait { seconds: u8, lost: u8 },
    /// A switch restarts with another configuration; without a shutdown announcement if `silent`.
    Restart {
        at: usize,
        setting: Setting,
        silent: bool,
    },
    /// The agent of the host that a switch runs on sends an announcement, or a shutdown announcement.
    Host { at: usize, leaves: bool },
    /// The link goes down and up again.
    Flap,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => (1u8..80, any::<u8>()).prop_map(|(seconds, lost)| Op::Wait { seconds, lost }),
        3 => (0..2usize, setting(), any::<bool>())
            .prop_map(|(at, setting, silent)| Op::Restart { at, setting, silent }),
        2 => (0..2usize, any::<bool>()).prop_map(|(at, leaves)| Op::Host { at, leaves }),
        1 => Just(Op::Flap),
    ]
}

/// One run of a switch: the agent, and the findings that its dataplane has.
struct End {
    setting: Setting,
    agent: Neighbours,
    neighbour: Neighbour,
    coding: FeedbackCoding,
    /// An announcement of the other end's present run has arrived.
    has_heard: bool,
    /// Announcements of the other end, and of the host that this one runs on.
    inbox: VecDeque<Vec<u8>>,
    host_talks: bool,
}

impl End {
    fn new(me: usize, setting: Setting, now: Instant, host_talks: bool) -> Self {
        let mut weir = WeirV1 {
            coding: Some(setting.coding),
            ..WeirV1::default()
        };
        // As announced by the daemon: plain PFC if configured.
        weir.modes[P3.index()] = match Level::new(setting.depth).and_then(Depth::new) {
            Some(depth) if setting.speaks_levels() => AnnouncedMode::Level(depth),
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
            chassis: ChassisId::mac(MacAddress([2, 0, 0, 0, 0, me as u8])),
            interval: Duration::from_secs(30),
            ports: vec![port],
        };
        Self {
            setting,
            agent: Neighbours::new(config, now),
            neighbour: setting.neighbour,
            coding: setting.coding,
            has_heard: false,
            inbox: VecDeque::new(),
            host_talks,
        }
    }

    fn hears_a_switch(&self) -> bool {
        let mut entries = self.agent.entries(LINK).iter();
        entries.any(|entry| entry.announcement.weir.is_some())
    }

    fn obey(&mut self) {
        while let Some(command) = self.agent.poll_command() {
            match command {
                Command::SetNeighbour { neighbour, .. } => self.neighbour = neighbour,
                Command::SetFeedback { coding, .. } => self.coding = coding,
                other => panic!("{other:?}"),
            }
        }
        while self.agent.poll_report().is_some() {}
    }
}

fn bytes_of(lldp: &Lldp) -> Vec<u8> {
    let mut buffer = [0; FRAME_LENGTH_MAX];
    let length = lldp.emit(MacAddress([2, 0, 0, 0, 9, 9]), &mut buffer);
    buffer[..length.unwrap()].to_vec()
}

/// Announcement by the agent of the host that switch `of` runs on.
fn of_host(of: usize, content: Content) -> Vec<u8> {
    bytes_of(&Lldp {
        chassis: ChassisId::mac(MacAddress([2, 0, 0, 0, 7, of as u8])),
        port: PortIdentifier::interface_name("eth0").unwrap(),
        content,
    })
}

struct Link {
    ends: [End; 2],
    now: Instant,
    lost: u8,
}

impl Link {
    fn new(settings: [Setting; 2]) -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        Self {
            ends: [0, 1].map(|me| End::new(me, settings[me], now, false)),
            now,
            lost: 0,
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Wait { seconds, lost } => {
                self.lost = lost;
                (0..seconds).for_each(|_| self.second());
            }
            Op::Restart {
                at,
                setting,
                silent,
            } => {
                if let Some(goodbye) = self.ends[at].agent.take_goodbye(LINK).filter(|_| !silent) {
                    self.say(at, bytes_of(&goodbye), false);
                    self.hear(1 - at);
                }
                let talks = self.ends[at].host_talks;
                self.ends[at] = End::new(at, setting, self.now, talks);
                // Frames in flight are from, or for, an earlier run.
                for end in &mut self.ends {
                    end.inbox.clear();
                }
                self.ends[1 - at].has_heard = false;
            }
            Op::Host { at, leaves } => {
                if core::mem::replace(&mut self.ends[at].host_talks, !leaves) && leaves {
                    self.ends[1 - at]
                        .inbox
                        .push_back(of_host(at, Content::Shutdown));
                }
            }
            Op::Flap => {
                for end in &mut self.ends {
                    end.agent.set_link(self.now, LINK, false);
                    end.agent.set_link(self.now, LINK, true);
                    end.inbox.clear();
                    end.obey();
                }
            }
        }
        self.check();
    }

    /// Loses announcements in turn, as `lost` determines.
    fn say(&mut self, from: usize, bytes: Vec<u8>, may_be_lost: bool) {
        let is_lost = may_be_lost && self.lost & 1 == 1;
        self.lost = self.lost.rotate_right(1);
        if !is_lost {
            self.ends[1 - from].inbox.push_back(bytes);
        }
    }

    fn hear(&mut self, at: usize) {
        while let Some(bytes) = self.ends[at].inbox.pop_front() {
            let end = &mut self.ends[at];
            end.agent.receive(self.now, LINK, &bytes);
            let heard = Lldp::parse(&bytes).unwrap().lldp;
            let is_peer = heard.chassis.as_mac().is_some_and(|mac| mac.0[4] == 0);
            end.has_heard |= is_peer && heard.content != Content::Shutdown;
            end.obey();
            self.check();
        }
    }

    fn second(&mut self) {
        self.now = self.now + SECOND;
        for at in 0..2 {
            self.ends[at].agent.handle_timeout(self.now);
            self.ends[at].obey();
            self.check();
            self.hear(at);
            while let Some((_, lldp)) = self.ends[at].agent.poll_transmit(self.now) {
                self.say(at, bytes_of(&lldp), true);
            }
            self.ends[at].obey();
            let seconds = self.now.saturating_since(Instant::ZERO).as_nanos() / 1_000_000_000;
            if self.ends[at].host_talks && seconds.is_multiple_of(30) {
                let announcement = Announcement::new(TimeToLive::STANDARD);
                self.say(at, of_host(at, Content::Announcement(announcement)), true);
            }
        }
    }

    fn check(&self) {
        let [a, b] = &self.ends;
        let vouches =
            |end: &End| end.setting.neighbour == Neighbour::Enhanced && !end.hears_a_switch();
        let both_enhanced = [a, b].map(|end| end.neighbour) == [Neighbour::Enhanced; 2];
        if both_enhanced && a.setting.depth != b.setting.depth {
            let settings = [a.setting, b.setting];
            assert!(vouches(a) || vouches(b), "both enhanced: {settings:?}");
        }
        for (one, other) in [(a, b), (b, a)] {
            let counts = other.setting.coding == FeedbackCoding::Grants;
            let hears = one.has_heard && one.hears_a_switch();
            if one.coding == FeedbackCoding::Grants && hears {
                assert!(counts, "grants to {:?}", other.setting);
            }
        }
    }

    /// Returns both ends once nothing has changed for long enough.
    fn settle(&mut self) {
        self.apply(Op::Wait {
            seconds: 255,
            lost: 0,
        });
        self.apply(Op::Wait {
            seconds: 255,
            lost: 0,
        });
        let [a, b] = &self.ends;
        let same = a.setting.depth == b.setting.depth;
        let speaks = [a, b].map(|end| end.setting.speaks_levels());
        let minds = [a, b].map(|end| end.neighbour);
        let expected = match speaks {
            [true, true] if same => Neighbour::Enhanced,
            _ => Neighbour::Regular,
        };
        // A host's agent beside a switch with another D leaves it unknown, which is equally safe.
        let hosts = a.host_talks || b.host_talks;
        if expected == Neighbour::Enhanced || !hosts {
            assert_eq!(minds, [expected; 2], "{:?} {:?}", a.setting, b.setting);
        }
        assert!(!minds.contains(&Neighbour::Enhanced) || expected == Neighbour::Enhanced);
        let grant = [a, b].map(|end| end.coding == FeedbackCoding::Grants);
        assert_eq!(grant[0], grant[1], "{:?} {:?}", a.setting, b.setting);
        for end in [a, b] {
            let found = end.agent.findings(LINK);
            let mismatch = end.setting.speaks_levels() && {
                let codings = [a, b].map(|end| end.setting.coding == FeedbackCoding::Grants);
                expected != Neighbour::Enhanced || codings[0] != codings[1]
            };
            assert_eq!(found.level.is_some(), mismatch, "{found:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn two_ends_are_never_unsafe_and_agree_in_the_end(
        settings in [setting(), setting()],
        ops in prop::collection::vec(op(), 0..30),
    ) {
        let mut link = Link::new(settings);
        for op in ops {
            link.apply(op);
        }
        link.settle();
    }
}

/// Time to agree without losses: each hears the other at once, and announces that at most a second later.
#[test]
fn two_that_come_up_agree_within_three_seconds() {
    let setting = Setting {
        depth: 3,
        neighbour: Neighbour::Unknown,
        coding: FeedbackCoding::Pfc,
    };
    let mut link = Link::new([setting; 2]);
    (0..3).for_each(|_| link.second());
    let minds = [0, 1].map(|at| link.ends[at].neighbour);
    assert_eq!(minds, [Neighbour::Enhanced; 2]);
    // One of them restarts without a shutdown announcement: the other, which continues, is heard in its next
    // announcement.
    link.apply(Op::Restart {
        at: 0,
        setting,
        silent: true,
    });
    let mut seconds = 0;
    while [0, 1].map(|at| link.ends[at].neighbour) != [Neighbour::Enhanced; 2] {
        link.second();
        seconds += 1;
        assert!(seconds <= 33, "not within an interval and a little");
    }
}
