//! Contents of each view.

use weir_api::daemon::{Deadlock, Event, LevelLink, Pfc, Port};
use weir_api::overview::Overview;
use weir_api::words::EventName;

use super::fabric::Fabric;
use super::grid::{number, text, Cell, Grid, Weight};
use weir_output::{bytes, rate, reasons, seconds, NONE};

/// Characters of a bar up to xoff, and of its headroom.
const BAR_CELLS: (usize, usize) = (10, 6);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Occupancy against thresholds, and pauses in both directions.
    Buffers,
    /// Links, rates and drops.
    Ports,
    /// Protocol P.
    Levels,
    /// Suspicions.
    Deadlocks,
    /// Recent events.
    Events,
    /// All switches of this machine.
    Switches,
}

impl View {
    pub const ALL: [Self; 6] = [
        Self::Buffers,
        Self::Ports,
        Self::Levels,
        Self::Deadlocks,
        Self::Events,
        Self::Switches,
    ];

    /// Returns the name of its tab.
    pub fn name(self) -> &'static str {
        match self {
            Self::Buffers => "Buffers",
            Self::Ports => "Ports",
            Self::Levels => "Levels",
            Self::Deadlocks => "Deadlocks",
            Self::Events => "Events",
            Self::Switches => "Switches",
        }
    }

    /// Returns its table. `before` is an earlier moment, for rates.
    pub fn grid(self, now: &Overview, before: Option<&Overview>, fabric: &Fabric) -> Grid {
        match self {
            Self::Buffers => buffers(now),
            Self::Ports => ports(now, before),
            Self::Levels => levels(now),
            Self::Deadlocks => deadlocks(now),
            Self::Events => events(now),
            Self::Switches => fabric.grid(),
        }
    }
}

fn buffers(now: &Overview) -> Grid {
    let headings = [
        "port",
        ">prio",
        // Never truncated: a truncated bar would be wrong.
        ">xoff │ headroom",
        ">bytes",
        ">xoff",
        "pauses",
        "paused by|by",
        "note",
        ">for",
    ];
    let mut grid = Grid::new(&headings, "no class uses PFC thresholds");
    grid.rows.extend(now.pfc.iter().map(|queue| {
        let neighbour = now.neighbors.get(&queue.port).unwrap_or(&queue.port);
        let flag = |on: bool, weight| text(if on { neighbour } else { NONE }).marked(weight, on);
        let beyond = queue.xoff_bytes > 0 && queue.ingress_bytes > queue.xoff_bytes;
        vec![
            text(&queue.port),
            number(f64::from(queue.priority), queue.priority.to_string()),
            number(queue.ingress_bytes as f64, bar(queue)).marked(Weight::Warn, beyond),
            amount(queue.ingress_bytes),
            amount(queue.xoff_bytes),
            flag(queue.pausing, Weight::Pausing),
            flag(queue.paused, Weight::Paused),
            note(queue).marked(Weight::Bad, queue.suspected),
            number(
                queue.paused_seconds_total,
                seconds(queue.paused_seconds_total),
            ),
        ]
    }));
    grid
}

fn note(queue: &Pfc) -> Cell {
    match (&queue.release_ingress, queue.suspected) {
        (Some(port), true) => text(format!("SUSPECTED, release for {port}")).or("SUSPECTED"),
        (Some(port), false) => text(format!("release for {port}")).or("release"),
        (None, true) => text("SUSPECTED"),
        (None, false) => text(NONE),
    }
}

fn amount(count: u64) -> Cell {
    number(count as f64, bytes(count)).or(scaled(count as f64))
}

/// `█` up to xoff, then `▓` in the headroom; `│` is xoff.
pub fn bar(queue: &Pfc) -> String {
    let (below, above) = BAR_CELLS;
    let filled = |part: u64, whole: u64, cells: usize| {
        let share = if whole == 0 {
            0.0
        } else {
            part as f64 / whole as f64
        };
        // Any value above zero is visible.
        (share.min(1.0) * cells as f64).ceil() as usize
    };
    let low = filled(queue.ingress_bytes, queue.xoff_bytes, below);
    let beyond = queue.ingress_bytes.saturating_sub(queue.xoff_bytes);
    let high = filled(beyond, queue.headroom_bytes, above);
    format!(
        "{}{}│{}{}",
        "█".repeat(low),
        "·".repeat(below - low),
        "▓".repeat(high),
        "·".repeat(above - high)
    )
}

fn ports(now: &Overview, before: Option<&Overview>) -> Grid {
    let headings = [
        "port",
        "neighbour",
        "link",
        ">line rate|line",
        ">rate in|in",
        ">rate out|out",
        ">frames in|received",
        ">frames out|sent",
        ">kernel lost",
        "dropped",
    ];
    let mut grid = Grid::new(&headings, "no ports");
    grid.rows.extend(now.ports.iter().map(|port| {
        let past = before.and_then(|before| {
            Some((
                before,
                before.ports.iter().find(|past| past.name == port.name)?,
            ))
        });
        let inward = port_rate(now, port, past, |port| port.rx_bytes_total);
        let outward = port_rate(now, port, past, |port| port.tx_bytes_total);
        let lost = port.kernel_losses.total();
        vec![
            text(&port.name),
            text(now.neighbors.get(&port.name).map_or(NONE, String::as_str)),
            text(if port.link_up { "up" } else { "DOWN" }).marked(Weight::Bad, !port.link_up),
            number(
                port.rate_bits_per_second as f64,
                rate(port.rate_bits_per_second),
            )
            .or(scaled(port.rate_bits_per_second as f64)),
            number(inward, megabits(inward)).or(scaled(inward)),
            number(outward, megabits(outward)).or(scaled(outward)),
            count(port.rx_frames_total),
            count(port.tx_frames_total),
            number(lost as f64, lost.to_string()).marked(Weight::Warn, lost > 0),
            text(reasons(&port.drops_total))
                .or(dropped(port))
                .marked(Weight::Warn, !port.drops_total.is_empty()),
        ]
    }));
    grid
}

