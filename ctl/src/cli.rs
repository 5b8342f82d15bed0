//! The command line.

mod config;
mod pfcwd;
mod route;
mod xdp;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::capture::cli::{CaptureArguments, CAPTURE_HELP};
use crate::target::Target;

pub use config::{ConfigCommand, ConvertArguments};
pub use pfcwd::{PfcwdCommand, PfcwdShow};
pub use route::{FlowHash, RouteCommand};
pub use xdp::XdpCommand;

/// Exit status when what was asked about is bad, or was not found.
pub const EXIT_BAD: u8 = 1;
/// Exit status for a command line that is not legal, or does not say which switch.
pub const EXIT_USAGE: u8 = 2;
/// Exit status when no daemon answers.
pub const EXIT_UNREACHABLE: u8 = 3;
/// Exit status when the frames or the packet memory of a switch do not add up.
pub const EXIT_UNBALANCED: u8 = 4;

const AFTER_HELP: &str = "\
Which switch:
  --name s1, --socket PATH, $WEIR_SOCKET, or none of them when only one runs on this host

Exit status:
  0  all is well
  1  what was asked about is bad or was not found
  2  the command line is not legal, or does not say which of several switches
  3  no daemon answers
  4  frames or packet memory do not add up (audit)

Examples:
  switchctl status
  switchctl --name s1 pfc
  switchctl events --follow
  switchctl --json deadlock | jq '.past[0]'
  switchctl --watch pfc
  switchctl top
  switchctl config check /etc/weir/s1.toml
  ssh leaf1 switchctl ports

`switchctl COMMAND --help` explains a command and its columns.";

/// Looks at and after Weir switches.
#[derive(Debug, Parser)]
#[command(name = "switchctl", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Cli {
    /// Which daemon to ask.
    #[command(flatten)]
    pub target: Target,
    /// Print JSON instead of tables.
    #[arg(long, global = true)]
    pub json: bool,
    /// Show it again and again, every second or as often as said, until Ctrl-C. For commands that show a
    /// running switch. On a terminal, what has changed stands out.
    #[arg(long, global = true, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "1", value_parser = interval)]
    pub watch: Option<Duration>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The switch as a whole: state, load, losses, memory.
    #[command(after_help = "\
Frames `dropped` had a reason, which is named. Frames `lost by the kernel` never reached the switch: a
full RX ring or an empty fill ring.

Example: is anything lost?
  switchctl --json status | jq '.drops_total, .kernel_losses_total'")]
    Status,
    /// Every port: link, traffic, drops by reason.
    #[command(after_help = "\
Examples:
  switchctl ports
  switchctl --json ports | jq -r '.[] | select(.link_up | not) | .name'      ports that are down")]
    Ports,
    /// Buffers and backlogs by port and priority.
    #[command(after_help = "\
`ingress` is what frames from the port hold of its buffer, in whole cells; `egress` is what waits to leave
by it. `most` is the highest that the column before it ever was.

Examples:
  switchctl queues
  switchctl --watch queues --all")]
    Queues {
        /// Also those that never saw a frame.
        #[arg(long)]
        all: bool,
    },
    /// Priority flow control: thresholds, who pauses whom, for how long.
    #[command(after_help = "\
`we pause`: our buffer passed xoff and the neighbour may not send. `paused by it`: the neighbour holds us;
`for` is how long in all. Headroom that is used up means a neighbour that does not obey.

Example: who is held now?
  switchctl --json pfc | jq -r '.[] | select(.paused) | \"\\(.port) \\(.priority)\"'")]
    Pfc,
    /// Every counter of ports and priorities, with its meaning.
    #[command(after_help = "\
A counter grows from the start of the daemon. Drops by reason are in `switchctl ports`; each counter is a
part of a metric as well (`/metrics`).

Example: what has the Deadlock Breaker done?
  switchctl counters | grep -E 'suspicions|releases'")]
    Counters {
        /// Also those that are zero.
        #[arg(long)]
        all: bool,
    },
    /// Selective backpressure: budgets and Feedback of each link, and the Level Table.
    #[command(after_help = "\
