//! LLDP in a daemon whose links are socket pairs.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use crate::support::running::Running;
use crate::support::{get, port, settings, until, FakeDataplane, LIMIT};
use nix::sys::socket::{
    recv, send, setsockopt, socketpair, sockopt, AddressFamily, MsgFlags, SockFlag, SockType,
};
use nix::sys::time::{TimeVal, TimeValLike};
use weir_api::daemon::{Event, EventPage};
use weir_api::neighbors::Neighbor;
use weir_core::control::neighbours::AnnouncedPort;
use weir_core::wire::lldp::basic::{ChassisId, PortIdentifier, Text, TimeToLive};
use weir_core::wire::lldp::credits::{AnnouncedCredits, Credits, CreditsV1};
use weir_core::wire::lldp::dcbx::{PfcConfiguration, PrioritySet};
use weir_core::wire::lldp::weir::{AnnouncedMode, Depth, Weir, WeirV1};
use weir_core::wire::lldp::{Announcement, Content, Lldp, FRAME_LENGTH_MAX};
use weir_core::{
    Command, CreditFallback, CreditHints, CreditTerms, Duration, FeedbackCoding, Level, MacAddress,
    Neighbour,
};
use weir_switchd::control::lldp::LldpSettings;
use weir_switchd::daemon::Ended;

/// The other end of a port's link.
struct Wire(OwnedFd);

impl Wire {
    /// Creates both ends of a link that preserves frame boundaries.
    fn pair() -> (OwnedFd, Self) {
        let (ours, theirs) = socketpair(
            AddressFamily::Unix,
            SockType::SeqPacket,
            None,
            SockFlag::SOCK_CLOEXEC,
        )
        .unwrap();
        let limit = TimeVal::seconds(LIMIT.as_secs() as i64);
        setsockopt(&theirs, sockopt::ReceiveTimeout, &limit).unwrap();
        (ours, Self(theirs))
    }

    fn send(&self, bytes: &[u8]) {
        send(self.0.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL).unwrap();
    }

    fn announce(&self, announcement: Announcement) {
        self.say(Content::Announcement(announcement));
    }

    fn say(&self, content: Content) {
        let lldp = Lldp {
            chassis: ChassisId::mac(MacAddress([2, 0, 0, 0, 9, 1])),
            port: PortIdentifier::interface_name("up").unwrap(),
            content,
        };
        let mut buffer = [0; FRAME_LENGTH_MAX];
        let length = lldp.emit(MacAddress([2, 0, 0, 0, 9, 2]), &mut buffer);
        self.send(&buffer[..length.unwrap()]);
    }

    /// Returns the next frame from the daemon and its source address; waits on a separate thread.
    async fn receive(&self) -> (Lldp, MacAddress) {
        let socket = self.0.try_clone().unwrap();
        let bytes = tokio::task::spawn_blocking(move || {
            let mut buffer = [0; 2048];
            let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()).unwrap();
            buffer[..length].to_vec()
        })
        .await
        .unwrap();
        let source = MacAddress(bytes[6..12].try_into().unwrap());
        (Lldp::parse(&bytes).unwrap().lldp, source)
    }
}

fn announcement(depth: u8) -> Announcement {
    let mut modes = [AnnouncedMode::Lossy; 8];
    modes[3] = AnnouncedMode::Level(Level::new(depth).and_then(Depth::new).unwrap());
    Announcement {
        system_name: Some(Text::truncated("s2\x1b[2J")),
        pfc: Some(PfcConfiguration::fixed(PrioritySet(1 << 3))),
        weir: Some(Weir::V1(WeirV1 {
            clcm: true,
            hears: true,
            coding: Some(FeedbackCoding::Pfc),
            modes,
        })),
        ..Announcement::new(TimeToLive::STANDARD)
    }
}

/// The announcement of a switch that gives `limit` credits in priority 4.
fn with_credits(limit: u32) -> Announcement {
    let mut credits = CreditsV1 {
        gives: true,
        longest_bytes: 1518,
        ..CreditsV1::default()
    };
    credits.classes[4] = Some(AnnouncedCredits {
        terms: CreditTerms::new(2048, -4, limit).unwrap(),
        fallback: CreditFallback::Closed,
    });
    Announcement {
        credits: Some(Credits::V1(credits)),
        ..announcement(3)
    }
}

