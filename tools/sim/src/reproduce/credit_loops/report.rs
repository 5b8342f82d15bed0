//! Counts of many networks as a table, numbers and a picture.

use serde::{Deserialize, Serialize};
use serde_json::json;
use weir_results::chart::{Axis, Chart, Column, Curve, Panel, Style};
use weir_results::quantity::{short, Unit};
use weir_results::table::grid;

use super::{Count, Routing, Tree};
use crate::reproduce::Reproduction;

/// All networks of one size, one rate of failures and one routing.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Shape of the trees.
    pub tree: Tree,
    /// Failed links in percent, before rounding to whole links.
    pub percent: u32,
    /// Selection of next hops by switches.
    pub routing: Routing,
    /// Number of networks.
    pub networks: u64,
    /// Of these: with a credit loop.
    pub with_loops: u64,
    /// Of these: with pairs that have no path.
    pub with_cuts: Option<u64>,
    /// Sums over all networks.
    pub sums: Count,
}

impl Line {
    /// Creates a line without networks.
    pub fn new(tree: Tree, percent: u32, routing: Routing) -> Self {
        Self {
            tree,
            percent,
            routing,
            networks: 0,
            with_loops: 0,
            with_cuts: None,
            sums: Count::default(),
        }
    }

    /// Adds a network.
    pub fn add(&mut self, count: &Count) {
        let plus = |sum: Option<u64>, more: Option<u64>| Some(sum.unwrap_or(0) + more?);
        self.networks += 1;
        self.with_loops += u64::from(count.has_loop());
        self.with_cuts = plus(self.with_cuts, count.cut.map(|cut| u64::from(cut > 0)));
        self.sums.on_loops += count.on_loops;
        self.sums.channels += count.channels;
        self.sums.pairs += count.pairs;
        self.sums.cut = plus(self.sums.cut, count.cut);
        self.sums.longer = plus(self.sums.longer, count.longer);
    }

    /// 95 % confidence interval of the share of networks with a credit loop: Wilson's (Probable Inference, the Law of
    /// Succession, and Statistical Inference, JASA 1927).
    pub fn confidence(&self) -> [f64; 2] {
        /// 97.5 % quantile of the normal distribution.
        const Z: f64 = 1.959_963_984_540_054;
        let count = self.networks.max(1) as f64;
        let share = self.with_loops as f64 / count;
        let middle = share + Z * Z / (2.0 * count);
        let half = Z * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
        let scale = 1.0 + Z * Z / count;
        // At none and at all, the interval ends exactly there; rounding would miss it.
        let low = if self.with_loops == 0 {
            0.0
        } else {
            (middle - half) / scale
        };
        let all = self.with_loops == self.networks;
        [low, if all { 1.0 } else { (middle + half) / scale }]
    }

    /// Mean share of channels on loops.
    pub fn on_loops(&self) -> f64 {
        self.sums.on_loops as f64 / self.sums.channels.max(1) as f64
    }

    fn row(&self) -> Vec<String> {
        let [low, high] = self.confidence();
        let share = self.with_loops as f64 / self.networks.max(1) as f64;
        let of_pairs = |count: Option<u64>| match count {
            Some(count) => percent(count as f64 / self.sums.pairs.max(1) as f64),
            None => "–".to_owned(),
        };
        vec![
            self.routing.name().to_owned(),
            self.tree.k.to_string(),
            format!("{} %", self.percent),
            self.tree.failed.to_string(),
            format!("{} of {}", self.with_loops, self.networks),
            percent(share),
            format!("{} to {}", percent(low), percent(high)),
            percent(self.on_loops()),
            of_pairs(self.sums.longer),
            self.with_cuts
                .map_or("–".to_owned(), |cuts| cuts.to_string()),
        ]
    }

