//! All switches of a lab or fleet on one page. `weir-page` asks each switch for its overview and shows who pauses whom,
//! circles of waiting switches, the health of each, and deadlocks on one clock.
//!
//! [`model`] is pure: it turns answers into the page's data. [`ask`] has the connections to switches, [`serve`] the page,
//! [`cli`] the command line. The model knows none of the others.
//!
//! Design: docs/src/internals/design/api.md.
#![forbid(unsafe_code)]

pub mod ask;
pub mod cli;
pub mod model;
pub mod run;
pub mod serve;
