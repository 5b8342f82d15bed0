//! Several flows at one path server (section IV): how their departures come apart again, and a causal computation of whole
//! networks of sources with feedback.
//!
//! A timeout shifts the origin of its own flow only: what that flow has in the queue is gone, what others have stays where it is.
//! (The paper does not say what happens to the others. In a FIFO flows that send all the time wait equally long and time out
//! together, so that its examples do not depend on it.)

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
