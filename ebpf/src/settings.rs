//! Settings of one port, in the program's format.

use weir_abi as abi;

/// Fields that determine a frame's priority. Without any the port's default applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Trust {
    /// The PCP of the outermost VLAN tag.
    pub pcp: bool,
    /// The DSCP of an IP header; the PCP takes precedence.
    pub dscp: bool,
}

/// Fate of a frame whose queue has no socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Passed to the kernel.
    Pass,
    /// Dropped.
    Drop,
}

/// Receiver of LLDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lldp {
    /// The kernel, regardless of the fallback: agents receive it through packet sockets.
    Kernel,
    /// The queue's socket, as for any other frame.
    Socket,
}

/// One port's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// Priority of a frame without a trusted field, 0 to 7.
    pub default_priority: u8,
    /// Fields that determine a frame's priority.
    pub trust: Trust,
    /// Fate of a frame whose queue has no socket.
    pub fallback: Fallback,
    /// Receiver of LLDP.
    pub lldp: Lldp,
    /// Priority by PCP.
    pub pcp_to_priority: [u8; abi::WEIR_PRIORITIES as usize],
    /// Priority by DSCP.
    pub dscp_to_priority: [u8; abi::WEIR_DSCPS as usize],
    /// A frame of at least this length is a part of one that the driver has cut, and is dropped with the next. Zero for
    /// never.
    pub cut_length: u16,
    /// Number of the port, for the words shared by programs.
    pub port: u8,
}

impl Default for PortSettings {
    /// Returns settings in which PCP is the priority, DSCP is ignored, and LLDP and frames without a socket go to the
    /// kernel.
    fn default() -> Self {
        Self {
            default_priority: 0,
            trust: Trust {
                pcp: true,
                dscp: false,
            },
            fallback: Fallback::Pass,
            lldp: Lldp::Kernel,
            pcp_to_priority: std::array::from_fn(|pcp| pcp as u8),
            // The class selector: the three high bits (RFC 2474, section 4.2.2).
            dscp_to_priority: std::array::from_fn(|dscp| (dscp >> 3) as u8),
            cut_length: 0,
            port: 0,
        }
    }
}

impl PortSettings {
    pub(crate) fn to_map_value(self) -> Vec<u8> {
        let trust = [
            (self.trust.pcp, abi::WEIR_TRUST_PCP),
            (self.trust.dscp, abi::WEIR_TRUST_DSCP),
        ]
        .into_iter()
        .filter_map(|(on, bit)| on.then_some(bit as u8))
        .sum();
        let fallback = match self.fallback {
            Fallback::Pass => abi::WEIR_FALLBACK_PASS,
            Fallback::Drop => abi::WEIR_FALLBACK_DROP,
        };
        let lldp = match self.lldp {
            Lldp::Kernel => abi::WEIR_LLDP_KERNEL,
            Lldp::Socket => abi::WEIR_LLDP_SOCKET,
        };
        // The order of struct weir_settings: single bytes, then the length and the reserved bytes.
        let mut value = vec![self.default_priority, trust, fallback as u8, lldp as u8];
        value.extend(self.pcp_to_priority);
        value.extend(self.dscp_to_priority);
        value.extend(self.cut_length.to_ne_bytes());
        value.extend([self.port, 0]);
        debug_assert_eq!(value.len(), size_of::<abi::weir_settings>());
        value
    }
}
