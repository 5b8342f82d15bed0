//! HTTP listeners with idle timeouts, and headers shared by both web pages.
//!
//! A listener has a bounded number of places, and a peer a bounded part of them. A connection that waits for a request has
//! seconds to send its first one, and loses its place at once when a new connection needs it: however many are silent, a
//! scrape gets through. A connection whose request is being answered keeps its place.
//!
//! [`guard`] and [`page`] are for what browsers ask, [`Cached`] for bodies that many viewers share.
//!
//! Design: docs/src/internals/design/api.md.
#![forbid(unsafe_code)]

mod cached;
pub mod guard;
mod http2;
pub mod page;
mod places;
mod serving;

pub use cached::Cached;
pub use http2::serve as serve_http2;
pub use places::{Bounded, Connection, Limits, Peer};
pub use serving::{serve, Client};
