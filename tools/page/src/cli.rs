//! The command line of `weir-page`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use weir_config::units::parse_duration;
use weir_output::generated::Generated;
use weir_output::manual::Manual;

/// Text of the manual page besides the command line.
pub const MANUAL: Manual = Manual {
    section: "1",
    files: &[
        (
            "/run/weir/NAME/api.sock",
            "API socket of a switch of this machine; looked for when no switch is named.",
        ),
        (
            "/etc/weir/switches.toml",
            "What weir-page.service reads: the list of switches for --switches.",
        ),
    ],
    environment: &[(
        "RUST_LOG",
        "What is logged on standard error: error, warn, info (the default), debug.",
    )],
    see_also: &[
        "switchctl(1)",
        "weir-switchd(8)",
        "weir-switchd.toml(5)",
        "prometheus(1)",
    ],
};

/// Show all switches of a lab or fleet on one page: pauses between switches, loops, health, and deadlocks on one time line.
///
/// Read-only: it asks each switch for its overview, changes nothing, and serves one self-contained page. Without --switch
/// and --switches it shows the switches of this machine.
#[derive(Debug, Parser)]
#[command(
    name = "weir-page",
    version,
    max_term_width = 80,
    args_conflicts_with_subcommands = true,
    after_help = "\
A switch is asked at one of three places:
  /run/weir/s1/api.sock       its API socket, on this machine
  https://192.0.2.11:9464     its metrics listener: TLS and a token, for fleets
  http://192.0.2.11:9465      its page's listener: neither; for loopback, tunnels
                              and networks that are trusted

The list of --switches is TOML:
  [[switch]]
  name = \"leaf1\"
  url = \"https://192.0.2.11:9464\"
  page = \"https://leaf1.example.net/\"   # for the link to its own page
  metrics = \"192.0.2.11:9464\"           # for Prometheus; else that of url
  token-file = \"/etc/weir/leaf1.token\"  # of this switch alone; https only

Examples:
  weir-page
  weir-page --switch s1=/run/weir/s1/api.sock --switch s2=http://192.0.2.12:9465
  weir-page --switches /etc/weir/switches.toml --ca /etc/weir/ca.pem
  weir-page --switches switches.toml --prometheus-sd /etc/prometheus/weir.json
  weir-page --once | jq -r .verdict
  weir-page --perfetto lab.pftrace --for 5s --every 1ms

Exit status: 0 success, 1 failure (the reason is on standard error), 2 invalid
command line; with --once: 0 all switches are well, 1 failure, 3 something is
wrong."
)]
pub struct Cli {
    /// Alternative command.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Contents of the page.
    #[command(flatten)]
    pub options: Options,
}

/// Alternative commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Completions and manual pages.
    #[command(flatten)]
    Generated(Generated),
}

/// Contents and address of the page.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// A switch: its name on the page, and its URL or API socket. Repeat it.
    #[arg(long = "switch", value_name = "NAME=PLACE", help_heading = "Switches")]
    pub switch: Vec<String>,
    /// A list of switches, as TOML.
    #[arg(long, value_name = "FILE", help_heading = "Switches")]
    pub switches: Option<PathBuf>,
    /// Also show the switches on this machine.
    #[arg(long, help_heading = "Switches")]
    pub local: bool,
    /// Directory of the run directories of this machine's switches.
    #[arg(
        long,
        value_name = "DIRECTORY",
        default_value = "/run/weir",
        help_heading = "Switches"
    )]
    pub run_dir: PathBuf,
    /// File with the token of the only metrics listener whose list entry has no token-file. Only its owner, and its
    /// group for reading, may have access to the file.
    #[arg(long, value_name = "FILE", help_heading = "Switches")]
    pub token_file: Option<PathBuf>,
    /// Certificate authorities for https, PEM [default: the system's].
    #[arg(long, value_name = "FILE", help_heading = "Switches")]
    pub ca: Option<PathBuf>,
    /// Polling interval of each switch: 200ms to 1min.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval, help_heading = "Switches")]
    pub interval: Duration,
    /// Timeout of a whole answer: 100ms to 1min.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = timeout, help_heading = "Switches")]
    pub timeout: Duration,

    /// Address and port of the page.
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:9466",
        help_heading = "Page"
    )]
    pub listen: SocketAddr,
    /// Allow an address that other hosts can reach: the page has no login.
    #[arg(long, help_heading = "Page")]
    pub unprotected: bool,
    /// Host name under which browsers may request the page, besides addresses and localhost. Repeat it.
    #[arg(long, value_name = "NAME", help_heading = "Page")]
    pub host_name: Vec<String>,

    /// Write the switches' metrics addresses to this file for Prometheus (file_sd_configs), and update it when they change.
    /// The page also serves them: /prometheus-sd.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub prometheus_sd: Option<PathBuf>,
    /// Ask each switch once, print the page's state as JSON, and exit.
    #[arg(long, help_heading = "Output")]
    pub once: bool,
    /// Record the switches of this machine for --for, write a trace for Perfetto (ui.perfetto.dev) with arrows from each pause
    /// to those that it caused, and exit.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "once",
        help_heading = "Output"
    )]
    pub perfetto: Option<PathBuf>,
    /// Length of the recording, at most 1 h; Ctrl-C ends it early.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = length, requires = "perfetto", help_heading = "Output")]
    pub length: Duration,
    /// Interval between two readings: 1ms to 1s.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = every, requires = "perfetto", help_heading = "Output")]
    pub every: Duration,
}

impl Options {
    /// Returns true if switches of this machine are searched for: on request, and where none is named.
    pub fn looks_here(&self) -> bool {
        self.local || (self.switch.is_empty() && self.switches.is_none())
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_millis(200))
}

fn timeout(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_millis(100))
}

fn length(text: &str) -> Result<Duration, String> {
    let most = Duration::from_secs(3_600);
    between(text, Duration::from_millis(1), most, "1 ms and 1 h")
}

fn every(text: &str) -> Result<Duration, String> {
    let most = Duration::from_secs(1);
    between(text, Duration::from_millis(1), most, "1 ms and 1 s")
}

fn within(text: &str, least: Duration) -> Result<Duration, String> {
    let range = format!("{} ms and 1 min", least.as_millis());
    between(text, least, Duration::from_secs(60), &range)
}

fn between(text: &str, least: Duration, most: Duration, range: &str) -> Result<Duration, String> {
    let span = parse_duration(text).map_err(|error| error.to_string())?;
    let span = Duration::from_nanos(span.as_nanos());
    if span < least || span > most {
        return Err(format!("{text} is not between {range}"));
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent_and_its_help_fits() {
        Cli::command().debug_assert();
        let help = Cli::command().render_long_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn intervals_are_bounded() {
        let parse = |interval: &str| Cli::try_parse_from(["weir-page", "--interval", interval]);
        assert_eq!(
            parse("500ms").unwrap().options.interval,
            Duration::from_millis(500)
        );
        for wrong in ["0s", "100ms", "2min", "x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn switches_of_this_machine_are_searched_for_on_request_or_where_none_is_named() {
        for (words, expected) in [
            (&[][..], true),
            (&["--switches", "none.toml"][..], false),
            (&["--switch", "s1=/run/weir/s1/api.sock"][..], false),
            (&["--switches", "none.toml", "--local"][..], true),
        ] {
            let words = ["weir-page"].iter().chain(words);
            let options = Cli::try_parse_from(words).unwrap().options;
            assert_eq!(options.looks_here(), expected, "{options:?}");
        }
    }
}
