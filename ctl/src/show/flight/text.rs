//! A record as text: the events, curves, and a time line.

use weir_api::daemon::{Event, Master};
use weir_api::words::{EventName, Suspicion};
use weir_core::SuspicionReason;

use super::chart::{TimeLine, WIDTH};
use super::view::{concerns, Series, View};
use weir_output::{bytes, count, facts, seconds, NONE};

/// Minimum width of a curve in characters, however narrow the terminal is.
const CURVE_MIN: usize = 16;

/// Formats the record. With `columns`, curves are shortened so that their lines fit.
pub fn text(view: &View<'_>, columns: Option<usize>) -> String {
    let curves = curves(view, columns);
    format!("{}\n{curves}\n{}", summary(view), time_line(view))
}

fn summary(view: &View<'_>) -> String {
    let record = view.record;
    let deadlock = &record.deadlock;
    facts(&[
        (
            "suspicion",
            format!(
                "{} of switch {}: port {}, priority {}",
                deadlock.id, record.switch, deadlock.port, deadlock.priority
            ),
        ),
        ("began", record.began_time.clone()),
        (
            "why",
            format!(
                "{}; {} had waited for {} and nothing was sent",
                reason(&deadlock.reason),
                bytes(deadlock.queued_bytes),
                seconds(deadlock.idle_seconds)
            ),
        ),
        (
            "lasted",
            match deadlock.lasted_seconds {
                Some(lasted) => seconds(lasted),
                None => "ongoing: STILL SUSPECTED".to_owned(),
            },
        ),
        ("CLCM", clcm(view)),
        ("master", master(deadlock.master.as_ref())),
        ("releases", releases(view)),
        ("flows moved", flows(view)),
        ("recorded", recorded(view)),
    ])
}

fn reason(word: &Suspicion) -> String {
    let meaning = match word.known() {
        Some(SuspicionReason::Paused) => "the neighbour pauses us",
        Some(SuspicionReason::NoCredits) => "the neighbour gives no credits",
        Some(SuspicionReason::ReleaseRule) => "a release admits only another port's frames",
        Some(SuspicionReason::NoEligibleLevel) => {
            "the neighbour's Feedback holds back every waiting Level"
        }
        Some(SuspicionReason::TransmitterStuck) => "the device accepts no frames",
        None => return word.to_string(),
    };
    format!("{word}: {meaning}")
}

fn clcm(view: &View<'_>) -> String {
    let spuid = view.record.deadlock.spuid.as_deref();
    format!(
        "SPUID {}; {} sent, {} seen, {} forwarded, {} ignored; {} found",
        spuid.unwrap_or(NONE),
        view.count(&EventName::ClcmSent.into()),
        view.count(&EventName::ClcmReceived.into()),
        view.count(&EventName::ClcmForwarded.into()),
        view.count(&EventName::ClcmIgnored.into()),
        count(view.record.deadlock.loops_found, "loop")
    )
}

fn master(master: Option<&Master>) -> String {
    match master {
        Some(Master::ThisSwitch) => "this switch".to_owned(),
        Some(Master::Other { spuid }) => format!("another switch, SPUID {spuid}"),
        None => NONE.to_owned(),
    }
}

fn releases(view: &View<'_>) -> String {
    let deadlock = &view.record.deadlock;
    let mut parts = Vec::new();
    if deadlock.releases > 0 {
        parts.push(format!("{} ordered", deadlock.releases));
    }
    if let Some(first) = deadlock.first_release_seconds {
        parts.push(format!("first after {}", seconds(first)));
    }
    if deadlock.released_bytes > 0 {
        parts.push(format!(
            "{} sent during them",
            bytes(deadlock.released_bytes)
        ));
    }
    if deadlock.forced_bytes > 0 {
        let forced = bytes(deadlock.forced_bytes);
        parts.push(format!("{forced} forced out although paused"));
    }
    if parts.is_empty() {
        return NONE.to_owned();
    }
    parts.join(", ")
}

fn flows(view: &View<'_>) -> String {
    const SHOWN_MAX: usize = 8;
    let deadlock = &view.record.deadlock;
    let moved: Vec<String> = view
        .record
        .events
        .iter()
        .filter(|event| {
            event.kind == EventName::FlowMoved && event.port.as_ref() == Some(&deadlock.port)
        })
        .map(moved)
        .collect();
    if deadlock.flows_moved == 0 && moved.is_empty() {
        return NONE.to_owned();
    }
    let shown = moved.len().min(SHOWN_MAX);
    let mut list = moved[..shown].join("; ");
    if deadlock.flows_moved > shown as u64 {
        list += &format!("; and {} more", deadlock.flows_moved - shown as u64);
    }
    format!("{}: {list}", deadlock.flows_moved)
}

fn moved(event: &Event) -> String {
    let detail = |name: &str| event.details.get(name).map_or(NONE, String::as_str);
    format!(
        "to {} from {} {} → {}",
        detail("destination"),
        detail("ingress"),
        event.port.as_deref().unwrap_or(NONE),
        detail("to")
    )
}

