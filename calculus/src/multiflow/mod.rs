//! Several flows at one path server (section IV): how their departures come apart again, and a causal computation of whole
//! networks of sources with feedback.

#[cfg(test)]
mod agreement;
mod clock;
pub mod control;
mod engine;
pub mod fair;
pub mod fairness;
pub mod fifo;
mod monitor;
pub mod prediction;
pub mod priority;
pub mod scenario;
mod server;
mod trace;
