//! Settings of an attachment, and their form in the kernel's map.

use std::mem::offset_of;

use weir_abi::host::{
    weir_host_settings, weir_host_source, WEIR_HOST_ABI_VERSION, WEIR_HOST_DSCPS, WEIR_HOST_PORTS,
    WEIR_HOST_PRIORITIES, WEIR_HOST_SOURCE_DSCP, WEIR_HOST_SOURCE_SOCKET, WEIR_HOST_SOURCE_VLAN,
};
use weir_core::{BitRate, Bytes, Priority};

use crate::state::InForce;

/// Priorities of IEEE 802.1Q.
pub const PRIORITIES: usize = WEIR_HOST_PRIORITIES as usize;
/// Differentiated services code points.
pub const DSCPS: usize = WEIR_HOST_DSCPS as usize;
/// Maximum number of UDP destination ports with a separate priority.
pub const PORTS_MAX: usize = WEIR_HOST_PORTS as usize;
/// Size of the settings in the map.
pub const SIZE_BYTES: usize = size_of::<weir_host_settings>();
/// Maximum burst of a device with a rate limit, besides one frame, in bytes: 43 frames of full size.
pub(crate) const BURST_BYTES: u32 = 64 << 10;
/// A quantum of a pause is 512 bit times (IEEE 802.3, annex 31B).
const QUANTUM_BITS: u128 = 512;

/// Source of a frame's priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Source {
    /// The socket's SO_PRIORITY, 0 to 7; anything else counts as 0.
    Socket,
    /// The IP header's DSCP.
    Dscp,
    /// The outermost VLAN tag's PCP.
    Vlan,
}

impl Source {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Dscp => "dscp",
            Self::Vlan => "vlan",
        }
    }

    fn abi(self) -> weir_host_source {
        match self {
            Self::Socket => WEIR_HOST_SOURCE_SOCKET,
            Self::Dscp => WEIR_HOST_SOURCE_DSCP,
            Self::Vlan => WEIR_HOST_SOURCE_VLAN,
        }
    }

    /// Converts the value in the map.
    pub fn from_abi(value: u64) -> Option<Self> {
        let all = [Self::Socket, Self::Dscp, Self::Vlan];
        all.into_iter().find(|one| u64::from(one.abi()) == value)
    }
}

/// A UDP destination port and its frames' priority; RoCEv2's port is 4791.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRule {
    /// The port.
    pub port: u16,
    /// The priority.
    pub priority: Priority,
}

/// Settings for obeying pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Rate of the link, which determines the length of a pause quantum.
    pub rate: BitRate,
    /// Rate limit of the device, with preamble, FCS and gap; `None` for no limit.
    pub max_rate: Option<BitRate>,
    /// Source of priorities.
    pub source: Source,
    /// UDP ports that override the source; at most [`PORTS_MAX`].
    pub ports: Vec<PortRule>,
    /// The priority of each DSCP.
    pub dscp: [Priority; DSCPS],
    /// By priority: true if PFC is obeyed.
    pub obeyed: [bool; PRIORITIES],
    /// True if 802.3x PAUSE stops these priorities.
    pub obeys_global_pause: bool,
    /// Each priority's share of the link under contention, relative to the others'. Not zero.
    pub shares: [u16; PRIORITIES],
    /// Maximum size of a priority's queue.
    pub limit: Bytes,
    /// Maximum segments per GSO frame; `None` for unchanged.
    pub gso_segments: Option<u32>,
    /// True if another queueing discipline may be replaced.
    pub replace: bool,
}

impl Settings {
    /// Creates the defaults: all priorities obeyed with equal shares, sockets' priorities, DSCPs by eighths, 64 MiB for each
    /// queue.
    pub fn new(rate: BitRate) -> Self {
        Self {
            rate,
            max_rate: None,
            source: Source::Socket,
            ports: Vec::new(),
            dscp: std::array::from_fn(|dscp| Priority::from_low_bits((dscp >> 3) as u8)),
            obeyed: [true; PRIORITIES],
            obeys_global_pause: true,
            shares: [1; PRIORITIES],
            limit: Bytes::new(64 << 20),
            gso_segments: None,
            replace: false,
        }
    }

    /// Returns the settings needed later; without sharing the shares are `None`.
    pub(crate) fn in_force(&self) -> InForce {
        let numbered = (0u8..).zip(&self.obeyed).filter(|(_, yes)| **yes);
        InForce {
            rate_bits_per_second: self.rate.get(),
            max_rate_bits_per_second: self.max_rate.map(BitRate::get),
            source: self.source.name().to_owned(),
            obeyed: numbered.map(|(number, _)| number).collect(),
            obeys_global_pause: self.obeys_global_pause,
            limit_bytes: self.limit.get(),
            ..InForce::default()
        }
    }

