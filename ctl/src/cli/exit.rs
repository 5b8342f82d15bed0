//! Exit statuses.

use clap::ValueEnum;
use weir_api::daemon::Status;
use weir_api::words::{Stage, Trouble, Verdict};

/// Exit status for a bad result, or for something not found.
pub const EXIT_BAD: u8 = 1;
/// Exit status for an invalid command line, or one that does not select a switch.
pub const EXIT_USAGE: u8 = 2;
/// Exit status when no daemon answers.
pub const EXIT_UNREACHABLE: u8 = 3;
/// Exit status when the accounts of frames or packet memory do not balance.
pub const EXIT_UNBALANCED: u8 = 4;

/// Exit status of `status` when the switch is degraded.
pub const EXIT_DEGRADED: u8 = 5;
/// Exit status of `status` when the switch is failing.
pub const EXIT_FAILING: u8 = 6;
/// Exit status of `--check` when the command would change something.
pub const EXIT_CHANGE: u8 = 7;

/// Question of a container's probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Probe {
    /// The daemon and its dataplane answer.
    Live,
    /// The switch forwards.
    Ready,
}

impl Probe {
    /// Returns the exit status of `status` for this question.
    pub fn answer(self, status: &Status) -> u8 {
        let reasons = status.health.iter().flat_map(|health| &health.reasons);
        let mut kinds = reasons.map(|reason| &reason.kind);
        match self {
            _ if kinds.any(|kind| *kind == Trouble::DataplaneSilent) => EXIT_FAILING,
            Self::Ready if status.state != Stage::Running => EXIT_DEGRADED,
            Self::Live | Self::Ready => 0,
        }
    }
}

/// Returns the exit status of `status` for the health verdict, if the daemon reports a known one.
pub fn of_health(status: &Status) -> u8 {
    let health = status.health.as_ref();
    match health.and_then(|health| health.verdict.known()) {
        Some(Verdict::Degraded) => EXIT_DEGRADED,
        Some(Verdict::Failing) => EXIT_FAILING,
        Some(Verdict::Ok) | None => 0,
    }
}
