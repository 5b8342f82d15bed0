//! Network calculus for lossless Ethernet: min-plus algebra on piecewise-linear functions, and the congestion-control models of
//! Lehal, Luangsomboon and Liebeherr, *Network Calculus Characterization of Congestion Control for Time-Varying Traffic*.
//!
//! The models' units are microseconds, kilobits and Gbit/s, in which a rate times a time is an amount without a factor:
//! 1 Gbit/s · 1 µs = 1 kbit. A megabyte is 8,000 kbit.
//!
//! The textbook example of a token bucket at a rate-latency server, computed exactly:
//!
//! ```
//! use weir_calculus::algebra::{Curve, Exact, Extended};
//!
//! let (b, r) = (Exact::from(80), Exact::from(10)); // 10 kB and 10 Gbit/s
//! let (rate, latency) = (Exact::from(40), Exact::from(3));
//! let arrivals = Curve::token_bucket(b, r);
//! let service = Curve::rate_latency(rate, latency);
//! assert_eq!(arrivals.vertical_deviation(&service)?, Extended::Finite(Exact::from(80 + 10 * 3)));
//! assert_eq!(arrivals.horizontal_deviation(&service)?, Extended::Finite(Exact::from(3 + 80 / 40)));
//! # Ok::<(), weir_calculus::algebra::CurveError>(())
//! ```
//!
//! Two ports that send to a third one, with PFC:
//!
//! ```
//! use weir_calculus::algebra::Curve;
//! use weir_calculus::congestion::pfc::{Resume, Thresholds};
//! use weir_calculus::multiflow::control::FixedRate;
//! use weir_calculus::multiflow::prediction::predict;
//! use weir_calculus::multiflow::scenario::{Discipline, PauseScope, Pfc, Scenario, Source};
//!
//! let source = |port| Source {
//!     arrivals: Curve::step(8_000.0, 0.0), // 1 MB at once
//!     control: Box::new(FixedRate(100.0)),
//!     port,
//!     class: 0,
//! };
//! let mut scenario = Scenario::new(100.0, 2.0, vec![source(0), source(1)], 1_000.0);
//! scenario.discipline = Discipline::FairPorts;
//! scenario.pfc = Some(Pfc {
//!     thresholds: Thresholds { xoff: 800.0, xon: 600.0 },
//!     resume: Resume::AtXon,
//!     scope: PauseScope::EachPort,
//!     delay: 2.0,
//! });
//! let prediction = predict(scenario)?;
//! // Each port fills at 50 Gbit/s: 100 kB after 16 µs, and its host pauses 2 µs later.
//! assert_eq!(prediction.pauses[0].from, 18.0);
//! let (_, peak) = prediction.group_backlogs[0].supremum_until(&1_000.0)?.finite().unwrap();
//! assert_eq!(peak, 900.0); // 12.5 kB of headroom used
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Design: docs/src/internals/design/calculus.md.
#![forbid(unsafe_code)]

pub mod algebra;
pub mod case_study;
pub mod congestion;
pub mod control;
pub mod figures;
pub mod multiflow;
pub mod units;
