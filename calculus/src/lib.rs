//! Network calculus for lossless Ethernet: min-plus algebra on piecewise-linear functions, and the congestion-control models of
//! Lehal, Luangsomboon and Liebeherr, *Network Calculus Characterization of Congestion Control for Time-Varying Traffic*.
//!
//! The models' units are microseconds, kilobits and Gbit/s, in which a rate times a time is an amount without a factor:
//! 1 Gbit/s · 1 µs = 1 kbit. A megabyte is 8,000 kbit.
#![forbid(unsafe_code)]

pub mod algebra;
pub mod case_study;
pub mod congestion;
pub mod control;
pub mod figures;
pub mod multiflow;
