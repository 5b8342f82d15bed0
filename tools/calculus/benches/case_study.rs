//! Cost of the case study of section V: 31 sources over 10 ms. `cargo bench -p weir-calculus
//! --bench case_study`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock"
)]

use std::hint::black_box;
use std::time::Instant;

use weir_calculus::algebra::{Exact, Scalar};
use weir_calculus::case_study::{CaseStudy, Configuration};
use weir_calculus::multiflow::prediction::predict;

fn median<S: Scalar>(configuration: Configuration, runs: usize) -> (f64, usize) {
    let mut times = Vec::with_capacity(runs);
    let mut steps = 0;
    for _ in 0..runs {
        let scenario = CaseStudy::<S>::new(S::integer(10_000)).scenario(configuration);
        let begin = Instant::now();
        let prediction = predict(black_box(scenario)).expect("the paper's parameters make sense");
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        steps = prediction.steps;
    }
    times.sort_by(f64::total_cmp);
    (times[runs / 2], steps)
}

fn main() {
    println!(
        "{:<12} {:>10} {:>7} {:>12} {:>7}",
        "", "f64", "steps", "exact", "steps"
    );
    for configuration in Configuration::ALL {
        let (fast, steps) = median::<f64>(configuration, 21);
        let (exact, exact_steps) = median::<Exact>(configuration, 3);
        println!(
            "{:<12} {fast:>7.2} ms {steps:>7} {exact:>9.1} ms {exact_steps:>7}",
            configuration.name()
        );
    }
}
