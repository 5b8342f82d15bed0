//! BUFFER_PG and BUFFER_PROFILE: each (port, priority group)'s share of its pool ([`pools`]).
//!
//! If a profile names no pool, or one without a size, its thresholds are static.

use std::collections::BTreeMap;

use weir_core::{BitRate, Bytes, Duration};

use super::database::{Database, Row};
use super::notes::Kind;
use super::pools::{self, Share};

/// SONiC's range of `dynamic_th`.
const EXPONENT: (i64, i64) = (-8, 8);
/// Unit of the fixed-point α, for which 2⁻⁸ is an integer.
const ONE: u128 = 1 << 8;
/// Granularity of computed thresholds in bytes.
const STEP: u64 = 1024;
/// Size of a cell for charging, in bytes.
const CELL: u64 = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Sum of reserved and shared bytes, at which XOFF is sent in a lossless group, or frames are dropped in a lossy one.
    pub limit: u64,
    /// The larger of `xon` and the limit less `xon_offset`.
    pub xon: Option<u64>,
    /// `xoff`; `None` in a lossy group.
    pub headroom: Option<u64>,
    /// `BUFFER_PROFILE|name`.
    pub source: String,
    /// Derivation of the limit.
    pub how: String,
    /// Share of a pool; the limit is then that of a group that uses the pool alone.
    pub share: Option<Share>,
}

/// Groups by port and number.
pub type Groups = BTreeMap<(String, usize), Group>;

/// Returns all groups of BUFFER_PG that have a profile.
pub fn groups(database: Database<'_>) -> Groups {
    let mut members: BTreeMap<(String, usize), Row<'_>> = BTreeMap::new();
    for row in database.rows("BUFFER_PG") {
        let (ports, numbers) = row.ports_and_numbers(7);
        if !row.key.contains('|') {
            let message = "the key has no priority groups; write it as Ethernet0|3-4";
            row.report().refuse(row.path(), message);
        }
        let Some(profile) = row.reference("profile", "BUFFER_PROFILE") else {
            let message = "no profile; SONiC computes one, here the defaults are used";
            row.report()
                .note(Kind::Assumed, row.path_of("profile"), message);
            continue;
        };
        for (port, number) in ports
            .iter()
            .flat_map(|port| numbers.iter().map(move |n| (*port, *n)))
        {
            if members.insert((port.to_owned(), number), profile).is_some() {
                let message =
                    format!("group {number} of {port} is in several rows; the last one is used");
                row.report().note(Kind::Changed, row.path(), message);
            }
        }
    }
    members
        .into_iter()
        .filter_map(|(member, profile)| Some((member, group(&profile)?)))
        .collect()
}

fn pool<'a>(profile: &Row<'a>) -> Option<Row<'a>> {
    profile.reference("pool", "BUFFER_POOL")
}

/// α in parts of [`ONE`].
fn alpha(profile: &Row<'_>) -> Option<u128> {
    let text = profile.text("dynamic_th")?;
    match text.parse::<i64>() {
        Ok(n) if (EXPONENT.0..=EXPONENT.1).contains(&n) => Some(1 << (n - EXPONENT.0)),
        _ => {
            let message = format!(
                "`{text}` is not a whole number from {} to {}",
                EXPONENT.0, EXPONENT.1
            );
            profile
                .report()
                .refuse(profile.path_of("dynamic_th"), message);
            None
        }
    }
}

fn group(profile: &Row<'_>) -> Option<Group> {
    let report = profile.report();
    let headroom = profile.number("xoff").filter(|xoff| *xoff > 0);
    let size = profile.number("size").unwrap_or(0);
    // Some platforms include the headroom in `size`, others do not.
    let reserved = size.checked_sub(headroom.unwrap_or(0)).unwrap_or(size);
    let exponent = alpha(profile);
    let share = pools::share(profile, reserved, headroom);
    let shared = match (profile.number("static_th"), exponent) {
        (Some(threshold), _) => (threshold, "static_th".to_owned()),
        (None, Some(alpha)) => dynamic(profile, alpha)?,
        (None, None) => (0, "no threshold".to_owned()),
    };
    let limit = reserved + shared.0;
    if limit == 0 {
        let message = "has neither size nor threshold; the defaults are used";
        report.note(Kind::Assumed, profile.path(), message);
        return None;
    }
    let offset = profile
        .number("xon_offset")
        .map(|offset| limit.saturating_sub(offset));
    Some(Group {
        limit,
        xon: profile.number("xon").into_iter().chain(offset).max(),
        headroom,
        source: profile.path(),
        how: match reserved {
            0 => shared.1,
            _ => format!("{reserved} B reserved + {}", shared.1),
        },
        share,
    })
}

/// Returns the threshold of a group that uses the pool alone.
fn dynamic(profile: &Row<'_>, alpha: u128) -> Option<(u64, String)> {
    let report = profile.report();
    let Some(pool) = pool(profile) else {
        if !profile.has("pool") {
            report.refuse(
                profile.path_of("pool"),
                "is missing; dynamic_th is a share of it",
            );
        }
        return None;
    };
    let Some(size) = pool.number("size").filter(|size| *size > 0) else {
        let message = format!(
            "has no size for {} to be a share of; the defaults are used",
            profile.path()
        );
        report.note(Kind::Assumed, pool.path_of("size"), message);
        return None;
    };
    let alone = (u128::from(size) * alpha / (ONE + alpha)) as u64;
    let exponent = profile.text("dynamic_th").unwrap_or_default();
    let how = format!("dynamic_th {exponent} of {}", pool.path());
    Some((alone, how))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thresholds {
    /// Bytes.
    pub xoff: u64,
    /// Bytes, below `xoff`.
    pub xon: u64,
    /// Bytes.
    pub headroom: u64,
}

/// Returns the assumed buffer of a lossless priority that the file does not describe: headroom for a round trip of `span`
/// and two frames, and the same amount below XOFF.
pub fn assumed(rate: BitRate, span: Duration, frame: Bytes) -> Thresholds {
    let headroom = (rate.bytes_in(span).get() + 2 * frame.get()).next_multiple_of(STEP);
    Thresholds {
        xoff: headroom,
        xon: headroom - frame.get(),
        headroom,
    }
}

impl Group {
    /// Returns the thresholds of a lossless class, each at least one frame of `frame` bytes; `None` without headroom.
    pub fn thresholds(&self, database: Database<'_>, frame: Bytes) -> Option<Thresholds> {
        let report = database.report();
        let at_least = |field: &str, value: u64| {
            if value < frame.get() {
                let message = format!(
                    "{value} B is less than the longest frame; {} B is written",
                    frame.get()
                );
                report.note(Kind::Changed, format!("{}.{field}", self.source), message);
            }
            value.max(frame.get())
        };
        let headroom = at_least("xoff", self.headroom?);
        let xoff = at_least("size", self.limit);
        let xon = match self.xon {
            Some(xon) if xon < xoff => xon,
            Some(xon) => {
                let lower = xoff - CELL;
                let message =
                    format!("{xon} B is not below the threshold of {xoff} B; {lower} B is written");
                report.note(Kind::Changed, format!("{}.xon", self.source), message);
                lower
            }
            None => {
                let lower = xoff - frame.get();
                let message = format!("is not given; {lower} B is assumed");
                report.note(Kind::Assumed, format!("{}.xon", self.source), message);
                lower
            }
        };
        Some(Thresholds {
            xoff,
            xon,
            headroom,
        })
    }
}
