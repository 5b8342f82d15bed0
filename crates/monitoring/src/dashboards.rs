//! Grafana dashboards: their contents, and their JSON.

mod deadlocks;
mod fabric;
mod json;
mod port;
mod switch;

use serde_json::Value;
use weir_svg::meaning::{self, Meaning};

/// One dashboard.
#[derive(Clone, Debug)]
pub struct Dashboard {
    /// Its address in Grafana and the name of its file.
    pub uid: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its purpose.
    pub description: &'static str,
    /// Choices of the reader besides the data source.
    pub variables: Vec<Variable>,
    /// Its rows from the top.
    pub rows: Vec<Row>,
}

/// A choice of the reader: the values of a label, of which several may be selected.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name in expressions, without the dollar sign; the label has the same name.
    pub name: &'static str,
    /// Its title on the dashboard.
    pub title: &'static str,
    /// The series with the label.
    pub series: String,
}

/// A row of panels under a title.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its title.
    pub title: &'static str,
    /// Its panels from the left; a panel without room goes to the next line.
    pub panels: Vec<Panel>,
}

/// Style of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Curves over time.
    Curves,
    /// The last value, in large type.
    Number,
    /// Spans of a state over time, in the state's colour while it is not 0.
    States(Meaning),
    /// Buckets of a histogram over time.
    Heatmap,
}

/// One panel.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Its title.
    pub title: &'static str,
    /// Its subject, and what to look for.
    pub description: &'static str,
    /// The unit of its values, as Grafana names it.
    pub unit: &'static str,
    /// Its style.
    pub style: Style,
    /// Width in columns of 24.
    pub width: u32,
    /// Its expressions, with the legends of their series.
    pub queries: Vec<(String, &'static str)>,
    /// Limits of good values; `None` if all values are equally good.
    pub limits: Option<Limits>,
    /// Related alerts, whose sections of the book it links to.
    pub alerts: Vec<&'static str>,
}

/// Minimum values with the colours of "degraded" and "suspected"; smaller values have that of "well".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Should be checked.
    pub orange: Option<f64>,
    /// Something is wrong.
    pub red: f64,
}

/// Marks drawn across all panels of a dashboard at the times of events.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// Its name, with which the reader can switch it off.
    pub name: &'static str,
    /// Its colour.
    pub color: &'static str,
    /// Its series.
    pub expression: String,
    /// Text of a mark, with labels of the series.
    pub text: &'static str,
    /// Time of a mark: while the value is above zero, or the value itself in milliseconds.
    pub at: At,
}

/// See [`Annotation::at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// From its first value above zero to its last.
    WhileAboveZero,
    /// At the time given by the value.
    Value,
}

/// Events of a switch as a whole, on every dashboard.
fn annotations() -> Vec<Annotation> {
    use crate::definitions::{PROCESS_START_TIME, SUSPECTED};
    let switch = select::SWITCH;
    vec![
        Annotation {
            name: "Suspected deadlocks",
            color: meaning::SUSPECTED.light,
            expression: format!("max by (instance, port, priority) ({SUSPECTED}{{{switch}}})"),
            text: "{{instance}}: {{port}} priority {{priority}} suspected",
            at: At::WhileAboveZero,
        },
        Annotation {
            name: "Restarts",
            color: "purple",
            expression: format!("{PROCESS_START_TIME}{{job=\"weir\",{switch}}} * 1000"),
            text: "{{instance}} started",
            at: At::Value,
        },
    ]
}

/// All dashboards.
pub fn all() -> Vec<Dashboard> {
    vec![
        fabric::dashboard(),
        switch::dashboard(),
        port::dashboard(),
        deadlocks::dashboard(),
    ]
}

impl Dashboard {
    /// All panels.
    pub fn panels(&self) -> impl Iterator<Item = &Panel> {
        self.rows.iter().flat_map(|row| &row.panels)
    }

