//! HTTP listeners with idle timeouts, and headers shared by both web pages.
//!
//! A listener has a limited number of places, and each peer a limited part of them. A connection that waits for a
//! request has seconds to send its first one, and loses its place as soon as a new connection needs it. Any number
//! of silent connections therefore cannot block a scrape. A connection whose request is being answered keeps its
//! place.
//!
//! [`guard`] and [`page`] serve browsers, [`Cached`] bodies shared by many viewers.
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
