//! Grafana dashboards: what each shows, and its JSON.

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
    /// What it is for.
    pub description: &'static str,
    /// What the reader chooses besides the data source.
    pub variables: Vec<Variable>,
    /// Its rows from the top.
    pub rows: Vec<Row>,
}

/// A choice of the reader: the values of a label, of which several may be chosen.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name in expressions, without the dollar sign; the label has the same name.
    pub name: &'static str,
    /// What the reader sees.
    pub title: &'static str,
    /// The series whose label it is.
    pub series: String,
}

/// A row of panels under a title.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its title.
    pub title: &'static str,
    /// Its panels from the left; a panel that finds no room goes below.
    pub panels: Vec<Panel>,
}

/// How a panel draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Curves over time.
    Curves,
    /// The last value, large.
    Number,
    /// Spans of a state over time, in the color of what it means when it is not 0.
    States(Meaning),
    /// Buckets of a histogram over time.
    Heatmap,
}

/// One panel.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Its title.
    pub title: &'static str,
    /// What it shows and what to look for.
    pub description: &'static str,
    /// The unit of its values, as Grafana names it.
    pub unit: &'static str,
    /// How it draws.
    pub style: Style,
    /// Columns of 24.
    pub width: u32,
    /// Its expressions with the legends of their series.
    pub queries: Vec<(String, &'static str)>,
    /// From where a value is no longer well; `None` where no value is better than another.
    pub limits: Option<Limits>,
    /// Alerts about what it shows, whose sections of the book it links to.
    pub alerts: Vec<&'static str>,
}

/// The least values with the colors of "degraded" and "suspected"; what is less has that of "well".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Somebody should look.
    pub orange: Option<f64>,
    /// Something is wrong.
    pub red: f64,
}

/// What is drawn across all panels of a dashboard at the times when it happened.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// Its name, with which the reader switches it off.
    pub name: &'static str,
    /// Its color.
    pub color: &'static str,
    /// Its series.
    pub expression: String,
    /// What a mark says, with labels of the series.
    pub text: &'static str,
    /// When it happened: while the value is above zero, or at the time in milliseconds that the value is.
    pub at: At,
}

/// See [`Annotation::at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// From its first value above zero to its last.
    WhileAboveZero,
    /// The value is the time.
    Value,
}

/// What happens to a switch as a whole, on every dashboard.
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

    /// What is drawn across its panels.
    pub fn annotations(&self) -> Vec<Annotation> {
        annotations()
    }

    /// What Grafana imports. `book` is the address of the book's pages.
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

/// A panel of curves with one expression; see the methods for others.
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

    /// Orange between this and [`red_from`](Self::red_from), which comes before.
    fn orange_from(mut self, orange: f64) -> Self {
        if let Some(limits) = &mut self.limits {
            limits.orange = Some(orange);
        }
        self
    }

    /// What to do about it stands where the book explains this alert.
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

/// A variable over the values of `name` that series of `series` have.
fn variable(name: &'static str, title: &'static str, series: String) -> Variable {
    Variable {
        name,
        title,
        series,
    }
}

/// Units as Grafana names them.
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
    fn panels_say_what_they_show() {
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

    /// A number is read at a glance: it has a color, or no value of it is better than another.
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