First, one line for each fabric port and priority of a class of mode `level`:
  D                   the highest Level
  f sent, f received  the neighbour may send us frames of Level `f sent` and above, and we may
                      send it those of Level `f received` and above; with f = D none may be sent
  paused by it        an ordinary pause of the neighbour holds all frames
  eligible, held      what waits to leave, as `f received` divides it
  T, measured, rT     the link's round trip time as configured and as measured, and the room
                      that is kept for what may arrive meanwhile
  m, b                b lists the budgets b_1 to b_D of what comes in by the port; m_i is what of
                      b_1 + ... + b_i is left free by the frames up to Level i. We send as f the
                      largest i whose m_i has no room for rT and one frame more

Then the Level Table: each destination that frames are buffered for, its Level, and how much they
take behind all ports, in whole cells.

Examples:
  switchctl levels
  switchctl --watch levels
  switchctl --json levels | jq -r '.links[] | select(.held_frames > 0).port'    who holds us back")]
    Levels,
    /// Where every frame and all packet memory is, live: the sums must hold.
    #[command(after_help = "\
All numbers are of one moment between two steps of the dataplane, so that sums hold exactly, under load too:
  received  = admitted + dropped on arrival + read     frames from a port; `read` were for the switch itself
  admitted  = delivered + dropped later + held         of which a transmitter has sent the last copy, or has not
  sent      = completed + with transmitter             frames by a port, control frames included
  chunks    = free + lent to the kernel + held + more of long frames + those of control frames
What the polling loop noted is held against what the switch core counted, and every chunk of packet
memory is looked at. `lent to the kernel` is what the fill and RX rings have. What the kernel lost never
reached the switch and is in no sum.

Exit status: 0 when all is accounted for, 4 when a sum does not hold. That is a defect of the switch.

Examples:
  switchctl audit
  switchctl --watch audit
  switchctl --json audit | jq '.differences'")]
    Audit,
    /// Deadlock suspicions, current and past.
    #[command(after_help = "\
An egress is suspected when frames wait and none has left for the time `deadlock.detect`. Current ones
come first, then past ones, newest first.

Examples:
  switchctl deadlock
  switchctl deadlock show 3
  switchctl --json deadlock | jq '.current | length'")]
    Deadlock {
        /// Without one, the list.
        #[command(subcommand)]
        command: Option<DeadlockCommand>,
    },
    /// What happened, oldest first.
    #[command(after_help = "\
The daemon keeps the latest events only; how many are gone is said on standard error. Each line begins
with the event's number, which --after takes. With --json, one object holds them all; with --follow as
well, each event is a JSON object on a line of its own.

Examples:
  switchctl events --follow
  switchctl events --after 1200
  switchctl --json events --follow | jq -c 'select(.kind == \"loop_found\")'")]
    Events {
        /// Go on as things happen, until Ctrl-C.
        #[arg(long, short)]
        follow: bool,
        /// Only events after this number.
        #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
        after: u64,
    },
    /// Who is at the other end of each link, as LLDP tells.
    #[command(after_help = "\
`kind` is how the port speaks to it: `enhanced` knows Levels as this switch does, `regular` knows PFC alone,
`unknown` is told so that both understand. `PFC` are the priorities that it pauses. What is wrong between
the two ends stands under `mismatch`.

Examples:
  switchctl neighbors
  switchctl --json neighbors | jq -r '.[] | select(.mismatches != []) | .port'")]
    Neighbors,
    /// Where frames go: groups of ports, their buckets, flow pins; and changing them.
    #[command(subcommand)]
    Route(RouteCommand),
    /// Which flows went from which port to which of late.
    #[command(after_help = "\
The daemon's recent-flow monitor (`[flows]` in its configuration) notes every unicast frame that is
admitted. A flow is what has one hash over addresses, protocol and ports; `rate` is what it sent since
it was first seen, by the time since then; `idle` is the time since its last frame. Fastest first. A flow
that was moved to another port stands there twice until the older line has aged.