    /// The variables' names.
    pub fn variable_names(&self) -> Vec<&'static str> {
        self.variables
            .iter()
            .map(|variable| variable.name)
            .collect()
    }

    /// Marks drawn across its panels.
    pub fn annotations(&self) -> Vec<Annotation> {
        annotations()
    }

    /// JSON that Grafana imports. `book` is the address of the book's pages.
    pub fn to_json(&self, book: &str) -> String {
        let value: Value = json::dashboard(self, book);
        let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn row<const N: usize>(title: &'static str, panels: [Panel; N]) -> Row {
    Row {
        title,
        panels: panels.into(),
    }
}

/// A panel of curves with one expression; the methods change that.
fn panel(
    title: &'static str,
    unit: &'static str,
    description: &'static str,
    expression: String,
    legend: &'static str,
) -> Panel {
    Panel {
        title,
        description,
        unit,
        style: Style::Curves,
        width: 12,
        queries: vec![(expression, legend)],
        limits: None,
        alerts: Vec::new(),
    }
}

impl Panel {
    fn and(mut self, expression: String, legend: &'static str) -> Self {
        self.queries.push((expression, legend));
        self
    }

    fn number(mut self) -> Self {
        self.style = Style::Number;
        self.width = 4;
        self
    }

    /// Green below this, and red from it on.
    fn red_from(mut self, red: f64) -> Self {
        self.limits = Some(Limits { orange: None, red });
        self
    }

    /// Orange from this to [`red_from`](Self::red_from), which must be called first.
    fn orange_from(mut self, orange: f64) -> Self {
        if let Some(limits) = &mut self.limits {
            limits.orange = Some(orange);
        }
        self
    }

    /// Links to the section of this alert in the book.
    fn see(mut self, alert: &'static str) -> Self {
        self.alerts.push(alert);
        self
    }

    fn states(mut self, meaning: Meaning) -> Self {
        self.style = Style::States(meaning);
        self
    }

    fn heatmap(mut self) -> Self {
        self.style = Style::Heatmap;
        self
    }

    fn wide(mut self, columns: u32) -> Self {
        self.width = columns;
        self
    }
}

/// A variable for the values of the label `name` in series of `series`.
fn variable(name: &'static str, title: &'static str, series: String) -> Variable {
    Variable {
        name,
        title,
        series,
    }
}

/// Grafana's names of units.
mod unit {
    pub const BYTES: &str = "bytes";
    pub const BYTES_PER_SECOND: &str = "Bps";
    pub const BITS_PER_SECOND: &str = "bps";
    pub const COUNT: &str = "short";
    pub const FRAMES_PER_SECOND: &str = "pps";
    pub const PER_SECOND: &str = "ops";
    pub const SECONDS: &str = "s";
    pub const SHARE: &str = "percentunit";
    pub const STATE: &str = "bool";
    pub const TEXT: &str = "none";
}

/// Selectors by the dashboards' variables.
mod select {
    pub const SWITCH: &str = "instance=~\"$instance\"";
    pub const PORT: &str = "instance=~\"$instance\",port=~\"$port\"";
    pub const QUEUE: &str = "instance=~\"$instance\",port=~\"$port\",priority=~\"$priority\"";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_have_titles_and_descriptions() {
        for dashboard in all() {
            for panel in dashboard.panels() {
                let told = format!("{}: {}", dashboard.uid, panel.title);
                assert!(panel.description.ends_with('.'), "{told}");
                assert!(!panel.unit.is_empty(), "{told}");
                assert!(!panel.queries.is_empty(), "{told}");
                assert!((1..=24).contains(&panel.width), "{told}");
            }
        }
    }

    /// A number must be readable at a glance: it has a colour, unless all values are equally good.
    #[test]
    fn limits_are_in_order_and_alerts_exist() {
        let alerts = crate::rules::alerts();
        let all = all();
        let mut judged = 0;
        for panel in all.iter().flat_map(Dashboard::panels) {
            if let Some(limits) = panel.limits {
                assert!(limits.orange.is_none_or(|orange| orange < limits.red));
                assert_eq!(panel.style, Style::Number, "{}", panel.title);
                judged += 1;
            }
            for name in &panel.alerts {
                assert!(alerts.iter().any(|alert| alert.name == *name), "{name}");
            }
        }
        let wrong = &all[0].rows[0];
        assert_eq!(wrong.title, "Is anything wrong?");
        assert!(wrong
            .panels
            .iter()
            .all(|panel| panel.limits.is_some() && !panel.alerts.is_empty()));
        assert!(judged > wrong.panels.len());
    }

    #[test]
    fn nothing_overlaps_and_nothing_has_the_same_number() {
        for dashboard in all() {
            let value: Value = serde_json::from_str(&dashboard.to_json("book")).unwrap();
            let panels = value["panels"].as_array().unwrap();
            let mut taken = std::collections::BTreeSet::new();
            let mut numbers = std::collections::BTreeSet::new();
            for panel in panels {
                let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
                assert!(place("x") + place("w") <= 24, "{panel}");
                for x in place("x")..place("x") + place("w") {
                    for y in place("y")..place("y") + place("h") {
                        assert!(taken.insert((x, y)), "{} at {x}, {y}", panel["title"]);
                    }
                }
                assert!(numbers.insert(panel["id"].as_u64().unwrap()));
            }
            assert_eq!(
                panels.len(),
                dashboard.panels().count() + dashboard.rows.len()
            );
        }
    }
}
