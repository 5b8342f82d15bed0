//! Converts the state into the page's records and sentences.

use std::collections::BTreeSet;

use weir_api::words::Verdict;

use super::fabric::{Directions, End, Held, Now};
use super::incidents::Incident;
use super::loops::{Loop, Paused};
use super::state::{self, Circle, Clock, Condition, Counts, Pause, Switch};
use super::switch::{Told, Trouble, Watched};

/// Maximum number of pauses shown, the most important.
const PAUSES_MAX: usize = 400;
/// Time for which the fabric counts as recovering after the end of a deadlock.
const RECOVERED_AFTER: i64 = 10_000_000_000;

pub(super) fn shown_pauses(
    directions: &Directions,
    circles: &[Loop],
    names: &[String],
) -> (Vec<Pause>, usize) {
    let in_loops: BTreeSet<Paused> = circles.iter().flat_map(Loop::directions).collect();
    let name = |end: &End| match end {
        End::Switch(at) => (Some(*at), names.get(*at).cloned().unwrap_or_default()),
        End::Other(name) => (None, name.clone()),
    };
    let mut pauses: Vec<Pause> = directions
        .iter()
        .map(|((priority, from, to), held)| {
            let ((held_at, held_name), (by, by_name)) = (name(from), name(to));
            let direction = held_at.zip(by).map(|(from, to)| Paused {
                priority: *priority,
                from,
                to,
            });
            let ports = if held.ports.is_empty() {
                &held.far_ports
            } else {
                &held.ports
            };
            Pause {
                held: held_at,
                held_name,
                by,
                by_name,
                ports: ports.iter().cloned().collect(),
                priority: *priority,
                now: held.now,
                share: held.share,
                suspected: held.suspected,
                releasing: held.releasing,
                in_loop: direction.is_some_and(|direction| in_loops.contains(&direction)),
            }
        })
        .collect();
    pauses.sort_by_key(|pause| {
        let inside = pause.held.is_some() && pause.by.is_some();
        let share = (pause.share.unwrap_or(0.0) * 1_000.0) as u64;
        let worth = (pause.in_loop, pause.suspected, pause.now, inside, share);
        (
            std::cmp::Reverse(worth),
            pause.held,
            pause.by,
            pause.priority,
        )
    });
    let left_out = pauses.len().saturating_sub(PAUSES_MAX);
    pauses.truncate(PAUSES_MAX);
    (pauses, left_out)
}

pub(super) fn shown_circle(circle: &Loop, directions: &Directions, names: &[String]) -> Circle {
    let of = |direction: Paused| {
        let key = (
            direction.priority,
            End::Switch(direction.from),
            End::Switch(direction.to),
        );
        directions.get(&key)
    };
    let held: Vec<&Held> = circle.directions().filter_map(of).collect();
    let named = |at: usize| names.get(at).map_or("?", String::as_str);
    let waits = circle.directions().enumerate().map(|(place, direction)| {
        let verb = if place == 0 { " waits for " } else { " for " };
        format!("{}{verb}{}", named(direction.from), named(direction.to))
    });
    Circle {
        switches: circle.switches.clone(),
        priority: circle.priority,
        suspected: held.iter().any(|held| held.suspected),
        releasing: held.iter().any(|held| held.releasing),
        text: waits.collect::<Vec<_>>().join(", "),
    }
}

pub(super) fn shown_switch(name: &str, watched: &Watched, (x, y): (f64, f64), now: &Now) -> Switch {
    let told = watched.told.as_ref();
    let (condition, text) = condition(told, watched.trouble.as_ref());
    let mut reasons = told.map_or_else(Vec::new, |told| told.reasons.clone());
    if let Some(more) = told
        .map(|told| told.reasons_left_out)
        .filter(|more| *more > 0)
    {
        reasons.push(format!("and {more} more reasons"));
    }
    if let Some(trouble) = &watched.trouble {
        reasons = vec![trouble.remedy.clone()];
    }
    let seconds = |nanos: i64| nanos as f64 / 1e9;
    Switch {
        name: name.to_owned(),
        called: told
            .map(|told| told.name.clone())
            .filter(|called| called != name),
        x,
        y,
        condition,
        text,
        reasons,
        page: watched.page.clone(),
        version: told.map(|told| told.version.clone()),
        uptime_seconds: told.map(|told| told.uptime_seconds),
        ports: told.map_or(0, |told| told.ports.0),
        ports_up: told.map_or(0, |told| told.ports.1),
        suspicions: told
            .filter(|_| watched.trouble.is_none())
            .map_or(0, |told| told.suspected.0),
        dropped: told.map_or(0, |told| told.dropped),
        age_seconds: told.map(|told| seconds(now.monotonic.saturating_sub(told.at)).max(0.0)),
        round_trip_seconds: told.map(|told| seconds(told.round_trip)),
        clock: watched
            .offset(now.monotonic)
            .filter(|_| told.is_some())
            .map(|offset| Clock {
                is_ours: watched.shares_clock(),
                offset_seconds: seconds(offset.nanos),
                uncertainty_seconds: seconds(offset.uncertainty),
            }),
    }
}

fn condition(told: Option<&Told>, trouble: Option<&Trouble>) -> (Condition, String) {
    if let Some(trouble) = trouble {
        return (Condition::Unreachable, trouble.what.clone());
    }
    let Some(told) = told else {
        return (Condition::Waiting, "not asked yet".to_owned());
    };
    let releasing = told.queues.iter().any(|queue| queue.releasing);
    let ports = |count: usize| {
        if count == 1 {
            "a port is".to_owned()
        } else {
            format!("{count} ports are")
        }
    };
    match told.suspected {
        (count, helped) if count > 0 && (helped > 0 || releasing) => (
            Condition::Recovering,
            format!(
                "{} suspected of a deadlock, which is being broken",
                ports(count)
            ),
        ),
        (count, _) if count > 0 => (
            Condition::Locked,
            format!("{} suspected of a deadlock", ports(count)),
        ),
        _ => match told.verdict {
            Verdict::Ok => (Condition::Well, "nothing is wrong".to_owned()),
            Verdict::Degraded => (Condition::Degraded, "degraded".to_owned()),
            Verdict::Failing => (Condition::Failing, "failing".to_owned()),
        },
    }
}

