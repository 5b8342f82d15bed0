//! Frames as text, for a switch in a deadlocked ring.

use weir_api::daemon::FlightRecord;
use weir_api::overview::Overview;

use super::app::{Action, App, Next};
use super::text;
use super::views::View;
use crate::target::Target;

/// Returns an overview this many seconds after the file's last one.
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

/// Returns the text between bars, without trailing spaces.
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
 1 Buffers   2 Ports   3 Levels   4 Deadlocks   5 Events   6 Switches
  port prio   xoff │ headroom    bytes     xoff pauses paused by note        for
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
    // A restarted daemon has no rates yet.
    let mut again = overview(4);
    again.status.pid += 1;
    app.learn(Ok(again));
    assert!(!frame(&mut app, 120, 7).contains("20.0 Mbit/s"));
}

#[test]
fn keys_turn_sort_hold_and_leave() {
    let mut app = app();
    app.act(Action::Turn(-1));
    assert!(app.shows_all());
    app.act(Action::Turn(-1));
    assert!(frame(&mut app, 100, 7).contains("loop found"));
    app.act(Action::Turn(2));
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
    app.open(7, Err("what happened".to_owned()));
    assert!(frame(&mut app, 80, 24).contains("what happened"));
    assert_eq!(app.act(Action::Close), Next::Draw);
    assert!(!frame(&mut app, 80, 24).contains("what happened"));
    assert_eq!(app.act(Action::Close), Next::Leave);
}

