//! The command line.

pub mod complete;
mod config;
mod congestion;
mod deadlock;
mod doctor;
mod exit;
mod impair;
mod manual;
mod port;
mod route;
mod trace;
mod watermark;
mod xdp;

use std::ffi::OsString;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueHint};
use weir_api::reload::CONFIRM_SECONDS_MAX;
use weir_output::generated::Generated;

use crate::capture::cli::{CaptureArguments, CAPTURE_HELP};
use crate::record::cli::{RecordArguments, RECORD_HELP};
use crate::target::{Target, GLOBAL};

pub use config::{ConfigCommand, ConvertArguments, DiffArguments, InitArguments};
pub use congestion::{EcnCommand, EcnValues, PfcCommand, PfcwdCommand, PfcwdShow, StatsArguments};
pub use deadlock::DeadlockCommand;
pub use doctor::DoctorArguments;
pub use exit::*;
pub use impair::{Duty, Frames, ImpairCommand};
pub use manual::MANUAL;
pub use port::PortCommand;
pub use route::{FdbArguments, FdbCommand, FlowHash, RouteCommand};
pub use trace::TraceArguments;
pub use watermark::{WatermarkArguments, WatermarkCommand, WatermarkShow};
pub use xdp::XdpCommand;

const AFTER_HELP: &str = "\
Which switch:
  --name s1, --socket PATH or $WEIR_SOCKET; none is needed when only one switch
  runs on this host

Exit status:
  0  success
  1  a check failed, the request was refused, or something was not found
  2  invalid command line, or several switches to choose from
  3  no daemon answers, or access to it is denied
  4  frames or packet memory do not add up (audit)
  5  the switch is degraded (status)
  6  the switch is failing (status)
  7  the command would change something (--check)

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

