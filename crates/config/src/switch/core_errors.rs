//! Errors of the switch core, reported at the table and key of the user's file.

use weir_core::config::ConfigError;
use weir_core::RedError;

use super::{Class, ClassTable, Pool};
use crate::reader::{Problems, Table};

/// Adds an error of the core to the problems of the file.
pub(crate) fn complain_of_core(
    root: &Table<'_>,
    classes: &[Class],
    error: &ConfigError,
    problems: &Problems,
) {
    let message = error.to_string();
    if let ConfigError::PoolHeadroom { pool, .. } | ConfigError::PoolTooLarge { pool } = error {
        if let Some(table) = root.tables(Pool::TABLE, Pool::KEYS).get(*pool) {
            let (_, told) = message.split_once(": ").unwrap_or(("", &message));
            table.complain("headroom", told);
            return;
        }
    }
    let place = place(error, classes);
    let tables = root.tables(ClassTable::TABLE, ClassTable::KEYS);
    match place.and_then(|(index, key)| Some((tables.get(index)?, key))) {
        Some((class, key)) => class.complain(key, message),
        None => problems.add(None, "", message),
    }
}

/// The class that an error of the core refers to, by index in the file, and its key.
fn place(error: &ConfigError, classes: &[Class]) -> Option<(usize, &'static str)> {
    let (priority, key) = match error {
        ConfigError::BufferBelowFrame { priority, what, .. } => (priority, *what),
        ConfigError::BudgetBelowFrame { priority, .. }
        | ConfigError::RoundTripTooLong { priority, .. } => (priority, "budgets"),
        ConfigError::LevelMinTooHigh { priority, .. } => (priority, "min-level"),
        ConfigError::ZeroAge(priority) => (priority, "age-limit"),
        ConfigError::Marking { priority, error } => match error {
            RedError::KminAboveKmax { .. } => (priority, "ecn-kmin"),
            RedError::ZeroPmax => (priority, "ecn-pmax"),
        },
        ConfigError::ZeroWeight(priority) => (priority, "weight"),
        ConfigError::ThresholdAbovePool { priority, .. } => (priority, "static-threshold"),
        ConfigError::ShareBelowFrame { priority, .. }
        | ConfigError::PolicedPool { priority, .. } => (priority, "pool"),
        _ => return None,
    };
    let index = classes
        .iter()
        .position(|class| class.priorities.contains(priority))?;
    ClassTable::KEYS.contains(&key).then_some((index, key))
}
