//! Errors of sending to a collector, as readers of the API see them.

use weir_core::{Duration, Instant};

use crate::model::clock;

/// Time for which an error of sending is shown.
const ERROR_SHOWN: Duration = Duration::from_secs(60);

/// The last error of sending.
#[derive(Debug, Default)]
pub(super) struct LastError(Option<(Instant, String)>);

impl LastError {
    pub(super) fn note(&mut self, error: String) {
        self.0 = Some((clock::now(), error));
    }

    /// The error, if it is recent.
    pub(super) fn recent(&self) -> Option<String> {
        let now = clock::now();
        let recent = self.0.as_ref();
        let recent = recent.filter(|(at, _)| now.saturating_since(*at) < ERROR_SHOWN);
        recent.map(|(_, error)| error.clone())
    }
}
