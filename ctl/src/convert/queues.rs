//! QUEUE, SCHEDULER and WRED_PROFILE: weights and marking of each (port, queue).

use std::collections::BTreeMap;

use weir_core::{Bytes, PartsPerMillion};

use super::database::{Database, Row};
use super::notes::Kind;

/// Marking thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecn {
    /// No frame is marked up to here.
    pub kmin: Bytes,
    /// All are from here on.
    pub kmax: Bytes,
    /// The probability just below.
    pub pmax: PartsPerMillion,
}

/// What one (port, queue) has, each with where it is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Share of the line.
    pub weight: Option<(u16, String)>,
    /// Marking.
    pub ecn: Option<(Ecn, String)>,
}

/// Queues by port and number.
pub type Queues = BTreeMap<(String, usize), Queue>;

/// Largest legal weight; what a strict queue gets.
const WEIGHT_MAX: u16 = 1000;
/// No platform has more queues.
const QUEUE_MAX: usize = 63;

/// All rows of QUEUE.
pub fn queues(database: Database<'_>) -> Queues {
    let mut queues = Queues::new();
    for row in database.rows("QUEUE") {
        let (ports, numbers) = row.ports_and_numbers(QUEUE_MAX);
        if !row.key.contains('|') {
            let message = "the key has no queues; write it as Ethernet0|3-4";
            row.report().refuse(row.path(), message);
        }
        if numbers.iter().any(|number| *number > 7) {
            let message = "there are queues 0 to 7, one for each priority; the others are ignored";
            row.report().note(Kind::NotCarried, row.path(), message);
        }
        let weight = row
            .reference("scheduler", "SCHEDULER")
            .map(|row| weight(&row));
        let ecn = row
            .reference("wred_profile", "WRED_PROFILE")
            .and_then(|row| ecn(&row));
        for port in ports {
            for number in numbers.iter().filter(|number| **number < 8) {
                let queue = queues.entry((port.to_owned(), *number)).or_default();
                queue.weight = weight.clone().or_else(|| queue.weight.take());
                queue.ecn = ecn.clone().or_else(|| queue.ecn.take());
            }
        }
    }
    queues
}

fn weight(row: &Row<'_>) -> (u16, String) {
    let report = row.report();
    let weight = match row.text("type").as_deref() {
        Some("STRICT") => {
            let message = format!(
                "there is no strict priority; the largest weight, {WEIGHT_MAX}, comes closest"
            );
            report.note(Kind::Changed, row.path_of("type"), message);
            WEIGHT_MAX
        }
        Some("DWRR" | "WRR") | None => {
            row.within("weight", 1, u64::from(WEIGHT_MAX)).unwrap_or(1) as u16
        }
        Some(other) => {
            let message = format!("`{other}` is not DWRR, WRR or STRICT");
            report.refuse(row.path_of("type"), message);
            1
        }
    };
    (weight, row.path())
}

const MARKING: [&str; 8] = [
    "ecn_none",
    "ecn_green",
    "ecn_yellow",
    "ecn_red",
    "ecn_green_yellow",
    "ecn_green_red",
    "ecn_yellow_red",
    "ecn_all",
];

fn ecn(row: &Row<'_>) -> Option<(Ecn, String)> {
    let report = row.report();
    let marks = row.text("ecn").unwrap_or_else(|| "ecn_none".to_owned());
    if !MARKING.contains(&marks.as_str()) {
        let message = format!("`{marks}` is not one of {}", MARKING.join(", "));
        report.refuse(row.path_of("ecn"), message);
        return None;
    }
    if marks != "ecn_all" && !marks.contains("green") {
        let message = "green frames are not marked, and frames are never dropped early: the profile has no effect";
        report.note(Kind::NotCarried, row.path(), message);
        return None;
    }
    let need = |field: &str| {
        let number = row.number(field);
        if !row.has(field) {
            report.refuse(row.path_of(field), "is missing; ecn needs it");
        }
        number
    };
    let (kmin, kmax) = (need("green_min_threshold"), need("green_max_threshold"));
    let percent = row.within("green_drop_probability", 0, 100).unwrap_or(100);
    let (mut kmin, kmax) = (kmin?, kmax?);
    if kmin > kmax {
        let message = format!("{kmin} is above green_max_threshold, {kmax}");
        report.refuse(row.path_of("green_min_threshold"), message);
        return None;
    }
    if percent == 0 {
        // Nothing below kmax, all from it on.
        kmin = kmax;
    }
    let pmax = PartsPerMillion::new(percent.max(1) as u32 * 10_000)?;
    let ecn = Ecn {
        kmin: Bytes::new(kmin),
        kmax: Bytes::new(kmax),
        pmax,
    };
    Some((ecn, row.path()))
}
