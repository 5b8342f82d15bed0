//! The command line of `switchctl ecn`.

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Subcommand};
use weir_config::units::{parse_probability, parse_size};
use weir_core::{Bytes, MarkAt, PartsPerMillion};

use crate::cli::complete;

pub(in crate::cli) const HELP: &str = "\
One line for each [[ecn]] of the configuration, and for each class with separate
thresholds, which have no name.

Columns:
  kmin, kmax  no frame is marked while its queue has kmin or less, every one
              from kmax on; between them the probability rises to pmax
  mark at     which backlog counts: on arrival or on departure; `never` is off
  classes     classes with this profile
  marked      marked frames of their priorities, at all ports

Examples:
  switchctl ecn
  switchctl ecn set AZURE_LOSSLESS --kmin 250kB --kmax 1MB --pmax 5%
  switchctl --json ecn | jq -r '.[] | select(.mark_at == \"never\").profile'";

/// `switchctl ecn …`.
#[derive(Debug, Subcommand)]
pub enum EcnCommand {
    /// Change the marking thresholds of a profile's classes, at once and without loss.
    #[command(after_help = "\
As SONiC's `ecnconfig -p PROFILE -gmin … -gmax … -gdrop …`, whose option names
are accepted, too; and instead of `-q QUEUE off`, `--mark-at never`. Other
values stay. Frames that wait keep their place.

The change is kept by a restart and by reloads of a file whose profile has not
changed. `switchctl config save` writes it into the file.

Examples:
  switchctl ecn set AZURE_LOSSLESS --kmin 250kB --kmax 1MB --pmax 5%
  switchctl ecn set AZURE_LOSSLESS --mark-at never")]
    Set(EcnValues),
}

/// A profile and at least one new value.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("values").required(true).multiple(true))]
pub struct EcnValues {
    /// Name of the profile.
    #[arg(value_name = "PROFILE", add = complete::ecn_profiles())]
    pub profile: String,
    /// Mark nothing up to this backlog.
    #[arg(long, alias = "gmin", value_name = "SIZE", group = "values", value_parser = size)]
    pub kmin: Option<Bytes>,
    /// Mark everything from this backlog on.
    #[arg(long, alias = "gmax", value_name = "SIZE", group = "values", value_parser = size)]
    pub kmax: Option<Bytes>,
    /// Marking probability just below it, such as 5%.
    #[arg(long, alias = "gdrop", value_name = "PROBABILITY", group = "values", value_parser = probability)]
    pub pmax: Option<PartsPerMillion>,
    /// Backlog that counts, or none.
    #[arg(long, value_name = "WHEN", group = "values",
          value_parser = PossibleValuesParser::new(MarkAt::ALL.map(MarkAt::name)))]
    pub mark_at: Option<String>,
}

fn size(text: &str) -> Result<Bytes, String> {
    parse_size(text).map_err(|error| error.to_string())
}

fn probability(text: &str) -> Result<PartsPerMillion, String> {
    parse_probability(text).map_err(|error| error.to_string())
}
