//! Speed of the simulator. `cargo xtask bench --sim` runs the whole table: events and frame-hops
//! per second and memory of a fat-tree and of networks of 100, 1,000 and 10,000 switches, and the
//! same fat-tree in ns-3.
//!
//! `cargo bench -p weir-sim --bench scale -- 16` runs both loads of a fat-tree in steps, the number
//! being k; a second number is the length of each step in microseconds. Rates are by CPU time.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod case;
mod digest;
mod ns3;
mod pages;
mod plans;
mod steps;
mod table;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use weir_core::Duration;

#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[arg(default_value_t = 16)]
    k: u32,
    /// Length of each step in µs.
    #[arg(default_value_t = 100)]
    step: u64,
    /// Passed by cargo.
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every case in a separate process, alternating, and the fat-tree in ns-3: medians and spreads.
    Table {
        /// Runs of each case.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
        rounds: u32,
        /// Write all measurements as JSON.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Run one case; print JSON.
    Case {
        case: case::Case,
        #[arg(long, default_value_t = 1)]
        threads: usize,
    },
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    match cli.command {
        None => steps::run(cli.k, Duration::from_micros(cli.step)),
        Some(Command::Case { case, threads }) => println!("{}", case::run(case, threads)),
        Some(Command::Table { rounds, json }) => table::run(rounds, json.as_deref())?,
    }
    Ok(())
}
