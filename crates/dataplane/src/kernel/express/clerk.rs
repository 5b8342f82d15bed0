//! Keeps the maps of the express path up to date: routes, open ports, and frames lost between program and loop. Everything
//! that blocks is done here and never by the loop.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender};
use weir_core::units::PRIORITY_COUNT;
use weir_core::{MacAddress, PortId};
use weir_ebpf::{grace_period, EbpfError, ExpressWords};

use super::{ExpressPath, Routes};
use crate::exchange::express::{ByFlow, ExpressOrder, Listing};
use crate::exchange::messages::Request;
use crate::threads::wake::Wake;

/// Interval between checks of the routes.
const LOOK: Duration = Duration::from_millis(100);
/// Checks between two judgements of the ports, and two searches for lost frames.
const JUDGE_EVERY: u64 = 5;
const SEARCH_EVERY: u64 = 10;
/// Time for the loop to answer before the request is repeated.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
const ROUTES_MAX: usize = 65_536;

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Clerk {
    thread: Option<JoinHandle<()>>,
    is_stopping: Arc<AtomicBool>,
}

/// Channels to and from the loop.
#[derive(Debug)]
pub(crate) struct Ways {
    pub(crate) requests: Sender<Request>,
    pub(crate) wake: Wake,
    pub(crate) listings: Receiver<Box<Listing>>,
}

struct Work {
    path: Arc<ExpressPath>,
    words: ExpressWords,
    ways: Ways,
    /// `None` while the loop has the listing.
    listing: Option<Box<Listing>>,
    /// Routes in the map, and their version.
    routes: Routes,
    version: Option<u64>,
    /// Ports and priorities that had frames inside at the last search.
    unequal: Vec<[bool; PRIORITY_COUNT]>,
}

impl Clerk {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When the words cannot be mapped or the thread cannot be started.
    pub(crate) fn start(
        path: Arc<ExpressPath>,
        ways: Ways,
        ports: usize,
    ) -> Result<Self, StartError> {
        let mut work = Work {
            words: path.maps.words()?,
            path,
            ways,
            listing: Some(Box::new(Listing {
                version: None,
                routes: Vec::with_capacity(ROUTES_MAX),
            })),
            routes: Routes::new(),
            version: None,
            unequal: vec![[false; PRIORITY_COUNT]; ports],
        };
        let is_stopping = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&is_stopping);
        let thread = thread::Builder::new()
            .name("weir-express".into())
            .spawn(move || {
                for look in 0.. {
                    if stopping.load(Ordering::Relaxed) {
                        break;
                    }
                    work.look(look);
                    thread::park_timeout(LOOK);
                }
            })?;
        Ok(Self {
            thread: Some(thread),
            is_stopping,
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The words cannot be mapped.
    #[error(transparent)]
    Words(#[from] EbpfError),
    /// The thread cannot be started.
    #[error("thread: {0}")]
    Thread(#[from] io::Error),
}

impl Drop for Clerk {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("the thread of the express path has panicked");
            }
        }
    }
}

impl Work {
    fn look(&mut self, look: u64) {
        if look.is_multiple_of(JUDGE_EVERY) {
            self.path
                .judge(|port, state| self.ask(ExpressOrder::Judge { port, state }));
        }
        self.follow_routes();
        if look % SEARCH_EVERY == SEARCH_EVERY - 1 {
            self.search();
        }
    }

    /// Returns false when the loop accepts no more requests now, or has ended.
    fn ask(&self, order: ExpressOrder) -> bool {
        let is_sent = self.ways.requests.try_send(Request::Express(order)).is_ok();
        if is_sent {
            self.ways.wake.signal();
        }
        is_sent
    }

    /// Writes the switch's routes to the programs. In the meantime the loop has disabled the path.
    fn follow_routes(&mut self) {
        if let Some(listing) = self.listing.take() {
            let request = Request::Express(ExpressOrder::List(listing));
            match self.ways.requests.try_send(request) {
                Ok(()) => self.ways.wake.signal(),
                Err(refused) => {
                    if let Request::Express(ExpressOrder::List(listing)) = refused.into_inner() {
                        self.listing = Some(listing);
                    }
                    return;
                }
            }
        }
        let Ok(listing) = self.ways.listings.recv_timeout(ANSWER_WAIT) else {
            return;
        };
        if let Some(version) = listing.version.filter(|_| listing.version != self.version) {
            match self.write_routes(&listing) {
                Ok(()) => {
                    if self.ask(ExpressOrder::Ready { version }) {
                        self.version = Some(version);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "the express path stays off: its routes cannot be written");
                    self.version = Some(version);
                }
            }
        }
        self.listing = Some(listing);
    }

    /// After a grace period, no program reads or uses the old routes.
    fn write_routes(&mut self, listing: &Listing) -> Result<(), EbpfError> {
        wait();
        let is_single = |(destination, _): &&(MacAddress, PortId)| !destination.is_group();
        let new: Routes = listing.routes.iter().filter(is_single).copied().collect();
        self.path.set_routes(&self.routes, &new)?;
        self.routes = new;
        Ok(())
    }

    /// Finds lost frames: one lost between program and loop would keep its flow off the path forever.
    fn search(&mut self) {
        let mut entered: ByFlow = Vec::with_capacity(self.unequal.len());
        let mut is_found = false;
        for (port, unequal) in (0..=u8::MAX).zip(&mut self.unequal) {
            let mut flows = [0; PRIORITY_COUNT];
            for ((priority, entered), was_unequal) in (0..).zip(&mut flows).zip(unequal) {
                let finished = self.words.finished(port, priority);
                *entered = self.words.entered(port, priority);
                let is_unequal = finished != *entered;
                is_found |= is_unequal && *was_unequal;
                *was_unequal = is_unequal;
            }
            entered.push(flows);
        }
        if is_found && wait() {
            self.ask(ExpressOrder::Missing(entered));
        }
    }
}

/// Waits for a grace period; returns false if the kernel no longer completes one.
fn wait() -> bool {
    grace_period()
        .inspect_err(|error| tracing::error!(%error, "membarrier(2)"))
        .is_ok()
}
