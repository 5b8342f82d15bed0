//! Compares the packet memory with the machine's memory.

use thiserror::Error;
use weir_config::daemon::{DaemonConfig, HugePages};
use weir_doctor::facts::TooMuch;
use weir_doctor::Memory;

/// The packet memory does not fit.
#[derive(Debug, Error)]
#[error("packet memory is {needed} MiB, and {of} has {most} MiB: lower the buffers of classes and pools, or dataplane.spare-buffers")]
pub struct MemoryError {
    needed: u64,
    of: &'static str,
    most: u64,
}

/// Refuses a configuration whose packet memory alone exceeds that of the machine or the control group: the kernel would kill
/// the process while it allocates the memory.
///
/// # Errors
///
/// Names the memory that is too small.
pub fn check(config: &DaemonConfig) -> Result<(), MemoryError> {
    let Some(memory) = Memory::read() else {
        return Ok(());
    };
    let memory = match config.dataplane.huge_pages {
        // Huge pages do not count towards a control group's memory.
        HugePages::Require => Memory {
            control_group: None,
            ..memory
        },
        _ => memory,
    };
    let needed = config.umem_size().get();
    memory
        .check(needed)
        .map_err(|TooMuch { of, most }| MemoryError {
            needed: needed.div_ceil(1 << 20),
            of,
            most: most >> 20,
        })
}

/// Logs the amount about to be allocated, since a process that runs out of memory is killed and cannot log it.
pub fn log_needed(config: &DaemonConfig) {
    let memory = Memory::read();
    tracing::info!(
        packet_memory_bytes = config.umem_size().get(),
        machine_bytes = memory.map(|memory| memory.machine),
        control_group_bytes = memory.and_then(|memory| memory.control_group),
        "taking packet memory"
    );
}
