//! State that both exporters to collectors have: counters, and errors of sending as readers of the API see them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_core::{Duration, Instant};

use crate::model::clock;

/// Time for which an error of sending is shown.
const ERROR_SHOWN: Duration = Duration::from_secs(60);

/// Counters of an exporter, and its last error of sending.
#[derive(Debug, Default)]
pub struct Exporting<Counters>(Mutex<State<Counters>>);

#[derive(Debug, Default)]
struct State<Counters> {
    counters: Counters,
    error: Option<(Instant, String)>,
}

impl<Counters: Copy> Exporting<Counters> {
    /// Updates the counters.
    pub fn count(&self, add: impl FnOnce(&mut Counters)) {
        add(&mut self.state().counters);
    }

    /// Returns the counters.
    pub(super) fn counters(&self) -> Counters {
        self.state().counters
    }

    /// Records a send error.
    pub fn note_error(&self, error: String) {
        self.state().error = Some((clock::now(), error));
    }

    /// The last error of sending, if it is recent.
    pub fn error(&self) -> Option<String> {
        let now = clock::now();
        let state = self.state();
        let recent = state.error.as_ref();
        let recent = recent.filter(|(at, _)| now.saturating_since(*at) < ERROR_SHOWN);
        recent.map(|(_, error)| error.clone())
    }

    fn state(&self) -> MutexGuard<'_, State<Counters>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a socket of the collector's address family, without a local port or address.
///
/// # Errors
///
/// When the kernel gives none.
pub fn socket_for(collector: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = match collector {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    UdpSocket::bind((any, 0))
}
