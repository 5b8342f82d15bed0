//! Protocol P in the API.

use std::sync::Arc;

use crate::support::{self, get, info, settings, until, FakeDataplane, FakeXdp, LOSSLESS};
use weir_api::daemon::{LevelDestination, LevelLink, Levels};
use weir_core::config::LevelRules;
use weir_core::level::LEVEL_MAX;
use weir_core::switch::{LevelEntry, LevelGauges};
use weir_core::{Budgets, Bytes, ClassMode, Duration, Level, MacAddress, PfcThresholds};
use weir_switchd::control::info::SwitchInfo;
use weir_switchd::daemon::RunningDataplane;
use weir_switchd::{api, control};

fn level(number: u8) -> Level {
    Level::new(number).unwrap()
}

/// Returns a switch whose lossless class has two budgets.
fn info_with_levels() -> SwitchInfo {
    let mut info = info();
    let mode = ClassMode::Level {
        rules: LevelRules::default(),
        budgets: Budgets::new(&[Bytes::new(61_440), Bytes::new(1_536)]).unwrap(),
        edge: PfcThresholds::new(Bytes::new(61_440), Bytes::new(53_248), Bytes::new(65_536))
            .unwrap(),
    };
    info.classes[usize::from(LOSSLESS)].mode = mode.into();
    info
}

fn gauges() -> LevelGauges {
    let mut m = [Bytes::ZERO; LEVEL_MAX];
    m[..2].copy_from_slice(&[Bytes::new(1_024), Bytes::new(2_560)]);
    LevelGauges {
        depth: level(2),
        m,
        reserve: Bytes::new(4_096),
        round_trip: Duration::from_micros(80),
        round_trip_measured: Some(Duration::from_nanos(71_500)),
        feedback_sent: level(1),
        feedback_received: level(2),
        eligible: Bytes::new(60),
        eligible_frames: 1,
        held: Bytes::new(25_500),
        held_frames: 17,
    }
}

/// Returns the API's answer for a switch whose dataplane reports `gauges()` of port 1, with two
/// more destinations in its Level Table than it lists.
async fn ask(info: SwitchInfo) -> Levels {
    let fake = FakeDataplane::start();
    {
        let mut state = fake.template.lock().unwrap();
        let of_port = &mut state.ports[1].gauges[usize::from(LOSSLESS)];
        of_port.levels = Some(gauges());
        of_port.paused = true;
        state.level_table.entries = vec![LevelEntry {
            priority: support::priority(LOSSLESS),
            destination: MacAddress([2, 0, 0, 0, 1, 7]),
            level: level(2),
            buffered: Bytes::new(3_072),
        }];
        state.level_table.total = 3;
    }
    let control =
        control::start(info, &settings(), fake.link().unwrap(), Box::new(FakeXdp)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("api.sock");
    let listener = api::listen(&socket, None).unwrap();
    let server = tokio::spawn(api::serve(listener, Arc::clone(&control.shared)));
    // The first snapshot may be the control plane's initial empty one.
    let levels = until(async || {
        let levels: Levels = get(&socket, "/v1/levels").await.json();
        (!levels.destinations.is_empty()).then_some(levels)
    })
    .await;
    control.stop();
    server.await.unwrap().unwrap();
    levels
}

#[tokio::test]
async fn levels_of_links_and_destinations() {
    let expected = Levels {
        links: vec![LevelLink {
            port: "p1".to_owned(),
            priority: 3,
            class: "lossless".to_owned(),
            depth: 2,
            b_bytes: vec![61_440, 1_536],
            m_bytes: vec![1_024, 2_560],
            reserve_bytes: 4_096,
            round_trip_nanos: 80_000,
            round_trip_measured_nanos: Some(71_500),
            feedback_sent: 1,
            feedback_received: 2,
            paused: true,
            eligible_frames: 1,
            eligible_bytes: 60,
            held_frames: 17,
            held_bytes: 25_500,
        }],
        destinations: vec![LevelDestination {
            priority: 3,
            class: "lossless".to_owned(),
            destination: "02:00:00:00:01:07".to_owned(),
            level: 2,
            buffered_bytes: 3_072,
        }],
        left_out: 2,
    };
    assert_eq!(ask(info_with_levels()).await, expected);
}

#[tokio::test]
async fn a_class_without_budgets_has_no_links() {
    assert_eq!(ask(info()).await.links, []);
}
