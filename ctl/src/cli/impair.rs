//! The command line of `switchctl impair`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::complete;

/// Text below the options.
pub const HELP: &str = "\
Tests how transports and applications react to loss, delay, marks, pauses and
links that go down and up. The switch's configuration must have `impair = true`
in [dataplane]. Each impairment ends after --for, is logged as a warning at its
beginning and end, and is shown by `status` and the metric weir_impairments.

Examples:
  switchctl impair drop h1 --one-in 1000 --for 30s
  switchctl impair pause h1 --priority 3 --on 1ms --every 10ms --for 30s
  switchctl impair list
  switchctl impair stop";

/// `switchctl impair …`.
#[derive(Debug, Subcommand)]
pub enum ImpairCommand {
    /// List the impairments in force.
    #[command(after_help = "\
Columns:
  matched   frames that the filter matched
  impaired  impaired frames among them; pauses and flaps so far
  left      time until its end

Examples:
  switchctl impair list
  switchctl --watch impair list")]
    List,
    /// Drop received frames.
    #[command(after_help = "\
Counted as drops for the reason `impaired`. --one-in 100 drops each hundredth of
the frames that the filter matches: the same ones in every run.

Examples:
  switchctl impair drop h1 --one-in 1000 --for 30s
  switchctl impair drop h1 --filter 'dst port 4791' --one-in 100 --for 1min
  switchctl impair drop s2 --filter 'pfc and xon' --one-in 2 --for 5s")]
    Drop(Frames),
    /// Delay received frames.
    #[command(after_help = "\
Frames of equal delay keep their order. With --one-in, or a filter that matches
a part of a flow, the others overtake them: use this to test reordering. A delay
is like a longer cable: pauses take effect later, and lossless classes need more
headroom. At most 1024 frames are delayed at a time; others are dropped.

Examples:
  switchctl impair delay h1 2ms --for 30s
  switchctl impair delay h1 500us --one-in 10 --filter 'port 5201' --for 30s")]
    Delay {
        /// Delay, up to 10 s.
        #[arg(index = 2, value_name = "TIME", value_parser = super::time)]
        by: Duration,
        #[command(flatten)]
        frames: Frames,
    },
    /// Mark received frames Congestion Experienced, if they use ECN.
    #[command(after_help = "\
Example:
  switchctl impair mark h1 --filter 'dst port 4791' --one-in 20 --for 30s")]
    Mark(Frames),
    /// Pause the neighbor of a port for part of the time (PFC).
    #[command(after_help = "\
Frames that the neighbor has already sent are admitted as usual. Pauses by the
buffer's thresholds are in addition.

Example, paused a tenth of the time:
  switchctl impair pause h1 --priority 3 --on 1ms --every 10ms --for 30s")]
    Pause {
        /// Priority to impair; must belong to a lossless class.
        #[arg(long, value_parser = clap::value_parser!(u8).range(0..=7))]
        priority: u8,
        #[command(flatten)]
        duty: Duty,
    },
    /// Treat a port's link as down for part of the time.
    #[command(after_help = "\
The device's own link stays up: the switch drops received frames, and sends
none. Neighbors and applications see a link that carries nothing.

Example:
  switchctl impair flap s2 --on 100ms --every 5s --for 1min")]
    Flap(Duty),
    /// End impairments early. Default: all.
    #[command(after_help = "\
Examples:
  switchctl impair stop
  switchctl impair stop 3")]
    Stop {
        /// ID, from `impair list`.
        #[arg(value_name = "ID")]
        ids: Vec<u64>,
    },
}

/// Selection of frames.
#[derive(Debug, Args)]
pub struct Frames {
    /// Ingress port.
    #[arg(index = 1, add = complete::ports())]
    pub port: String,
    /// Filter, as for `switchctl capture`. Default: all.
    #[arg(long, short, value_name = "EXPRESSION")]
    pub filter: Option<String>,
    /// Impair one in COUNT frames. Default: every frame.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub one_in: Option<u64>,
    /// Duration, up to 1 h.
    #[arg(long = "for", value_name = "TIME", value_parser = super::time)]
    pub length: Duration,
}

/// Periods during which a port is impaired.
#[derive(Debug, Args)]
pub struct Duty {
    /// The port.
    #[arg(add = complete::ports())]
    pub port: String,
    /// Length of each period; at least 1 ms.
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    pub on: Duration,
    /// Time from the start of a period to the next.
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    pub every: Duration,
    /// Duration, up to 1 h.
    #[arg(long = "for", value_name = "TIME", value_parser = super::time)]
    pub length: Duration,
}