Examples:
  switchctl flows
  switchctl flows --egress s2                    what goes, or waits to go, by port s2
  switchctl --json flows --ingress h1 | jq '.flows[0].flow_hash'")]
    Flows {
        /// Only flows that come in by this port.
        #[arg(long, value_name = "PORT")]
        ingress: Option<String>,
        /// Only flows that go by this port.
        #[arg(long, value_name = "PORT")]
        egress: Option<String>,
    },
    /// Frames as ports receive and send them, each with what became of it; tcpdump does not see them.
    #[command(after_help = CAPTURE_HELP)]
    Capture(CaptureArguments),
    /// The PFC storm watchdog, by SONiC's names.
    #[command(subcommand)]
    Pfcwd(PfcwdCommand),
    /// Have the daemon read its configuration file again.
    #[command(after_help = "\
What can change while frames are forwarded is in force at once, and no frame is lost by it: thresholds
and buffers, weights, ECN marking, the deadlock policy and its times, storm watchdogs, routes, how
frames are classified, the log level. The rest is listed with the reason and takes a restart. A file
that is not legal changes nothing. SIGHUP does the same and writes it to the log.

Larger buffers need packet memory that was set aside at the start: `dataplane.spare-buffers`.

Exit status: 0 when all of the file is in force, 1 when some of it is not.

Examples:
  switchctl reload --dry-run
  switchctl reload
  switchctl --json reload | jq '.kept'")]
    Reload {
        /// Change nothing, and show what would change.
        #[arg(long)]
        dry_run: bool,
    },
    /// Have the daemon's keeper start it anew: after an upgrade, or for settings that take a restart.
    #[command(after_help = "\
The keeper pauses the lossless classes of all neighbours. The daemon sends what it holds, leaves
what cannot be sent for the next one, and ends; the program that is installed by then is started
with the configuration file as it is by then. No frame of a lossless class is lost by it where
neighbours obey PFC; frames of lossy classes that come meanwhile are. What was set at run time and
is not in the file, such as pins of flows, is forgotten.

Neighbours are held for some tenths of a second. A storm watchdog of theirs that detects sooner
takes that for a storm. A file that is not legal is refused, and the daemon goes on.

Exit status: 0 when nothing was lost, 1 when frames were, or when the daemon refuses.

Examples:
  switchctl restart
  switchctl --json restart | jq '.held_seconds'")]
    Restart {
        /// Seconds to wait for the new daemon at most.
        #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = interval)]
        timeout: Duration,
    },
    /// The whole switch in a terminal, as it changes: buffers, ports, Levels, deadlocks, events.
    #[command(after_help = "\
Keys: Tab another view, arrows another row, s sort, r reverse, p hold, ? help, q quit. Rates are
between the last two looks. The same in a browser: the live page at `page.listen`.

With NO_COLOR set, nothing is coloured; --json prints what the views are drawn from, once.

Examples:
  switchctl top
  switchctl --name s1 top --interval 0.5
  switchctl top --once                  one frame of each view, as text")]
    Top {
        /// Seconds between two looks.
        #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
        interval: Duration,
        /// Print one frame of each view as text.
        #[arg(long)]
        once: bool,
    },
    /// Print a shell's completions of this command line.
    #[command(after_help = "\
Examples:
  switchctl completions bash > /usr/share/bash-completion/completions/switchctl
  switchctl completions zsh > /usr/local/share/zsh/site-functions/_switchctl
  switchctl completions fish > ~/.config/fish/completions/switchctl.fish")]
    Completions {
        /// Which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each command.
    #[command(
        hide = true,
        after_help = "\
Example:
  switchctl man /usr/local/share/man/man1"
    )]
    Man {
        /// Where to.
        directory: PathBuf,
    },
    /// Check configuration files, or make one from SONiC's.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// What thresholds lead to, before a frame is sent. Works without a daemon.
    #[command(
        disable_help_flag = true,
        after_help = "\
Runs `weir-plan`, which is beside this program or on PATH, with the same arguments. Its help:
`switchctl plan --help`, or weir-plan(1).

