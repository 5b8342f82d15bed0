//! Writes curves as comma-separated values, one point per line.

use std::io::{self, Write};

use super::Curves;

impl Curves {
    /// Columns: panel, curve, x with its unit, y with its unit.
    pub fn write_csv(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "panel,curve,x,x_unit,y,y_unit")?;
        for panel in self.rows.iter().flatten() {
            for series in &panel.series {
                for (x, y) in &series.points {
                    writeln!(
                        out,
                        "{},{},{x},{},{y},{}",
                        quoted(&panel.title),
                        quoted(&series.name),
                        panel.x.unit,
                        panel.y.unit
                    )?;
                }
            }
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{reproduce, Figure};
    use super::*;

    #[test]
    fn every_point_has_a_line() {
        let curves = reproduce(Figure::Fig6).unwrap();
        let mut out = Vec::new();
        curves.write_csv(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let panels = curves.rows.iter().flatten();
        let points: usize = panels
            .flat_map(|panel| &panel.series)
            .map(|series| series.points.len())
            .sum();
        assert_eq!(text.lines().count(), points + 1);
        assert!(text
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("rates,flow 1,0,ms,60,Gbit/s"));
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
