//! State of a device from ioctl(2): the requests of netdevice(7) and those of ethtool(8).

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};
use serde::Serialize;

const GET_SETTINGS: u32 = 0x01;
const GET_DRIVER: u32 = 0x03;
const GET_LINK: u32 = 0x0a;
const GET_RINGS: u32 = 0x10;
const GET_PAUSE: u32 = 0x12;
const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
const GET_SET_INFO: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
/// String sets with the names of statistics and of features, and bytes of each string.
const STATISTIC_NAMES: u32 = 1;
const FEATURE_NAMES: u32 = 4;
const NAME_LENGTH: usize = 32;
/// Strings or numbers that a device may add between two requests, for added queues: the kernel
/// writes all of them, regardless of the room.
const MORE: usize = 2_048;
const GET_RSS: u32 = 0x38;
const GET_CHANNELS: u32 = 0x3c;
/// Words of `struct ethtool_drvinfo`.
const DRIVER_WORDS: usize = 49;

/// `SIOCGIFMTU`.
pub fn mtu(device: &str) -> Option<u32> {
    let request = ask(device, libc::SIOCGIFMTU, |_| ()).ok()?;
    // SAFETY: the kernel has filled in this field, and any bytes are an integer.
    Some(unsafe { request.ifr_ifru.ifru_mtu } as u32)
}

/// Takes a device down and up again, for settings that its driver applies only then. A device that is down stays down.
///
/// # Errors
///
/// The kernel's error.
pub fn bring_up_again(device: &str) -> io::Result<()> {
    let now = ask(device, libc::SIOCGIFFLAGS, |_| ())?;
    // SAFETY: the kernel has filled in this field, and any bytes are an integer.
    let flags = unsafe { now.ifr_ifru.ifru_flags };
    let up = libc::IFF_UP as libc::c_short;
    if flags & up == 0 {
        return Ok(());
    }
    for flags in [flags & !up, flags] {
        ask(device, libc::SIOCSIFFLAGS, |asked| {
            asked.ifr_ifru.ifru_flags = flags;
        })?;
    }
    Ok(())
}

/// Returns true if the device has a link; `None` if the driver does not report it. `IFF_RUNNING`
/// would follow a second later.
pub fn has_link(device: &str) -> Option<bool> {
    let mut words = [0; 2];
    ethtool(device, GET_LINK, &mut words).ok()?;
    words.get(1).map(|link| *link != 0)
}

/// Returns the device's speed in Mbit/s; `None` if it reports none.
pub fn speed_mbit(device: &str) -> Option<u32> {
    // `struct ethtool_cmd`: the low half of the speed comes after three words, the high half after seven.
    let mut words = [0; 11];
    ethtool(device, GET_SETTINGS, &mut words).ok()?;
    let half = |word: u32| {
        let [a, b, ..] = word.to_ne_bytes();
        u32::from(u16::from_ne_bytes([a, b]))
    };
    let speed = half(words[7]) << 16 | half(words[3]);
    (speed != 0 && speed != u32::MAX).then_some(speed)
}

/// A device's driver, as in `ethtool -i`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DriverInfo {
    /// Its name.
    pub name: String,
    /// Its version: often the kernel's.
    pub version: String,
    /// Version of the NIC's firmware; empty if there is none.
    pub firmware: String,
    /// The NIC's address on its bus; empty for software.
    pub bus: String,
}

/// Driver and device information; `None` if the device does not report it.
pub fn driver_info(device: &str) -> Option<DriverInfo> {
    let mut words = [0; DRIVER_WORDS];
    ethtool(device, GET_DRIVER, &mut words).ok()?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    // After the request: fields of 32 bytes each.
    let mut fields = bytes.get(4..)?.chunks(NAME_LENGTH).map(text);
    Some(DriverInfo {
        name: fields.next()?,
        version: fields.next()?,
        firmware: fields.next()?,
        bus: fields.next()?,
    })
}

/// The driver's name, as in `ethtool -i`.
pub fn driver(device: &str) -> Option<String> {
    driver_info(device).map(|info| info.name)
}

/// Queues of a device, as in `ethtool -l`. A combined one receives and sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Channels {
    /// Receive-only queues in use.
    pub rx: u32,
    /// Combined queues in use.
    pub combined: u32,
    /// Maximum number of receive-only queues.
    pub rx_max: u32,
    /// Maximum number of combined queues.
    pub combined_max: u32,
}

impl Channels {
    /// Number of receive queues in use.
    pub fn receiving(&self) -> u32 {
        self.rx + self.combined
    }
}

