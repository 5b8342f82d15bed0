//! Network devices as reported by rtnetlink.
//!
//! A link contains the index of its device but not the network namespace, and two namespaces use the same indexes. A
//! device is the right one only if it runs the link's own program.

use std::io;

use nix::errno::Errno;
use weir_netlink::link::{ifinfomsg, IFINFOMSG, RTM_GETLINK, RTM_NEWLINK};
use weir_netlink::message::{
    attributes, body, find as value_of, text, u16_at, u32_at, u64_at, HEADER,
};
use weir_netlink::socket::{ask, bad_answer, dump, Protocol};

// linux/rtnetlink.h, linux/if_link.h
const HARDWARE_AT: usize = 2;
const FLAGS_AT: usize = 8;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
/// The first attribute of a bond, of a macvlan and of an ipvlan device: its mode.
const MODE: u16 = 1;
const IFLA_STATS64: u16 = 23;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_DRV_PROG_ID: u16 = 5;
const IFLA_XDP_SKB_PROG_ID: u16 = 6;
const IFLA_XDP_HW_PROG_ID: u16 = 7;

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Ids of its XDP programs, with their modes: `native`, `generic` or `offloaded`.
    pub programs: Vec<(u32, &'static str)>,
    /// True if it is administratively up.
    pub up: bool,
    /// MTU in bytes.
    pub mtu: u32,
    /// Its MAC address, if it has one of Ethernet's length.
    pub address: Option<[u8; 6]>,
    /// Its type of hardware (`ARPHRD_*`).
    pub hardware: u16,
    /// Its kind, such as `veth`; `None` for hardware.
    pub kind: Option<String>,
    /// The mode of a bond, a macvlan or an ipvlan device, as a number.
    pub kind_mode: Option<u32>,
    /// Index of the device of which it is a port.
    pub master: Option<u32>,
    /// Index of its other end, or of the device below it.
    pub other_end: Option<u32>,
    /// Id of the network namespace of that device, if it is another one.
    pub other_namespace: Option<u32>,
    /// Frames that it did not forward.
    pub errors: ReceiveErrors,
    /// Frames sent and dropped.
    pub counts: Counts,
}

/// Frame counters of a device (`struct rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// `tx_packets`: sent.
    pub sent: u64,
    /// `rx_dropped`: received and dropped, by the device, its driver or the kernel behind it.
    pub receive_dropped: u64,
}

impl Counts {
    fn read(statistics: &[u8]) -> Self {
        Self {
            sent: number(statistics, 1),
            receive_dropped: number(statistics, 6),
        }
    }
}

/// Returns one of the 64-bit numbers of `struct rtnl_link_stats64`; 0 if the kernel does not have it.
fn number(statistics: &[u8], index: usize) -> u64 {
    u64_at(statistics, 8 * index).unwrap_or(0)
}

/// Frames received with an error, or lost, as counted by a device (`struct rtnl_link_stats64`). Drivers count
/// different events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveErrors {
    /// `rx_length_errors`.
    pub length: u64,
    /// `rx_over_errors`.
    pub over: u64,
    /// `rx_crc_errors`.
    pub crc: u64,
    /// `rx_frame_errors`.
    pub frame: u64,
    /// `rx_fifo_errors`.
    pub fifo: u64,
    /// `rx_missed_errors`.
    pub missed: u64,
    /// Part of `rx_errors` beyond the kinds that the kernel requires drivers to include: length, crc and frame. A
    /// driver without kinds has all of its errors here.
    pub other: u64,
}

impl ReceiveErrors {
    fn read(statistics: &[u8]) -> Self {
        let at = |index: usize| number(statistics, index);
        let [all, length, crc, frame] = [4, 10, 12, 13].map(at);
        let told = length.saturating_add(crc).saturating_add(frame);
        Self {
            length,
            over: at(11),
            crc,
            frame,
            fifo: at(14),
            missed: at(15),
            other: all.saturating_sub(told),
        }
    }
}

