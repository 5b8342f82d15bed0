//! All switches of a lab or fleet on one page. `weir-page` asks each switch for its overview, and shows pauses between
//! switches, circles of waiting switches, health, and deadlocks on a common clock.
//!
//! [`model`] is pure: it converts answers into the page's data, and uses none of the other modules. [`ask`] has the
//! connections to switches, [`serve`] the page, [`cli`] the command line; `record` writes traces.
//!
//! Design: docs/src/internals/design/api.md.
#![forbid(unsafe_code)]

pub mod ask;
pub mod cli;
pub mod model;
mod record;
pub mod run;
pub mod serve;
