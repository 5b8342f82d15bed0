//! What the API, the metrics and the page have in common: a listener that whoever is silent cannot hold up.
//!
//! A listener has a bounded number of places, and a peer a bounded part of them. A connection that waits for a request has
//! seconds to send its first one, and loses its place at once when a new connection needs it: however many are silent, a
//! scrape gets through. A connection whose request is being answered keeps its place.

mod http2;
mod places;
mod serving;

pub use http2::serve as serve_http2;
pub use places::{Bounded, Connection, Limits, Peer};
pub use serving::serve;