impl Device {
    /// Returns the mode in which the program `id` is attached to this device, if it is.
    pub fn mode_of(&self, id: u32) -> Option<&'static str> {
        self.programs
            .iter()
            .find(|(program, _)| *program == id)
            .map(|(_, mode)| *mode)
    }
}

/// Returns the device with this index in this process's network namespace; `None` if there is none.
///
/// # Errors
///
/// The kernel does not answer.
pub fn find(ifindex: u32) -> io::Result<Option<Device>> {
    let answer = match ask(Protocol::NetlinkRoute, RTM_GETLINK, &ifinfomsg(ifindex)) {
        Err(error) if error.raw_os_error() == Some(Errno::ENODEV as i32) => return Ok(None),
        answer => answer?,
    };
    parse(&answer).map(Some).ok_or_else(bad_answer)
}

/// Returns the devices of this network namespace that are ports of the device with this index.
///
/// # Errors
///
/// The kernel does not answer.
pub fn ports_of(ifindex: u32) -> io::Result<Vec<Device>> {
    let mut ports = Vec::new();
    dump(
        Protocol::NetlinkRoute,
        RTM_GETLINK,
        &ifinfomsg(0),
        |answer| {
            ports.extend(parse(answer).filter(|device| device.master == Some(ifindex)));
        },
    )?;
    Ok(ports)
}

/// Returns `None` for bytes that are not an answer.
fn parse(answer: &[u8]) -> Option<Device> {
    let attributes_of_it = body(answer, RTM_NEWLINK, HEADER + IFINFOMSG)?;
    let flags = u32_at(answer, HEADER + FLAGS_AT)?;
    let mut device = Device {
        hardware: u16_at(answer, HEADER + HARDWARE_AT)?,
        up: flags & nix::libc::IFF_UP as u32 != 0,
        ..Device::default()
    };
    for (kind, value) in attributes(attributes_of_it) {
        match kind {
            IFLA_IFNAME => device.name = text(value),
            IFLA_MTU => device.mtu = u32_at(value, 0)?,
            IFLA_LINK => device.other_end = u32_at(value, 0).filter(|index| *index > 0),
            IFLA_LINK_NETNSID => device.other_namespace = u32_at(value, 0),
            IFLA_ADDRESS => device.address = value.try_into().ok(),
            IFLA_MASTER => device.master = u32_at(value, 0).filter(|index| *index > 0),
            IFLA_LINKINFO => (device.kind, device.kind_mode) = kind_of(value),
            IFLA_STATS64 => {
                device.errors = ReceiveErrors::read(value);
                device.counts = Counts::read(value);
            }
            IFLA_XDP => device.programs = programs(value),
            _ => {}
        }
    }
    Some(device)
}

fn kind_of(value: &[u8]) -> (Option<String>, Option<u32>) {
    let mode = value_of(value, IFLA_INFO_DATA).and_then(|data| value_of(data, MODE));
    // A bond has its mode in one byte, an ipvlan device in two, a macvlan device in four.
    let number = mode.and_then(|mode| match mode.len() {
        1 => mode.first().map(|mode| u32::from(*mode)),
        2 => u16_at(mode, 0).map(u32::from),
        _ => u32_at(mode, 0),
    });
    (value_of(value, IFLA_INFO_KIND).map(text), number)
}

fn programs(value: &[u8]) -> Vec<(u32, &'static str)> {
    let program = |(kind, value): (u16, &[u8])| {
        let mode = match kind {
            IFLA_XDP_DRV_PROG_ID => "native",
            IFLA_XDP_SKB_PROG_ID => "generic",
            IFLA_XDP_HW_PROG_ID => "offloaded",
            _ => return None,
        };
        Some((u32_at(value, 0)?, mode))
    };
    attributes(value).filter_map(program).collect()
}

#[cfg(test)]
mod tests {
    use weir_netlink::message::{attribute, message};

