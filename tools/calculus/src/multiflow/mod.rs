//! Several flows at one path server (section IV): separating their departures, and a causal computation of networks of
//! sources with feedback.
//!
//! A timeout shifts the origin of its flow only: the queued traffic of that flow vanishes, and that of others stays.
//! (The paper does not specify this. In a FIFO, flows that always send wait equally long and time out together, so its
//! examples do not depend on it.)

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
