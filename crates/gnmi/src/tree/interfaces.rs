//! `/interfaces`: openconfig-interfaces and openconfig-if-ethernet.

use weir_api::daemon::Port;
use weir_core::DropReason;

use super::field::{families, fields, rows as rows_of, Row};
use super::{Device, Grower, State};

struct Interface<'a> {
    state: &'a State,
    port: &'a Port,
    device: Device,
}

impl Interface<'_> {
    fn counter(&self, key: &str) -> Option<u64> {
        self.state.counter(&self.port.name, None, key)
    }

    /// Returns the number of frames dropped because they were malformed.
    fn errors(&self) -> u64 {
        self.drops(true) + self.port.device_losses.errors()
    }

    fn drops(&self, bad: bool) -> u64 {
        let drops = self.port.drops_total.iter();
        let counted = drops.filter(|(reason, _)| reason.known().is_some_and(is_bad_frame) == bad);
        counted.map(|(_, count)| count).sum()
    }
}

fn is_bad_frame(reason: DropReason) -> bool {
    use DropReason as R;
    matches!(
        reason,
        R::Unclassified
            | R::BadLength
            | R::BadSource
            | R::BadMacControl
            | R::BadClcm
            | R::BadEcho
            | R::Unauthentic
    )
}

const ETHERNET: &str = "iana-if-type:ethernetCsmacd";

families! {
    Interfaces: Interface<'a>;
}

fields! { CONFIG of Interfaces {
    "name" Config: String = |it| Some(it.port.name.clone()); "`name` of the port."
    "type" Config: &'static str = |_| Some(ETHERNET); "Always `iana-if-type:ethernetCsmacd`."
} }

fields! { STATE of Interfaces {
    "name" Applied: String = |it| Some(it.port.name.clone()); "`name` of `switchctl ports`."
    "type" Applied: &'static str = |_| Some(ETHERNET); "Always `iana-if-type:ethernetCsmacd`."
    "mtu" Applied: u32 = |it| u32::try_from(it.state.frame_bytes_max).ok(); "The longest frame, from its destination address to its last byte before the checksum: `dataplane.mtu` with the header and two VLAN tags."
    "ifindex" Event: u32 = |it| it.device.index; "The device's index, as `ip link` has it; absent without a device."
    "admin-status" Event: &'static str = |it| Some(if it.device.removed { "DOWN" } else { "UP" }); "`DOWN` while an operator has removed the port."
    "oper-status" Event: &'static str = |it| Some(match (it.port.device_gone, it.port.link_up) {
        (true, _) => "NOT_PRESENT",
        (false, true) => "UP",
        (false, false) => "DOWN",
    }); "`link_up`; `NOT_PRESENT` while `device_gone`."
} }

fields! { COUNTERS of Interfaces {
    "in-pkts" Counter: u64 = |it| Some(it.port.rx_frames_total); "`rx_frames_total`: frames admitted."
    "in-octets" Counter: u64 = |it| Some(it.port.rx_bytes_total); "`rx_bytes_total`."
    "out-pkts" Counter: u64 = |it| Some(it.port.tx_frames_total); "`tx_frames_total`."
    "out-octets" Counter: u64 = |it| Some(it.port.tx_bytes_total); "`tx_bytes_total`."
    "in-discards" Counter: u64 = |it| Some(it.drops(false)); "`drops_total` of all reasons but those of `in-errors`."
    "in-errors" Counter: u64 = |it| Some(it.errors()); "`drops_total` of frames that cannot be read (`unclassified`, `unauthentic` and all `bad_…`), and the device's own errors (`device_losses`)."
    "in-fcs-errors" Counter: u64 = |it| Some(it.port.device_losses.rx_crc_total); "`rx_crc_total` of `device_losses`."
    "out-discards" Counter: u64 = |it| Some(it.port.kernel_losses.tx_device_drops_total + it.port.kernel_losses.tx_redirect_total); "`tx_device_drops_total` and `tx_redirect_total` of `kernel_losses`: frames that the device did not accept."
} }

fields! { ETHERNET_STATE of Interfaces {
    "mac-address" Applied: String = |it| Some(it.port.address.clone()); "`address`."
} }

fields! { ETHERNET_COUNTERS of Interfaces {
    "in-mac-control-frames" Counter: u64 = |it| it.port.xdp_frames_total.get("mac_control").copied(); "`mac_control` of `xdp_frames_total`."
    "in-mac-pause-frames" Counter: u64 = |it| it.counter("pause_received_total"); "`pause_received_total` of `switchctl counters`: 802.3x only."
    "in-crc-errors" Counter: u64 = |it| Some(it.port.device_losses.rx_crc_total); "`rx_crc_total` of `device_losses`."
    "out-mac-control-frames" Counter: u64 = |it| it.counter("pfc_sent_total"); "`pfc_sent_total` of `switchctl counters`: the switch sends no others."
} }

pub(super) fn rows() -> Vec<Row> {
    [
        rows_of("/interfaces/interface[name]/config", CONFIG),
        rows_of("/interfaces/interface[name]/state", STATE),
        rows_of("/interfaces/interface[name]/state/counters", COUNTERS),
        rows_of("/interfaces/interface[name]/ethernet/state", ETHERNET_STATE),
        rows_of(
            "/interfaces/interface[name]/ethernet/state/counters",
            ETHERNET_COUNTERS,
        ),
    ]
    .concat()
}

pub(super) fn grow(grower: &mut Grower, state: &State) {
    grower.container("interfaces", |grower| {
        for (index, port) in state.ports.iter().enumerate() {
            let device = state.devices.get(index).copied().unwrap_or_default();
            let of = Interface {
                state,
                port,
                device,
            };
            grower.entry("interface", &[("name", &port.name)], |grower| {
                grower.leaves("config", CONFIG, &of);
                grower.container("state", |grower| {
                    grower.own_leaves(STATE, &of);
                    grower.leaves("counters", COUNTERS, &of);
                });
                grower.container("ethernet", |grower| {
                    grower.container("state", |grower| {
                        grower.own_leaves(ETHERNET_STATE, &of);
                        grower.leaves("counters", ETHERNET_COUNTERS, &of);
                    });
                });
            });
        }
    });
}
