//! The switch's drop reasons in sFlow's list of codes.

use weir_core::DropReason;

/// Declares codes of sFlow's `drop_reason`.
macro_rules! codes {
    ($($name:ident = $number:literal $text:literal;)*) => {
        /// A code of sFlow's `drop_reason` used by the switch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Code {
            $(#[doc = concat!("`", $text, "`.")] $name = $number,)*
        }

        impl Code {
            /// Its name in sFlow's list.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    HostUnknown = 7 "dst_host_unknown";
    Prohibited = 13 "comm_admin_prohibited";
    Unknown = 256 "unknown";
    Acl = 258 "acl";
    NoBufferSpace = 259 "no_buffer_space";
    TrafficShaping = 261 "traffic_shaping";
    SourceIsMulticast = 263 "src_mac_is_multicast";
    VlanTagMismatch = 264 "vlan_tag_mismatch";
    IngressVlanFilter = 265 "ingress_vlan_filter";
    IngressSpanningTree = 266 "ingress_spanning_tree_filter";
    PortLoopback = 268 "port_loopback_filter";
    UnknownL2 = 284 "unknown_l2";
    UnknownBuffer = 287 "unknown_buffer";
    DestinationIsReserved = 294 "dmac_is_reserved";
    LockedPort = 304 "locked_port";
    UnknownParsing = 323 "unknown_parsing";
    DeviceNotReady = 331 "dev_ready";
}

impl Code {
    /// The code of a drop reason. If the list has no such reason, uses the code of its group (`unknown_l2`,
    /// `unknown_buffer`, `unknown_parsing`), or `unknown` without a group.
    pub const fn of(reason: DropReason) -> Self {
        match reason {
            DropReason::HeadroomExceeded | DropReason::BufferFull | DropReason::Policed => {
                Self::NoBufferSpace
            }
            DropReason::TableFull | DropReason::Aged | DropReason::Storm | DropReason::Lifetime => {
                Self::UnknownBuffer
            }
            DropReason::NoRoute => Self::HostUnknown,
            DropReason::Hairpin | DropReason::LoopProbe => Self::PortLoopback,
            DropReason::BadLength
            | DropReason::BadMacControl
            | DropReason::BadClcm
            | DropReason::BadEcho => Self::UnknownParsing,
            DropReason::BadSource => Self::SourceIsMulticast,
            DropReason::ReservedDestination => Self::DestinationIsReserved,
            DropReason::PortDown => Self::DeviceNotReady,
            DropReason::ControlRate | DropReason::FloodRate => Self::TrafficShaping,
            DropReason::OffTree => Self::IngressSpanningTree,
            DropReason::ForeignSource | DropReason::AddressLimit => Self::LockedPort,
            DropReason::ClcmFromEdge | DropReason::MirrorPort | DropReason::Priority => Self::Acl,
            DropReason::Unauthentic | DropReason::Replayed => Self::Prohibited,
            DropReason::NestedTag => Self::VlanTagMismatch,
            DropReason::Vlan => Self::IngressVlanFilter,
            DropReason::LosslessGroup => Self::UnknownL2,
            DropReason::Unclassified | DropReason::Draining | DropReason::Impaired => Self::Unknown,
        }
    }

    /// The number on the wire.
    pub const fn number(self) -> u32 {
        self as u32
    }
}
