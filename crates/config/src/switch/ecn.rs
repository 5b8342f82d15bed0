//! `[[ecn]]`: profiles of marking, and their use by classes.

use weir_core::{Bytes, MarkAt, PartsPerMillion, RedConfig, RedError};

use super::ClassTable;
use crate::entries::entries;
use crate::names::check_name;
use crate::reader::{unknown, FromItem, Names, Table};
use crate::settings::valid;

/// Ample: at most one for each priority is used at the same time.
const PROFILES_MAX: usize = 64;

/// Default P_max.
const DEFAULT_PMAX: PartsPerMillion = PartsPerMillion::from_percent(1);

entries! {
    /// Thresholds for marking frames Congestion Experienced, under a name that classes refer to.
    #[derive(Clone, Debug, PartialEq, Eq)]
    EcnProfile in "ecn" {
        "name" name: String, "", Live, valid::anything;
            "Its name, for the classes' `ecn`; at most 64 profiles."
        "kmin" kmin: Bytes, "", Live, valid::anything;
            "As a class's `ecn-kmin`: no frame is marked while (egress port, priority) has this much or less."
        "kmax" kmax: Bytes, "", Live, valid::anything;
            "As `ecn-kmax`: all frames from this much on. At least `kmin`; equal to it for a single threshold."
        "pmax" pmax: PartsPerMillion = DEFAULT_PMAX, "", Live, valid::anything;
            "As `ecn-pmax`: the probability just below `kmax`; it rises linearly from `kmin`. Above 0."
        "mark-at" mark_at: MarkAt = MarkAt::Arrival, "", Live, valid::anything;
            "As `ecn-mark-at`: `\"arrival\"`, `\"departure\"`, or `\"never\"`, which switches the marks of its classes off."
    }
}

impl EcnProfile {
    /// The core's configuration.
    pub const fn marking(&self) -> RedConfig {
        RedConfig {
            kmin: self.kmin,
            kmax: self.kmax,
            pmax: self.pmax,
            at: self.mark_at,
        }
    }

    /// A copy with other values.
    #[must_use]
    pub fn with(&self, marking: RedConfig) -> Self {
        let RedConfig {
            kmin,
            kmax,
            pmax,
            at: mark_at,
        } = marking;
        Self {
            name: self.name.clone(),
            kmin,
            kmax,
            pmax,
            mark_at,
        }
    }
}

pub(crate) fn ecn_profiles(root: &Table<'_>) -> Vec<EcnProfile> {
    let names = Names::default();
    let tables = root.tables(EcnProfile::TABLE, EcnProfile::KEYS);
    if let Some(table) = tables.get(PROFILES_MAX) {
        let message = format!("a switch has {PROFILES_MAX} profiles at most");
        table.complain("name", message);
    }
    let read = |table: &Table<'_>| {
        let profile = EcnProfile::read(table)?;
        names.note(table, "name", &profile.name);
        check_name(table, "name", &profile.name);
        check(table, &profile.marking(), ["kmin", "pmax"]);
        Some(profile)
    };
    tables.iter().filter_map(read).collect()
}

/// Reports thresholds that cannot mark a frame, at the key of K_min or of P_max.
fn check(table: &Table<'_>, marking: &RedConfig, [kmin, pmax]: [&str; 2]) {
    if let Err(error) = marking.check() {
        let key = match error {
            RedError::KminAboveKmax { .. } => kmin,
            RedError::ZeroPmax => pmax,
        };
        table.complain(key, error.to_string());
    }
}

/// Keys of a class that replace a profile.
const OWN_KEYS: [&str; 4] = ["ecn-kmin", "ecn-kmax", "ecn-pmax", "ecn-mark-at"];

/// The marking of a class, and its profile; `None` without marking, or if it is invalid, which is reported.
pub(super) fn marking(
    table: &Table<'_>,
    entry: &ClassTable,
    profiles: &[EcnProfile],
) -> (Option<RedConfig>, Option<String>) {
    let own = OWN_KEYS.into_iter().find(|key| table.has(key));
    match (&entry.ecn, own) {
        (None, None) => (None, None),
        (None, Some(_)) => (own_marking(table, entry), None),
        (Some(name), own) => {
            if let Some(key) = own {
                let message = format!(
                    "set ecn or {}, not both: remove this key, or `ecn` with the profile `{name}`",
                    OWN_KEYS.join(", ")
                );
                table.complain(key, message);
            }
            let profile = profiles.iter().find(|profile| profile.name == *name);
            if profile.is_none() {
                table.complain("ecn", no_such_profile(name, profiles));
            }
            (profile.map(EcnProfile::marking), Some(name.clone()))
        }
    }
}

fn no_such_profile(name: &str, profiles: &[EcnProfile]) -> String {
    let known: Vec<&str> = profiles.iter().map(|it| it.name.as_str()).collect();
    match known.is_empty() {
        true => format!(
            "there is no [[ecn]] with the name `{name}`; write one, or ecn-kmin and ecn-kmax here"
        ),
        false => unknown("ecn profile", name, &known),
    }
}

/// Both thresholds, or nothing.
fn own_marking(table: &Table<'_>, entry: &ClassTable) -> Option<RedConfig> {
    for key in ["ecn-kmin", "ecn-kmax"] {
        table.miss(key, Bytes::EXAMPLE);
    }
    let marking = RedConfig {
        kmin: entry.ecn_kmin.unwrap_or_default(),
        kmax: entry.ecn_kmax.unwrap_or(Bytes::new(u64::MAX)),
        pmax: entry.ecn_pmax.unwrap_or(DEFAULT_PMAX),
        at: entry.ecn_mark_at.unwrap_or_default(),
    };
    check(table, &marking, ["ecn-kmin", "ecn-pmax"]);
    entry.ecn_kmin.and(entry.ecn_kmax)?;
    Some(marking)
}
