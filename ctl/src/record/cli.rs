//! The command line of `switchctl record`.

use std::path::PathBuf;

use clap::Args;

/// Text below the options.
pub const RECORD_HELP: &str = "\
The dataplane thread itself reads its queues, pauses and drops at the interval,
into bounded memory of the daemon. Missed readings are counted and reported at
the end: the thread was late, or this command slow. Totals stay right without
them. At most four recordings run at a time, a recording takes an hour or a
million rows at most, and Ctrl-C ends it early: the files have all readings so
far.

--parquet writes a table with a row for each port and priority that has changed
since the last reading, and for each port and reason with new drops:
  monotonic_nanos         when, on the machine's monotonic clock
  port, priority          which; rows of drops have no priority
  egress_bytes            waiting to leave by the port
  ingress_bytes           charged to the port's ingress buffer
  received_pauses,        pauses by the neighbor that have begun since the last
  received_pause_nanos    reading, and time for which it has paused since then
  sent_pauses,            the same of pauses of the neighbor by the port
  sent_pause_nanos
  credits_used,           in a class with credits: the neighbor's that are
  credit_limit,           consumed and not freed, the most that it gives, and
  credits_outstanding     those given to it whose frames have not arrived
  reason, dropped_frames  frames from the port, dropped since the last reading
Sums over the table are the differences of the switch's counters.

--perfetto writes a trace that ui.perfetto.dev opens: pauses, queues,
suspicions, CLCM and releases by port and priority, with the times of the switch
core. Of several pauses of one priority between two readings the last one is
shown, with the number and the time of the others.

Examples:
  switchctl record --for 10s --every 1ms --parquet s1.parquet
  switchctl record --for 5s --perfetto s1.pftrace";

/// `switchctl record`.
#[derive(Debug, Args)]
pub struct RecordArguments {
    /// How long to record, such as 10s.
    #[arg(long = "for", value_name = "TIME", value_parser = crate::cli::time)]
    pub duration: std::time::Duration,
    /// Time between two readings, 1ms to 1s.
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = crate::cli::time)]
    pub every: std::time::Duration,
    /// Write a table for DuckDB, Polars and others.
    #[arg(long, value_name = "FILE", required_unless_present = "perfetto")]
    pub parquet: Option<PathBuf>,
    /// Write a trace for Perfetto.
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
}
