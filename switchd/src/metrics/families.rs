//! Metric families being filled.

use std::collections::BTreeMap;

use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram as HistogramSample, LabelPair, Metric, MetricFamily,
    MetricType,
};
use weir_core::counters;
use weir_dataplane::histogram::Histogram;
use weir_monitoring::definitions::{Definition, Kind};

#[derive(Default)]
pub(super) struct Families {
    by_name: BTreeMap<&'static str, (Definition, Vec<Metric>)>,
}

impl Families {
    pub(super) fn add(&mut self, definition: &Definition, labels: &[&str], value: f64) {
        let mut metric = Metric::default();
        if definition.kind == Kind::Counter {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
        } else {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        }
        self.push(definition, labels, metric);
    }

    pub(super) fn add_counter<T>(
        &mut self,
        counter: &counters::Counter<T>,
        place: &[&str],
        counters: &T,
    ) {
        let labels = [place, counter.labels].concat();
        self.add(counter.metric, &labels, counter.sample(counters));
    }

    pub(super) fn add_counters<T>(
        &mut self,
        declared: &[counters::Counter<T>],
        place: &[&str],
        counters: &T,
    ) {
        for counter in declared {
            self.add_counter(counter, place, counters);
        }
    }

    /// Adds a histogram; its bounds and sum are multiplied by `scale`.
    pub(super) fn add_histogram(
        &mut self,
        definition: &Definition,
        labels: &[&str],
        histogram: &Histogram,
        scale: f64,
    ) {
        let mut sample = HistogramSample::default();
        sample.set_sample_count(histogram.count());
        sample.set_sample_sum(histogram.sum() as f64 * scale);
        let bucket = |(bound, below): (u64, u64)| {
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(bound as f64 * scale);
            bucket.set_cumulative_count(below);
            bucket
        };
        sample.set_bucket(histogram.cumulative().map(bucket).collect());
        let mut metric = Metric::default();
        metric.set_histogram(sample);
        self.push(definition, labels, metric);
    }

    fn push(&mut self, definition: &Definition, labels: &[&str], mut metric: Metric) {
        debug_assert_eq!(definition.labels.len(), labels.len(), "{}", definition.name);
        let pairs = definition
            .labels
            .iter()
            .zip(labels)
            .map(|(name, value)| {
                let mut pair = LabelPair::default();
                pair.set_name((*name).to_owned());
                pair.set_value((*value).to_owned());
                pair
            })
            .collect();
        metric.set_label(pairs);
        self.by_name
            .entry(definition.name)
            .or_insert_with(|| (*definition, Vec::new()))
            .1
            .push(metric);
    }

    pub(super) fn finish(self) -> Vec<MetricFamily> {
        self.by_name
            .into_values()
            .map(|(definition, metrics)| {
                let mut family = MetricFamily::default();
                family.set_name(definition.name.to_owned());
                family.set_help(definition.help.to_owned());
                family.set_field_type(match definition.kind {
                    Kind::Counter => MetricType::COUNTER,
                    Kind::Gauge => MetricType::GAUGE,
                    Kind::Histogram => MetricType::HISTOGRAM,
                });
                family.set_metric(metrics);
                family
            })
            .collect()
    }
}
