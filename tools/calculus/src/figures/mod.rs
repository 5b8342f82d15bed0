//! The paper's figures as data: the same curves from the model, without its simulations.
//!
//! Figures are computed in floating point, in milliseconds each. Numbers stated about them are computed exactly, in the
//! tests next to this file.

mod csv;
mod svg;

#[cfg(test)]
mod numbers;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::algebra::{Curve, CurveError, Element, Scalar};
use crate::case_study::{CaseStudy, Configuration, Increase, SenderModel};
use crate::congestion::rtt::Inverse;
use crate::control::vegas::{Vegas, VegasEvent};
use crate::control::{ControlError, Run};
use crate::multiflow::fairness::AimdFairness;
use crate::multiflow::prediction::{predict, Prediction, PredictionError};

/// A figure of the paper that the model draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Congestion window of TCP Vegas.
    Fig3,
    /// Backlog produced by TCP Vegas.
    Fig4,
    /// AIMD fairness at a FIFO path server.
    Fig6,
    /// Burst arrivals, 10 ms.
    Fig9,
    /// Burst arrivals, 400 µs.
    Fig10,
}

impl Figure {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Fig3, Self::Fig4, Self::Fig6, Self::Fig9, Self::Fig10];

    /// Returns `fig3` and so on.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fig3 => "fig3",
            Self::Fig4 => "fig4",
            Self::Fig6 => "fig6",
            Self::Fig9 => "fig9",
            Self::Fig10 => "fig10",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a figure.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("there is no figure {0:?}: it is one of fig3, fig4, fig6, fig9, fig10")]
pub struct UnknownFigure(String);

impl FromStr for Figure {
    type Err = UnknownFigure;

    fn from_str(name: &str) -> Result<Self, UnknownFigure> {
        let found = Self::ALL.into_iter().find(|figure| figure.name() == name);
        found.ok_or_else(|| UnknownFigure(name.into()))
    }
}

/// Reason for which a figure cannot be drawn.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FigureError {
    /// Error of the algebra.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// Error of Vegas.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Error of the prediction of a network.
    #[error(transparent)]
    Prediction(#[from] PredictionError),
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Label.
    pub label: &'static str,
    /// Unit.
    pub unit: &'static str,
}

/// One line of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// (x, y) in the units of the axes, connected by straight lines.
    pub points: Vec<(f64, f64)>,
}

/// One diagram of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Heading of the panel.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Its lines.
    pub series: Vec<Series>,
    /// Named vertical values, drawn across the panel.
    pub levels: Vec<(String, f64)>,
}

/// Curves of a picture: a figure of the paper, or another prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// Short name, for example for a file.
    pub name: String,
    /// Heading of the figure.
    pub title: String,
    /// Rows of panels.
    pub rows: Vec<Vec<Panel>>,
}

/// Computes a figure.
pub fn reproduce(figure: Figure) -> Result<Curves, FigureError> {
    match figure {
        Figure::Fig3 | Figure::Fig4 => vegas(figure),
        Figure::Fig6 => fairness(),
        Figure::Fig9 => bursts(
            figure,
            10_000.0,
            &[Increase::AsPrinted, Increase::AsPictured],
        ),
        Figure::Fig10 => bursts(figure, 400.0, &[Increase::AsPrinted]),
    }
}

type Points = Vec<(f64, f64)>;

const KBIT_PER_MEGABYTE: f64 = 8_000.0;
const KBIT_PER_KILOBYTE: f64 = 8.0;

fn time(unit: &'static str) -> Axis {
    Axis {
        label: "time",
        unit,
    }
}

/// Returns the corners of a curve, in units of the axes; a jump is two points.
fn corners(curve: &Curve<f64>, per_x: f64, per_y: f64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for element in curve.elements() {
        let mut push = |x: f64, y: f64| {
            let point = (x / per_x, y / per_y);
            if points.last() != Some(&point) {
                points.push(point);
            }
        };
        push(*element.from(), *element.start());
        if let (Element::Segment { .. }, Some(to), Some(end)) =
            (element, element.to(), element.end())
        {
            push(*to, end);
        }
    }
    points
}

/// Returns a step function from (time, value from then on).
fn steps(changes: impl Iterator<Item = (f64, f64)>, end: f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (time, value) in changes {
        if let Some((_, before)) = points.last().copied() {
            points.push((time, before));
        }
        points.push((time, value));
    }
    if let Some((_, last)) = points.last().copied() {
        points.push((end, last));
    }
    points
}

/// End of figures 3 and 4, whose length is not printed; it includes the bursts at 1, 1.5, 2 and 2.5 ms.
pub const VEGAS_END_US: i64 = 3_000;

/// Returns the traffic of section III-E: a burst of 4 MB, then 50 Gbit/s, and from 1 ms on 1.5 MB every 0.5 ms.
pub fn vegas_arrivals<S: Scalar>() -> Result<Curve<S>, CurveError> {
    let bursts =
        Curve::periodic_bursts(S::ratio(3 * 8_000, 2), S::integer(1_000), S::integer(500))?;
    Curve::token_bucket(S::integer(4 * 8_000), S::integer(50)).plus(&bursts)
}

/// Returns the parameters of section III-E's Vegas. The paper does not list them; these are ns-3's: an initial window of 10
/// packets of 1,500 bytes, and thresholds of 2, 4 and 1 packets.
pub fn vegas_parameters<S: Scalar>(inverse: Inverse) -> Vegas<S> {
    let packet = S::integer(12);
    let packets = |count| S::integer(count) * &packet;
    Vegas {
        initial_window: packets(10),
        low: packets(2),
        high: packets(4),
        gamma: packets(1),
        feedback_delay: S::integer(20),
        inverse,
        packet,
    }
}

