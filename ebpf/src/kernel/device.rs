//! XDP on a device, as reported by the kernel.

use std::sync::OnceLock;

use libbpf_rs::btf::types::Typedef;
use libbpf_rs::btf::Btf;
use libbpf_rs::libbpf_sys;

use crate::program::AttachedMode;

/// Returns true if a device now accepts frames that programs redirect to it; a veth does while its peer has NAPI. `None` if
/// the kernel does not report it: before Linux 6.3 devices have no XDP features.
pub fn takes_redirected(ifindex: u32) -> Option<bool> {
    // NETDEV_XDP_ACT_NDO_XMIT of linux/netdev.h.
    const NDO_XMIT: u64 = 1 << 2;
    static REPORTED: OnceLock<bool> = OnceLock::new();
    // libbpf returns zero if the kernel reports none.
    let is_reported = || {
        let kernel = Btf::from_vmlinux();
        kernel.is_ok_and(|types| {
            types
                .type_by_name::<Typedef<'_>>("xdp_features_t")
                .is_some()
        })
    };
    let takes = query(ifindex).is_some_and(|options| options.feature_flags & NDO_XMIT != 0);
    (takes || *REPORTED.get_or_init(is_reported)).then_some(takes)
}

/// Returns the mode in which the only program of a device is attached.
pub(crate) fn attached_mode(ifindex: u32) -> Option<AttachedMode> {
    match u32::from(query(ifindex)?.attach_mode) {
        libbpf_sys::XDP_ATTACHED_DRV => Some(AttachedMode::Native),
        libbpf_sys::XDP_ATTACHED_SKB => Some(AttachedMode::Generic),
        _ => None,
    }
}

fn query(ifindex: u32) -> Option<libbpf_sys::bpf_xdp_query_opts> {
    let mut options = libbpf_sys::bpf_xdp_query_opts {
        sz: size_of::<libbpf_sys::bpf_xdp_query_opts>() as _,
        ..Default::default()
    };
    // SAFETY: the options outlive the call and contain their own size.
    let result = unsafe { libbpf_sys::bpf_xdp_query(ifindex as i32, 0, &raw mut options) };
    (result == 0).then_some(options)
}
