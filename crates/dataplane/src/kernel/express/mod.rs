//! The kernel's side of the express path: maps that the programs of all ports share, and the devices that frames may be sent
//! to.
//!
//! The [clerk] keeps them up to date on a separate thread.
//!
//! Design: docs/src/internals/express.md.

mod clerk;
mod words;

use std::io;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam::channel::{bounded, Receiver, Sender};
use weir_api::words::Express as State;
use weir_config::daemon::{Class, DaemonConfig, Express, Offloads, Port, XdpMode};
use weir_core::{Bytes, MacAddress, PortId, Priority};
use weir_ebpf::{
    can_look_for_room, grace_period, takes_redirected, EbpfError, ExpressMaps, Line,
    RedirectLosses, SPARE,
};

use clerk::Clerk;

use super::devices::{port_ids, Device};
use super::ethtool;
use super::offloads::SwitchedOff;
use super::queueing::says_when_full;
use crate::exchange::express::{ExpressParts, Listing};
use crate::exchange::messages::Request;
use crate::threads::wake::Wake;

/// Per frame on the line: FCS, preamble, start delimiter and gap, in bytes.
const LINE_OVERHEAD_BYTES: u64 = 4 + 8 + 12;

#[derive(Debug)]
pub(crate) struct ExpressPath {
    maps: ExpressMaps,
    losses: RedirectLosses,
    /// Priorities that may use the path, one bit for each.
    priorities: u8,
    length_max: Bytes,
    /// True if frames need room and the kernel lets programs check for it.
    looks_for_room: bool,
    ports: Mutex<Vec<PortSide>>,
}

#[derive(Debug)]
struct PortSide {
    wish: Express,
    is_monitored: bool,
    device_name: String,
    is_shared: bool,
    line: Line,
    /// True if the kernel refuses the program with the path and the port uses a smaller one.
    is_refused: bool,
    /// True if its frames need room but programs cannot check for it: in generic mode, or without kernel support.
    is_blind: bool,
    /// A veth that offers TCP segmentation passes the core's frames to its peer's CPU. It passes redirected ones to the
    /// peer's NAPI unless a program is attached there, so frames could be reordered.
    segmentation: SwitchedOff,
    is_managed: bool,
    device: Option<Device>,
    /// Last state sent to the loop.
    told: Option<State>,
}

impl ExpressPath {
    /// Creates the path without any device, or returns the reason against it: a setting, or missing kernel support.
    fn open(config: &DaemonConfig, threads: usize) -> Result<Self, State> {
        let wish = wishes(config).max_by_key(|wish| *wish as u8);
        if wish.is_none_or(|wish| wish == Express::Off) {
            return Err(State::Off);
        }
        let opened = Self::open_wanted(config, threads);
        if let Err(why) = &opened {
            tracing::warn!(
                because = why.name(),
                "no port uses the express path, although the settings request it: {}",
                why.meaning()
            );
        }
        opened
    }

    fn open_wanted(config: &DaemonConfig, threads: usize) -> Result<Self, State> {
        let priorities = priorities(config);
        let obstacles = [
            (config.is_vlan_aware(), State::Vlans),
            (config.forwarding.learning, State::Learning),
            (priorities == 0, State::Class),
            (threads > 0, State::Threads),
        ];
        if let Some((_, why)) = obstacles.into_iter().find(|(is_there, _)| *is_there) {
            return Err(why);
        }
        let no_grace = |error: io::Error| {
            tracing::warn!(%error, "the express path needs membarrier(2), which CPUs without a tick (nohz_full) do not have");
            State::Kernel
        };
        grace_period().map_err(no_grace)?;
        let mut maps = ExpressMaps::new().map_err(refused)?;
        let looks_for_room = config.dataplane.xdp_mode != XdpMode::Generic;
        if needs_room(config) && looks_for_room {
            maps.look_for_room(SPARE);
        }
        Ok(Self {
            looks_for_room,
            losses: RedirectLosses::new(&maps).map_err(refused)?,
            maps,
            priorities,
            length_max: config.dataplane.frame_length_max(),
            ports: Mutex::new(sides(config)),
        })
    }

