//! `switchctl plan reproduce`: the calculus paper's figures.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use weir_calculus::figures::{reproduce, Curves, Figure, Panel, Series};

use weir_output::{table, Output};

#[derive(Debug, Serialize)]
struct Reproduction {
    figure: String,
    title: String,
    svg: PathBuf,
    csv: PathBuf,
    curves: Vec<CurveNumbers>,
}

#[derive(Debug, Serialize)]
struct CurveNumbers {
    panel: String,
    name: String,
    points: usize,
    x_unit: &'static str,
    y_unit: &'static str,
    highest: Point,
    last: Point,
    /// Named values drawn across the panel, each with the first point of the curve above it.
    crossings: Vec<LevelCrossing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Point {
    x: f64,
    y: f64,
}

#[derive(Debug, PartialEq, Serialize)]
struct LevelCrossing {
    level: String,
    value: f64,
    /// Absent if the curve is never above the level.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_above: Option<f64>,
}

/// Writes a figure's curves into the directory and prints their numbers.
pub fn figure(figure: Figure, folder: &Path, output: &Output) -> Result<()> {
    output.print(&write(figure, folder)?, text)
}

fn write(figure: Figure, folder: &Path) -> Result<Reproduction> {
    let curves = reproduce(figure).with_context(|| format!("{figure} cannot be computed"))?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let path = |extension: &str| folder.join(format!("{figure}.{extension}"));
    let (svg, csv) = (path("svg"), path("csv"));
    write_file(&svg, |out| curves.write_svg(out))?;
    write_file(&csv, |out| curves.write_csv(out))?;
    Ok(numbers(&curves, svg, csv))
}

pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let name = || path.display().to_string();
    let mut out = BufWriter::new(File::create(path).with_context(name)?);
    write(&mut out)
        .and_then(|()| out.flush())
        .with_context(name)
}

fn numbers(curves: &Curves, svg: PathBuf, csv: PathBuf) -> Reproduction {
    let panels = curves.rows.iter().flatten();
    Reproduction {
        figure: curves.name.clone(),
        title: curves.title.clone(),
        svg,
        csv,
        curves: panels
            .flat_map(|panel| {
                let of_series = |series| curve_numbers(panel, series);
                panel.series.iter().filter_map(of_series)
            })
            .collect(),
    }
}

/// Returns `None` for a curve without points.
fn curve_numbers(panel: &Panel, series: &Series) -> Option<CurveNumbers> {
    let point = |(x, y): (f64, f64)| Point { x, y };
    let mut highest = point(*series.points.first()?);
    for (x, y) in series.points.iter().copied() {
        if y > highest.y {
            highest = Point { x, y };
        }
    }
    let crossings = panel.levels.iter().map(|(name, value)| LevelCrossing {
        level: name.clone(),
        value: *value,
        first_above: first_above(&series.points, *value),
    });
    Some(CurveNumbers {
        panel: panel.title.clone(),
        name: series.name.clone(),
        points: series.points.len(),
        x_unit: panel.x.unit,
        y_unit: panel.y.unit,
        highest,
        last: point(*series.points.last()?),
        crossings: crossings.collect(),
    })
}

/// Returns the first crossing of the level by the straight lines between the points.
fn first_above(points: &[(f64, f64)], level: f64) -> Option<f64> {
    let (x, y) = *points.first()?;
    if y > level {
        return Some(x);
    }
    points.windows(2).find_map(|pair| {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        (y0 <= level && y1 > level).then(|| x0 + (level - y0) / (y1 - y0) * (x1 - x0))
    })
}

fn text(reproduction: &Reproduction) -> String {
    let rows = reproduction.curves.iter().map(|curve| {
        let at = |point: Point| {
            format!(
                "{:.3} {} at {:.3} {}",
                point.y, curve.y_unit, point.x, curve.x_unit
            )
        };
        let crossings: Vec<String> = curve
            .crossings
            .iter()
            .map(|crossing| match crossing.first_above {
                Some(x) => format!("{} at {x:.3} {}", crossing.level, curve.x_unit),
                None => format!("{} never", crossing.level),
            })
            .collect();
        vec![
            curve.panel.clone(),
            curve.name.clone(),
            curve.points.to_string(),
            at(curve.highest),
            at(curve.last),
            crossings.join(", "),
        ]
    });
    format!(
        "{}\n\n{}\n{}\n{}\n",
        reproduction.title,
        table(
            &[
                "panel",
                "curve",
                ">points",
                "highest",
                "last",
                "rises above"
            ],
            rows
        ),
        reproduction.svg.display(),
        reproduction.csv.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_10_is_written_and_printed_as_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let nested = folder.path().join("new");
        let numbers = write(Figure::Fig10, &nested).unwrap();
        let svg = fs::read_to_string(nested.join("fig10.svg")).unwrap();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        let csv = fs::read_to_string(nested.join("fig10.csv")).unwrap();
        assert!(csv.starts_with("panel,curve,x,x_unit,y,y_unit\n"));

        let backlog = numbers
            .curves
            .iter()
            .find(|curve| curve.panel == "backlog" && curve.name == "PFC")
            .unwrap();
        // The book's table: 29.45 MB after 78.533 µs, 30.95 MB 4 µs later.
        let crossed = backlog.crossings[0].first_above.unwrap();
        assert!((crossed - 78.533).abs() < 1e-3, "{crossed}");
        assert!((backlog.highest.y - 30.95).abs() < 1e-6, "{backlog:?}");
        assert!((backlog.highest.x - 82.533).abs() < 1e-3, "{backlog:?}");
    }

    #[test]
    fn a_level_is_crossed_on_the_line_between_points() {
        let points = [(0.0, 0.0), (4.0, 8.0), (6.0, 2.0)];
        assert_eq!(first_above(&points, 6.0), Some(3.0));
        assert_eq!(first_above(&points, 8.0), None);
        assert_eq!(first_above(&points, -1.0), Some(0.0));
        assert_eq!(first_above(&[], 1.0), None);
    }
}
