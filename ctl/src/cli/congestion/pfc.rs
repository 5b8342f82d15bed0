//! The command line of `switchctl pfc`.

use clap::Subcommand;

use crate::cli::complete;

pub(in crate::cli) const HELP: &str = "\
`we pause`: our buffer passed xoff, and we pause the neighbour. `paused by it`:
the neighbour pauses us; `for` is the total time. If the headroom is used up,
the neighbour does not obey PFC. `headroom used` is the peak since the start
(`switchctl watermark` has others).

Examples:
  switchctl pfc
  switchctl pfc counters                         pauses sent and received
  switchctl --json pfc | jq -r '.[] | select(.paused) | \"\\(.port) \\(.priority)\"'
                                               which priorities are paused now";

/// `switchctl pfc …`.
#[derive(Debug, Subcommand)]
pub enum PfcCommand {
    /// Pause frames received and sent, by port and priority.
    #[command(after_help = "\
As SONiC's `show pfc counters`: first received frames, then sent ones, XOFF with
its refreshes and XON; PAUSE (802.3x) counts for every priority of a
port that obeys it.

--history has a line for each direction that had a pause. A pause begins with an
XOFF that finds none in force (`pauses` counts those), lasts while it is
refreshed, and ends with XON or when the time of the last XOFF is over. Pauses
of a lossy class are counted and not obeyed: they begin no pause.

Examples:
  switchctl pfc counters
  switchctl pfc counters --history h1
  switchctl --json pfc counters | jq '.[] | select(.received.paused)'")]
    Counters {
        /// Show times, counts and durations of pauses, in each direction.
        #[arg(long)]
        history: bool,
        /// Only these ports.
        #[arg(value_name = "PORT", add = complete::ports())]
        ports: Vec<String>,
    },
}