    pub(crate) fn maps_for(&self, port: PortId, device: &Device) -> Option<&ExpressMaps> {
        let is_wanted = |side: &PortSide| side.wish != Express::Off && device.driver.keeps_order;
        self.side(port, |side| is_wanted(side))
            .unwrap_or(false)
            .then_some(&self.maps)
    }

    /// Excludes frames received on `port` from the path: the kernel accepts only the program without it.
    pub(crate) fn refuse(&self, port: PortId) {
        self.side(port, |side| side.is_refused = true);
    }

    fn parts(&self, listings: Sender<Box<Listing>>) -> Result<ExpressParts, EbpfError> {
        let words = self.maps.words()?;
        for (port, side) in (0..=u8::MAX).zip(&*self.lock()) {
            words.set_line(port, side.line);
        }
        Ok(ExpressParts {
            words: Box::new(words),
            priorities: self.priorities,
            length_max: self.length_max.get(),
            listings,
        })
    }

    /// Lets express frames leave through `port`'s device, if the device permits it.
    pub(crate) fn arrive(&self, port: PortId, device: &Device) {
        let number = port.index() as u8;
        let is_set = self
            .losses
            .watch(device.index, number)
            .and_then(|()| self.maps.set_device(number, device.index));
        match is_set {
            Ok(()) => {
                let looks = self.looks_for_room && can_look_for_room();
                self.side(port, |side| {
                    (side.device, side.told) = (Some(*device), None);
                    side.is_blind = side.line.is_sure && !looks;
                });
            }
            Err(error) => {
                tracing::warn!(%port, %error, "the port does not send on the express path");
            }
        }
    }

    /// Excludes `port` as an egress; the loop was notified before.
    pub(crate) fn leave(&self, port: PortId) {
        self.side(port, |side| (side.device, side.told) = (None, None));
        if let Err(error) = self.maps.clear_device(port.index() as u8) {
            tracing::warn!(%port, %error, "the express path");
        }
    }

    /// Evaluates all ports and passes changes to `tell`, which returns false when the loop cannot be notified now.
    fn judge(&self, tell: impl Fn(PortId, State) -> bool) {
        for (port, side) in port_ids().zip(&mut *self.lock()) {
            let state = side.state();
            if side.told != Some(state) && tell(port, state) {
                side.told = Some(state);
            }
        }
    }

    fn set_routes(&self, old: &Routes, new: &Routes) -> Result<(), EbpfError> {
        for (destination, _) in old.iter().filter(|(key, _)| !new.contains_key(key)) {
            self.maps.clear_route(destination.0)?;
        }
        let changed = new
            .iter()
            .filter(|(key, egress)| old.get(key) != Some(egress));
        for (destination, egress) in changed {
            self.maps.set_route(destination.0, egress.index() as u8)?;
        }
        Ok(())
    }