/// Show, change and diagnose Weir switches.
#[derive(Debug, Parser)]
#[command(name = "switchctl", version, max_term_width = 80, after_help = AFTER_HELP)]
pub struct Cli {
    /// The daemon to query.
    #[command(flatten)]
    pub target: Target,
    /// Print JSON instead of tables.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// Repeat every second, or at the given interval, until Ctrl-C. For commands that show a running switch.
    /// On a terminal, changes are highlighted.
    #[arg(long, global = true, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "1", value_parser = interval, help_heading = GLOBAL)]
    pub watch: Option<Duration>,
    /// Change nothing: report what the command would change, and exit with 7 if there is any change, else with 0. For
    /// reload, route, ecn, pfcwd, port, config save and config rollback. For restart: test whether the next daemon
    /// could start, and exit with 0 or 1.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub check: bool,
    /// Command.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands of `switchctl`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Summary of the switch: health, state, load, losses, memory.
    #[command(after_help = "\
`health` is one verdict, with its reasons: `ok`; `degraded`, when frames are
lost, or were blocked and the switch reacted; `failing`, when lossless frames
are lost between switches or blocked, or the dataplane does not answer. Losses
count for 10 s, suspicions and storms for 60 s.

Exit status: 0 when health is ok, 5 when degraded, 6 when failing.

--probe is for containers. `live`: 0 as long as the daemon and its dataplane
answer, at any health: a new container would not improve it. `ready`: 0 while
the switch forwards, 5 while it ends.

Every frame that is `dropped` is counted under a reason. Frames `lost by the
kernel` never reached the switch: a full RX ring or an empty fill ring.

Example: are frames lost?
  switchctl --json status | jq '.drops_total, .kernel_losses_total'")]
    Status {
        /// Set the exit status by this question instead of health.
        #[arg(long, value_enum)]
        probe: Option<Probe>,
    },
    /// Ports: link, traffic, drops by reason.
    #[command(after_help = "\
Examples:
  switchctl ports
  switchctl ports uplink1
  switchctl --json ports | jq -r '.[] | select(.link_up | not) | .name'
                                                 ports that are down")]
    Ports {
        /// Only these ports.
        #[arg(value_name = "PORT", add = complete::ports())]
        ports: Vec<String>,
    },
    /// Dropped frames by port, layer and reason, with remedies.
    #[command(after_help = "\
All drops since the start, the most frequent first: those of the switch core,
of the XDP program, of the kernel, and of the NIC, which counts since the device
exists. The remedy of each reason is listed below the table.

Examples:
  switchctl drops
  switchctl drops uplink1
  switchctl --watch drops
  switchctl --json drops | jq '.[] | select(.layer == \"kernel\")'")]
    Drops {
        /// Only these ports.
        #[arg(value_name = "PORT", add = complete::ports())]
        ports: Vec<String>,
    },
    /// Buffers and backlogs by port and priority.
    #[command(after_help = "\
`ingress` is the occupancy of the port's ingress buffer, in whole cells;
`egress` is the backlog that waits to leave by the port. `peak` is the maximum
of the column before it since the start (`switchctl watermark` has others).

Examples:
  switchctl queues
  switchctl --watch queues --all")]
    Queues {
        /// Include queues that never had a frame.
        #[arg(long)]
        all: bool,
    },
    /// Priority flow control: thresholds, pauses in both directions, time paused.
    #[command(after_help = congestion::PFC_HELP)]
    Pfc {
        /// Default: thresholds, and paused queues.
        #[command(subcommand)]
        command: Option<PfcCommand>,
    },
    /// Credits of classes of mode `credit`, in both directions of each link.
    #[command(after_help = "\
`sends by` and `receives by`: `waiting` until the neighbour answers, `credits`,
or `fallback`: the neighbour does not use credits. `used` of the limit that the
neighbour has set, and the most ever used; `given` and not used yet of our
limit. `returned`: credits of lost frames. `slots` of the port's ring are kept
for frames with a credit. `announced`: the neighbour announces credits by LLDP.

Examples:
  switchctl credits
  switchctl --json credits | jq '.[] | select(.sending.state == \"fallback\")'")]
    Credits {
        /// Only these ports.
        #[arg(value_name = "PORT", add = complete::ports())]
        ports: Vec<String>,
    },
    /// ECN marking by profile, as SONiC's `ecnconfig`.
    #[command(after_help = congestion::ECN_HELP)]
    Ecn {
        /// Default: list all.
        #[command(subcommand)]
        command: Option<EcnCommand>,
    },
    /// Buffers that share a pool: pools, thresholds in force, headroom.
    #[command(after_help = watermark::BUFFERS_HELP)]
    Buffers {
        /// Only these ports.
        #[arg(value_name = "PORT", add = complete::ports())]
        ports: Vec<String>,
    },
    /// Peaks of buffers, headroom and backlogs, for three readers.
    #[command(after_help = watermark::HELP, args_conflicts_with_subcommands = true)]
    Watermark(WatermarkArguments),
    /// All counters of ports and priorities, with their meaning.
    #[command(after_help = "\
Counters start at zero when the daemon starts. Drops by reason are in `switchctl
drops`. Each counter is also part of a metric (`/metrics`).

Example: what has the Deadlock Breaker done?
  switchctl counters | grep -E 'suspicions|releases'")]
    Counters {
        /// Include counters that are zero.
        #[arg(long)]
        all: bool,
    },
    /// Selective backpressure: budgets and Feedback of each link, and the Level Table.
    #[command(after_help = congestion::LEVELS_HELP)]
    Levels,
    /// Mirrors: selected frames and output ports.
    #[command(after_help = "\
Mirrors are configured by [[mirror]], and a reload changes them.

Columns:
  selects   all: frames received on any port; in: frames received on these
            ports; out: frames sent on these ports
  sent      copies that were given to the output port
  lost      copies without room: the port is slower than the mirrored traffic.
            The frames themselves are never delayed or dropped

Examples:
  switchctl mirrors
  switchctl --json mirrors | jq '.[] | select(.lost_frames_total > 0).name'")]
    Mirrors,
    /// Streams to collectors: messages sent, withheld and lost.
    #[command(after_help = "\
sFlow is configured by [sflow], IPFIX by [ipfix]; a change needs a restart.

Columns of sFlow:
  sent      samples in datagrams that the kernel accepted. UDP does not confirm
            that the collector received them
  withheld  dropped frames beyond `drops-per-second`
  lost      without memory, or in a datagram that the kernel did not accept

Outcomes of IPFIX:
  refused   errors returned by the collector's host, among those sent
  unchanged records without news, which are not sent
  lost      not accepted by the kernel. Later records have the increases
  late      readings that the dataplane missed
  no memory readings for which the exporter was late

Examples:
  switchctl exports
  switchctl --json exports | jq .sflow.drops_withheld_total")]
    Exports,
    /// Drop, delay or mark frames, pause neighbors, take links down: in a lab.
    #[command(subcommand, after_help = impair::HELP)]
    Impair(ImpairCommand),
    /// VLANs: their ports, counters and learnt addresses.
    #[command(after_help = "\
`without a tag` is the VLAN of frames that the port receives without one; it is
0 at a trunk. Counters by VLAN are of configured VLANs and of the first 256
others with received frames; `other` has the rest. Learnt addresses are shown
for switches without VLANs, too.

Examples:
  switchctl vlans
  switchctl --json vlans | jq '.vlans[] | select(.vlan == 20)'")]
    Vlans,
    /// Account for every frame and all packet memory, live.
    #[command(after_help = "\
All numbers are of one moment between two rounds of the dataplane, so the sums
are exact, under load too:
  received = admitted + dropped on arrival + read
             frames from a port; `read` were addressed to the switch itself
  admitted = delivered + dropped later + held
             `delivered`: a transmitter has sent the last copy
  sent     = completed + with transmitter
             frames by a port, control frames included
  chunks   = free + lent to the kernel + held + more of long frames
             + those of control frames
The counts of the polling loop are compared with those of the switch core, and
every chunk of packet memory is checked. `lent to the kernel` counts chunks in
the fill and RX rings. Frames that the kernel lost never reached the switch and
are in no sum.

Exit status: 0 when everything is accounted for, 4 when a sum differs. That is a
defect of the switch.

Examples:
  switchctl audit
  switchctl --watch audit
  switchctl --json audit | jq '.differences'")]
    Audit,
    /// Deadlock suspicions, current and past.
    #[command(after_help = "\
An egress is suspected when frames wait and none was sent for `deadlock.detect`.
Current suspicions come first, then past ones, newest first.

Examples:
  switchctl deadlock
  switchctl deadlock show 3
  switchctl --json deadlock | jq '.current | length'")]
    Deadlock {
        /// Default: list all.
        #[command(subcommand)]
        command: Option<DeadlockCommand>,
    },
    /// Event log, oldest first.
    #[command(after_help = "\
The daemon keeps only the latest events; the number of older ones is printed on
standard error. Each line begins with the event's number, for use with --after.
--json prints one object with all events; --json --follow prints one JSON object
per line.

Examples:
  switchctl events --follow
  switchctl events --after 1200
  switchctl --json events --follow | jq -c 'select(.kind == \"loop_found\")'")]
    Events {
        /// Print new events as they happen, until Ctrl-C.
        #[arg(long, short)]
        follow: bool,
        /// Only events after this number.
        #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
        after: u64,
    },
    /// LLDP neighbours of each port.
    #[command(
        alias = "neighbours",
        after_help = "\
`kind`: `enhanced` supports Levels as this switch does, `regular` supports PFC
only, `unknown` is not identified yet; the port sends frames that both kinds
understand. `PFC` lists the priorities that the neighbour enables PFC for,
`credits` those that it announces credits for; `--json` has the terms.
`mismatch` lists differences between the two ends.

Examples:
  switchctl neighbors
  switchctl --json neighbors | jq -r '.[] | select(.mismatches != []) | .port'"
    )]
    Neighbors,
    /// Show and change routes: groups of ports, buckets, flow pins.
    #[command(subcommand)]
    Route(RouteCommand),
    /// Recent flows by ingress and egress port.
    #[command(after_help = "\
