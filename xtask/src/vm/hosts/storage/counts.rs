//! Counts of a cell: the output of its steps, and the switch's metrics.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::Hosts;

/// Families in which every sample counts lost frames.
const LOSSES: [&str; 3] = [
    "weir_drops_total",
    "weir_kernel_losses_total",
    "weir_device_losses_total",
];

/// All counts of a cell.
#[derive(Debug)]
pub struct Counts {
    said: BTreeMap<String, u64>,
    /// Metrics by the cell's name for them. A restarted daemon counts from 0.
    metrics: BTreeMap<String, String>,
}

impl Counts {
    /// Parses lines `NAME NUMBER` of the steps' output, and the metrics stored under these names.
    ///
    /// # Errors
    ///
    /// When there are no metrics.
    pub fn read(said: &str, hosts: &Hosts<'_>, metrics: &[&str]) -> Result<Self> {
        let number = |line: &str| {
            let (name, number) = line.split_once(' ')?;
            Some((name.to_owned(), number.trim().parse().ok()?))
        };
        let read = |name: &&str| {
            let text = std::fs::read_to_string(hosts.guest.shared(name)).ok()?;
            Some(((*name).to_owned(), text))
        };
        let metrics: BTreeMap<String, String> = metrics.iter().filter_map(read).collect();
        metrics
            .first_key_value()
            .context("the switch has no metrics")?;
        Ok(Self {
            said: said.lines().filter_map(number).collect(),
            metrics,
        })
    }

    /// Returns a number printed by the steps; fails if there is none.
    pub fn said(&self, name: &str) -> Result<u64> {
        let number = self.said.get(name).copied();
        number.with_context(|| format!("the steps printed no {name}: {:?}", self.said))
    }

    /// Returns true if there are metrics of this name.
    pub fn has(&self, metrics: &str) -> bool {
        self.metrics.contains_key(metrics)
    }

    /// Returns the sum of a family's samples whose labels contain all of `labels`.
    ///
    /// # Errors
    ///
    /// Without metrics of this name.
    pub fn sum(&self, metrics: &str, family: &str, labels: &[&str]) -> Result<f64> {
        let text = self.metrics.get(metrics);
        let text = text.with_context(|| format!("no metrics {metrics}"))?;
        Ok(samples(text, family)
            .filter(|(sample, _)| labels.iter().all(|label| sample.contains(label)))
            .map(|(_, value)| value)
            .sum())
    }

    fn of_all(&self, family: &str, labels: &[&str]) -> f64 {
        let sums = self.metrics.keys();
        sums.filter_map(|name| self.sum(name, family, labels).ok())
            .sum()
    }

    /// Returns the frames lost by the switch or the kernel below it.
    pub fn dropped(&self) -> u64 {
        LOSSES
            .iter()
            .map(|family| self.of_all(family, &[]))
            .sum::<f64>() as u64
    }

    /// Returns the samples of this sum, as text.
    pub fn losses(&self) -> String {
        let texts = self.metrics.values();
        let all = texts.flat_map(|text| LOSSES.iter().flat_map(|family| samples(text, family)));
        let lost = all.filter(|(_, value)| *value > 0.0);
        lost.map(|(sample, value)| format!("{sample} {value}\n"))
            .collect()
    }

    /// Returns the pauses sent by the switch.
    pub fn pauses(&self) -> u64 {
        self.of_all("weir_pfc_frames_total", &["\"tx\"", "\"xoff\""]) as u64
    }

    /// Returns the pauses sent from one port.
    pub fn pauses_at(&self, port: &str) -> u64 {
        let port = format!("\"{port}\"");
        self.of_all("weir_pfc_frames_total", &[&port, "\"tx\"", "\"xoff\""]) as u64
    }
}

fn samples<'a>(text: &'a str, family: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
    text.lines().filter_map(move |line| {
        let labels = line.strip_prefix(family)?.strip_prefix('{')?;
        let value = labels.rsplit_once(' ')?.1.parse().ok()?;
        Some((line, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_the_sum_over_all_metrics() {
        let text = "# TYPE weir_drops_total counter\n\
                    weir_drops_total{port=\"p1\",reason=\"buffer_full\"} 3\n\
                    weir_drops_total_other{port=\"p1\"} 100\n\
                    weir_kernel_losses_total{port=\"p2\",kind=\"rx_ring_full\"} 4\n\
                    weir_pfc_frames_total{port=\"p1\",priority=\"3\",direction=\"tx\",kind=\"xoff\"} 7\n\
                    weir_pfc_frames_total{port=\"p1\",priority=\"3\",direction=\"rx\",kind=\"xoff\"} 9\n";
        let metrics = ["before", "after"].map(|name| (name.to_owned(), text.to_owned()));
        let counts = Counts {
            said: BTreeMap::from([("unwritten".to_owned(), 16)]),
            metrics: metrics.into(),
        };
        assert_eq!((counts.dropped(), counts.pauses()), (14, 14));
        assert_eq!((counts.pauses_at("p1"), counts.pauses_at("p2")), (14, 0));
        assert_eq!(counts.said("unwritten").unwrap(), 16);
        assert!(counts.said("different").is_err());
        assert_eq!(counts.losses().lines().count(), 4);
    }
}