Example:
  switchctl plan scenarios/incast.toml"
    )]
    Plan {
        /// For weir-plan.
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
    /// Look at the kernel side: XDP programs, their maps and links. Works without a daemon.
    #[command(subcommand)]
    Xdp(XdpCommand),
}

/// Seconds between two looks at a switch.
fn interval(text: &str) -> Result<Duration, String> {
    const LEAST: f64 = 0.1;
    const MOST: f64 = 3600.0;
    match text.parse::<f64>() {
        Ok(seconds) if (LEAST..=MOST).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("write a number of seconds from {LEAST} to {MOST}")),
    }
}

impl Command {
    /// True for what shows a running switch and changes nothing.
    pub fn can_be_watched(&self) -> bool {
        match self {
            Self::Status
            | Self::Ports
            | Self::Queues { .. }
            | Self::Pfc
            | Self::Counters { .. }
            | Self::Levels
            | Self::Audit
            | Self::Neighbors
            | Self::Flows { .. }
            | Self::Deadlock { command: None }
            | Self::Pfcwd(PfcwdCommand::Show(_))
            | Self::Route(RouteCommand::List { .. })
            | Self::Xdp(XdpCommand::Status { .. })
            | Self::Deadlock {
                command: Some(DeadlockCommand::Show { svg: None, .. }),
            } => true,
            Self::Events { follow, .. } => !follow,
            _ => false,
        }
    }
}

/// `switchctl deadlock …`.
#[derive(Debug, Subcommand)]
pub enum DeadlockCommand {
    /// What happened in one suspicion, from before it to after it.
    #[command(after_help = "\
First what was suspected and why, who led, what was done; then curves, each block the most of its column;
then every event with its time since the suspicion began. The daemon keeps the newest 32 records.

Examples:
  switchctl deadlock show 3
  switchctl deadlock show 3 --svg suspicion-3.svg
  switchctl --json deadlock show 3 | jq '.deadlock.master'")]
    Show {
        /// Number of the suspicion, from `switchctl deadlock`.
        id: u64,
        /// Draw it into this file, too.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_tells_every_exit_status() {
        let help = Cli::command().render_long_help().to_string();
        for status in [0, EXIT_BAD, EXIT_USAGE, EXIT_UNREACHABLE, EXIT_UNBALANCED] {
            assert!(help.contains(&format!("\n  {status}  ")), "{status}");
        }
    }

    /// The book's first table has a row for each command that the help shows.
    #[test]
    fn every_command_is_in_the_book() {
        let page = include_str!("../../docs/src/reference/switchctl.md");
        let rows: Vec<Vec<&str>> = page
            .lines()
            .filter(|line| line.starts_with("| [`"))
            .map(|line| line.split(['`', ' ', ',', ']']).collect())
            .collect();
        fn look(command: &clap::Command, parents: &[&str], rows: &[Vec<&str>]) {
            let shown = command.get_subcommands();
            for command in shown.filter(|command| command.get_name() != "help") {
                let mut path = parents.to_vec();
                path.push(command.get_name());
                let has_all = |row: &&Vec<&str>| path.iter().all(|name| row.contains(name));
                assert!(rows.iter().any(|row| has_all(&row)), "{path:?}");
                look(command, &path, rows);
            }
        }
        look(&Cli::command(), &[], &rows);
    }

    #[test]
    fn every_command_has_an_example() {
        fn look(command: &clap::Command) {
            if command.get_subcommands().next().is_none() {
                let help = command.get_after_help().map(ToString::to_string);
                assert!(
                    help.is_some_and(|help| help.contains("Example") && help.contains("switchctl")),
                    "{}",
                    command.get_name()
                );
            }
            command.get_subcommands().for_each(look);
        }
        look(&Cli::command());
    }
}