pub(super) fn counts(switches: &[Switch], directions: &Directions) -> Counts {
    let count =
        |is: &dyn Fn(Condition) -> bool| switches.iter().filter(|one| is(one.condition)).count();
    use Condition::{Degraded, Failing, Locked, Recovering, Unreachable, Waiting, Well};
    Counts {
        switches: switches.len(),
        reachable: count(&|is| !matches!(is, Unreachable | Waiting)),
        well: count(&|is| is == Well),
        troubled: count(&|is| matches!(is, Degraded | Failing)),
        suspected: count(&|is| matches!(is, Locked | Recovering)),
        suspicions: switches.iter().map(|one| one.suspicions).sum(),
        held: directions.values().filter(|held| held.now).count(),
    }
}

/// Returns the worst condition and its sentence.
pub(super) fn verdict(
    switches: &[Switch],
    counts: &Counts,
    circles: &[Circle],
    incidents: &[Incident],
    now: &Now,
) -> (Condition, String) {
    let worst = switches.iter().map(|one| one.condition).max();
    let some = |wanted: Condition| {
        let names = switches
            .iter()
            .filter(|one| one.condition == wanted)
            .map(|one| one.name.as_str());
        listed(&names.collect::<Vec<_>>())
    };
    let circle = circles
        .iter()
        .find(|circle| circle.suspected || circle.releasing);
    let recent = incidents
        .first()
        .is_some_and(|last| !last.lasts && now.monotonic.saturating_sub(last.to) < RECOVERED_AFTER);
    match worst {
        None => (Condition::Waiting, "No switch is known yet.".to_owned()),
        Some(Condition::Locked) => (
            Condition::Locked,
            match circle {
                Some(circle) => format!(
                    "Deadlock: {}, in priority {}.",
                    circle.text, circle.priority
                ),
                None => format!(
                    "Suspected of a deadlock: {}; no circle of pauses is seen.",
                    some(Condition::Locked)
                ),
            },
        ),
        Some(Condition::Failing) => (
            Condition::Failing,
            format!("Failing: {}.", some(Condition::Failing)),
        ),
        Some(_) if counts.suspected > 0 => (
            Condition::Recovering,
            format!(
                "A deadlock is being broken at {}.",
                some(Condition::Recovering)
            ),
        ),
        Some(_) if recent => (
            Condition::Recovering,
            "A deadlock has just ended.".to_owned(),
        ),
        Some(Condition::Unreachable) if counts.reachable == 0 => {
            (Condition::Unreachable, "No switch answers.".to_owned())
        }
        Some(Condition::Unreachable) => (
            Condition::Degraded,
            format!("No answer from {}.", some(Condition::Unreachable)),
        ),
        Some(Condition::Degraded) => (
            Condition::Degraded,
            format!("Degraded: {}.", some(Condition::Degraded)),
        ),
        Some(Condition::Waiting) => (Condition::Waiting, "Switches are being asked.".to_owned()),
        Some(Condition::Well | Condition::Recovering) => (
            Condition::Well,
            format!(
                "Nothing is wrong with {}.",
                switches_in_words(counts.switches)
            ),
        ),
    }
}

fn switches_in_words(count: usize) -> String {
    match count {
        1 => "the switch".to_owned(),
        count => format!("the {count} switches"),
    }
}

/// Returns the first names, and the number of others.
fn listed(names: &[&str]) -> String {
    const NAMED: usize = 4;
    match names.split_at_checked(NAMED) {
        Some((first, more)) if !more.is_empty() => {
            format!("{} and {} more", first.join(", "), more.len())
        }
        _ => names.join(", "),
    }
}

pub(super) fn shown_incident(incident: &Incident, names: &[String], now: &Now) -> state::Incident {
    let since = |at: i64| at.saturating_sub(incident.from) as f64 / 1e9;
    let began = now.wall(incident.from);
    let lanes: Vec<state::Lane> = incident
        .lanes
        .iter()
        .map(|lane| state::Lane {
            switch: lane.switch,
            port: lane.port.clone(),
            priority: lane.priority,
            idle_from_seconds: since(lane.idle_from),
            from_seconds: since(lane.from),
            to_seconds: since(lane.to),
            lasts: lane.lasts,
            end_unknown: lane.end_unknown,
            released_seconds: lane.released.map(since),
            loops_found: lane.loops_found,
            uncertainty_seconds: lane.uncertainty as f64 / 1e9,
        })
        .collect();
    let first = names.get(incident.first.0).map_or("?", String::as_str);
    let loops = incident.lanes.iter().any(|lane| lane.loops_found > 0);
    let helped = incident.lanes.iter().any(|lane| lane.helped > 0);
    let port = incident.lanes.first().map_or("", |lane| lane.port.as_str());
    state::Incident {
        id: format!("{first}/{}", incident.first.1),
        began_time: (now.written)(began),
        began_unix_seconds: began as f64 / 1e9,
        lasted_seconds: since(incident.to),
        lasts: incident.lasts,
        switches: incident.switches,
        lanes_left_out: incident.left_out,
        text: format!(
            "{first} suspected its port {port} first{}{}",
            if loops { "; a loop was found" } else { "" },
            if helped { "; it was dealt with" } else { "" },
        ),
        lanes,
    }
}
