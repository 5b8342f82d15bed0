//! QUEUE, SCHEDULER and WRED_PROFILE: weights, rates and marking of each (port, queue).

use std::collections::BTreeMap;

use weir_core::config::{Algorithm, SchedulerConfig};
use weir_core::{BitRate, Bytes, PartsPerMillion};

use super::database::{Database, Row};
use super::notes::Kind;

/// A marking profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ecn {
    /// Name in SONiC.
    pub name: String,
    /// Up to here no frame is marked.
    pub kmin: Bytes,
    /// From here on all frames are marked.
    pub kmax: Bytes,
    /// Marking probability just below `kmax`.
    pub pmax: PartsPerMillion,
}

/// Scheduling of a queue on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Weight relative to other queues.
    pub weight: u16,
    /// Strictness and rates.
    pub scheduler: SchedulerConfig,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    pub served: Option<(Served, String)>,
    pub ecn: Option<(Ecn, String)>,
}

/// Queues by port and number.
pub type Queues = BTreeMap<(String, usize), Queue>;

const WEIGHT_MAX: u16 = 1000;
/// Maximum number of queues on any platform.
pub const QUEUE_MAX: usize = 63;

pub fn queues(database: Database<'_>) -> Queues {
    let mut queues = Queues::new();
    for row in database.rows("QUEUE") {
        if let Some(reason) = reason_to_skip(&row) {
            row.report().note(Kind::NotCarried, row.path(), reason);
            continue;
        }
        let (ports, numbers) = row.ports_and_numbers(QUEUE_MAX);
        if !row.key.contains('|') {
            let message = "the key has no queues; write it as Ethernet0|3-4";
            row.report().refuse(row.path(), message);
        }
        if numbers.iter().any(|number| *number > 7) {
            let message = "there are queues 0 to 7, one for each priority; the others are ignored";
            row.report().note(Kind::NotCarried, row.path(), message);
        }
        let served = row
            .reference("scheduler", "SCHEDULER")
            .map(|row| served(&row));
        let ecn = row
            .reference("wred_profile", "WRED_PROFILE")
            .and_then(|row| ecn(&row));
        for port in ports {
            for number in numbers.iter().filter(|number| **number < 8) {
                let queue = queues.entry((port.to_owned(), *number)).or_default();
                queue.served = served.clone().or_else(|| queue.served.take());
                queue.ecn = ecn.clone().or_else(|| queue.ecn.take());
            }
        }
    }
    queues
}

/// Returns the reason to skip a row that is for another line card of the chassis, or for the CPU port.
fn reason_to_skip(row: &Row<'_>) -> Option<&'static str> {
    let Some(key) = row.local_key() else {
        return Some("belongs to another line card or ASIC of the chassis; convert its own file");
    };
    let is_processor = key.split('|').next() == Some("CPU");
    is_processor.then_some("the processor's port has no queues here")
}

fn served(row: &Row<'_>) -> (Served, String) {
    let report = row.report();
    let algorithm = match row.text("type").as_deref() {
        Some("STRICT") => Algorithm::Strict,
        Some("DWRR" | "WRR") | None => Algorithm::Ets,
        Some(other) => {
            let message = format!("`{other}` is not DWRR, WRR or STRICT");
            report.refuse(row.path_of("type"), message);
            Algorithm::Ets
        }
    };
    // In many files a strict queue has a weight without effect.
    let weight = match algorithm {
        Algorithm::Strict => None,
        Algorithm::Ets | Algorithm::Ports => row.within("weight", 1, u64::from(WEIGHT_MAX)),
    };
    let scheduler = SchedulerConfig {
        algorithm,
        rate_min: rate(row, "cir"),
        rate_max: rate(row, "pir"),
    };
    let weight = weight.unwrap_or(1) as u16;
    (Served { weight, scheduler }, row.path())
}

/// Returns a rate. SONiC's committed and peak rates are in bytes or packets per second; packets cannot be converted.
fn rate(row: &Row<'_>, field: &str) -> Option<BitRate> {
    let bytes_per_second = row.within(field, 0, u64::MAX / 8)?;
    if row.text("meter_type").as_deref() == Some("packets") {
        let message = "rates are in bits a second; packets a second cannot be limited";
        row.report()
            .note(Kind::NotCarried, row.path_of(field), message);
        return None;
    }
    BitRate::new(bytes_per_second * 8)
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
        // No marks below kmax, and all frames from there on.
        kmin = kmax;
    }
    let pmax = PartsPerMillion::new(percent.max(1) as u32 * 10_000)?;
    let ecn = Ecn {
        name: row.key.to_owned(),
        kmin: Bytes::new(kmin),
        kmax: Bytes::new(kmax),
        pmax,
    };
    Some((ecn, row.path()))
}