    fn row_of_file(&self) -> Row {
        // Digits on which the square roots of all machines agree.
        let [share_low, share_high] = self.confidence().map(|share| (share * 1e6).round() / 1e6);
        Row {
            routing: self.routing.name().to_owned(),
            k: self.tree.k,
            failed_percent: self.percent,
            failed_links: self.tree.failed,
            networks: self.networks,
            with_loops: self.with_loops,
            share_low,
            share_high,
            channels: self.sums.channels,
            channels_on_loops: self.sums.on_loops,
            pairs: self.sums.pairs,
            pairs_with_longer_ways: self.sums.longer,
            pairs_without_a_way: self.sums.cut,
            networks_with_pairs_without_a_way: self.with_cuts,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    format: u32,
    figure: String,
    lines: Vec<Row>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    routing: String,
    k: usize,
    failed_percent: u32,
    failed_links: usize,
    networks: u64,
    with_loops: u64,
    share_low: f64,
    share_high: f64,
    channels: u64,
    channels_on_loops: u64,
    pairs: u64,
    pairs_with_longer_ways: Option<u64>,
    pairs_without_a_way: Option<u64>,
    networks_with_pairs_without_a_way: Option<u64>,
}

const FIGURE: &str = "credit-loops";
const FORMAT: u32 = 1;

/// Reads the lines of `credit-loops.json`, as written by [`reproduction`].
///
/// # Errors
///
/// The file is invalid.
pub fn read(text: &str) -> Result<Vec<Line>, String> {
    let numbers: Numbers = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if (numbers.figure.as_str(), numbers.format) != (FIGURE, FORMAT) {
        return Err(format!(
            "has figure {} in format {}; needed is {FIGURE} in format {FORMAT}",
            numbers.figure, numbers.format
        ));
    }
    let line = |row: Row| {
        let mut known = Routing::ALL.into_iter();
        let routing = known.find(|routing| routing.name() == row.routing);
        Ok(Line {
            tree: Tree {
                k: row.k,
                failed: row.failed_links,
            },
            percent: row.failed_percent,
            routing: routing.ok_or_else(|| format!("unknown routes `{}`", row.routing))?,
            networks: row.networks,
            with_loops: row.with_loops,
            with_cuts: row.networks_with_pairs_without_a_way,
            sums: Count {
                on_loops: row.channels_on_loops,
                channels: row.channels,
                pairs: row.pairs,
                cut: row.pairs_without_a_way,
                longer: row.pairs_with_longer_ways,
            },
        })
    };
    numbers.lines.into_iter().map(line).collect()
}

/// Merges lines of the same trees and routes; sorts by k, failures and routes.
pub fn merged(lines: impl IntoIterator<Item = Line>) -> Vec<Line> {
    let plus = |a: Option<u64>, b: Option<u64>| a.map(|a| a + b.unwrap_or(0)).or(b);
    let mut merged: Vec<Line> = Vec::new();
    for line in lines {
        let of_line = |other: &&mut Line| {
            (other.tree, other.percent, other.routing) == (line.tree, line.percent, line.routing)
        };
        let Some(into) = merged.iter_mut().find(of_line) else {
            merged.push(line);
            continue;
        };
        into.networks += line.networks;
        into.with_loops += line.with_loops;
        into.with_cuts = plus(into.with_cuts, line.with_cuts);
        into.sums.on_loops += line.sums.on_loops;
        into.sums.channels += line.sums.channels;
        into.sums.pairs += line.sums.pairs;
        into.sums.cut = plus(into.sums.cut, line.sums.cut);
        into.sums.longer = plus(into.sums.longer, line.sums.longer);
    }
    let place = |routing: Routing| Routing::ALL.iter().position(|other| *other == routing);
    merged.sort_by_key(|line| (line.tree.k, line.percent, place(line.routing)));
    merged
}

/// Prints two decimals for small values, so that a share above zero is never shown as zero.
fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        small if small < 0.005 => "<0.01 %".to_owned(),
        percent => format!("{} %", short(percent, 2)),
    }
}

const HEADINGS: [&str; 10] = [
    "routes",
    "k",
    "failed",
    "links",
    "networks with loops",
    "share",
    "95 % confidence",
    "channels on loops",
    "pairs with longer ways",
    "networks with cut pairs",
];

/// Returns the table of `lines`, the numbers, and the picture.
pub fn reproduction(lines: &[Line]) -> Reproduction {
    let rows: Vec<Vec<String>> = lines.iter().map(Line::row).collect();
    let report = grid(&HEADINGS, &rows);
    let numbers = json!(Numbers {
        format: FORMAT,
        figure: FIGURE.to_owned(),
        lines: lines.iter().map(Line::row_of_file).collect(),
    });
    Reproduction::figure(
        "credit-loops",
        &chart(lines),
        report,
        ("json", crate::reproduce::json(&numbers)),
    )
}

/// Draws a column for each size.
fn chart(lines: &[Line]) -> Chart {
    let most = lines.iter().map(|line| line.percent).max().unwrap_or(0);
    let mut sizes: Vec<usize> = lines.iter().map(|line| line.tree.k).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of_percent = Unit {
        name: "%",
        size: 0.01,
    };
    let curve = |k: usize, routing: Routing| Curve {
        name: routing.name().to_owned(),
        points: lines
            .iter()
            .filter(|line| line.tree.k == k && line.routing == routing)
            .map(|line| {
                let share = line.with_loops as f64 / line.networks.max(1) as f64;
                (f64::from(line.percent) / 100.0, share)
            })
            .collect(),
        style: Style::Line,
    };
    let column = |k: usize| Column {
        title: format!("k = {k}"),
        panels: vec![Panel {
            title: String::new(),
            across: Axis::linear("failed links", of_percent, f64::from(most) / 100.0),
            up: Axis::until("networks with credit loops", of_percent, 1.0),
            curves: Routing::ALL.map(|routing| curve(k, routing)).into(),
            levels: Vec::new(),
        }],
        ..Column::default()
    };
    Chart {
        title: "Credit loops in fat trees with failed links".to_owned(),
        columns: sizes.into_iter().map(column).collect(),
    }
}