/// Starts a daemon; returns it with the other ends of its ports' LLDP sockets.
async fn start() -> (Running, Vec<Wire>) {
    start_with(announcement(3)).await
}

async fn start_with(announcement: Announcement) -> (Running, Vec<Wire>) {
    let fake = FakeDataplane::start();
    let (ours, wires): (Vec<_>, Vec<_>) = (0..3).map(|_| Wire::pair()).unzip();
    *fake.lldp.lock().unwrap() = ours;
    let mut control = settings();
    control.lldp = LldpSettings {
        enabled: true,
        interval: Duration::from_secs(30),
        ports: (0..3)
            .map(|number| AnnouncedPort {
                identifier: PortIdentifier::interface_name(&format!("p{number}")).unwrap(),
                announcement,
                configured: Neighbour::Unknown,
                is_fabric: number < 2,
            })
            .collect(),
    };
    (Running::start(fake, control).await, wires)
}

impl Running {
    async fn neighbors(&self) -> Vec<Neighbor> {
        get(&self.socket, "/v1/neighbors").await.json()
    }

    async fn event(&self, kind: &str) -> Event {
        until(async || {
            let page: EventPage = get(&self.socket, "/v1/events").await.json();
            page.events.into_iter().find(|event| event.kind == kind)
        })
        .await
    }