/// Runs Vegas over the traffic of section III-E.
pub fn vegas_run<S: Scalar>(inverse: Inverse) -> Result<Run<S, VegasEvent<S>>, ControlError> {
    let service = Curve::rate_function(S::integer(100));
    vegas_parameters(inverse).run(&vegas_arrivals()?, &service, &S::integer(VEGAS_END_US))
}

fn vegas(figure: Figure) -> Result<Curves, FigureError> {
    let end = VEGAS_END_US as f64;
    let readings = [
        ("RTT with the upper pseudo-inverse", Inverse::Upper),
        ("RTT as printed, with the lower one", Inverse::Lower),
    ];
    let mut series = Vec::new();
    for (name, inverse) in readings {
        let run = vegas_run::<f64>(inverse)?;
        let points = if figure == Figure::Fig3 {
            let first = (
                0.0,
                vegas_parameters::<f64>(inverse).initial_window / KBIT_PER_KILOBYTE,
            );
            let windows = run
                .events
                .iter()
                .map(|event| (event.time / 1e3, event.window / KBIT_PER_KILOBYTE));
            steps(std::iter::once(first).chain(windows), end / 1e3)
        } else {
            let backlog = run.admitted.minus_until(&run.departures, &end)?;
            corners(&backlog, 1e3, KBIT_PER_KILOBYTE)
        };
        series.push(Series {
            name: name.into(),
            points,
        });
    }
    let (title, label) = match figure {
        Figure::Fig3 => ("Congestion window of TCP Vegas", "congestion window"),
        _ => ("Backlog produced by TCP Vegas", "backlog"),
    };
    let panel = |series: Series| Panel {
        title: series.name.clone(),
        x: time("ms"),
        y: Axis { label, unit: "kB" },
        series: vec![series],
        levels: Vec::new(),
    };
    Ok(Curves {
        name: figure.name().into(),
        title: title.into(),
        rows: vec![series.into_iter().map(panel).collect()],
    })
}

fn fairness() -> Result<Curves, FigureError> {
    let end = 50_000.0;
    let example = AimdFairness::<f64>::new(end);
    let prediction = predict(example.scenario())?;
    let rates = |index: usize| prediction.rates[index].iter();
    let series = (0..2).map(|index| Series {
        name: format!("flow {}", index + 1),
        points: steps(
            rates(index).map(|(time, rate)| (time / 1e3, *rate)),
            end / 1e3,
        ),
    });
    let vector = rates(0)
        .zip(rates(1))
        .map(|((_, first), (_, second))| (*first, *second));
    let line = |name: &str, points: [(f64, f64); 2]| Series {
        name: name.into(),
        points: points.to_vec(),
    };
    let rate = |label| Axis {
        label,
        unit: "Gbit/s",
    };
    Ok(Curves {
        name: Figure::Fig6.name().into(),
        title: "AIMD fairness at a FIFO path server".into(),
        rows: vec![vec![
            Panel {
                title: "rates".into(),
                x: time("ms"),
                y: rate("rate"),
                series: series.collect(),
                levels: vec![("fair share".into(), 50.0)],
            },
            Panel {
                title: "convergence".into(),
                x: rate("flow 1"),
                y: rate("flow 2"),
                series: vec![
                    Series {
                        name: "rates".into(),
                        points: vector.collect(),
                    },
                    line("fairness", [(0.0, 0.0), (100.0, 100.0)]),
                    line("efficiency", [(0.0, 100.0), (100.0, 0.0)]),
                ],
                levels: Vec::new(),
            },
        ]],
    })
}

fn bursts(figure: Figure, end: f64, increases: &[Increase]) -> Result<Curves, FigureError> {
    let (per_x, unit) = if end > 1e3 { (1e3, "ms") } else { (1.0, "µs") };
    let mut rows = vec![Vec::new(), Vec::new()];
    for increase in increases {
        let study = CaseStudy::new(end).with_model(SenderModel::simplified(*increase));
        let predictions = Configuration::ALL
            .iter()
            .map(|configuration| {
                Ok((
                    configuration.name(),
                    predict(study.scenario(*configuration))?,
                ))
            })
            .collect::<Result<Vec<(&str, Prediction<f64>)>, FigureError>>()?;
        let alpha = match (increases.len(), increase) {
            (1, _) => String::new(),
            (_, Increase::AsPrinted) => ", α = 5 Mbit/s as printed".into(),
            (_, Increase::AsPictured) => ", α = 50 Mbit/s".into(),
        };
        let panel = |title: String, y, levels, points: &dyn Fn(&Prediction<f64>) -> Points| Panel {
            title,
            x: time(unit),
            y,
            levels,
            series: predictions
                .iter()
                .map(|(name, prediction)| Series {
                    name: (*name).into(),
                    points: points(prediction),
                })
                .collect(),
        };
        rows[0].push(panel(
            format!("traffic rate{alpha}"),
            Axis {
                label: "rate, mean over 1 µs",
                unit: "Gbit/s",
            },
            Vec::new(),
            &|prediction| {
                let bins = prediction.average_rates(1.0);
                bins.into_iter()
                    .map(|(time, rate)| (time / per_x, rate))
                    .collect()
            },
        ));
        let xoff = study.thresholds.xoff / KBIT_PER_MEGABYTE;
        rows[1].push(panel(
            format!("backlog{alpha}"),
            Axis {
                label: "backlog",
                unit: "MB",
            },
            vec![("X_off".into(), xoff)],
            &|prediction| corners(&prediction.backlog, per_x, KBIT_PER_MEGABYTE),
        ));
    }
    let length = if end > 1e3 { "10 ms" } else { "400 µs" };
    Ok(Curves {
        name: figure.name().into(),
        title: format!("Burst arrivals of 31 × 10 MB ({length})"),
        rows,
    })
}
