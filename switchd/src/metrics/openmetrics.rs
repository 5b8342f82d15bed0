//! OpenMetrics 1.0.0 text: the library has only the older text format.

use std::fmt::{self, Display, Write};

use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType};

/// Value of `Content-Type`.
pub const OPENMETRICS_FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Units in the names of families.
const UNITS: [&str; 2] = ["seconds", "bytes"];

/// Encodes all families. A gauge whose name ends with `_info` becomes an info.
///
/// # Errors
///
/// When a family is a summary or has no type; the daemon has none of these.
pub fn encode(families: &[MetricFamily]) -> prometheus::Result<String> {
    let mut out = String::new();
    for family in families {
        let kind = Kind::of(family)?;
        // Writing to a String does not fail.
        let _ = write_family(&mut out, family, kind);
    }
    out.push_str("# EOF\n");
    Ok(out)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Info,
    Histogram,
}

impl Kind {
    fn of(family: &MetricFamily) -> prometheus::Result<Self> {
        Ok(match family.get_field_type() {
            MetricType::COUNTER => Self::Counter,
            MetricType::GAUGE if family.name().ends_with(Self::Info.suffix()) => Self::Info,
            MetricType::GAUGE => Self::Gauge,
            MetricType::HISTOGRAM => Self::Histogram,
            MetricType::SUMMARY | MetricType::UNTYPED => {
                return Err(prometheus::Error::Msg(format!(
                    "{} has a kind that none of ours has",
                    family.name()
                )))
            }
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Info => "info",
            Self::Histogram => "histogram",
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Info => "_info",
            Self::Gauge | Self::Histogram => "",
        }
    }
}

fn write_family(out: &mut String, family: &MetricFamily, kind: Kind) -> fmt::Result {
    let suffix = kind.suffix();
    let name = family.name();
    let name = name.strip_suffix(suffix).unwrap_or(name);
    writeln!(out, "# TYPE {name} {}", kind.name())?;
    let has_unit = |unit: &&&str| {
        name.strip_suffix(**unit)
            .is_some_and(|rest| rest.ends_with('_'))
    };
    if let Some(unit) = UNITS.iter().find(has_unit) {
        writeln!(out, "# UNIT {name} {unit}")?;
    }
    writeln!(out, "# HELP {name} {}", Escaped(family.help()))?;
    for metric in family.get_metric() {
        let labels = metric.get_label();
        match kind {
            Kind::Histogram => write_histogram(out, name, metric)?,
            Kind::Counter => write_sample(
                out,
                (name, suffix),
                labels,
                metric.get_counter().get_value(),
            )?,
            Kind::Gauge | Kind::Info => {
                write_sample(out, (name, suffix), labels, metric.get_gauge().get_value())?
            }
        }
    }
    Ok(())
}

fn write_histogram(out: &mut String, name: &str, metric: &Metric) -> fmt::Result {
    let histogram = metric.get_histogram();
    let labels = metric.get_label();
    let count = histogram.get_sample_count();
    let bounded = histogram
        .get_bucket()
        .iter()
        .filter(|bucket| bucket.upper_bound().is_finite())
        .map(|bucket| (bucket.upper_bound(), bucket.cumulative_count()));
    for (bound, below) in bounded.chain([(f64::INFINITY, count)]) {
        let mut le = LabelPair::default();
        le.set_name("le".to_owned());
        le.set_value(Number(bound).to_string());
        let labels = [labels, &[le]].concat();
        write_sample(out, (name, "_bucket"), &labels, below)?;
    }
    write_sample(out, (name, "_count"), labels, count)?;
    write_sample(out, (name, "_sum"), labels, histogram.get_sample_sum())
}

fn write_sample(
    out: &mut String,
    (name, suffix): (&str, &str),
    labels: &[LabelPair],
    value: impl Display,
) -> fmt::Result {
    write!(out, "{name}{suffix}")?;
    for (index, label) in labels.iter().enumerate() {
        let before = if index == 0 { '{' } else { ',' };
        let value = Escaped(label.value());
        write!(out, "{before}{}=\"{value}\"", label.name())?;
    }
    let end = if labels.is_empty() { "" } else { "}" };
    writeln!(out, "{end} {value}")
}

/// Escaped text, as in label values and help.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A bucket's bound in the canonical form, which keeps series identical: whole numbers end in `.0`.
struct Number(f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == f64::INFINITY {
            return f.write_str("+Inf");
        }
        let tail = if self.0.fract() == 0.0 { ".0" } else { "" };
        write!(f, "{}{tail}", self.0)
    }
}
