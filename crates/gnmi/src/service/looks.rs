//! Snapshots of the switch, shared by all calls.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::tree::{State, Tree};

/// Source of the values.
pub trait Source: Send + Sync + 'static {
    /// Returns the present state of the switch.
    fn state(&self) -> impl Future<Output = State> + Send;

    /// Waits until the switch ends.
    fn ending(&self) -> impl Future<Output = ()> + Send;
}

/// The last snapshot: at most one is being taken at any time, and all waiters share it.
pub struct Looks<S> {
    source: S,
    last: Mutex<Option<(Instant, Arc<Tree>)>>,
}

impl<S: Source> Looks<S> {
    /// Takes snapshots of `source`.
    pub fn new(source: S) -> Self {
        let last = Mutex::default();
        Self { source, last }
    }

    /// Waits until the switch ends.
    pub async fn ending(&self) {
        self.source.ending().await;
    }

    /// Returns a snapshot that is at most `age` old.
    pub async fn within(&self, age: Duration) -> Arc<Tree> {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some((at, tree)) = &*last {
            // A snapshot that began during the wait is recent enough as well.
            if *at + age >= asked {
                return Arc::clone(tree);
            }
        }
        let at = Instant::now();
        let tree = Arc::new(Tree::new(&self.source.state().await));
        *last = Some((at, Arc::clone(&tree)));
        tree
    }
}