fn record() -> Box<FlightRecord> {
    let text = include_str!("../../tests/data/record.json");
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_deadlock_opens_and_its_record_can_be_scrolled() {
    let mut app = app();
    app.show(View::Deadlocks);
    let id = overview(0).deadlocks.current[0].id;
    assert_eq!(app.act(Action::Open), Next::Record(id));
    app.open(id, Ok(record()));
    let first = frame(&mut app, 80, 24);
    assert!(
        first.contains("suspicion") && first.contains("lines 1 to 22 of"),
        "{first}"
    );
    app.act(Action::Move(3));
    let told = frame(&mut app, 80, 24);
    assert!(told.contains("lines 4 to 25 of"), "{told}");
    // Scrolling ends at the last line.
    app.act(Action::Move(10_000));
    let last = frame(&mut app, 80, 24);
    app.act(Action::Move(1));
    assert_eq!(frame(&mut app, 80, 24), last);
    app.act(Action::Close);
    // Without a record, the list's data is shown.
    app.open(id, Err("no record of it is kept".to_owned()));
    let told = frame(&mut app, 80, 24);
    assert!(
        told.contains("STILL SUSPECTED") && told.contains("no record of it is kept"),
        "{told}"
    );
}

fn all_lines(app: &mut App, columns: u16, rows: u16) -> String {
    let mut all = String::new();
    let mut last = String::new();
    for _ in 0..1000 {
        let shown = frame(app, columns, rows);
        if shown == last {
            return all;
        }
        let lines: Vec<&str> = shown.lines().collect();
        for line in &lines[1..] {
            let inside: String = line.trim_matches('│').trim_end().to_owned();
            all.push_str(&inside);
            all.push('\n');
        }
        last = shown;
        app.act(Action::Move(1));
    }
    panic!("the dialog has no end:\n{all}");
}

/// Returns the words of a text, without spaces and line breaks between them.
fn joined(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn no_word_of_a_record_is_cut() {
    for (columns, rows) in [(80, 24), (200, 50)] {
        let mut app = app();
        let record = record();
        let whole = crate::show::flight_text(&record, Some(usize::from(columns) - 2));
        app.open(2, Ok(record));
        let told = all_lines(&mut app, columns, rows);
        let told = joined(&told);
        for line in whole.lines().map(str::trim).filter(|it| !it.is_empty()) {
            assert!(
                told.contains(&joined(line)),
                "{columns}x{rows}: {line}\n{told}"
            );
        }
    }
}

#[test]
fn every_row_opens_and_its_details_change_with_the_switch() {
    let mut app = app();
    assert_eq!(app.act(Action::Open), Next::Draw);
    let told = frame(&mut app, 80, 24);
    for words in [
        "Port s2, priority 3",
        "suspected   yes",
        "xoff        60.0 KiB",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
    // The dialog shows current values, and Esc closes it.
    let mut later = overview(4);
    later.pfc[0].suspected = false;
    app.learn(Ok(later));
    assert!(frame(&mut app, 80, 24).contains("suspected   no"));
    assert_eq!(app.act(Action::Close), Next::Draw);
    assert!(!frame(&mut app, 80, 24).contains("received   "));

    app.show(View::Ports);
    app.act(Action::Move(1));
    app.act(Action::Open);
    let told = frame(&mut app, 80, 24);
    for words in [
        "Port s4:",
        "kernel lost  2 rx_ring_full",
        "device       s4",
        "02:00:00:00:00:01",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
    app.act(Action::Close);
    app.show(View::Events);
    app.act(Action::Open);
    let event = &overview(0).events[0];
    let told = frame(&mut app, 80, 24);
    assert!(told.contains(&event.time), "{told}");
    for (name, value) in &event.details {
        assert!(told.contains(&format!("{name}={value}")), "{told}");
    }
}

/// Returns a switch with the longest names and the largest numbers.
fn crowded() -> Overview {
    let mut now = overview(2);
    let long = |name: &str| format!("{name}-{}", "x".repeat(14 - name.len()));
    let names: Vec<(String, String)> = now
        .ports
        .iter()
        .map(|port| (port.name.clone(), long(&port.name)))
        .collect();
    let renamed = |name: &str| {
        let found = names.iter().find(|(old, _)| old == name);
        found.map_or(name.to_owned(), |(_, new)| new.clone())
    };
    for port in &mut now.ports {
        port.name = renamed(&port.name);
        port.rx_frames_total = 123_456_789_012;
        port.tx_frames_total = 987_654_321_098;
        port.drops_total.insert("headroom_exceeded".into(), 24_576);
        port.drops_total.insert("no_route".into(), 1_000_001);
        let neighbor = format!("a-leaf-with-a-long-name-{}", port.name);
        now.neighbors.insert(port.name.clone(), neighbor);
    }
    for queue in &mut now.pfc {
        queue.port = renamed(&queue.port);
        queue.release_ingress = queue.suspected.then(|| "h1-xxxxxxxxxxxx".to_owned());
        queue.paused_seconds_total = 123_456.7;
        (queue.ingress_bytes, queue.xoff_bytes) = (1_234_567_890, 1_023_456_789);
    }
    for one in now
        .deadlocks
        .current
        .iter_mut()
        .chain(&mut now.deadlocks.past)
    {
        one.port = renamed(&one.port);
        (one.loops_found, one.releases, one.flows_moved) = (123_456, 234_567, 345_678);
        (one.queued_bytes, one.id) = (1_234_567_890, one.id + 1_000_000);
    }
    for event in &mut now.events {
        event.port = event.port.as_deref().map(renamed);
        event.sequence += 10_000_000;
        let text = "a long word of explanation, and another that goes on".to_owned();
        event.details.insert("reason".to_owned(), text);
    }
    now
}

#[test]
fn nothing_of_a_row_is_lost_in_80_columns() {
    let mut app = App::new(crowded(), false);
    app.learn(Ok(crowded()));
    app.learn_all(vec![
        ("a-switch-of-some-name".to_owned(), Ok(crowded())),
        (
            "s2".to_owned(),
            Err("no daemon answers at /run/weir/s2/api.sock".to_owned()),
        ),
    ]);
    for (columns, rows) in [(80, 24), (200, 50)] {
        for view in View::ALL {
            app.show(view);
            let count = app.grid().rows.len();
            for index in 0..count {
                app.show(view);
                app.act(Action::Move(index as isize));
                let told = frame(&mut app, columns, rows);
                let heads = told
                    .lines()
                    .skip_while(|line| !line.contains(" 1 Buffers "))
                    .nth(1);
                assert!(!heads.unwrap_or_default().contains('…'), "{told}");
                // The dialog shows the text that is truncated in its column.
                let joined_told = joined(&told);
                for cell in &app.grid().rows[index] {
                    let is_short = cell.short.is_some()
                        && joined_told.contains(&joined(cell.short.as_deref().unwrap_or("")));
                    assert!(
                        is_short || joined_told.contains(&joined(&cell.text)),
                        "{view:?} {columns}x{rows}: {}\n{told}",
                        cell.text
                    );
                }
            }
        }
    }
}

#[test]
fn the_help_is_whole_at_80_by_24() {
    let mut app = app();
    app.act(Action::Help);
    let told = frame(&mut app, 80, 24);
    for line in super::app::HELP.lines() {
        assert!(told.contains(line.trim_end()), "{line}\n{told}");
    }
    assert!(super::draw::KEYS.chars().count() <= 80);
}

#[test]
fn all_switches_are_shown_and_one_is_entered() {
    let mut app = app();
    app.act(Action::All);
    assert!(app.shows_all());
    let mut failing = overview(0);
    failing.status.name = "s2".to_owned();
    let reason = serde_json::json!({"kind": "suspected", "verdict": "failing", "count": 1, "text": "s2 priority 3: suspected of a deadlock for 52 s"});
    let health = serde_json::json!({"verdict": "failing", "reasons": [reason]});
    failing.status.health = Some(serde_json::from_value(health).unwrap());
    let mut well = overview(0);
    well.deadlocks.current.clear();
    well.pfc
        .iter_mut()
        .for_each(|queue| (queue.paused, queue.pausing) = (false, false));
    let answers = |seconds: u64| {
        let mut later = (well.clone(), failing.clone());
        for one in [&mut later.0, &mut later.1] {
            one.monotonic_nanos += seconds * 1_000_000_000;
            one.ports[0].rx_bytes_total += seconds * 1_250_000;
        }
        vec![
            ("s1".to_owned(), Ok(later.0)),
            ("s2".to_owned(), Ok(later.1)),
            ("s3".to_owned(), Err("Connection refused".to_owned())),
        ]
    };
    app.learn_all(answers(0));
    app.learn_all(answers(2));
    app.act(Action::Move(1));
    let told = frame(&mut app, 80, 24);
    for words in [
        "3 switches of this machine: 1 FAILING, 1 without an answer",
        "queues suspected of a deadlock: 1; links paused: 1",
        "10.0M",
        "› s2",
        "SILENT",
        "52 s",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
    assert!(frame(&mut app, 200, 50).contains("10.0 Mbit/s"));
    assert_eq!(app.act(Action::Open), Next::Enter("s2".to_owned()));
    app.enter("s2", Ok(failing.clone()));
    assert!(!app.shows_all());
    assert!(frame(&mut app, 80, 24).contains("s2  running"));
    // Back to the list, and from there to the end.
    assert_eq!(app.act(Action::Close), Next::Draw);
    assert!(app.shows_all());
    app.enter("s3", Err("Connection refused".to_owned()));
    assert!(app.shows_all() && frame(&mut app, 80, 24).contains("Connection refused"));
    assert_eq!(app.act(Action::Close), Next::Draw);
    assert_eq!(app.act(Action::Close), Next::Leave);
}

#[test]
fn a_switch_that_does_not_answer_delays_only_its_own_row() {
    let target = |name: &str| Target {
        socket: Some(name.into()),
        name: None,
    };
    // More switches than are asked at a time; each waits until all others of its group have begun.
    let all: Vec<_> = (0..40)
        .map(|it| (format!("s{it}"), target(&format!("/{it}"))))
        .collect();
    let begun = std::sync::Barrier::new(8);
    let answers = super::fabric::look(&all, |target| {
        begun.wait();
        let is_first = target.socket.as_deref() == Some(std::path::Path::new("/0"));
        if is_first {
            Err("silent".to_owned())
        } else {
            Ok(overview(0))
        }
    });
    let names: Vec<&String> = answers.iter().map(|(name, _)| name).collect();
    assert_eq!(names, all.iter().map(|(name, _)| name).collect::<Vec<_>>());
    assert_eq!(
        answers.iter().filter(|(_, answer)| answer.is_err()).count(),
        1
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