    use super::*;

    fn answer() -> Vec<u8> {
        let xdp = [
            attribute(2, &[1]),
            attribute(IFLA_XDP_DRV_PROG_ID, &42u32.to_ne_bytes()),
        ]
        .concat();
        let attributes = [
            attribute(IFLA_IFNAME, b"eth7\0"),
            attribute(IFLA_MTU, &1500u32.to_ne_bytes()),
            attribute(IFLA_LINK, &8u32.to_ne_bytes()),
            attribute(IFLA_LINK_NETNSID, &[0; 4]),
            attribute(IFLA_XDP | 0x8000, &xdp),
            attribute(IFLA_ADDRESS, &[2, 0, 0, 0, 0, 7]),
            attribute(IFLA_MASTER, &9u32.to_ne_bytes()),
            attribute(IFLA_LINKINFO | 0x8000, &info("bond", &[1])),
        ];
        message(
            RTM_NEWLINK,
            0,
            &[ifinfomsg(7), attributes.concat()].concat(),
        )
    }

    fn info(kind: &str, mode: &[u8]) -> Vec<u8> {
        let data = attribute(MODE, mode);
        [
            attribute(IFLA_INFO_KIND, format!("{kind}\0").as_bytes()),
            attribute(IFLA_INFO_DATA | 0x8000, &data),
        ]
        .concat()
    }

    #[test]
    fn the_width_of_a_mode_depends_on_the_kind() {
        for mode in [&[8][..], &8u16.to_ne_bytes(), &8u32.to_ne_bytes()] {
            assert_eq!(kind_of(&info("x", mode)), (Some("x".into()), Some(8)));
        }
        assert_eq!(kind_of(&[]), (None, None));
    }

    #[test]
    fn name_and_programs_are_read() {
        let device = parse(&answer()).unwrap();
        assert_eq!(device.name, "eth7");
        assert_eq!(device.mode_of(42), Some("native"));
        assert_eq!(device.mode_of(43), None);
        assert_eq!((device.mtu, device.up), (1500, false));
        assert_eq!(
            (device.other_end, device.other_namespace),
            (Some(8), Some(0))
        );
        assert_eq!(device.address, Some([2, 0, 0, 0, 0, 7]));
        assert_eq!(device.master, Some(9));
        assert_eq!(
            (device.kind.as_deref(), device.kind_mode),
            (Some("bond"), Some(1))
        );
    }

    #[test]
    fn errors_are_read_as_far_as_the_kernel_reports_them() {
        let numbers: Vec<u8> = (0..25u64).flat_map(u64::to_ne_bytes).collect();
        let all = ReceiveErrors {
            length: 10,
            over: 11,
            crc: 12,
            frame: 13,
            fifo: 14,
            missed: 15,
            other: 0,
        };
        assert_eq!(ReceiveErrors::read(&numbers), all);
        let counts = Counts {
            sent: 1,
            receive_dropped: 6,
        };
        assert_eq!(Counts::read(&numbers), counts);
        let short = ReceiveErrors::read(&numbers[..8 * 15]);
        assert_eq!((short.fifo, short.missed), (14, 0));
        // vmxnet3 reports no kinds.
        let mut numbers = [0; 8 * 25];
        numbers[8 * 4..8 * 5].copy_from_slice(&48u64.to_ne_bytes());
        assert_eq!(ReceiveErrors::read(&numbers).other, 48);
    }

    #[test]
    fn cut_answers_are_refused() {
        let whole = answer();
        for length in 0..whole.len() {
            // The answer is shorter than its header declares.
            assert_eq!(parse(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn loopback_is_there_and_has_no_program() {
        let loopback = find(1).unwrap().unwrap();
        assert_eq!(loopback.name, "lo");
        assert_eq!(loopback.programs, []);
        assert_eq!((loopback.hardware, loopback.kind), (772, None));
        assert_eq!(find(u32::MAX >> 1).unwrap(), None);
    }
}
