//! Ranges of values, and samples of a Latin hypercube.

use super::amount::{Amount, Kind, Range, Scale};
use super::read::keys;
use super::{Level, ValueKind};
use crate::reader::{within, FromItem, Table};
use crate::scenario::random::Random;

/// Maximum number of samples of a Latin hypercube.
const SAMPLES_MAX: u64 = 100_000;
/// Maximum number of values of one parameter.
const LEVELS_MAX: u64 = 100_000;
/// Maximum seed of a scenario.
const SEED_MAX: u64 = i64::MAX as u64;

/// `[latin-hypercube]`.
pub(super) struct Hypercube {
    pub(super) samples: u64,
    seed: u64,
}

impl Hypercube {
    pub(super) fn read(root: &Table<'_>) -> Option<Self> {
        let table = root.table("latin-hypercube", keys("latin-hypercube"))?;
        table.miss("samples", u64::EXAMPLE);
        let samples = within(&table, "samples", 1, SAMPLES_MAX)?;
        let seed = match table.has("seed") {
            true => within(&table, "seed", 0, SEED_MAX)?,
            false => 1,
        };
        Some(Self { samples, seed })
    }

    /// One value in each of as many strata as there are samples, in random order.
    fn draw(&self, range: Range, stream: u64) -> Vec<Amount> {
        let mut random = Random::new(self.seed, stream);
        let mut strata: Vec<u64> = (0..self.samples).collect();
        random.shuffle(&mut strata);
        let mut inside = || random.below(1 << 32) as u32;
        let strata = strata.into_iter();
        strata
            .map(|stratum| range.in_stratum(stratum, self.samples, inside()))
            .collect()
    }
}

/// Values of a parameter.
pub(super) struct Given {
    pub(super) levels: Vec<Level>,
    pub(super) is_sampled: bool,
    pub(super) kind: ValueKind,
    pub(super) unit: Option<&'static str>,
}

/// `from` and `to`.
pub(super) fn ranged(
    table: &Table<'_>,
    key: &str,
    place: u64,
    hypercube: Option<&Hypercube>,
) -> Option<Given> {
    let from = amount(table, "from")?;
    table.miss("to", "the end of the range");
    let to = amount(table, "to")?;
    same_kind(table, "to", from, to)?;
    if to.number < from.number {
        table.complain("to", "is below `from`; swap the two");
        return None;
    }
    let scale = match table.has("scale") {
        true => table.choice(
            "scale",
            &[("linear", Scale::Linear), ("log", Scale::Logarithmic)],
        )?,
        false => Scale::Linear,
    };
    if scale == Scale::Logarithmic && from.number == 0 {
        table.complain(
            "from",
            "is zero, but a logarithmic range must begin above zero",
        );
        return None;
    }
    let range = Range {
        kind: from.kind,
        from: from.number,
        to: to.number,
        scale,
    };
    let (mut amounts, is_sampled) = amounts(table, range, place, hypercube)?;
    if !is_sampled {
        amounts.dedup();
    }
    let levels: Option<Vec<Level>> = amounts.into_iter().map(|one| of_amount(key, one)).collect();
    let Some(levels) = levels else {
        table.complain("from", "begins a range with an invalid value");
        return None;
    };
    Some(Given {
        levels,
        is_sampled,
        kind: match range.kind {
            Kind::Integer => ValueKind::Integer,
            Kind::Decimal => ValueKind::Number,
            _ => ValueKind::Text,
        },
        unit: range.kind.unit(),
    })
}

/// The values, and true if the Latin hypercube has drawn them.
fn amounts(
    table: &Table<'_>,
    range: Range,
    place: u64,
    hypercube: Option<&Hypercube>,
) -> Option<(Vec<Amount>, bool)> {
    match (table.has("step"), table.has("steps"), hypercube) {
        (true, true, _) => {
            table.complain(
                "steps",
                "and `step` exclude each other; keep one of the two",
            );
            None
        }
        (true, false, _) if range.scale == Scale::Logarithmic => {
            table.complain(
                "step",
                "does not fit a logarithmic range; write `steps`, the number of values",
            );
            None
        }
        (true, false, _) => {
            let step = amount(table, "step")?;
            let from = Amount {
                kind: range.kind,
                number: range.from,
            };
            same_kind(table, "step", from, step)?;
            if step.number == 0 || (range.to - range.from) / step.number >= LEVELS_MAX {
                let message = format!("makes more than {LEVELS_MAX} values; write a longer one");
                table.complain("step", message);
                return None;
            }
            Some((range.by(step.number).collect(), false))
        }
        (false, true, _) => {
            let count = within(table, "steps", 2, LEVELS_MAX)?;
            Some((range.in_steps(count).collect(), false))
        }
        (false, false, Some(hypercube)) => Some((hypercube.draw(range, place), true)),
        (false, false, None) => {
            let message = "is a range without `step` or `steps`, which a Latin hypercube draws from; write one of them, \
                           or [latin-hypercube] with `samples`";
            table.problems().add(table.line(), table.path(), message);
            None
        }
    }
}

fn of_amount(key: &str, amount: Amount) -> Option<Level> {
    let text = amount.written()?;
    Some(Level {
        number: Some(amount.as_f64()),
        set: vec![format!("{key}={text}").parse().ok()?],
        text,
    })
}

fn amount(table: &Table<'_>, key: &str) -> Option<Amount> {
    let item = table.item(key)?;
    match Amount::of(item) {
        Ok(amount) => Some(amount),
        Err(message) => {
            table.complain(key, message);
            None
        }
    }
}

fn same_kind(table: &Table<'_>, key: &str, from: Amount, other: Amount) -> Option<()> {
    if other.kind == from.kind {
        return Some(());
    }
    table.complain(
        key,
        "has another unit than `from`; write the same kind of value",
    );
    None
}
