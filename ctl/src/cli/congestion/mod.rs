//! Commands for congestion: pauses, their watchdog, ECN marks, Levels.

mod ecn;
mod pfc;
mod pfcwd;

pub use ecn::{EcnCommand, EcnValues};
pub use pfc::PfcCommand;
pub use pfcwd::{PfcwdCommand, PfcwdShow, StatsArguments};

pub(super) use ecn::HELP as ECN_HELP;
pub(super) use pfc::HELP as PFC_HELP;

pub(super) const LEVELS_HELP: &str = "\
First, one line for each fabric port and priority of a class of mode `level`:
  D                   the highest Level
  f sent, f received  Feedback in each direction: the neighbour may send us
                      frames of Level `f sent` and above, and we may send it
                      those of Level `f received` and above; with f = D none
                      may be sent
  paused by it        the neighbour pauses all frames with an ordinary pause
  eligible, held      backlog that `f received` lets out, and holds back
  T, measured, rT     the link's round trip time as configured and as measured,
                      and the room reserved for frames that may arrive meanwhile
  m, b                b lists the budgets b_1 to b_D of the ingress port; m_i is
                      the part of b_1 + ... + b_i that the frames up to Level i
                      leave free. f sent is the largest i whose m_i has no
                      room for rT and one more frame

Then the Level Table: each destination with buffered frames, its Level, and
their size over all ports, in whole cells.

Examples:
  switchctl levels
  switchctl --watch levels
  switchctl --json levels | jq -r '.links[] | select(.held_frames > 0).port'";
