//! Charts as SVG: columns of panels that share their time axis, curves with a legend beside them, and numbered moments
//! that are explained below.

mod draw;

use crate::quantity::{short, Unit};

pub use draw::svg;

/// A picture.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Above everything.
    pub title: String,
    /// Side by side.
    pub columns: Vec<Column>,
}

/// Panels one above the other.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Above the panels.
    pub title: String,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Moments, drawn through all panels, in the order of time. Only where the axis across is time.
    pub moments: Vec<Moment>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// When, in seconds.
    pub at: f64,
    /// What, for the key.
    pub text: String,
}

/// Curves over two axes.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The axis across.
    pub across: Axis,
    /// The axis up.
    pub up: Axis,
    /// In the order of the legend.
    pub curves: Vec<Curve>,
    /// Lines across the panel, each at a value with its name; below the curves in the legend.
    pub levels: Vec<(f64, String)>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line through all points.
    Line,
    /// A broken line.
    Dashed,
    /// Points alone.
    Dots,
    /// A bar from each point with an even index to the one behind it: spans of time.
    Bars,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// In the legend.
    pub name: String,
    /// In base units of the axes.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub style: Style,
}

/// An axis. Its limits are in base units, its numbers in `unit`.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What stands beside it, before the unit. Without one the axis has no numbers either.
    pub label: String,
    /// The unit of its numbers.
    pub unit: Unit,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Whether equal distances are equal ratios. Both limits are above zero then.
    pub is_logarithmic: bool,
}

impl Axis {
    /// From zero to the next round number.
    pub fn linear(label: &str, unit: Unit, most: f64) -> Self {
        Self {
            label: label.to_owned(),
            unit,
            from: 0.0,
            to: round_up(unit.count(most)) * unit.size,
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

    /// From a power of ten (of `unit`) to another, around the values from `least` to `most`.
    pub fn logarithmic(label: &str, unit: Unit, least: f64, most: f64) -> Self {
        Self {
            label: label.to_owned(),
            unit,
            from: 10f64.powf(unit.count(least).log10().floor()) * unit.size,
            to: 10f64.powf(unit.count(most).log10().ceil()) * unit.size,
            is_logarithmic: true,
        }
    }

    /// Where along the axis `value` is, from 0 to 1.
    fn part(&self, value: f64) -> f64 {
        let part = if self.is_logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        part.clamp(0.0, 1.0)
    }

    /// Values at which a number stands.
    fn ticks(&self) -> Vec<f64> {
        const TICKS: f64 = 5.0;
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
        let step = round_up(end / TICKS);
        (0..=(end / step * (1.0 + 1e-9)) as usize)
            .map(|tick| self.from + tick as f64 * step * self.unit.size)
            .collect()
    }

    fn number(&self, value: f64) -> String {
        short(self.unit.count(value), 4)
    }

    fn title(&self) -> String {
        if self.label.is_empty() {
            return String::new();
        }
        format!("{}, {}", self.label, self.unit.name)
    }
}

/// The next of 1, 2, 2.5 and 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    weir_svg::round_up(value, &[1.0, 2.0, 2.5, 5.0, 10.0])
}
