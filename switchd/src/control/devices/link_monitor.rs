//! Watches the ports' devices by rtnetlink: it requests the state of all at the start, and the kernel then reports every
//! change, some of them late: the state is also polled. sysfs would show another network namespace's devices.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    bind, send, socket, AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType,
};

use weir_api::words::EventName;
use weir_config::daemon::XdpMode;
use weir_core::PortId;
use weir_doctor::ask::nature::Nature;
use weir_doctor::link;
use weir_netlink::message::{
    attribute, attributes, find, kind, message, messages, text, u32_at, HEADER,
};

use crate::control::info::PortInfo;
use crate::control::shared::Shared;
use crate::control::waitable::Waitable;

/// Netlink's own limit for one message to userspace.
const BUFFER_LENGTH: usize = 32 * 1024;
const LINK_HEADER: usize = 16;
const RTMGRP_LINK: u32 = 1;
/// `AF_UNSPEC`: messages about a device itself.
const FAMILY_OF_ALL: u8 = 0;
/// `IFLA_PROP_LIST` of linux/if_link.h: alternative names.
const IFLA_PROP_LIST: u16 = 52;
/// `RTEXT_FILTER_SKIP_STATS` of linux/rtnetlink.h.
const RTEXT_FILTER_SKIP_STATS: u32 = 1 << 3;
/// `IFF_LOWER_UP` of linux/if.h: the carrier itself. `IFF_RUNNING` may follow it a second later.
const IFF_LOWER_UP: u32 = 1 << 16;

