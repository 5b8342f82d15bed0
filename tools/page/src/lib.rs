//! All switches of a lab or fleet on one page. `weir-page` asks each switch for its overview, and puts together who pauses
//! whom, where switches wait for each other in a circle, how each is, and when deadlocks were, on one clock.
//!
//! [`model`] is pure: what was answered goes in, what is shown comes out. [`ask`] has the connections to switches, [`serve`]
//! the page, [`cli`] the command line. The model knows none of the others.
//!
//! Design: docs/src/internals/design/api.md.
#![forbid(unsafe_code)]

pub mod ask;
pub mod cli;
pub mod model;
pub mod run;
pub mod serve;
