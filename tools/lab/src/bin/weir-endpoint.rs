//! `weir-endpoint`: the lab's host. See `weir_lab::endpoint`.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use weir_doctor::trial::Fault;
use weir_lab::endpoint::run;
use weir_lab::reflect;

/// Sends and receives numbered frames at one network device and verifies each on receipt.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 80)]
struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run until asked to finish, in the network namespace where it is started.
    ///
    /// Prints JSON lines: {"ready":true} once the socket is bound, then answers. Takes lines on
    /// standard input: `begin NANOS`, `stop-sending`, `snapshot`, `pause QUANTA`, `pfc PRIORITY QUANTA`, `finish`.
    /// `finish`, the end of the input, SIGTERM and SIGINT make it write its report and exit.
    Run {
        /// What to send and what to expect, in JSON.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Reflect the frames of a test at the other end of the cable, until Ctrl-C.
    ///
    /// There, `switchctl doctor --loop DEVICE` tests a NIC. Run this at the NIC that it is cabled to, as root. It sends nothing
    /// but replies; while it runs, no other frame that arrives at the device reaches the kernel.
    Reflect {
        /// The network device of this end.
        device: String,
        /// A deliberate fault, to check that a test finds it: lose, lose-back, change, swap-back (one in N), cut, cut-back
        /// (to N bytes), strip, strip-back, eat, eat-back.
        #[arg(long, hide = true, value_name = "NAME[=N]")]
        fault: Option<Fault>,
    },
    /// Check a configuration.
    Check {
        /// What to send and what to expect, in JSON.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().action {
        Action::Run { config } => run::read_config(&config).and_then(run::run),
        Action::Reflect { device, fault } => reflect::run(&device, fault),
        Action::Check { config } => run::read_config(&config).map(|_| ()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-endpoint: {}", weir_config::told(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
