//! Charts as SVG: columns of panels, curves with names at their ends, and numbered moments with a key below.
//!
//! A chart whose panels all have the same curves names them once, below the title.

mod axis;
mod draw;
mod labels;
mod names;
mod ranges;

pub use axis::Axis;
pub use draw::svg;
pub use ranges::{Range, RangePanel, Ranges};

/// A picture.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Above all columns.
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
    /// Moments, drawn through all panels, in the order of time. Only if the horizontal axis is time.
    pub moments: Vec<Moment>,
    /// Events that are too frequent for numbers: triangles along the upper edge.
    pub marks: Option<Marks>,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Time in seconds.
    pub at: f64,
    /// Description for the key.
    pub text: String,
}

/// A frequent event.
#[derive(Clone, Debug, PartialEq)]
pub struct Marks {
    /// Description.
    pub name: String,
    /// Times in seconds.
    pub at: Vec<f64>,
}

/// Curves over two axes.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Above the panel; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub across: Axis,
    /// The vertical axis.
    pub up: Axis,
    /// In the order of their colours.
    pub curves: Vec<Curve>,
    /// Horizontal lines, each at a value with its name, and with different dash patterns.
    pub levels: Vec<(f64, String)>,
}

/// Style of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line through all points.
    Line,
    /// A dashed line.
    Dashed,
    /// Only dots.
    Dots,
    /// A bar from each point with an even index to the next one: spans of time.
    Bars,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Beside its end.
    pub name: String,
    /// In base units of the axes.
    pub points: Vec<(f64, f64)>,
    /// Style.
    pub style: Style,
}

/// Returns the amounts carried by a line, given those counted with their frames: the excess over `capacity` in an
/// interval was on the line in the adjacent intervals. With `is_late`, frames are counted at their ends or after them,
/// otherwise at their beginnings. The sum is preserved, except for amounts on the line before the first interval or
/// after the last one.
pub fn carried(counted: &[f64], capacity: f64, is_late: bool) -> Vec<f64> {
    let mut carried = counted.to_vec();
    if is_late {
        carried.reverse();
    }
    let mut waiting = 0.0;
    for amount in &mut carried {
        waiting += *amount;
        *amount = f64::min(waiting, capacity);
        waiting -= *amount;
    }
    if is_late {
        carried.reverse();
    }
    carried
}

#[cfg(test)]
mod tests {
    use super::carried;

    #[test]
    fn a_line_keeps_within_its_capacity_and_loses_nothing() {
        let counted = [0.0, 9.0, 12.0, 7.0, 0.0];
        assert_eq!(carried(&counted, 10.0, false), [0.0, 9.0, 10.0, 9.0, 0.0]);
        assert_eq!(carried(&counted, 10.0, true), [1.0, 10.0, 10.0, 7.0, 0.0]);
        // The rest leaves after the last interval, or arrived before the first one.
        assert_eq!(carried(&[1.0, 30.0], 10.0, false), [1.0, 10.0]);
        assert_eq!(carried(&[30.0, 1.0], 10.0, true), [10.0, 1.0]);
    }
}
