//! Scenario files in virtual time: the file becomes a plan, the plan a network, and its counters a result like the lab's.

mod digest;
mod faults;
mod hashes;
mod history;
mod ideal;
mod outcome;
mod plan;
mod round_trip;
mod run;
mod timeline;
mod ways;

pub use digest::digest;
pub use history::{lossless_buffers, Buffer, Recorder};
pub(crate) use outcome::{outcome as result_of, Delivered};
pub use plan::{plan, PrepareError};
pub use run::{run, Options, Progress, RunError};
pub use timeline::timeline;
