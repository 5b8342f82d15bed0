//! Frames as text, of a switch whose ring has locked.

use weir_api::overview::Overview;

use super::app::{Action, App};
use super::text;
use super::views::View;

/// A moment at which so many seconds have passed since the last one that the file has.
fn overview(seconds: u64) -> Overview {
    let text = include_str!("../../tests/support/overview.json");
    let mut overview: Overview = serde_json::from_str(text).unwrap();
    overview.monotonic_nanos += seconds * 1_000_000_000;
    for port in &mut overview.ports {
        if port.rx_bytes_total > 0 {
            port.rx_bytes_total += seconds * 1_250_000;
        }
        if port.tx_bytes_total > 0 {
            port.tx_bytes_total += seconds * 2_500_000;
        }
    }
    overview
}

fn app() -> App {
    let mut app = App::new(overview(0), false);
    app.learn(Ok(overview(2)));
    app
}

/// What stands between bars, without the spaces at the ends of lines.
fn frame(app: &mut App, columns: u16, rows: u16) -> String {
    text(app, columns, rows).unwrap()
}

#[test]
fn buffers_are_drawn_against_their_thresholds() {
    assert_eq!(
        frame(&mut app(), 80, 7),
        "\
s1  running, up 0 h 01 min 01 s  policy breaker  82 frames inside  3 dropped
deadlock SUSPECTED: s2 priority 3
 1 Buffers   2 Ports   3 Levels   4 Deadlocks   5 Events
  port prio xoff │ headroom      bytes     xoff pauses paused by note        for
› s2      3 ··········│······      0 B 60.0 KiB –      leaf2     SUSPECTED 1.5 s
  s4      3 ██████████│▓▓▓··· 90.0 KiB 60.0 KiB s4     –         –         1.5 s
"
    );
}

#[test]
fn rates_are_between_two_looks() {
    let mut app = app();
    app.act(Action::Go(1));
    let told = frame(&mut app, 120, 7);
    assert!(told.contains("leaf2"), "{told}");
    assert!(
        told.contains("DOWN") && told.contains("10.0 Mbit/s") && told.contains("20.0 Mbit/s"),
        "{told}"
    );
    // A daemon that has started again has no rates yet.
    let mut again = overview(4);
    again.status.pid += 1;
    app.learn(Ok(again));
    assert!(!frame(&mut app, 120, 7).contains("20.0 Mbit/s"));
}

#[test]
fn keys_turn_sort_hold_and_leave() {
    let mut app = app();
    app.act(Action::Turn(-1));
    assert!(frame(&mut app, 100, 7).contains("loop found"));
    app.act(Action::Turn(1));
    let first = |app: &App| app.grid().rows[0][0].text.clone();
    assert_eq!(first(&app), "s2");
    app.act(Action::Sort(1));
    app.act(Action::Reverse);
    assert_eq!(first(&app), "s4");
    app.act(Action::Unsort);
    assert_eq!(first(&app), "s2");
    app.act(Action::Move(7));
    assert!(frame(&mut app, 100, 7).contains("› s4"));
    app.act(Action::Hold);
    assert!(app.is_held() && frame(&mut app, 100, 7).contains("frozen; p resumes"));
    app.act(Action::Help);
    assert!(frame(&mut app, 80, 24).contains("freeze; again: resume"));
    assert!(!app.act(Action::Quit));
}

#[test]
fn a_daemon_that_is_gone_is_said_to_be() {
    let mut app = app();
    app.learn(Err("no daemon answers".to_owned()));
    assert!(frame(&mut app, 100, 7).contains("STALE FIGURES: no daemon answers"));
    app.learn(Ok(overview(4)));
    assert!(!frame(&mut app, 100, 7).contains("OLD"));
}

#[test]
fn every_view_fits_every_size() {
    let mut app = app();
    for view in View::ALL {
        app.show(view);
        for (columns, rows) in [(1, 1), (20, 4), (80, 24), (300, 100)] {
            frame(&mut app, columns, rows);
        }
    }
}
