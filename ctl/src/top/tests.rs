//! Frames as text, of a switch whose ring has locked.

use weir_api::overview::Overview;

use super::app::{Action, App, Next};
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
s1  running, up 1 min 01 s  policy breaker  82 frames inside  3 dropped
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
    assert_eq!(app.act(Action::Quit), Next::Leave);
}

#[test]
fn esc_closes_what_is_open_and_leaves_where_nothing_is() {
    let mut app = app();
    app.act(Action::Help);
    assert_eq!(app.act(Action::Close), Next::Draw);
    assert!(!frame(&mut app, 80, 24).contains("freeze; again: resume"));
    app.show(View::Deadlocks);
    app.open(7, Ok("what happened".to_owned()));
    assert!(frame(&mut app, 80, 24).contains("what happened"));
    assert_eq!(app.act(Action::Close), Next::Draw);
    assert!(!frame(&mut app, 80, 24).contains("what happened"));
    assert_eq!(app.act(Action::Close), Next::Leave);
}

#[test]
fn a_deadlock_opens_and_its_record_can_be_moved_in() {
    let mut app = app();
    // Other views have nothing to open.
    assert_eq!(app.act(Action::Open), Next::Draw);
    app.show(View::Deadlocks);
    let id = overview(0).deadlocks.current[0].id;
    assert_eq!(app.act(Action::Open), Next::Record(id));
    let lines: Vec<String> = (0..100)
        .map(|line| format!("line {line} of the record"))
        .collect();
    app.open(id, Ok(lines.join("\n")));
    assert!(frame(&mut app, 80, 24).contains("line 0 of"));
    app.act(Action::Move(10));
    let told = frame(&mut app, 80, 24);
    assert!(
        told.contains("line 10 of") && !told.contains("line 9 of"),
        "{told}"
    );
    app.act(Action::Turn(1));
    assert!(
        frame(&mut app, 80, 24).contains("the record")
            && !frame(&mut app, 80, 24).contains("line 11")
    );
    app.act(Action::Close);
    // Without a record, what the list has.
    app.open(id, Err("no record of it is kept".to_owned()));
    let told = frame(&mut app, 80, 24);
    assert!(
        told.contains("STILL SUSPECTED") && told.contains("no record of it is kept"),
        "{told}"
    );
}

#[test]
fn no_column_of_ports_is_lost_in_80_columns() {
    let mut now = overview(2);
    for port in &mut now.ports {
        port.rx_frames_total = 123_456_789;
        port.tx_frames_total = 987_654_321;
        port.kernel_losses.rx_ring_full_total = 4_239;
        port.drops_total.insert("headroom_exceeded".into(), 24_576);
    }
    now.neighbors
        .insert("s2".to_owned(), "a-leaf-with-a-long-name".to_owned());
    let mut app = App::new(now, false);
    app.show(View::Ports);
    let told = frame(&mut app, 80, 24);
    for word in [
        "kernel lost",
        "4239",
        "dropped",
        "24.6k",
        "received",
        "123M",
        "a-leaf",
        "100M",
        "DOWN",
    ] {
        assert!(told.contains(word), "{word}\n{told}");
    }
    assert!(
        told.lines().all(|line| line.chars().count() <= 80),
        "{told}"
    );
}

#[test]
fn a_remedy_is_not_cut_in_80_columns() {
    let mut now = overview(2);
    let text = format!(
        "s2 priority 3: suspected of a deadlock for 52 s, once; {}, reload",
        "nothing helps ".repeat(4)
    );
    let reason =
        serde_json::json!({"kind": "suspected", "verdict": "failing", "count": 1, "text": text});
    let health = serde_json::json!({"verdict": "failing", "reasons": [reason]});
    now.status.health = Some(serde_json::from_value(health).unwrap());
    let mut app = App::new(now, false);
    let told = frame(&mut app, 80, 24);
    assert!(
        told.contains("FAILING: s2") && told.contains(", reload"),
        "{told}"
    );
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