    /// Waits for the last command about the neighbour at `p0`.
    async fn until_told(&self, wanted: Neighbour) {
        until(async || {
            let commands = self.remote.commands();
            let last = commands.iter().rev().find_map(|command| match command {
                Command::SetNeighbour {
                    port: at,
                    neighbour,
                } if *at == port(0) => Some(*neighbour),
                _ => None,
            });
            (last == Some(wanted)).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_neighbour_is_learnt_shown_and_forgotten() {
    let (daemon, wires) = start().await;
    wires[0].announce(announcement(3));
    daemon.until_told(Neighbour::Enhanced).await;
    let found = daemon.event("neighbour_found").await;
    assert_eq!(found.port.as_deref(), Some("p0"));
    assert_eq!(
        found.details["system"], r"s2\u{1b}[2J",
        "nothing that a terminal obeys"
    );
    let neighbors = daemon.neighbors().await;
    let [neighbor] = &neighbors[..] else {
        panic!("{neighbors:?}")
    };
    assert_eq!(neighbor.port, "p0");
    assert_eq!(neighbor.chassis_id, "02:00:00:00:09:01");
    assert_eq!(
        (neighbor.port_id.as_str(), neighbor.port_id_subtype),
        ("up", 5)
    );
    assert_eq!(neighbor.kind, "enhanced");
    assert_eq!(neighbor.ttl_seconds, 121);
    assert!((60.0..=121.0).contains(&neighbor.ttl_left_seconds));
    assert_eq!(neighbor.pfc.as_ref().unwrap().priorities, [3]);
    let weir = neighbor.weir.as_ref().unwrap();
    assert_eq!((weir.modes[3].as_str(), weir.depths[3]), ("level", 3));
    assert_eq!(neighbor.mismatches, Vec::<String>::new());

    wires[0].say(Content::Shutdown);
    daemon.until_told(Neighbour::Unknown).await;
    let lost = daemon.event("neighbour_lost").await;
    assert_eq!(lost.details["reason"], "goodbye");
    assert_eq!(daemon.neighbors().await, []);
    assert_eq!(daemon.end().await.unwrap(), Ended::Cleanly);
}

#[tokio::test]
async fn a_mismatch_is_reported_and_a_hosts_port_learns_nothing() {
    let (daemon, wires) = start().await;
    let mut other = announcement(4);
    other.pfc = Some(PfcConfiguration::fixed(PrioritySet(1 << 4)));
    for wire in &wires {
        wire.announce(other);
    }
    daemon.until_told(Neighbour::Regular).await;
    let level = daemon.event("level_mismatch").await;
    assert_eq!(
        level.details["mismatch"],
        "priority 3 is level with D = 3 here and level with D = 4 at the neighbour"
    );
    let pfc = daemon.event("pfc_mismatch").await;
    assert_eq!(
        pfc.details["mismatch"],
        "PFC is on for priorities 3 here and 4 at the neighbour"
    );
    until(async || (daemon.neighbors().await.len() == 3).then_some(())).await;
    assert_eq!(daemon.neighbors().await[0].mismatches.len(), 2);
    let about_the_host =
        daemon.remote.commands().into_iter().any(
            |command| matches!(command, Command::SetNeighbour { port: at, .. } if at == port(2)),
        );
    assert!(!about_the_host);
    wires[0].announce(announcement(3));
    daemon.event("level_mismatch_ended").await;
    daemon.event("pfc_mismatch_ended").await;
    assert_eq!(daemon.end().await.unwrap(), Ended::Cleanly);
}

#[tokio::test]
async fn announced_credits_are_shown_and_told_to_the_dataplane() {
    let (daemon, wires) = start_with(with_credits(100)).await;
    let told = async |wanted: CreditHints| {
        until(async || {
            let commands = daemon.remote.commands();
            let last = commands.iter().rev().find_map(|command| match command {
                Command::SetCreditHints { port: at, hints } if *at == port(2) => Some(*hints),
                _ => None,
            });
            (last == Some(wanted)).then_some(())
        })
        .await;
    };
    let of_class = PrioritySet(1 << 4);
    wires[2].announce(with_credits(300));
    told(CreditHints {
        offered: of_class,
        ..CreditHints::default()
    })
    .await;
    let neighbors = daemon.neighbors().await;
    let credits = neighbors[0].credits.as_ref().unwrap();
    assert_eq!((credits.version, credits.gives), (1, true));
    assert_eq!(credits.longest_frame_bytes, Some(1518));
    let [class] = &credits.classes[..] else {
        panic!("{credits:?}")
    };
    assert_eq!((class.priority, class.limit), (4, 300));
    assert_eq!((class.size_bytes, class.overhead_bytes), (2048, -4));
    assert_eq!(class.fallback, "closed");
    assert_eq!(neighbors[0].mismatches, Vec::<String>::new());

    wires[2].announce(announcement(3));
    told(CreditHints {
        offered: PrioritySet::EMPTY,
        absent: of_class,
        denied: of_class,
    })
    .await;
    let event = daemon.event("credit_mismatch").await;
    assert_eq!(event.port.as_deref(), Some("p2"));
    let neighbors = daemon.neighbors().await;
    assert_eq!(neighbors[0].mismatches, [event.details["mismatch"].clone()]);
    assert_eq!(neighbors[0].credits, None);
    wires[2].say(Content::Shutdown);
    told(CreditHints::default()).await;
    daemon.event("credit_mismatch_ended").await;
    assert_eq!(daemon.end().await.unwrap(), Ended::Cleanly);
}

#[tokio::test]
async fn the_daemon_announces_itself_and_says_goodbye() {
    let (daemon, wires) = start().await;
    let began = StdInstant::now();
    for _ in 0..2 {
        let (lldp, source) = wires[1].receive().await;
        assert_eq!(source, MacAddress([2, 0, 0, 0, 0, 1]), "the port's own");
        let chassis = lldp.chassis.as_mac();
        assert_eq!(chassis, Some(MacAddress([2, 0, 0, 0, 0, 0])), "the lowest");
        assert_eq!(lldp.port.as_interface_name(), Some("p1"));
        let mut expected = announcement(3);
        if let Some(Weir::V1(weir)) = &mut expected.weir {
            weir.hears = false;
        }
        assert_eq!(lldp.content, Content::Announcement(expected), "nobody yet");
    }
    assert!(began.elapsed() >= StdDuration::from_millis(900));
    daemon.end().await.unwrap();
    loop {
        let (lldp, _) = wires[1].receive().await;
        if lldp.content == Content::Shutdown {
            break;
        }
    }
}

#[tokio::test]
async fn noise_does_no_harm() {
    let (daemon, wires) = start().await;
    let mut seed = 1u32;
    for length in 1..12 {
        let noise: Vec<u8> = (0..length * 9)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 24) as u8
            })
            .collect();
        wires[0].send(&noise);
    }
    wires[0].announce(announcement(3));
    daemon.until_told(Neighbour::Enhanced).await;
    assert_eq!(daemon.end().await.unwrap(), Ended::Cleanly);
}