    /// Converts the settings into the map's form.
    pub(crate) fn to_abi(&self) -> [u8; SIZE_BYTES] {
        let mut words = Words([0; SIZE_BYTES]);
        words.set(
            offset_of!(weir_host_settings, version),
            u64::from(WEIR_HOST_ABI_VERSION),
        );
        let quantum_ps = QUANTUM_BITS * 1_000_000_000_000 / u128::from(self.rate.get());
        // A link below 28 bit/s has longer ones.
        let quantum_ps = u64::try_from(quantum_ps).unwrap_or(u64::MAX);
        words.set(offset_of!(weir_host_settings, quantum_ps), quantum_ps);
        words.set(
            offset_of!(weir_host_settings, source),
            u64::from(self.source.abi()),
        );
        let bits = self.obeyed.iter().enumerate();
        let obeyed = bits.fold(0, |mask, (bit, yes)| mask | u64::from(*yes) << bit);
        words.set(offset_of!(weir_host_settings, obeyed), obeyed);
        let global = u64::from(self.obeys_global_pause);
        words.set(offset_of!(weir_host_settings, obeys_global), global);
        words.set(
            offset_of!(weir_host_settings, limit_bytes),
            self.limit.get(),
        );
        let shares = self.shares.map(u64::from);
        words.set_all(offset_of!(weir_host_settings, share), &shares);
        let dscp = self.dscp.map(|priority| u64::from(priority.get()));
        words.set_all(offset_of!(weir_host_settings, dscp), &dscp);
        for (index, rule) in self.ports.iter().take(PORTS_MAX).enumerate() {
            let at = index * size_of::<u64>();
            words.set(
                offset_of!(weir_host_settings, port) + at,
                u64::from(rule.port),
            );
            let priority = u64::from(rule.priority.get());
            words.set(offset_of!(weir_host_settings, port_priority) + at, priority);
        }
        let rate = offset_of!(weir_host_settings, rate_bits_per_second);
        words.set(rate, self.rate.get());
        if let Some(max_rate) = self.max_rate {
            let at = offset_of!(weir_host_settings, max_rate_bits_per_second);
            words.set(at, max_rate.get());
            let burst = max_rate.time_for(Bytes::new(u64::from(BURST_BYTES)));
            words.set(offset_of!(weir_host_settings, burst_ns), burst.as_nanos());
        }
        words.0
    }
}

/// Bytes of a structure whose fields all have 64 bits.
#[derive(Debug)]
pub(crate) struct Words<const N: usize>(pub [u8; N]);

impl<const N: usize> Words<N> {
    /// Returns the bytes of a map's value; `None` if it has another size.
    pub(crate) fn from_value(value: &[u8]) -> Option<Self> {
        value.try_into().ok().map(Self)
    }

    /// Writes the field at this offset.
    pub(crate) fn set(&mut self, at: usize, value: u64) {
        if let Some(field) = self.0.get_mut(at..at + size_of::<u64>()) {
            field.copy_from_slice(&value.to_ne_bytes());
        }
    }

    fn set_all(&mut self, at: usize, values: &[u64]) {
        for (index, value) in values.iter().enumerate() {
            self.set(at + index * size_of::<u64>(), *value);
        }
    }

    /// Returns the field at this offset.
    pub(crate) fn get(&self, at: usize) -> u64 {
        let field = self.0.get(at..).and_then(|rest| rest.first_chunk());
        field.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantum_is_512_bit_times() {
        let words = |rate| Words(Settings::new(BitRate::new(rate).unwrap()).to_abi());
        let quantum = |rate| words(rate).get(offset_of!(weir_host_settings, quantum_ps));
        assert_eq!(quantum(10_000_000_000), 51_200);
        assert_eq!(quantum(400_000_000_000), 1280);
        assert_eq!(quantum(1), 512_000_000_000_000);
    }

    #[test]
    fn a_full_bucket_holds_the_burst() {
        let mut settings = Settings::new(BitRate::new(1_000_000_000).unwrap());
        let words = |settings: &Settings| Words(settings.to_abi());
        let rate = offset_of!(weir_host_settings, max_rate_bits_per_second);
        let burst = offset_of!(weir_host_settings, burst_ns);
        let unbounded = words(&settings);
        assert_eq!([unbounded.get(rate), unbounded.get(burst)], [0, 0]);
        settings.max_rate = BitRate::new(100_000_000);
        let bounded = words(&settings);
        // 65,536 B at 80 ns per byte.
        assert_eq!(
            [bounded.get(rate), bounded.get(burst)],
            [100_000_000, 5_242_880]
        );
    }

    #[test]
    fn settings_stand_where_the_kernel_reads_them() {
        let mut settings = Settings::new(BitRate::new(1_000_000_000).unwrap());
        settings.obeyed = std::array::from_fn(|priority| priority == 3);
        settings.shares[7] = 9;
        let priority = Priority::new(3).unwrap();
        settings.ports = vec![
            PortRule {
                port: 4791,
                priority,
            },
            PortRule {
                port: 53,
                priority: Priority::ALL[7],
            },
        ];
        let words = Words(settings.to_abi());
        let get = |at| words.get(at);
        assert_eq!(get(offset_of!(weir_host_settings, obeyed)), 8);
        assert_eq!(get(offset_of!(weir_host_settings, share) + 56), 9);
        assert_eq!(get(offset_of!(weir_host_settings, port) + 8), 53);
        assert_eq!(get(offset_of!(weir_host_settings, port_priority)), 3);
        assert_eq!(get(offset_of!(weir_host_settings, dscp) + 8 * 63), 7);
        assert_eq!(get(offset_of!(weir_host_settings, dscp) + 8 * 26), 3);
    }
}
