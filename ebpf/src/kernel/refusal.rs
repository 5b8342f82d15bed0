//! Loads programs into the kernel and extracts the reason from the verifier's log of a refused one.

use std::sync::Once;

use libbpf_rs::libbpf_sys;
use libbpf_rs::{AsRawLibbpf, OpenProgramMut, PrintLevel};

use crate::error::EbpfError;

/// Maximum log size in bytes. Kernels before 6.4 write the beginning of a log into a buffer that is too small, later ones
/// its end. Kernels before 5.2 refuse a larger buffer.
const LOG_BYTES_MAX: usize = (16 << 20) - 1;
/// Number of log lines that contain the reason.
const LINES: usize = 2;

/// The verifier's log of one program. The kernel uses its memory until the object is loaded, and writes to it only if the
/// load fails.
pub(crate) struct VerifierLog {
    program: &'static str,
    buffer: Vec<u8>,
}

impl VerifierLog {
    /// Makes the verifier write its log here if it refuses `program`, which messages call `name`. libbpf then prints no log.
    pub(crate) fn of(name: &'static str, program: &OpenProgramMut<'_>) -> Self {
        print_to_tracing();
        let mut buffer = vec![0; LOG_BYTES_MAX];
        // SAFETY: the program is open, and `self` keeps the buffer in place until after the load.
        let result = unsafe {
            libbpf_sys::bpf_program__set_log_buf(
                program.as_libbpf_object().as_ptr(),
                buffer.as_mut_ptr().cast(),
                buffer.len() as _,
            )
        };
        debug_assert_eq!(result, 0, "the program is not loaded yet");
        Self {
            program: name,
            buffer,
        }
    }

    /// Returns the error of a load that failed with `error`.
    pub(crate) fn explain(&self, error: &libbpf_rs::Error) -> EbpfError {
        let text = self.buffer.split(|byte| *byte == 0).next().unwrap_or(&[]);
        match last_lines(&String::from_utf8_lossy(text)) {
            Some(verdict) => EbpfError::Refused {
                program: self.program,
                kernel: release(),
                verdict,
            },
            None => EbpfError::load(self.program, error),
        }
    }
}

/// Returns the last lines of a verifier's log before its statistics. `None` without any.
fn last_lines(log: &str) -> Option<String> {
    let is_statistic = |line: &&str| {
        ["processed ", "verification time ", "stack depth "]
            .iter()
            .any(|beginning| line.starts_with(beginning))
    };
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.filter(|line| !is_statistic(line)).collect();
    let last = lines.get(lines.len().saturating_sub(LINES)..)?;
    (!last.is_empty()).then(|| last.join("; "))
}

pub(crate) fn release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    release.map_or_else(|_| "?".to_owned(), |release| release.trim().to_owned())
}

/// Sends the messages of libbpf to the program's log at a low level, since errors repeat them in fewer words.
fn print_to_tracing() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Info, |_, message| {
            tracing::debug!("libbpf: {}", message.trim_end());
        })));
    });
}

impl EbpfError {
    pub(crate) fn load(program: &'static str, error: &libbpf_rs::Error) -> Self {
        let remedy = match error.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => {
                "run it as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"
            }
            libbpf_rs::ErrorKind::OutOfMemory => "free memory, or use fewer ports",
            _ => "use a kernel of the book's table (reference/kernels.md) with CONFIG_BPF_SYSCALL and CONFIG_XDP_SOCKETS",
        };
        Self::Load {
            program,
            kernel: release(),
            why: error.to_string(),
            remedy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_before_the_statistics_are_the_verifiers_reason() {
        let log = "0: (bf) r6 = r1\n123: (71) r1 = *(u8 *)(r2 +4)\n\
                   R2 unbounded memory access, make sure to bounds check any such access\n\
                   processed 371 insns (limit 1000000) max_states_per_insn 1\n";
        assert_eq!(
            last_lines(log).unwrap(),
            "123: (71) r1 = *(u8 *)(r2 +4); R2 unbounded memory access, make sure to bounds check any such access"
        );
        assert_eq!(last_lines("").as_deref(), None);
        assert_eq!(last_lines("one line\n\n").as_deref(), Some("one line"));
    }
}