/// A subscription to the link state of one network namespace.
#[derive(Debug)]
pub struct LinkMonitor {
    socket: Waitable,
    /// Last seen device name of each port whose device's name differs from the port's.
    other_names: BTreeMap<PortId, String>,
    masters: BTreeMap<PortId, Option<u32>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LinkState {
    ifindex: u32,
    /// Device name, if the message contains it.
    name: Option<String>,
    other_names: Vec<String>,
    /// MTU in bytes, if the message contains it.
    mtu: Option<u32>,
    master: Option<u32>,
    up: bool,
    /// The device was deleted or moved to another network namespace.
    gone: bool,
}

impl LinkMonitor {
    /// Subscribes in the calling thread's network namespace. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the kernel refuses an rtnetlink socket.
    pub fn new() -> std::io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, RTMGRP_LINK))?;
        Ok(Self {
            socket: Waitable::new(socket)?,
            other_names: BTreeMap::new(),
            masters: BTreeMap::new(),
        })
    }

    /// Keeps `shared` and the dataplane informed until the daemon ends.
    ///
    /// # Errors
    ///
    /// When the socket fails permanently.
    pub async fn run(mut self, shared: Arc<Shared>) -> std::io::Result<()> {
        let mut buffer = vec![0u8; BUFFER_LENGTH];
        self.look_back(&mut buffer, &shared).await;
        self.ask_for_all()?;
        loop {
            let recheck = Duration::from_nanos(shared.links.recheck_after().as_nanos());
            let read = tokio::select! {
                () = shared.life.ending() => return Ok(()),
                () = tokio::time::sleep(recheck) => {
                    self.ask_for_all()?;
                    continue;
                }
                () = shared.links.asking_due() => {
                    self.ask_for_all()?;
                    continue;
                }
                read = self.socket.read(&mut buffer) => read,
            };
            match read {
                Ok(length) => self.take(&buffer[..length], &shared).await,
                // Messages were lost; only a full dump has the state now.
                Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => {
                    self.look_for_missing(&shared).await;
                    self.ask_for_all()?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Handles messages from before the dataplane started: only missing devices still matter, because attaching resets
    /// links.
    async fn look_back(&self, buffer: &mut [u8], shared: &Shared) {
        while let Ok(length) = self.socket.try_read(buffer) {
            for state in link_states(&buffer[..length]).filter(|state| state.gone) {
                let mut ports = shared.info.numbered_ports();
                if let Some((port, _)) = ports.find(|(_, info)| info.ifindex() == state.ifindex) {
                    shared.set_gone(port).await;
                }
            }
        }
    }

    async fn take(&mut self, datagram: &[u8], shared: &Shared) {
        for state in link_states(datagram) {
            let is_here = |port: &PortInfo| {
                let attached = port.attached.get();
                !attached.is_absent() && attached.ifindex == state.ifindex
            };
            let mut is_known = false;
            for (port, info) in shared.info.numbered_ports() {
                if !is_here(info) || shared.links.is_gone(port) {
                    continue;
                }
                is_known = true;
                if state.gone {
                    shared.set_gone(port).await;
                } else {
                    self.note_name(port, info, &state, shared);
                    note_mtu(port, &state, shared);
                    self.note_master(port, &state, shared);
                    shared.set_link(port, state.up).await;
                }
            }
            if !is_known && !state.gone {
                // A port may be waiting for this device.
                shared.links.tend();
            }
        }
    }

    /// Reports each new name once. The port keeps working: its sockets are bound to the device, not to a name.
    fn note_name(&mut self, port: PortId, info: &PortInfo, state: &LinkState, shared: &Shared) {
        let Some(name) = &state.name else { return };
        if state.other_names.contains(&info.device) {
            return;
        }
        let before = self.other_names.get(&port).unwrap_or(&info.device);
        if before != name {
            let detail = ("name", name.clone());
            shared.record_at(port, EventName::DeviceRenamed, [detail]);
            self.other_names.insert(port, name.clone());
        }
    }

    /// Reports a device that became part of another one, and the remedy.
    fn note_master(&mut self, port: PortId, state: &LinkState, shared: &Shared) {
        let before = self.masters.get(&port).copied().flatten();
        if before == state.master {
            return;
        }
        self.masters.insert(port, state.master);
        let refusal = refusal(state, shared);
        let details = refusal.clone().map(|reason| ("reason", reason));
        let kind = match &refusal {
            Some(_) => EventName::DeviceUnfit,
            None => EventName::DeviceFits,
        };
        if shared.links.note_unfit(port, refusal) {
            shared.record_at(port, kind, details);
        }
    }

    /// Checks for missing devices after lost messages, since a full dump does not list them.
    async fn look_for_missing(&self, shared: &Shared) {
        for (port, info) in shared.info.numbered_ports() {
            let is_missing = matches!(link::find(info.ifindex()), Ok(None));
            if is_missing && !shared.links.is_gone(port) {
                shared.set_gone(port).await;
            }
        }
    }

    fn ask_for_all(&self) -> std::io::Result<()> {
        let socket = self.socket.as_raw_fd();
        match send(socket, &dump_request(), MsgFlags::empty()) {
            // A running dump serves as well.
            Ok(_) | Err(Errno::EBUSY) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Reports when an MTU becomes too small for the switch, and when it is large enough again.
fn note_mtu(port: PortId, state: &LinkState, shared: &Shared) {
    let Some(mtu) = state.mtu else { return };
    let wanted = shared.info.mtu.get();
    let small = (u64::from(mtu) < wanted).then_some(mtu);
    if !shared.links.note_small_mtu(port, small) {
        return;
    }
    match small {
        Some(mtu) => {
            let details = [
                ("mtu_bytes", mtu.to_string()),
                ("wanted_bytes", wanted.to_string()),
            ];
            shared.record_at(port, EventName::MtuTooSmall, details);
        }
        None => shared.record_at(port, EventName::MtuFits, []),
    }
}

/// Returns the reason for which a device in this state cannot be a port.
fn refusal(state: &LinkState, shared: &Shared) -> Option<String> {
    let device = link::find(state.ifindex).ok()??;
    let nature = Nature::of(&device).ok()?;
    let has_lossless = shared.info.lossless().next().is_some();
    let fit = nature.known().fit(XdpMode::Auto, has_lossless);
    fit.err().map(|refusal| refusal.to_string())
}

/// `RTM_GETLINK` for all devices (rtnetlink(7)), without their statistics.
fn dump_request() -> Vec<u8> {
    let flags = (nix::libc::NLM_F_REQUEST | nix::libc::NLM_F_DUMP) as u16;
    let mask = attribute(
        nix::libc::IFLA_EXT_MASK,
        &RTEXT_FILTER_SKIP_STATS.to_ne_bytes(),
    );
    message(
        nix::libc::RTM_GETLINK,
        flags,
        &[&[0; LINK_HEADER], &mask[..]].concat(),
    )
}

/// Iterates over the devices in a datagram of one or more netlink messages. Ends at the first
/// unreadable message.
fn link_states(datagram: &[u8]) -> impl Iterator<Item = LinkState> + '_ {
    messages(datagram).filter_map(|message| {
        let kind = kind(message)?;
        if kind != nix::libc::RTM_NEWLINK && kind != nix::libc::RTM_DELLINK {
            return None;
        }
        let body = message.get(HEADER..)?;
        // A bridge reports its ports in messages of its own family: a port that leaves the bridge is not gone.
        if body.first() != Some(&FAMILY_OF_ALL) {
            return None;
        }
        let (ifindex, flags) = (u32_at(body, 4)?, u32_at(body, 8)?);
        let of_device = body.get(LINK_HEADER..)?;
        let number = |kind| find(of_device, kind).and_then(|value| u32_at(value, 0));
        let others = find(of_device, IFLA_PROP_LIST).map(attributes);
        let others = others.into_iter().flatten();
        let wanted = nix::libc::IFF_UP as u32 | IFF_LOWER_UP;
        Some(LinkState {
            ifindex,
            name: find(of_device, nix::libc::IFLA_IFNAME).map(text),
            other_names: others.map(|(_, name)| text(name)).collect(),
            mtu: number(nix::libc::IFLA_MTU),
            master: number(nix::libc::IFLA_MASTER).filter(|index| *index > 0),
            gone: kind == nix::libc::RTM_DELLINK,
            up: kind == nix::libc::RTM_NEWLINK && flags & wanted == wanted,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_device(kind: u16, ifindex: u32, flags: i32, attributes: &[u8]) -> Vec<u8> {
        let words = [0, ifindex, flags as u32, 0];
        let mut body: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
        body.extend(attributes);
        message(kind, 0, &body)
    }

    #[test]
    fn reads_every_device_of_a_datagram() {
        let both = nix::libc::IFF_UP | IFF_LOWER_UP as i32;
        let named = [
            attribute(nix::libc::IFLA_IFNAME, b"h3\0"),
            attribute(nix::libc::IFLA_MTU, &1400u32.to_ne_bytes()),
            attribute(nix::libc::IFLA_MASTER, &4u32.to_ne_bytes()),
            attribute(IFLA_PROP_LIST | 0x8000, &attribute(53, b"wan\0")),
        ]
        .concat();
        let mut datagram = of_device(nix::libc::RTM_NEWLINK, 7, both, &named);
        datagram.extend(of_device(nix::libc::NLMSG_DONE as u16, 0, 0, &[]));
        datagram.extend(of_device(nix::libc::RTM_NEWLINK, 8, nix::libc::IFF_UP, &[]));
        datagram.extend(of_device(nix::libc::RTM_DELLINK, 9, both, &[]));
        let states: Vec<_> = link_states(&datagram).collect();
        let expected = [
            (7, Some("h3"), true, false),
            (8, None, false, false),
            (9, None, false, true),
        ];
        let mut expected = expected.map(|(ifindex, name, up, gone)| LinkState {
            ifindex,
            name: name.map(str::to_owned),
            other_names: Vec::new(),
            mtu: None,
            master: None,
            up,
            gone,
        });
        expected[0].other_names = vec!["wan".to_owned()];
        (expected[0].mtu, expected[0].master) = (Some(1400), Some(4));
        assert_eq!(states, expected);
    }

    #[test]
    fn a_bridge_that_loses_a_port_does_not_take_its_device() {
        let mut left = of_device(nix::libc::RTM_DELLINK, 9, 0, &[]);
        left[HEADER] = nix::libc::AF_BRIDGE as u8;
        left.extend(of_device(nix::libc::RTM_DELLINK, 10, 0, &[]));
        let gone: Vec<_> = link_states(&left).map(|state| state.ifindex).collect();
        assert_eq!(gone, [10]);
    }

    #[test]
    fn what_cannot_be_read_ends_it() {
        let whole = of_device(nix::libc::RTM_NEWLINK, 7, 0, &[]);
        for length in 0..whole.len() {
            assert_eq!(link_states(&whole[..length]).count(), 0, "{length} B");
        }
        assert_eq!(link_states(&[0; 64]).count(), 0);
        let mut short = whole;
        short[..4].copy_from_slice(&20u32.to_ne_bytes());
        assert_eq!(link_states(&short).count(), 0);
    }

    /// Every network namespace has a loopback device.
    #[tokio::test]
    async fn the_kernel_answers_the_dump_request() {
        let monitor = LinkMonitor::new().unwrap();
        monitor.ask_for_all().unwrap();
        let mut buffer = vec![0u8; BUFFER_LENGTH];
        let answer = monitor.socket.read(&mut buffer);
        let length = tokio::time::timeout(std::time::Duration::from_secs(30), answer)
            .await
            .unwrap()
            .unwrap();
        assert!(link_states(&buffer[..length]).any(|state| state.ifindex == 1));
    }
}