    fn side<T>(&self, port: PortId, of: impl FnOnce(&mut PortSide) -> T) -> Option<T> {
        self.lock().get_mut(port.index()).map(of)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PortSide>> {
        // State left by a panicked thread is consistent: each change is one assignment.
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The express path before the loop runs.
#[derive(Debug)]
pub(crate) struct Prospect {
    path: Option<Arc<ExpressPath>>,
    parts: Option<ExpressParts>,
    /// Reason for which there is no path, if any.
    absent: State,
    listings: Receiver<Box<Listing>>,
}

impl Prospect {
    /// Evaluates the settings and the kernel, for this many threads that serve sockets.
    pub(crate) fn new(config: &DaemonConfig, threads: usize) -> Self {
        // One listing is passed back and forth.
        let (sender, listings) = bounded(1);
        let opened = ExpressPath::open(config, threads).and_then(|path| {
            let parts = path.parts(sender).map_err(refused)?;
            Ok((path, parts))
        });
        let absent = opened.as_ref().err().copied().unwrap_or_default();
        let (path, parts) = opened.ok().unzip();
        Self {
            path: path.map(Arc::new),
            parts,
            absent,
            listings,
        }
    }

    pub(crate) fn path(&self) -> Option<&ExpressPath> {
        self.path.as_deref()
    }

    /// Takes the loop's part, or returns the reason for which there is no path.
    pub(crate) fn take_parts(&mut self) -> Result<ExpressParts, State> {
        self.parts.take().ok_or(self.absent)
    }

    /// Starts to maintain the path for a running loop. Without a clerk it stays off.
    pub(crate) fn keep(
        self,
        devices: &[Option<Device>],
        requests: Sender<Request>,
        wake: Wake,
    ) -> Option<Kept> {
        let path = self.path?;
        for (port, device) in port_ids().zip(devices) {
            if let Some(device) = device {
                path.arrive(port, device);
            }
        }
        let ways = clerk::Ways {
            requests,
            wake,
            listings: self.listings,
        };
        match Clerk::start(Arc::clone(&path), ways, devices.len()) {
            Ok(clerk) => Some(Kept {
                _clerk: clerk,
                path,
            }),
            Err(error) => {
                tracing::warn!(%error, "the express path stays off");
                None
            }
        }
    }
}

/// The express path while the loop runs.
#[derive(Debug)]
pub(crate) struct Kept {
    // Ends before the maps do.
    _clerk: Clerk,
    path: Arc<ExpressPath>,
}

impl Kept {
    pub(crate) fn path(&self) -> &ExpressPath {
        &self.path
    }
}

fn refused(error: EbpfError) -> State {
    tracing::warn!(%error, "no express path: the kernel refuses a function that it needs");
    State::Kernel
}

/// Egress port by destination.
type Routes = BTreeMap<MacAddress, PortId>;

impl PortSide {
    fn state(&mut self) -> State {
        let Some(device) = self.device else {
            return State::NoDevice;
        };
        if self.wish == Express::Off {
            State::Off
        } else if self.is_refused {
            State::Kernel
        } else if self.wish == Express::Auto && self.is_monitored {
            State::FlowMonitor
        } else if !device.driver.keeps_order {
            State::Driver
        } else if self.is_shared || self.wish == Express::Auto && has_queues(&self.device_name) {
            State::Queues
        } else if takes_redirected(device.index).is_none() {
            State::NoFeatures
        } else if takes_redirected(device.index) == Some(false)
            || self.segmentation.segments(self.is_managed)
        {
            State::Peer
        } else if self.is_blind || self.line.is_sure && !says_when_full(&device) {
            State::Room
        } else {
            State::Open
        }
    }
}

fn has_queues(device: &str) -> bool {
    ethtool::send_queues(device).is_some_and(|count| count > 1)
}

fn wishes(config: &DaemonConfig) -> impl Iterator<Item = Express> + '_ {
    let default = config.dataplane.express;
    let ports = config.ports.iter();
    ports.map(move |port| port.express_or(default))
}

/// Returns the priorities without a class, and those whose class may use the path, one bit for each.
fn priorities(config: &DaemonConfig) -> u8 {
    let may_pass = |priority: &Priority| {
        let class = config.class_of(*priority);
        class.is_none_or(Class::may_pass)
    };
    let passing = Priority::ALL.into_iter().filter(may_pass);
    passing.fold(0, |bits, priority| bits | 1 << priority.index())
}

/// Returns true if frames of lossless classes may use the path.
fn needs_room(config: &DaemonConfig) -> bool {
    config.classes.iter().any(Class::needs_room)
}

fn sides(config: &DaemonConfig) -> Vec<PortSide> {
    let is_sure = needs_room(config);
    let ports = config.ports.iter().zip(wishes(config));
    let side = |(port, wish): (&Port, Express)| {
        let same = |other: &&Port| other.device == port.device;
        let burst = config.dataplane.shaper_burst;
        let frames = Bytes::new(2 * config.dataplane.frame_length_max().get());
        PortSide {
            wish,
            is_monitored: config.flows.monitor().capacity > 0,
            device_name: port.device.clone(),
            is_shared: config.ports.iter().filter(same).count() > 1,
            line: Line {
                rate: port.rate.get(),
                burst_nanos: burst.max(port.rate.time_for(frames)).as_nanos(),
                overhead_bytes: LINE_OVERHEAD_BYTES,
                is_sure,
            },
            is_refused: false,
            is_blind: false,
            segmentation: SwitchedOff::none(&port.device),
            is_managed: config.dataplane.offloads != Offloads::Ignore,
            device: None,
            told: None,
        }
    };
    ports.map(side).collect()
}
