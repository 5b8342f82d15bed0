//! Prometheus and Grafana as nodes of a topology, with Weir's rules and dashboards.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use weir_config::scenario::Scenario;

use super::topology::Node;
use super::{container, METRICS_PORT};

const PROMETHEUS: &str = "prometheus";
const GRAFANA: &str = "grafana";
const PROMETHEUS_IMAGE: &str = "docker.io/prom/prometheus:v3.5.0";
const GRAFANA_IMAGE: &str = "docker.io/grafana/grafana:12.1.0";
/// Port on the machine that runs containerlab.
const PROMETHEUS_PORT: &str = "9090:9090";
const GRAFANA_PORT: &str = "3000:3000";
/// Anonymous read access for users of the lab.
const GRAFANA_SETTINGS: [(&str, &str); 2] = [
    ("GF_AUTH_ANONYMOUS_ENABLED", "true"),
    ("GF_AUTH_ANONYMOUS_ORG_ROLE", "Viewer"),
];
const RULES: &str = "prometheus/weir.rules.yml";
const DASHBOARDS: &str = "grafana";

const DATA_SOURCE: &str = "\
apiVersion: 1
datasources:
  - name: Prometheus
    type: prometheus
    access: proxy
    url: http://prometheus:9090
    isDefault: true
";
const PROVIDER: &str = "\
apiVersion: 1
providers:
  - name: weir
    type: file
    options:
      path: /var/lib/grafana/dashboards
";

/// Settings of the monitoring.
pub struct Monitoring {
    prometheus: String,
    /// The directory next to the topology's file, and the directory of rules and dashboards, both relative to the file.
    beside: String,
    from: String,
}

impl Monitoring {
    /// Sets up the monitoring of all switches; rules and dashboards are in the directory `from`.
    pub fn new(scenario: &Scenario, beside: &str, file: &Path, from: &Path) -> Result<Self> {
        let mut prometheus =
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n\
             rule_files: [/etc/prometheus/weir.rules.yml]\n\
             scrape_configs:\n  - job_name: weir\n    static_configs:\n"
                .to_owned();
        for switch in &scenario.switches {
            // Name of the node's container, which the management network resolves.
            let _ = writeln!(
                prometheus,
                "      - {{targets: ['{}:{METRICS_PORT}'], labels: {{instance: {switch}}}}}",
                container(&scenario.name, switch)
            );
        }
        // A bare name has an empty parent.
        let at = Path::new(".").join(file);
        let at = at.parent().unwrap_or(&at);
        Ok(Self {
            prometheus,
            beside: beside.to_owned(),
            from: relative(from, at)?.display().to_string(),
        })
    }

    /// Returns the files for the directory next to the topology's.
    pub fn files(&self) -> Vec<(&'static str, String)> {
        let source = DATA_SOURCE.replace("//prometheus:", &format!("//{PROMETHEUS}:"));
        vec![
            ("prometheus.yml", self.prometheus.clone()),
            ("grafana-data-source.yml", source),
            ("grafana-dashboards.yml", PROVIDER.to_owned()),
        ]
    }

    /// Returns its nodes.
    pub fn nodes(&self) -> [(&'static str, Node); 2] {
        let Self { beside, from, .. } = self;
        let prometheus = vec![
            format!("{beside}/prometheus.yml:/etc/prometheus/prometheus.yml:ro"),
            format!("{from}/{RULES}:/etc/prometheus/weir.rules.yml:ro"),
        ];
        let provisioning = "/etc/grafana/provisioning";
        let grafana = vec![
            format!("{beside}/grafana-data-source.yml:{provisioning}/datasources/weir.yml:ro"),
            format!("{beside}/grafana-dashboards.yml:{provisioning}/dashboards/weir.yml:ro"),
            format!("{from}/{DASHBOARDS}:/var/lib/grafana/dashboards:ro"),
        ];
        [
            (
                PROMETHEUS,
                Node::new(PROMETHEUS_IMAGE, prometheus, &[PROMETHEUS_PORT], &[]),
            ),
            (
                GRAFANA,
                Node::new(GRAFANA_IMAGE, grafana, &[GRAFANA_PORT], &GRAFANA_SETTINGS),
            ),
        ]
    }
}

/// Returns `path` relative to the directory `at`.
fn relative(path: &Path, at: &Path) -> Result<PathBuf> {
    let path = path
        .canonicalize()
        .with_context(|| format!("rules and dashboards: {}", path.display()))?;
    let at = std::path::absolute(at)?;
    let at = plain(&at);
    let (path, at): (Vec<_>, Vec<_>) = (path.components().collect(), at.components().collect());
    let common = path.iter().zip(&at).take_while(|(a, b)| a == b).count();
    let up = at[common..].iter().map(|_| Component::ParentDir);
    Ok(up.chain(path[common..].iter().copied()).collect())
}

/// Removes `..`, even for directories that do not exist yet.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_topologys_file() {
        let from = |path: &str, at: &str| relative(Path::new(path), Path::new(at)).unwrap();
        assert_eq!(from("/usr/share", "/usr/lib/x"), Path::new("../../share"));
        assert_eq!(from("/usr/share", "/usr"), Path::new("share"));
        assert_eq!(
            from("/usr/share", "/nowhere/../usr/new"),
            Path::new("../share")
        );
    }
}
