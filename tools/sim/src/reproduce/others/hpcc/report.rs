//! The figure as a table, numbers and a picture.

use weir_results::chart::{Axis, Chart, Column, Curve, Panel, Style};
use weir_results::quantity::{setting as span, short, Unit};
use weir_results::slowdown::decimal;
use weir_results::table::grid;

use super::{Compared, Figure11, Row};
use crate::reproduce::others::csv;
use crate::reproduce::Reproduction;

/// Range of the picture's axes.
const SIZES: [f64; 2] = [100.0, 10e6];
const SLOWDOWN_MOST: f64 = 15.0;

impl Figure11 {
    /// Returns the picture, the table and the numbers.
    pub fn reproduction(&self) -> Reproduction {
        Reproduction::figure(
            "hpcc-fig11c",
            &self.chart(),
            self.report(),
            ("csv", self.csv()),
        )
    }

    /// Returns the table.
    pub fn report(&self) -> String {
        let time = |time: weir_core::Duration| span(time.as_secs_f64());
        let mut out = format!(
            "FB_Hadoop at half load on HPCC's fat tree of 320 hosts: slowdown of the flows that begin between {} and {}, here and in HPCC's\nsimulator. Each row has a twentieth of the flows, up to the size that it says.\n",
            time(self.setting.warm_up),
            time(self.setting.warm_up + self.setting.span),
        );
        for compared in &self.compared {
            out += &format!(
                "\n{}: {} flows, {} not done; {} pauses\n\n",
                compared.way.name(),
                compared.flows,
                compared.unfinished,
                compared.pauses
            );
            let rows: Vec<Vec<String>> = pairs(compared)
                .map(|(here, there)| row(here, there))
                .collect();
            out += &grid(
                &[
                    "up to",
                    "p50",
                    "p95",
                    "p99",
                    "there: up to",
                    "p50",
                    "p95",
                    "p99",
                ],
                &rows,
            );
        }
        out
    }

    fn csv(&self) -> String {
        let mut columns = Vec::new();
        for compared in &self.compared {
            for place in ["here", "there"] {
                let key = compared.way.key();
                columns.extend(["p50", "p95", "p99"].map(|of| format!("{key}_{place}_{of}")));
            }
        }
        let sizes = ["size_here_bytes", "size_there_bytes"].map(str::to_owned);
        let headings: Vec<String> = sizes.into_iter().chain(columns).collect();
        let first = self.compared.first();
        let count = first.map_or(0, |compared| pairs(compared).count());
        let numbers = |row: &Row| [row.p50, row.p95, row.p99].map(|value| short(value, 3));
        let line = |index: usize| {
            let mut cells = Vec::new();
            for (place, compared) in self.compared.iter().enumerate() {
                let Some((here, there)) = pairs(compared).nth(index) else {
                    continue;
                };
                if place == 0 {
                    cells.extend([here.size_bytes, there.size_bytes].map(|size| size.to_string()));
                }
                cells.extend(numbers(here));
                cells.extend(numbers(there));
            }
            cells
        };
        let rows: Vec<Vec<String>> = (0..count).map(line).collect();
        csv(&headings, &rows)
    }

    /// Draws the 95th percentile, as in the paper, with a panel for each transport.
    fn chart(&self) -> Chart {
        let bytes = Unit {
            name: "kB",
            size: 1e3,
        };
        let times = Unit {
            name: "",
            size: 1.0,
        };
        let curve = |name: &str, rows: &[Row], style: Style| Curve {
            name: name.to_owned(),
            points: rows
                .iter()
                .map(|row| (row.size_bytes as f64, row.p95))
                .collect(),
            style,
        };
        let panel = |compared: &Compared| Panel {
            title: compared.way.name().to_owned(),
            across: Axis::logarithmic("size of the flow", bytes, SIZES[0], SIZES[1]),
            up: Axis::until("slowdown, 95th percentile", times, SLOWDOWN_MOST),
            curves: vec![
                curve("Weir", &compared.here, Style::Line),
                curve("HPCC's simulator", &compared.there, Style::Dashed),
            ],
            levels: Vec::new(),
        };
        Chart {
            title: "Slowdown on HPCC's fat tree".to_owned(),
            columns: vec![Column {
                panels: self.compared.iter().map(panel).collect(),
                ..Column::default()
            }],
        }
    }
}

fn pairs(compared: &Compared) -> impl Iterator<Item = (&Row, &Row)> {
    compared.here.iter().zip(&compared.there)
}

fn row(here: &Row, there: &Row) -> Vec<String> {
    let of = |row: &Row| {
        let numbers = [row.p50, row.p95, row.p99].map(|value| format!("{value:.2}"));
        std::iter::once(decimal(row.size_bytes)).chain(numbers)
    };
    of(here).chain(of(there)).collect()
}