The daemon's recent-flow monitor (`[flows]` in its configuration) records every
admitted unicast frame. A flow is identified by a hash over addresses, protocol
and ports. `rate` is its mean since it was first seen; `idle` is the time since
its last frame. Fastest first. A flow that was moved to another port is listed
twice until the older entry ages out.

Examples:
  switchctl flows
  switchctl flows --egress s2                    flows that leave by port s2
  switchctl --json flows --ingress h1 | jq '.flows[0].flow_hash'")]
    Flows {
        /// Only flows that arrive at this port.
        #[arg(long, value_name = "PORT", add = complete::ports())]
        ingress: Option<String>,
        /// Only flows that leave by this port.
        #[arg(long, value_name = "PORT", add = complete::ports())]
        egress: Option<String>,
    },
    /// Learned addresses: show, count and forget them.
    #[command(subcommand)]
    Fdb(FdbCommand),
    /// Show how the switch would treat a frame, and why. Nothing is sent.
    #[command(after_help = trace::TRACE_HELP)]
    Trace(TraceArguments),
    /// Capture frames as ports receive and send them, with their fate; tcpdump cannot see them.
    #[command(after_help = CAPTURE_HELP)]
    Capture(CaptureArguments),
    /// Record queues, pauses and drops up to a thousand times a second, into files.
    #[command(after_help = RECORD_HELP)]
    Record(RecordArguments),
    /// The PFC storm watchdog, with SONiC's command names.
    #[command(subcommand)]
    Pfcwd(PfcwdCommand),
    /// Release a port's device, or attach it again.
    #[command(subcommand)]
    Port(PortCommand),
    /// Reload the configuration file.
    #[command(after_help = "\
Applied at once and without loss: thresholds and buffers, weights, rates,
ECN marking, the deadlock policy and its times, storm watchdogs, routes,
classification, the log level. Other changes are listed with the reason and need
a restart. An invalid file changes nothing. SIGHUP does the same and logs the
result.

Larger buffers need packet memory reserved at the start:
`dataplane.spare-buffers`.

With --confirm, the previous settings return after that time, unless `switchctl
confirm` keeps the change. The file is not changed.

Exit status: 0 when the whole file is in force, 1 when part of it is not.

