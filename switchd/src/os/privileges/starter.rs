//! The thread that starts the dataplane, with privileges that no other thread has.

use std::io;
use std::sync::mpsc;

use super::PrivilegesError;

type Job = Box<dyn FnOnce() + Send>;

/// A thread that runs one job with the privileges of the thread that created it, and then ends. Dropping this value ends it
/// unused.
#[derive(Debug)]
pub struct Starter(mpsc::SyncSender<Job>);

impl Starter {
    /// Starts the thread.
    pub(super) fn begin() -> Result<Self, PrivilegesError> {
        let (sender, jobs) = mpsc::sync_channel::<Job>(1);
        std::thread::Builder::new()
            .name("weir-start".into())
            .spawn(move || {
                if let Ok(job) = jobs.recv() {
                    job();
                }
            })
            .map_err(PrivilegesError::Starter)?;
        Ok(Self(sender))
    }

    /// Runs `job` on the thread, and returns its result.
    ///
    /// # Errors
    ///
    /// When the thread has panicked.
    pub fn run<T: Send + 'static>(
        self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PrivilegesError> {
        let ended = |_| PrivilegesError::Starter(io::ErrorKind::BrokenPipe.into());
        let (sender, outcome) = mpsc::sync_channel(1);
        let job = move || {
            let _ = sender.send(job());
        };
        let given = self.0.send(Box::new(job));
        given.map_err(|_| PrivilegesError::Starter(io::ErrorKind::BrokenPipe.into()))?;
        outcome.recv().map_err(ended)
    }
}
