//! Axes: positions of values, and labelled values.

use crate::quantity::{short, Unit};

const SPANS: f64 = 5.0;

/// An axis. Its limits are in base units, its numbers in `unit`.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Label, before the unit. Without a label the axis has no numbers either.
    pub label: String,
    /// The unit of its numbers.
    pub unit: Unit,
    /// Lower limit.
    pub from: f64,
    /// Upper limit.
    pub to: f64,
    /// True if equal distances are equal ratios. Both limits are then above zero.
    pub is_logarithmic: bool,
}

impl Axis {
    /// From zero to the first labelled value that is at least `most`.
    pub fn linear(label: &str, unit: Unit, most: f64) -> Self {
        let most = unit.count(most).max(f64::MIN_POSITIVE);
        let step = step(most);
        // An excess of less than a millionth is rounding.
        let steps = (most / step - 1e-6).ceil().max(1.0);
        Self {
            label: label.to_owned(),
            unit,
            from: 0.0,
            to: steps * step * unit.size,
            is_logarithmic: false,
        }
    }

    /// From zero to exactly `end`.
    pub fn until(label: &str, unit: Unit, end: f64) -> Self {
        Self {
            to: end,
            ..Self::linear(label, unit, end)
        }
    }

    /// From one power of ten (of `unit`) to another, enclosing the values from `least` to `most`.
    pub fn logarithmic(label: &str, unit: Unit, least: f64, most: f64) -> Self {
        Self {
            label: label.to_owned(),
            unit,
            from: 10f64.powf(unit.count(least).log10().floor()) * unit.size,
            to: 10f64.powf(unit.count(most).log10().ceil()) * unit.size,
            is_logarithmic: true,
        }
    }

    /// Returns the position of `value` along the axis, from 0 to 1.
    pub(super) fn part(&self, value: f64) -> f64 {
        let part = if self.is_logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        part.clamp(0.0, 1.0)
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.label.is_empty() {
            return Vec::new();
        }
        if self.is_logarithmic {
            let decades = (self.to / self.from).log10().round() as i32;
            return (0..=decades)
                .map(|power| self.from * 10f64.powi(power))
                .collect();
        }
        let end = self.unit.count(self.to - self.from);
        let step = step(end);
        (0..=(end / step * (1.0 + 1e-9)) as usize)
            .map(|tick| self.from + tick as f64 * step * self.unit.size)
            .collect()
    }

    pub(super) fn number(&self, value: f64) -> String {
        short(self.unit.count(value), 4)
    }

    pub(super) fn title(&self) -> String {
        match (self.label.is_empty(), self.unit.name.is_empty()) {
            (true, _) => String::new(),
            (false, true) => self.label.clone(),
            (false, false) => format!("{}, {}", self.label, self.unit.name),
        }
    }
}

/// Returns the distance of labelled values: 1, 2 or 5 times a power of ten.
fn step(length: f64) -> f64 {
    crate::round_up(length / SPANS, &[1.0, 2.0, 5.0, 10.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers() {
        for (most, end, count) in [
            (0.9, 1.0, 6),
            (3.7, 4.0, 5),
            (1.25, 1.5, 4),
            (120.0, 150.0, 4),
            (98.4, 100.0, 6),
            (49_000.0, 50_000.0, 6),
            (0.0, 0.0, 2),
        ] {
            let axis = Axis::linear(
                "x",
                Unit {
                    name: "",
                    size: 1.0,
                },
                most,
            );
            assert!(
                (axis.to - end).abs() < end * 1e-9 + 1e-300,
                "{most}: {}",
                axis.to
            );
            if most > 0.0 {
                assert_eq!(axis.ticks().len(), count, "{most}: {:?}", axis.ticks());
            }
            // No number but 1, 2 or 5 times a power of ten is between two others.
            let ticks = axis.ticks();
            if let [first, second, ..] = ticks[..] {
                let lead = (second - first) / 10f64.powf((second - first).log10().floor());
                let is_round = [1.0, 2.0, 5.0, 10.0]
                    .iter()
                    .any(|it| (lead - it).abs() < 1e-6);
                assert!(most == 0.0 || is_round, "{most}: {lead}");
            }
        }
        let axis = Axis::logarithmic("x", Unit::of_time(2e-6), 2e-6, 3e-4);
        let numbers: Vec<String> = axis.ticks().iter().map(|tick| axis.number(*tick)).collect();
        assert_eq!(numbers, ["1", "10", "100", "1000"]);
        assert!((axis.part(31.622_776_6e-6) - 0.5).abs() < 1e-6);
    }
}
