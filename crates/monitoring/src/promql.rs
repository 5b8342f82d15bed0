//! The part of PromQL needed to find the metrics in an expression, and to replace a dashboard's variables.

use std::collections::BTreeSet;

use crate::definitions::{self, Kind};

/// Metrics that Prometheus itself adds for every target.
pub const OF_PROMETHEUS: &[&str] = &["up", "scrape_duration_seconds"];

/// Replacements of Grafana's own variables.
const INTERVALS: &[(&str, &str)] = &[("$__rate_interval", "1m"), ("$__interval", "15s")];

const OPERATORS: &[&str] = &[
    "and", "or", "unless", "bool", "offset", "inf", "nan", "Inf", "NaN",
];
const LABEL_LISTS: &[&str] = &[
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];

/// The names of all series in `expression`, in order, including recording rules.
pub fn series(expression: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        match first {
            '"' => rest = after(&rest[1..], '"'),
            '{' => rest = after_selector(&rest[1..]),
            '[' => rest = after(rest, ']'),
            '$' => rest = rest[1..].trim_start_matches(is_name),
            _ if is_name(first) => {
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                let (word, following) = rest.split_at(end);
                let following = following.trim_start();
                rest = following;
                if LABEL_LISTS.contains(&word) {
                    rest = after(following, ')');
                } else if !following.starts_with('(')
                    && !OPERATORS.contains(&word)
                    && !first.is_ascii_digit()
                    && !LABEL_LISTS.iter().any(|list| starts_list(following, list))
                {
                    found.insert(word.to_owned());
                }
            }
            _ => rest = &rest[first.len_utf8()..],
        }
    }
    found
}

/// Returns true for a series of Weir or Prometheus: a metric, or a part of a histogram.
pub fn is_defined(series: &str) -> bool {
    let part_of = |suffix: &str| {
        let histogram = series.strip_suffix(suffix).and_then(definitions::find);
        histogram.is_some_and(|metric| metric.kind == Kind::Histogram)
    };
    OF_PROMETHEUS.contains(&series)
        || definitions::find(series).is_some_and(|metric| metric.kind != Kind::Histogram)
        || ["_bucket", "_sum", "_count"]
            .iter()
            .any(|suffix| part_of(suffix))
}

/// Replaces Grafana's intervals and every variable of a dashboard in `expression`; a variable is replaced by a pattern
/// that matches anything.
pub fn substituted(expression: &str, variables: &[&str]) -> String {
    let mut text = expression.to_owned();
    for (name, value) in INTERVALS {
        text = text.replace(name, value);
    }
    for name in variables {
        text = text.replace(&format!("${name}"), ".*");
    }
    text
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

fn starts_list(text: &str, list: &str) -> bool {
    // `sum by (port) (...)`: an aggregation is followed by its list
    ["by", "without"].contains(&list)
        && text
            .strip_prefix(list)
            .is_some_and(|rest| rest.trim_start().starts_with('('))
}

fn after(text: &str, end: char) -> &str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// Returns the text after the brace that ends a selector, ignoring braces in quoted values.
fn after_selector(mut text: &str) -> &str {
    loop {
        match text.find(['}', '"']) {
            None => return "",
            Some(at) if text[at..].starts_with('}') => return &text[at + 1..],
            Some(at) => text = after(&text[at + 1..], '"'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_told_from_functions_labels_and_values() {
        let expression = "sum by (port, weir_x) (rate(weir_a_total{port=~\"$port\",b=\"}weir_no\"}[$__rate_interval]))
            / on (instance) group_left (switch) (weir_b * 2e3) > bool 0.5 and up unless weir:c:rate5m offset 5m";
        let found: Vec<String> = series(expression).into_iter().collect();
        assert_eq!(found, ["up", "weir:c:rate5m", "weir_a_total", "weir_b"]);
    }

    #[test]
    fn a_histogram_is_recognised_by_its_parts() {
        let histogram = definitions::DETECTION_SECONDS.name;
        assert!(is_defined(&format!("{histogram}_bucket")));
        assert!(!is_defined(histogram));
        assert!(!is_defined("weir_uptime_seconds_count"));
        assert!(is_defined("weir_uptime_seconds") && is_defined("up"));
        assert!(!is_defined("weir_nothing_total"));
    }

    #[test]
    fn variables_match_anything() {
        let expression = "rate(a{port=~\"$port\",p=\"$priority\"}[$__rate_interval])";
        assert_eq!(
            substituted(expression, &["port", "priority"]),
            "rate(a{port=~\".*\",p=\".*\"}[1m])"
        );
    }
}
