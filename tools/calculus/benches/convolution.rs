//! Cost of a convolution, and its growth: `cargo bench -p weir-calculus --bench convolution`.
//!
//! Convex, concave and general functions of n segments each, in floating point; the median of
//! several runs.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use weir_calculus::algebra::{Curve, Exact, Scalar};

struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> i64 {
        // Knuth's MMIX constants.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % below) as i64
    }
}

#[derive(Clone, Copy)]
enum Shape {
    Convex,
    Concave,
    /// Random slopes, with bursts at one corner in three.
    General,
    /// Only bursts of random size at random times.
    Bursts,
}

fn curve<S: Scalar>(shape: Shape, segments: usize, seed: u64) -> Curve<S> {
    let mut numbers = Numbers(seed);
    let (mut at, mut value) = (0, 0);
    let mut points = Vec::with_capacity(2 * segments);
    let count = segments as i64;
    for index in 0..count {
        let length = 1 + numbers.next(16);
        let (burst, slope) = match shape {
            Shape::Convex => (0, index),
            Shape::Concave => (0, 2 * count - index),
            Shape::General => (
                numbers.next(300) * i64::from(numbers.next(3) == 0),
                numbers.next(32),
            ),
            Shape::Bursts => (1 + numbers.next(300), 0),
        };
        points.push((S::integer(at), S::integer(value + burst)));
        at += length;
        value += burst + slope * length;
        points.push((S::integer(at), S::integer(value)));
    }
    let last = if matches!(shape, Shape::Concave) {
        count
    } else {
        2 * count
    };
    Curve::through(&points, S::integer(last)).expect("corners are in order")
}

fn median<S: Scalar>(shape: Shape, segments: usize, runs: usize) -> (Duration, usize) {
    let (f, g) = (
        curve::<S>(shape, segments, 1),
        curve::<S>(shape, segments, 2),
    );
    let mut times = Vec::with_capacity(runs);
    let mut elements = 0;
    for _ in 0..runs {
        let begin = Instant::now();
        let result = f
            .convolution(black_box(&g))
            .expect("plain functions have a convolution");
        times.push(begin.elapsed());
        elements = black_box(result).elements().len();
    }
    times.sort_unstable();
    (times[runs / 2], elements)
}

fn main() {
    let shapes = [
        ("convex", Shape::Convex, 9),
        ("concave", Shape::Concave, 9),
        ("general", Shape::General, 3),
        ("bursts", Shape::Bursts, 3),
    ];
    println!(
        "{:<9} {:>9} {:>14} {:>9} {:>10}",
        "shape", "segments", "f64", "growth", "elements"
    );
    for (name, shape, runs) in shapes {
        let mut before: Option<Duration> = None;
        for segments in [2_500, 5_000, 10_000] {
            let (time, elements) = median::<f64>(shape, segments, runs);
            let growth = before.map_or(String::new(), |before| {
                format!("×{:.1}", time.as_secs_f64() / before.as_secs_f64())
            });
            println!(
                "{name:<9} {segments:>9} {:>11.3} ms {growth:>9} {elements:>10}",
                time.as_secs_f64() * 1e3
            );
            before = Some(time);
        }
    }
    let (time, _) = median::<Exact>(Shape::Convex, 10_000, 3);
    println!(
        "exact, convex, 10000 segments: {:.3} ms",
        time.as_secs_f64() * 1e3
    );
    let (time, _) = median::<Exact>(Shape::General, 2_500, 1);
    println!(
        "exact, general, 2500 segments: {:.3} ms",
        time.as_secs_f64() * 1e3
    );
}