/// Returns the bits per second between two moments.
fn port_rate(
    now: &Overview,
    port: &Port,
    past: Option<(&Overview, &Port)>,
    of: fn(&Port) -> u64,
) -> f64 {
    let Some((before, past)) = past else {
        return 0.0;
    };
    let nanos = now.monotonic_nanos.saturating_sub(before.monotonic_nanos);
    if nanos == 0 {
        return 0.0;
    }
    of(port).saturating_sub(of(past)) as f64 * 8e9 / nanos as f64
}

fn count(frames: u64) -> Cell {
    number(frames as f64, frames.to_string()).or(scaled(frames as f64))
}

fn dropped(port: &Port) -> String {
    match port.drops_total.values().sum::<u64>() {
        0 => NONE.to_owned(),
        frames => scaled(frames as f64),
    }
}

/// Formats with three significant digits and the power of 1000: `12.5M`.
pub fn scaled(value: f64) -> String {
    const POWERS: [&str; 5] = ["", "k", "M", "G", "T"];
    let (mut value, mut power) = (value, 0);
    // A value that rounds to 1000 belongs to the next unit.
    while value >= 999.5 && power + 1 < POWERS.len() {
        value /= 1000.0;
        power += 1;
    }
    let digits = match (power, value) {
        (0, value) if value.fract() == 0.0 => 0,
        (_, value) if value >= 99.95 => 0,
        (_, value) if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{}", POWERS[power])
}

/// Formats a rate to a tenth of a Mbit/s.
pub fn megabits(bits_per_second: f64) -> String {
    format!("{:.1} Mbit/s", bits_per_second / 1e6)
}

fn levels(now: &Overview) -> Grid {
    let headings = [
        "port",
        ">prio",
        "class",
        ">D",
        ">f sent",
        ">f received",
        "paused",
        ">eligible",
        ">held",
    ];
    let mut grid = Grid::new(&headings, "no class has Levels");
    grid.rows
        .extend(now.levels.links.iter().map(|link: &LevelLink| {
            let level = |value: u8| number(f64::from(value), value.to_string());
            vec![
                text(&link.port),
                level(link.priority),
                text(&link.class),
                level(link.depth),
                level(link.feedback_sent).marked(Weight::Warn, link.feedback_sent > 0),
                level(link.feedback_received).marked(Weight::Warn, link.feedback_received > 0),
                text(if link.paused { "yes" } else { NONE }).marked(Weight::Warn, link.paused),
                number(link.eligible_bytes as f64, bytes(link.eligible_bytes)),
                number(link.held_bytes as f64, bytes(link.held_bytes)),
            ]
        }));
    grid
}

fn deadlocks(now: &Overview) -> Grid {
    let headings = [
        ">id",
        "port",
        ">prio",
        "state",
        "reason|why",
        ">queued",
        ">loops",
        ">releases|freed",
        ">to release|after",
        ">moved",
    ];
    let mut grid = Grid::new(&headings, "no deadlock has been suspected");
    let all = now.deadlocks.current.iter().chain(&now.deadlocks.past);
    grid.rows.extend(all.map(|one: &Deadlock| {
        let whole = |count: u64| number(count as f64, count.to_string());
        let state = match one.lasted_seconds {
            Some(lasted) => {
                number(lasted, format!("lasted {}", seconds(lasted))).or(seconds(lasted))
            }
            None => number(f64::INFINITY, "SUSPECTED NOW").or("NOW"),
        };
        vec![
            whole(one.id),
            text(&one.port),
            whole(one.priority.into()),
            state.marked(Weight::Bad, one.lasted_seconds.is_none()),
            text(one.reason.as_str()),
            amount(one.queued_bytes),
            whole(one.loops_found),
            whole(one.releases),
            number(
                one.first_release_seconds.unwrap_or(f64::INFINITY),
                one.first_release_seconds
                    .map_or_else(|| NONE.to_owned(), seconds),
            ),
            whole(one.flows_moved),
        ]
    }));
    grid
}

fn events(now: &Overview) -> Grid {
    let headings = [">number", "time, UTC", "event", "port", ">prio", "details"];
    let mut grid = Grid::new(&headings, "no events yet");
    grid.rows.extend(now.events.iter().map(|event: &Event| {
        let details: Vec<String> = event
            .details
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        vec![
            number(event.sequence as f64, event.sequence.to_string()),
            text(event.time.get(11..23).unwrap_or(&event.time)),
            text(event.kind.as_str().replace('_', " "))
                .marked(Weight::Bad, event.kind == EventName::Suspected),
            text(event.port.as_deref().unwrap_or(NONE)),
            event.priority.map_or_else(
                || number(-1.0, NONE),
                |priority| number(f64::from(priority), priority.to_string()),
            ),
            text(details.join(", ")),
        ]
    }));
    grid
}
