//! The command line of `switchctl watermark` and `switchctl buffers`.

use clap::{Args, Subcommand, ValueEnum};
use weir_api::words::Reader;

use super::complete;

pub(super) const BUFFERS_HELP: &str = "\
`size` and `used` are those of the pool without reserves; after `headroom` come
its use and peak. `threshold` is the present limit of a buffer in the pool, in
addition to its `reserved` memory; with a static threshold `alpha` is –.

SONiC's commands are these:
  mmuconfig -l                                       config show, and buffers
  show buffer_pool watermark                           watermark, and buffers

Examples:
  switchctl buffers
  switchctl --json buffers | jq '.pools[] | {name, used_bytes, used_bytes_max}'";

pub(super) const HELP: &str = "\
`ingress` is the highest occupancy of the port's ingress buffer, in whole cells,
`headroom` the part of it above xoff, `egress` the highest backlog of the port.
The line `all` has the highest number of frames inside the switch, a line `pool`
the highest use of the pool and of its headroom.
Each reader has separate peaks, which only this reader clears:
  user        since they were cleared by `watermark clear`
  telemetry   in the last whole interval of `[watermark] interval` (2 min if not
              set); nothing until the first one is over
  persistent  since the start, or since they were cleared by `watermark clear
              --reader persistent`

SONiC's commands are these:
  show priority-group|queue|buffer_pool watermark             watermark show
  show ... persistent-watermark          watermark show --reader persistent
  sonic-clear ... watermark                                  watermark clear

Examples:
  switchctl watermark
  switchctl watermark show --reader telemetry h1
  switchctl watermark clear";

/// `switchctl watermark …`.
#[derive(Debug, Args)]
pub struct WatermarkArguments {
    /// Default: show.
    #[command(subcommand)]
    pub command: Option<WatermarkCommand>,
    /// Shown without a command.
    #[command(flatten)]
    pub show: WatermarkShow,
}

/// Selection of peaks.
#[derive(Clone, Debug, Args)]
pub struct WatermarkShow {
    /// Reader of the peaks.
    #[arg(long, value_enum, default_value_t = WatermarkReader::User)]
    pub reader: WatermarkReader,
    /// Only these ports.
    #[arg(value_name = "PORT", add = complete::ports())]
    pub ports: Vec<String>,
}

/// Commands of `switchctl watermark`.
#[derive(Debug, Subcommand)]
pub enum WatermarkCommand {
    /// Show the peaks of one reader.
    #[command(after_help = "\
Examples:
  switchctl watermark show
  switchctl watermark show --reader persistent h1 h2
  switchctl --json watermark show | jq '.held_frames_max'")]
    Show(WatermarkShow),
    /// Restart the peaks of one reader from the present values.
    #[command(after_help = "\
The peaks of other readers stay. Without PORT, the peak of frames inside the
switch restarts, too. `telemetry` restarts by itself, and cannot be cleared.

Examples:
  switchctl watermark clear
  switchctl watermark clear h1
  switchctl watermark clear --reader persistent")]
    Clear(WatermarkShow),
}

/// Reader of peaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WatermarkReader {
    /// Since they were cleared.
    User,
    /// The last whole interval.
    Telemetry,
    /// Since the start, or since these were cleared.
    Persistent,
}

impl WatermarkArguments {
    /// Returns true if the command changes something.
    pub fn clears(&self) -> bool {
        matches!(self.command, Some(WatermarkCommand::Clear(_)))
    }
}

impl From<WatermarkReader> for Reader {
    fn from(reader: WatermarkReader) -> Self {
        match reader {
            WatermarkReader::User => Self::User,
            WatermarkReader::Telemetry => Self::Telemetry,
            WatermarkReader::Persistent => Self::Persistent,
        }
    }
}