/// Returns the queues of a device.
///
/// # Errors
///
/// The kernel's error: many devices do not support the request.
pub fn channels(device: &str) -> io::Result<Channels> {
    // Maximum numbers of rx, tx, other and combined, followed by the present numbers.
    let mut words = [0; 9];
    ethtool(device, GET_CHANNELS, &mut words)?;
    let [_, rx_max, _, _, combined_max, rx, _, _, combined] = words;
    Ok(Channels {
        rx,
        combined,
        rx_max,
        combined_max,
    })
}

/// The receive queues in use, as in `ethtool -l`; `None` if the driver does not report them.
pub fn receive_queues(device: &str) -> Option<u32> {
    let count = channels(device).ok()?.receiving();
    (count > 0).then_some(count)
}

/// The transmit queues in use; `None` if the driver does not report them.
pub fn send_queues(device: &str) -> Option<u32> {
    let mut words = [0; 9];
    ethtool(device, GET_CHANNELS, &mut words).ok()?;
    let [_, _, _, _, _, _, tx, _, combined] = words;
    Some(tx + combined).filter(|count| *count > 0)
}

/// The receive ring of each queue of a NIC, as in `ethtool -g`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReceiveRing {
    /// Entries.
    pub entries: u32,
    /// Maximum number of entries.
    pub most: u32,
}

/// Returns the receive ring of a device.
///
/// # Errors
///
/// The kernel's error: software devices have none.
pub fn receive_ring(device: &str) -> io::Result<ReceiveRing> {
    let mut words = [0; 9];
    ethtool(device, GET_RINGS, &mut words)?;
    let [_, most, _, _, _, entries, ..] = words;
    Ok(ReceiveRing { entries, most })
}

/// PAUSE settings of a NIC, as in `ethtool -a`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PauseSettings {
    /// The two ends negotiate the other settings.
    pub autonegotiation: bool,
    /// It obeys PAUSE frames, and consumes them.
    pub receives: bool,
    /// It sends them.
    pub sends: bool,
}

/// Returns the pause settings of a device.
///
/// # Errors
///
/// The kernel's error: software devices have none.
pub fn pause(device: &str) -> io::Result<PauseSettings> {
    let mut words = [0; 4];
    ethtool(device, GET_PAUSE, &mut words)?;
    let [_, autonegotiation, receives, sends] = words.map(|word| word != 0);
    Ok(PauseSettings {
        autonegotiation,
        receives,
        sends,
    })
}

/// The receive queues over which RSS spreads frames, as in `ethtool -x`; `None` if the driver does not report them.
pub fn rss_queues(device: &str) -> Option<Vec<u32>> {
    let mut size = [0; 2];
    ethtool(device, GET_RSS, &mut size).ok()?;
    let entries = *size.get(1)? as usize;
    let mut words = vec![0; 2 + entries];
    *words.get_mut(1)? = entries as u32;
    ethtool(device, GET_RSS, &mut words).ok()?;
    let table = words.split_off(2);
    (!table.is_empty()).then_some(table)
}

/// The features of a device by their kernel names, with their numbers.
pub fn feature_numbers(device: &str) -> Option<Vec<(String, u32)>> {
    Some(
        strings(device, FEATURE_NAMES)?
            .into_iter()
            .zip(0..)
            .collect(),
    )
}

/// The sum of a driver's own statistics with this name (`ethtool -S`), one for each queue; `None` if there is none.
pub fn statistic(device: &str, name: &str) -> Option<u64> {
    let names = strings(device, STATISTIC_NAMES)?;
    // Request, count, and numbers of 64 bits.
    let mut words = vec![0; 2 + 2 * (names.len() + MORE)];
    *words.get_mut(1)? = names.len() as u32;
    ethtool(device, GET_STATISTICS, &mut words).ok()?;
    let halves = words.get(2..)?.chunks_exact(2);
    let numbers = halves.map(|pair| {
        let bytes: Vec<u8> = pair.iter().flat_map(|half| half.to_ne_bytes()).collect();
        bytes.try_into().map_or(0, u64::from_ne_bytes)
    });
    let named = names.iter().zip(numbers);
    // Some drivers indent names.
    let mut meant = named
        .filter(|(known, _)| known.trim() == name)
        .map(|(_, number)| number);
    let first = meant.next()?;
    Some(meant.fold(first, u64::saturating_add))
}

fn strings(device: &str, set: u32) -> Option<Vec<String>> {
    // Request, reserved, a mask of 64 bits by set, the length of the set.
    let mask = (1u64 << set).to_ne_bytes();
    let [a, b, c, d, e, f, g, h] = mask;
    let halves = [[a, b, c, d], [e, f, g, h]].map(u32::from_ne_bytes);
    let mut info = [0, 0, halves[0], halves[1], 0];
    ethtool(device, GET_SET_INFO, &mut info).ok()?;
    let count = info[4];
    let mut words = vec![0; 3 + (count as usize + MORE) * NAME_LENGTH / 4];
    words.get_mut(1..3)?.copy_from_slice(&[set, count]);
    ethtool(device, GET_STRINGS, &mut words).ok()?;
    let bytes: Vec<u8> = words
        .iter()
        .skip(3)
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    let strings = bytes.chunks(NAME_LENGTH).take(count as usize);
    Some(strings.map(text).collect())
}

fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Returns true if a feature is on.
pub fn has_feature(device: &str, number: u32) -> Option<bool> {
    let blocks = number / 32 + 1;
    // Of each block of 32 features: available, requested, active, never changed.
    let mut words = vec![0; 2 + 4 * blocks as usize];
    *words.get_mut(1)? = blocks;
    ethtool(device, GET_FEATURES, &mut words).ok()?;
    let active = words.get(2 + 4 * (number / 32) as usize + 2)?;
    Some(active >> (number % 32) & 1 != 0)
}

/// Switches a feature on or off. [`has_feature`] shows the result.
///
/// # Errors
///
/// The kernel's error.
pub fn set_feature(device: &str, number: u32, on: bool) -> io::Result<()> {
    // The answer contains the number of blocks, regardless of the room; the kernel takes all of
    // them or none.
    let mut answer = [0; 2];
    ethtool(device, GET_FEATURES, &mut answer)?;
    let blocks = answer[1];
    let block = (number / 32) as usize;
    let bit = 1 << (number % 32);
    // For each block: a mask of changes, and the values.
    let mut words = vec![0; 2 + 2 * blocks as usize];
    let wanted = if on { bit } else { 0 };
    for (at, word) in [(1, blocks), (2 + 2 * block, bit), (3 + 2 * block, wanted)] {
        if let Some(place) = words.get_mut(at) {
            *place = word;
        }
    }
    ethtool(device, SET_FEATURES, &mut words)
}

/// Sends a request whose structure consists of 32-bit words, the first of which is the request.
fn ethtool(device: &str, request: u32, words: &mut [u32]) -> io::Result<()> {
    if let Some(first) = words.first_mut() {
        *first = request;
    }
    let data = words.as_mut_ptr().cast();
    ask(device, libc::SIOCETHTOOL, |asked| {
        asked.ifr_ifru.ifru_data = data;
    })?;
    Ok(())
}

fn ask(
    device: &str,
    request: libc::Ioctl,
    fill: impl FnOnce(&mut libc::ifreq),
) -> io::Result<libc::ifreq> {
    let any = socket(
        AddressFamily::Unix,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    // SAFETY: all bytes zero are a value of this type of integers, arrays and pointers that are not dereferenced.
    let mut asked: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays: the name ends with a NUL.
    let places = asked.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1);
    for (place, byte) in places.zip(device.bytes()) {
        *place = byte as libc::c_char;
    }
    fill(&mut asked);
    // SAFETY: the descriptor lives until the end of this function. The request has room for everything that the kernel
    // writes, as has the structure that it points to, which outlives the call: each caller passes the structure of its
    // request.
    let result = unsafe { libc::ioctl(any.as_raw_fd(), request, &raw mut asked) };
    // Some requests return flags.
    match result {
        0.. => Ok(asked),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_has_features_and_a_missing_device_none() {
        assert!(mtu("lo").is_some_and(|mtu| mtu >= 1_280));
        assert_eq!(receive_queues("lo"), None);
        assert_eq!(rss_queues("lo"), None);
        let features = feature_numbers("lo").unwrap();
        let loopback = features.iter().find(|(name, _)| name == "loopback");
        assert_eq!(has_feature("lo", loopback.unwrap().1), Some(true));
        assert_eq!(feature_numbers("weir-no-such"), None);
        assert_eq!(statistic("lo", "pkts rx OOB"), None);
        // Drivers provide the information: this one has none.
        assert_eq!(driver_info("lo"), None);
        assert!(channels("lo").is_err() && receive_ring("lo").is_err() && pause("lo").is_err());
        for of in ["weir-no-such", "a-name-that-is-longer-than-any"] {
            assert_eq!((mtu(of), has_link(of), driver(of)), (None, None, None));
        }
    }

    #[test]
    #[ignore = "needs root"]
    fn a_feature_goes_off_and_on_again() {
        // For this thread only.
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
        let features = feature_numbers("lo").unwrap();
        let (_, gro) = features.iter().find(|(name, _)| name == "rx-gro").unwrap();
        for on in [false, true] {
            set_feature("lo", *gro, on).unwrap();
            assert_eq!(has_feature("lo", *gro), Some(on));
        }
        // It is down in a new namespace, and stays so.
        bring_up_again("lo").unwrap();
        assert!(bring_up_again("weir-no-such").is_err());
    }
}
