//! Deferral of interrupts by a device's NAPIs, through the family `netdev` (Linux 6.13).
//!
//! A NAPI that has found frames keeps polling: it polls again after `gro_flush_timeout`, and enables interrupts after
//! `napi_defer_hard_irqs` polls without frames (Documentation/networking/napi.rst, "Software IRQ coalescing").

use std::io;

use crate::generic::Family;
use crate::message::{attribute, find, u32_at, u64_at};

/// The family's name.
pub const FAMILY: &str = "netdev";
// linux/netdev.h
const NETDEV_CMD_NAPI_GET: u8 = 11;
const NETDEV_CMD_NAPI_SET: u8 = 14;
const NETDEV_A_NAPI_IFINDEX: u16 = 1;
const NETDEV_A_NAPI_ID: u16 = 2;
const NETDEV_A_NAPI_DEFER_HARD_IRQS: u16 = 5;
const NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT: u16 = 6;

/// Deferral of interrupts by a NAPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deferral {
    /// Polls without frames before it enables interrupts (`napi_defer_hard_irqs`); 0: at once.
    pub looks: u32,
    /// Time between two polls, in nanoseconds (`gro_flush_timeout`).
    pub interval_nanos: u64,
}

/// One NAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Napi {
    /// Its number, valid while the device is up.
    pub id: u32,
    /// Its deferral of interrupts.
    pub deferral: Deferral,
}

/// Returns the NAPIs of a device; none while it is down.
///
/// # Errors
///
/// The kernel's error. An older kernel lacks the request, or the answer (`Unsupported`).
pub fn of_device(ifindex: u32) -> io::Result<Vec<Napi>> {
    let (mut all, mut is_known) = (Vec::new(), true);
    let device = attribute(NETDEV_A_NAPI_IFINDEX, &ifindex.to_ne_bytes());
    Family::find(FAMILY)?.dump(NETDEV_CMD_NAPI_GET, &device, |entry| match parse(entry) {
        Some(napi) => all.push(napi),
        None => is_known = false,
    })?;
    match is_known {
        true => Ok(all),
        false => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Returns `None` for an entry without the attributes needed for setting it.
fn parse(entry: &[u8]) -> Option<Napi> {
    let interval = find(entry, NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT)?;
    Some(Napi {
        id: u32_at(find(entry, NETDEV_A_NAPI_ID)?, 0)?,
        deferral: Deferral {
            looks: u32_at(find(entry, NETDEV_A_NAPI_DEFER_HARD_IRQS)?, 0)?,
            // The kernel uses the smallest sufficient width.
            interval_nanos: u64_at(interval, 0).or(u32_at(interval, 0).map(u64::from))?,
        },
    })
}

/// Sets the deferral of a NAPI.
///
/// # Errors
///
/// The kernel's error; `NotFound` if the NAPI is gone.
pub fn set(id: u32, deferral: Deferral) -> io::Result<()> {
    let all = [
        attribute(NETDEV_A_NAPI_ID, &id.to_ne_bytes()),
        attribute(NETDEV_A_NAPI_DEFER_HARD_IRQS, &deferral.looks.to_ne_bytes()),
        attribute(
            NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT,
            &deferral.interval_nanos.to_ne_bytes(),
        ),
    ];
    Family::find(FAMILY)?.order(NETDEV_CMD_NAPI_SET, &all.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_variable_width_and_an_old_kernels_answer_is_none() {
        let of = |interval: &[u8]| {
            let all = [
                attribute(NETDEV_A_NAPI_IFINDEX, &7u32.to_ne_bytes()),
                attribute(NETDEV_A_NAPI_ID, &8193u32.to_ne_bytes()),
                attribute(NETDEV_A_NAPI_DEFER_HARD_IRQS, &2u32.to_ne_bytes()),
                attribute(NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT, interval),
            ];
            all.concat()
        };
        let deferral = Deferral {
            looks: 2,
            interval_nanos: 200_000,
        };
        let napi = Some(Napi { id: 8193, deferral });
        assert_eq!(parse(&of(&200_000u32.to_ne_bytes())), napi);
        assert_eq!(parse(&of(&200_000u64.to_ne_bytes())), napi);
        let old = attribute(NETDEV_A_NAPI_ID, &8193u32.to_ne_bytes());
        assert_eq!(parse(&old), None);
    }
}
