//! A real Prometheus scrapes two rings, one of which locks and is released repeatedly while the other has Levels: every
//! expression of every panel and every rule has data.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::certificate;
use weir_config::daemon::MetricsConfig;
use weir_config::scenario::Scenario;
use weir_lab::lab::stage::Stage;
use weir_monitoring::promql::substituted;
use weir_monitoring::{dashboards, rules};
use weir_tests::metrics::relay;
use weir_tests::prometheus::Prometheus;
use weir_tests::{scenario, until, with_traffic, Bench};

/// The hosts send for as long as the test runs.
const DURATION: &str = "duration=600s";
/// Two rings share few cores.
const RATE: &str = "link-defaults.rate=25Mbit";

/// Metrics of cables exist only for ports with one.
const CABLE: &str = "link-defaults.cable=2km";

fn rules_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../packaging/prometheus/weir.rules.yml")
        .canonicalize()
        .unwrap()
}

#[test]
fn every_panel_and_every_rule_has_data() {
    let policy = "deadlock.policy=breaker";
    let breaker = Ring::start("ring4.toml", &[policy, CABLE, DURATION, RATE]);
    let levels = Ring::start("ring3.toml", &["class.lossless.mode=level", DURATION, RATE]);
    let mut targets = breaker.targets("breaker");
    targets.extend(levels.targets("level"));
    let prometheus = Prometheus::start(&targets, &rules_file());
    until("all switches are scraped", || {
        let up = prometheus.values("up{job=\"weir\"} == 1");
        (up.len() == targets.len()).then_some(())
    });

    // Uses of each expression, by the expression.
    let mut missing: BTreeMap<String, String> = BTreeMap::new();
    for dashboard in dashboards::all() {
        let names = dashboard.variable_names();
        for panel in dashboard.panels() {
            for (expression, _) in &panel.queries {
                let place = format!("{}, panel {}", dashboard.uid, panel.title);
                missing.insert(substituted(expression, &names), place);
            }
        }
        for mark in dashboard.annotations() {
            let place = format!("{}, annotation {}", dashboard.uid, mark.name);
            missing.insert(substituted(&mark.expression, &names), place);
        }
        for variable in &dashboard.variables {
            let place = format!("{}, variable {}", dashboard.uid, variable.name);
            missing.insert(substituted(&variable.series, &names), place);
        }
    }
    for rule in rules::recordings() {
        missing.insert(rule.expression.clone(), format!("rule {}", rule.name));
    }
    // An alert's threshold is rarely reached, but the compared values always exist.
    for alert in rules::alerts() {
        missing.insert(alert.signal.to_owned(), format!("alert {}", alert.name));
    }
    let all = missing.len();
    let began = std::time::Instant::now();
    while !missing.is_empty() {
        missing.retain(|expression, _| prometheus.values(expression).is_empty());
        assert!(
            began.elapsed() < weir_tests::PATIENCE || missing.is_empty(),
            "of {all} expressions these have no data: {missing:#?}"
        );
    }
    println!("{all} expressions have data after {:?}", began.elapsed());

    check_rules(&prometheus);
    for ring in [breaker, levels] {
        ring.stage
            .tear_down()
            .unwrap_or_else(|error| panic!("{error:#}"));
    }
}

/// With TLS and the token; a Prometheus without them is refused.
#[test]
fn a_protected_switch_is_scraped_with_certificate_and_token_alone() {
    let secrets = tempfile::tempdir().unwrap();
    let files = certificate::make(secrets.path(), "s1");
    let token_file = secrets.path().join("token");
    std::fs::write(&token_file, "0123456789abcdef0123456789abcdef\n").unwrap();
    std::fs::set_permissions(&token_file, Permissions::from_mode(0o600)).unwrap();
    let bench = Bench::new(&[], |config| {
        config.metrics = MetricsConfig {
            tls_certificate: Some(files.certificate.clone()),
            tls_key: Some(files.key.clone()),
            token_file: Some(token_file.clone()),
            ..config.metrics.clone()
        };
    });
    let target = [("s1".to_owned(), relay(bench.namespace("s1")))];
    let rules = rules_file();
    let tls = format!(
        "    scheme: https\n    tls_config: {{ca_file: '{}'}}\n",
        files.certificate.display()
    );
    let token = format!(
        "    authorization: {{credentials_file: '{}'}}\n",
        token_file.display()
    );
    let jobs = [
        (format!("{tls}{token}"), 1.0),
        (tls.clone(), 0.0),
        (token, 0.0),
        (
            format!("{tls}    authorization: {{credentials: 0123456789abcdef0123456789abcdee}}\n"),
            0.0,
        ),
    ];
    let started = jobs.map(|(job, expected)| {
        let prometheus = Prometheus::start_with(&target, &rules, &job);
        (prometheus, job, expected)
    });
    for (prometheus, job, expected) in started {
        // On a busy machine a scrape may time out, which does not mean that it was refused.
        let up = until("the switch was scraped, or not", || {
            let up = prometheus.values("up{job=\"weir\"}").first().copied()?;
            (up == expected || expected == 0.0).then_some(up)
        });
        assert_eq!(up, expected, "{job}");
        let info = prometheus.values("weir_build_info").len();
        assert_eq!(info, expected as usize, "{job}");
    }
    bench.end();
}

/// Checks that all are evaluated without an error, and that the alerts' texts contain no template error.
fn check_rules(prometheus: &Prometheus) {
    let rules = until("all rules were evaluated", || {
        let data = prometheus.api("/api/v1/rules");
        let groups = data["groups"].as_array().unwrap().iter();
        let rules: Vec<_> = groups
            .flat_map(|group| group["rules"].as_array().unwrap().clone())
            .collect();
        let evaluated = rules.iter().all(|rule| rule["health"] != "unknown");
        evaluated.then_some(rules)
    });
    assert_eq!(
        rules.len(),
        rules::recordings().len() + rules::alerts().len()
    );
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule:#}");
    }
    let alerts = prometheus.api("/api/v1/alerts").to_string();
    assert!(!alerts.contains("<error"), "{alerts}");
}

struct Ring {
    scenario: Scenario,
    stage: Stage,
}

impl Ring {
    fn start(file: &str, overrides: &[&str]) -> Self {
        let scenario = scenario(file, overrides);
        let stage = with_traffic(&scenario);
        Self { scenario, stage }
    }

    fn targets(&self, ring: &str) -> Vec<(String, std::net::SocketAddr)> {
        let switches = self.scenario.switches.iter();
        switches
            .map(|name| {
                let namespace = self.stage.names().namespace(name);
                (format!("{ring}-{name}"), relay(namespace))
            })
            .collect()
    }
}
