//! What is asked of the kernel.

pub mod diag;
#[allow(unsafe_code)] // bpf(2) by libbpf's C functions, ioctl(2)
pub mod edge;
pub mod filters;
pub mod link;
pub mod live;
pub mod load;
pub mod maps;
pub mod plug;

/// The kernel's clock that programs in BPF read, too: CLOCK_MONOTONIC, in ns.
///
/// # Errors
///
/// What the kernel says.
pub fn now_ns() -> std::io::Result<u64> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?;
    Ok(std::time::Duration::from(now).as_nanos() as u64)
}
