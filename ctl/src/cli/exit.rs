//! Exit statuses.

/// Exit status when what was asked about is bad, or was not found.
pub const EXIT_BAD: u8 = 1;
/// Exit status for a command line that is not legal, or does not say which switch.
pub const EXIT_USAGE: u8 = 2;
/// Exit status when no daemon answers.
pub const EXIT_UNREACHABLE: u8 = 3;
/// Exit status when the frames or the packet memory of a switch do not add up.
pub const EXIT_UNBALANCED: u8 = 4;

/// Exit status of `status` when the switch is degraded.
pub const EXIT_DEGRADED: u8 = 5;
/// Exit status of `status` when the switch is failing.
pub const EXIT_FAILING: u8 = 6;
/// Exit status of `--check` when the command would change something.
pub const EXIT_CHANGE: u8 = 7;
