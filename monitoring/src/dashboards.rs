//! Grafana dashboards: what each shows, and its JSON.

mod deadlocks;
mod fabric;
mod json;
mod port;
mod switch;

use serde_json::Value;

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
    /// Spans of a state over time: 0 is good, everything else is not.
    States,
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

    /// What Grafana imports.
    pub fn to_json(&self) -> String {
        let value: Value = json::dashboard(self);
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

    fn states(mut self) -> Self {
        self.style = Style::States;
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

    #[test]
    fn nothing_overlaps_and_nothing_has_the_same_number() {
        for dashboard in all() {
            let value: Value = serde_json::from_str(&dashboard.to_json()).unwrap();
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