fn recorded(view: &View<'_>) -> String {
    let record = view.record;
    let mut text = format!(
        "from {} before to {} after it began: {}, {}",
        seconds(-view.span.0),
        seconds(view.span.1),
        count(record.samples.len() as u64, "sample"),
        count(record.events.len() as u64, "event")
    );
    if record.samples_left_out > 0 {
        let samples = count(record.samples_left_out, "sample");
        text += &format!("; {samples} in between omitted");
    }
    if record.events_left_out > 0 {
        let events = count(record.events_left_out, "event");
        text += &format!("; {events} in between omitted");
    }
    if !record.complete {
        text += "; ongoing";
    }
    text
}

fn curves(view: &View<'_>, columns: Option<usize>) -> String {
    let longest = |of: fn(&(String, String, String)) -> &String| {
        let rows = drawn(view, WIDTH);
        rows.iter().map(|row| of(row).chars().count()).max()
    };
    let beside = [longest(|row| &row.0), longest(|row| &row.2), Some(4)];
    let beside: usize = beside.into_iter().flatten().sum();
    let room = columns.map_or(WIDTH, |columns| columns.saturating_sub(beside));
    let width = room.clamp(CURVE_MIN, WIDTH);
    let rows = drawn(view, width);
    let names = rows.iter().map(|(name, ..)| name.chars().count()).max();
    let names = names.unwrap_or(0);
    let mut out = format!(
        "{:names$}  each column {}; the suspicion begins at !\n",
        "",
        seconds(TimeLine::new(view.span, width).column_seconds())
    );
    for (name, curve, note) in rows {
        out += &format!("{name:names$} |{curve}| {note}\n");
    }
    out
}

/// Returns for each row its name, a curve of `width` columns, and a note.
fn drawn(view: &View<'_>, width: usize) -> Vec<(String, String, String)> {
    let line = TimeLine::new(view.span, width);
    let all = view.series();
    let suspected = &view.record.deadlock.port;
    let mut rows = Vec::new();
    let thresholds = all
        .iter()
        .map(|series| series.most(|state| state.xoff_bytes));
    let occupied = all
        .iter()
        .map(|series| series.most(|state| state.ingress_bytes));
    let top = occupied.chain(thresholds).max().unwrap_or(0);
    for series in &all {
        let most = series.most(|state| state.ingress_bytes);
        if most > 0 {
            let points = series.points.iter().map(|(at, s)| (*at, s.ingress_bytes));
            let xoff = series.points.last().map_or(0, |(_, s)| s.xoff_bytes);
            let note = match xoff {
                0 => format!("peak {}", bytes(most)),
                _ => format!("peak {}, xoff {}", bytes(most), bytes(xoff)),
            };
            rows.push((
                format!("ingress {}", series.port),
                line.curve(points, top),
                note,
            ));
        }
    }
    for series in &all {
        let most = series.most(|state| state.egress_bytes);
        if series.port == suspected && most > 0 {
            let points = series.points.iter().map(|(at, s)| (*at, s.egress_bytes));
            let note = format!("peak {}", bytes(most));
            rows.push((
                format!("backlog {}", series.port),
                line.curve(points, most),
                note,
            ));
        }
    }
    for series in &all {
        rows.extend(bars(&line, series, series.port == suspected));
    }
    rows.push((
        String::new(),
        marks(&line, view),
        "! suspected, r released, m moved, . over".into(),
    ));
    rows
}

/// Draws the times at which the neighbour paused this switch, this switch paused the neighbour, and a release was in force.
fn bars(line: &TimeLine, series: &Series<'_>, is_suspected: bool) -> Vec<(String, String, String)> {
    let mut rows = Vec::new();
    let mut row = |what: &str, spans: &[(f64, f64)], mark| {
        if !spans.is_empty() {
            let total: f64 = spans.iter().map(|(start, end)| end - start).sum();
            let name = format!("{what} {}", series.port);
            rows.push((
                name,
                line.bars(spans, mark),
                format!("{} in total", seconds(total)),
            ));
        }
    };
    row("paused by", &series.spans(|state| state.paused), '=');
    row("we pause", &series.spans(|state| state.pausing), '-');
    row(
        "release at",
        &series.spans(|state| state.release_ingress.is_some()),
        'r',
    );
    if is_suspected {
        row("suspected", &series.spans(|state| state.suspected), '!');
    }
    rows
}

fn marks(line: &TimeLine, view: &View<'_>) -> String {
    let port = Some(&view.record.deadlock.port);
    let events = view
        .events()
        .filter(|(_, event)| event.port.as_ref() == port);
    let marked = events.filter_map(|(at, event)| {
        let mark = match event.kind.known()? {
            EventName::ReleaseStarted => 'r',
            EventName::FlowMoved => 'm',
            EventName::SuspicionEnded => '.',
            _ => return None,
        };
        Some((at, mark))
    });
    line.marks(marked.chain([(0.0, '!')]))
}

fn time_line(view: &View<'_>) -> String {
    let width = view
        .events()
        .map(|(_, event)| event.kind.as_str().len())
        .max()
        .unwrap_or(0);
    view.events()
        .map(|(at, event)| {
            let line = format!("{at:>+11.6} s  {:width$}  {}", event.kind, concerns(event));
            line.trim_end().to_owned() + "\n"
        })
        .collect()
}
