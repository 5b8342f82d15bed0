//! The record in front of each redirected frame.

use std::mem::{offset_of, size_of};

use weir_abi::{self as abi, weir_meta, FrameClass};

/// Length of the record in bytes.
pub const META_LENGTH: usize = size_of::<weir_meta>();

/// Properties of a frame determined by the XDP program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Class of the frame.
    pub class: FrameClass,
    /// Its priority, 0 to 7.
    pub priority: u8,
    /// TCI of the outermost VLAN tag, if tagged.
    pub vlan_tci: Option<u16>,
    /// Equal for all frames of a flow.
    pub flow_hash: u32,
    /// Index of the receiving device.
    pub ifindex: u32,
    /// Time of arrival on `CLOCK_MONOTONIC`, in nanoseconds.
    pub arrival_nanos: u64,
    /// Offset of the network header from the frame's first byte.
    pub l3_offset: u16,
    /// True if an IPv4 header is at `l3_offset`.
    pub is_ipv4: bool,
    /// True if an IPv6 header is at `l3_offset`.
    pub is_ipv6: bool,
    /// True if its sender had a credit for it, so that it used none of the shared slots.
    pub has_credit: bool,
    /// Time of arrival by the device's clock.
    pub hardware: HardwareTime,
}

/// Time of a frame's arrival by the device's own clock, as far as it fits into the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardwareTime {
    high: u16,
    low: u32,
}

impl HardwareTime {
    /// Number of the clock's low bits in the metadata, in nanoseconds; they wrap around after 78 hours.
    pub const BITS: u32 = 48;

    /// Returns nanoseconds; `None` if the device has not set them, or the program does not request them.
    pub fn nanos(self) -> Option<u64> {
        let nanos = u64::from(self.high) << 32 | u64::from(self.low);
        (nanos != 0).then_some(nanos)
    }
}

impl Meta {
    /// Parses the record; `None` if magic, version, class or priority are invalid, since then none of it can be trusted.
    pub fn read(record: &[u8; META_LENGTH]) -> Option<Self> {
        let u16_at = |at: usize| u16::from_ne_bytes([record[at], record[at + 1]]);
        let u32_at = |at: usize| {
            u32::from_ne_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
        };
        if u32::from(u16_at(offset_of!(weir_meta, magic))) != abi::WEIR_ABI_MAGIC
            || u32::from(record[offset_of!(weir_meta, version)]) != abi::WEIR_ABI_VERSION
        {
            return None;
        }
        let class =
            *FrameClass::ALL.get(usize::from(record[offset_of!(weir_meta, frame_class)]))?;
        let priority = record[offset_of!(weir_meta, priority)];
        if u32::from(priority) >= abi::WEIR_PRIORITIES {
            return None;
        }
        let flags = u32::from(record[offset_of!(weir_meta, flags)]);
        let arrival = offset_of!(weir_meta, arrival_nanos);
        Some(Self {
            class,
            priority,
            vlan_tci: (flags & abi::WEIR_META_TAGGED != 0)
                .then(|| u16_at(offset_of!(weir_meta, vlan_tci))),
            flow_hash: u32_at(offset_of!(weir_meta, flow_hash)),
            ifindex: u32_at(offset_of!(weir_meta, ifindex)),
            arrival_nanos: record[arrival..]
                .first_chunk()
                .map_or(0, |bytes| u64::from_ne_bytes(*bytes)),
            l3_offset: u16_at(offset_of!(weir_meta, l3_offset)),
            is_ipv4: flags & abi::WEIR_META_IPV4 != 0,
            is_ipv6: flags & abi::WEIR_META_IPV6 != 0,
            has_credit: flags & abi::WEIR_META_CREDIT != 0,
            hardware: HardwareTime {
                high: u16_at(offset_of!(weir_meta, hardware_nanos_high)),
                low: u32_at(offset_of!(weir_meta, hardware_nanos_low)),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(record: [u8; META_LENGTH]) {
            if let Some(meta) = Meta::read(&record) {
                prop_assert!(meta.priority < 8);
            }
        }
    }

    #[test]
    fn a_device_reports_48_bits_or_nothing() {
        let mut record = [0u8; META_LENGTH];
        record[..2].copy_from_slice(&(abi::WEIR_ABI_MAGIC as u16).to_ne_bytes());
        record[2] = abi::WEIR_ABI_VERSION as u8;
        assert_eq!(Meta::read(&record).unwrap().hardware.nanos(), None);
        record[26..28].copy_from_slice(&0x1234u16.to_ne_bytes());
        record[28..].copy_from_slice(&0x5678_9abcu32.to_ne_bytes());
        let nanos = Meta::read(&record).unwrap().hardware.nanos();
        assert_eq!(nanos, Some(0x1234_5678_9abc));
    }

    #[test]
    fn another_version_is_refused() {
        let mut record = [0u8; META_LENGTH];
        record[..2].copy_from_slice(&(abi::WEIR_ABI_MAGIC as u16).to_ne_bytes());
        record[2] = abi::WEIR_ABI_VERSION as u8;
        assert!(Meta::read(&record).is_some());
        record[2] += 1;
        assert!(Meta::read(&record).is_none());
    }
}