Examples:
  switchctl reload --dry-run
  switchctl reload
  switchctl reload --confirm 60
  switchctl --json reload | jq '.kept'")]
    Reload {
        /// Show what would change, and change nothing.
        #[arg(long)]
        dry_run: bool,
        /// Revert after this time unless confirmed.
        #[arg(long, value_name = "SECONDS", value_parser = waiting, conflicts_with = "dry_run")]
        confirm: Option<Duration>,
    },
    /// Keep the settings applied by `reload --confirm`.
    #[command(after_help = "\
Exit status: 0 when the change stays, 1 when no change is unconfirmed: it was
reverted already, or there was none.

Example:
  switchctl reload --confirm 60 && ping -c 3 10.0.0.2 && switchctl confirm")]
    Confirm,
    /// Restart the switch without loss: after an upgrade, or for settings that need a restart.
    #[command(after_help = "\
The keeper starts the installed program with the current configuration file next
to the running daemon, and pauses the lossless classes of all neighbours when it
is ready. The old daemon sends frames while it can, saves the rest, and stops;
the new one continues. No frame of a lossless class is lost if neighbours obey
PFC; frames of lossy classes that arrive meanwhile are, and learned addresses.
Routes, pins, watchdogs and ECN profiles changed at run time stay.

Neighbours are paused for about a tenth of a second; the answer has the time.
Their PFC storm watchdog reports a storm if its detection time is shorter.
An invalid file is refused, and the daemon keeps running. So is a restart whose
next daemon cannot start. If that fails once the old one has stopped, the keeper
starts the previous program with the previous configuration; the reason is
reported here, as an event and in the health.

--check starts the next daemon until it waits for the ports, ends it, and
changes nothing.

Exit status: 0 when no frame was lost, 1 when frames were lost, the daemon
refused, or the previous program runs again. With --check: 0 when the next
daemon could start, 1 when not.

Examples:
  switchctl restart --check && switchctl restart
  switchctl --json restart | jq '.held_seconds'")]
    Restart {
        /// Longest time to wait for the new daemon.
        #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = interval)]
        timeout: Duration,
    },
    /// Live view in a terminal: buffers, ports, Levels, deadlocks, events, all switches.
    #[command(after_help = "\
Keys: Tab next view, arrows select a row, Enter shows its details, f shows all
switches of this machine and Enter goes to one, s sort, r reverse, p freeze,
? help, Esc closes what is open, q quit. Where several switches run and none is
chosen, all of them come first. Rates are over the last interval. The live page
at `page.listen` shows the same in a browser.

NO_COLOR disables colours; --json prints the data of all views once.

Examples:
  switchctl top
  switchctl --name s1 top --interval 0.5
  switchctl top --once                  one frame of each view, as text")]
    Top {
        /// Seconds between updates.
        #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
        interval: Duration,
        /// Print one frame of each view as text.
        #[arg(long)]
        once: bool,
    },
    /// Print the OpenAPI document of the daemon's API. Works without a daemon.
    #[command(after_help = "\
Examples:
  switchctl openapi > weir.json
  switchctl openapi | jq -r '.paths | keys[]'")]
    Openapi,
    #[command(flatten)]
    Generated(Generated),
    /// Write a first configuration file, check or compare files, or convert one from SONiC.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Predict buffers and pauses for given thresholds. Works without a daemon.
    #[command(
        disable_help_flag = true,
        after_help = "\
Runs `weir-plan`, which is next to this program or on PATH, with the same
arguments. Its help: `switchctl plan --help`, or weir-plan(1).

Example:
  switchctl plan scenarios/incast.toml"
    )]
    Plan {
        /// Arguments of weir-plan.
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS",
            value_hint = ValueHint::AnyPath
        )]
        arguments: Vec<OsString>,
    },
    /// Check this host and its devices, and suggest a remedy for each problem. Works without a daemon.
    #[command(after_help = doctor::HELP)]
    Doctor(DoctorArguments),
    /// Show and detach XDP programs, maps and links. Works without a daemon.
    #[command(subcommand)]
    Xdp(XdpCommand),
}

fn interval(text: &str) -> Result<Duration, String> {
    const LEAST: f64 = 0.1;
    const MOST: f64 = 3600.0;
    match text.parse::<f64>() {
        Ok(seconds) if (LEAST..=MOST).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("write a number of seconds from {LEAST} to {MOST}")),
    }
}

pub fn time(text: &str) -> Result<Duration, String> {
    let time = weir_config::units::parse_duration(text).map_err(|error| error.to_string())?;
    Ok(Duration::from_nanos(time.as_nanos()))
}

/// Parses the time limit for confirming a reload: seconds, with or without the unit.
fn waiting(text: &str) -> Result<Duration, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text).parse::<f64>();
    match seconds {
        Ok(seconds) if seconds > 0.0 && seconds <= CONFIRM_SECONDS_MAX => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!(
            "write a number of seconds up to {CONFIRM_SECONDS_MAX}, such as 60"
        )),
    }
}

#[cfg(test)]
mod tests;
