//! Translates the configuration into settings of the XDP program.

use weir_config::daemon::{Fallback, Port, Trust};
use weir_core::PortId;
use weir_ebpf::{Lldp, PortSettings};

/// Returns the program's settings for port `number`; see [`PortSettings::cut_length`].
pub(crate) fn program(port: &Port, number: PortId, cut_length: u16) -> PortSettings {
    PortSettings {
        default_priority: port.default_priority.get(),
        trust: weir_ebpf::Trust {
            pcp: matches!(port.trust, Trust::Pcp | Trust::PcpDscp),
            dscp: matches!(port.trust, Trust::Dscp | Trust::PcpDscp),
        },
        fallback: match port.fallback {
            Fallback::Pass => weir_ebpf::Fallback::Pass,
            Fallback::Drop => weir_ebpf::Fallback::Drop,
        },
        lldp: Lldp::Kernel,
        pcp_to_priority: port.pcp_map.map(|priority| priority.get()),
        dscp_to_priority: port.dscp_map.map(|priority| priority.get()),
        cut_length,
        port: number.index() as u8,
    }
}
