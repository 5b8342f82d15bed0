//! Requests to the kernel.

pub mod diag;
#[allow(unsafe_code)] // bpf(2) through libbpf's C functions, ioctl(2)
pub mod edge;
pub mod filters;
pub mod link;
pub mod live;
pub mod load;
pub mod maps;
pub mod plug;

/// Returns the kernel's clock, also used by BPF programs: CLOCK_MONOTONIC, in ns.
///
/// # Errors
///
/// The kernel's error.
pub fn now_ns() -> std::io::Result<u64> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?;
    Ok(std::time::Duration::from(now).as_nanos() as u64)
}
