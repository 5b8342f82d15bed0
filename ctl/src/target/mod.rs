//! Selects a daemon, and sends requests to it.

mod all;
mod explain;
mod places;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::de::DeserializeOwned;
use serde::Serialize;
use weir_api::client::{self, ClientError, Method};
use weir_config::daemon::read_socket;

use crate::cli::complete;
pub use explain::explain;
use places::{names, only, run_dir, with_entry};

const RUN: &str = "/run/weir";
const SOCKET_VARIABLE: &str = "WEIR_SOCKET";
const SOCKET_NAME: &str = "api.sock";
const PINS_NAME: &str = "bpf";
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Heading of options that all commands have.
pub const GLOBAL: &str = "Options of all commands";

/// Selection of a daemon. Conflicts are checked here, because clap does not check them between a global option and one of a
/// subcommand.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Target {
    /// API socket of the daemon. Default: $WEIR_SOCKET, else the only one under /run/weir.
    #[arg(long, global = true, value_name = "PATH", help_heading = GLOBAL)]
    pub socket: Option<PathBuf>,
    /// Name of the switch: its run directory is /run/weir/NAME, or that of a lab's switch of this name.
    #[arg(long, global = true, value_name = "NAME", help_heading = GLOBAL,
          add = complete::switches())]
    pub name: Option<String>,
}

/// Reason for which there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The switch does not exist.
    #[error("no switch has {what} under {run}; {remedy}")]
    NoSwitch {
        /// Requested object.
        what: &'static str,
        run: PathBuf,
        remedy: &'static str,
    },
    /// The command line does not select one of several switches.
    #[error("several switches run on this host: {names}; choose one with --name")]
    Several { names: String },
    /// Two options name different places.
    #[error("{0} cannot be used with {1}: both select the switch; give only one")]
    Conflict(&'static str, &'static str),
    /// The name would leave the run directory.
    #[error("invalid switch name `{0}`: a name is one directory under /run/weir")]
    BadName(String),
    /// There is no answer, or no permission to ask.
    #[error("{what}; {remedy}")]
    Unreachable {
        /// Path and reason.
        what: String,
        remedy: String,
    },
    /// The answer is a refusal, or unintelligible.
    #[error("{what}")]
    BadAnswer { what: String },
}

impl Target {
    /// Returns the target of the command line, or by default the daemon at `socket`.
    pub fn or_at(&self, socket: &Path) -> Self {
        let says = self.socket.is_some() || self.name.is_some();
        Self {
            socket: self
                .socket
                .clone()
                .or_else(|| (!says).then(|| socket.to_owned())),
            name: self.name.clone(),
        }
    }

    /// Requests `path`.
    ///
    /// # Errors
    ///
    /// When there is no daemon, or it refuses.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, TargetError> {
        self.get_within(path, ANSWER_LIMIT)
    }

    /// Requests `path`; returns `None` if the daemon has nothing there.
    ///
    /// # Errors
    ///
    /// When there is no daemon, or it refuses for another reason.
    pub fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, TargetError> {
        self.ask(|socket| match client::get(socket, path, ANSWER_LIMIT) {
            Err(ClientError::Refused { status: 404, .. }) => Ok(None),
            answer => answer.map(Some),
        })
    }

    /// Requests `path` with a longer time limit.
    ///
    /// # Errors
    ///
    /// When there is no daemon, or it refuses.
    pub fn get_within<T: DeserializeOwned>(
        &self,
        path: &str,
        limit: Duration,
    ) -> Result<T, TargetError> {
        self.ask(|socket| client::get(socket, path, limit))
    }

    /// Sends `method` for `path`.
    ///
    /// # Errors
    ///
    /// When there is no daemon, or it refuses.
    pub fn send<B: Serialize, T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<T, TargetError> {
        self.send_within(method, path, body, ANSWER_LIMIT)
    }

    /// Like [`send`](Self::send), with another time limit.
    pub fn send_within<B: Serialize, T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
        limit: Duration,
    ) -> Result<T, TargetError> {
        self.ask(|socket| client::send(socket, method.clone(), path, body, limit))
    }

    /// Sends the request to the full socket, or without access to it, to the read-only one, which refuses changes with the
    /// reason.
    fn ask<T>(&self, ask: impl Fn(&Path) -> Result<T, ClientError>) -> Result<T, TargetError> {
        let socket = self.found_socket()?;
        let error = match ask(&socket) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if let (Some(name), true) = (&self.name, is_missing(&error)) {
            return Err(explain::unknown_name(
                name,
                &socket,
                &running(Path::new(RUN)),
            ));
        }
        if is_denied(&error) {
            let reading = read_socket(&socket);
            match ask(&reading) {
                Ok(answer) => return Ok(answer),
                // This socket does not answer either, so the first error stands.
                Err(ClientError::Unreachable { .. }) => {}
                Err(other) => return Err(explain(other, &reading)),
            }
        }
        Err(explain(error, &socket))
    }

    /// Returns the socket of the selected daemon.
    ///
    /// # Errors
    ///
    /// When none is selected and there is not exactly one.
    pub fn found_socket(&self) -> Result<PathBuf, TargetError> {
        self.socket(socket_of_environment(), Path::new(RUN))
    }

    /// The command line takes precedence over the environment, and the environment over a search.
    fn socket(&self, variable: Option<PathBuf>, run: &Path) -> Result<PathBuf, TargetError> {
        match (&self.socket, &self.name) {
            (Some(_), Some(_)) => return Err(TargetError::Conflict("--socket", "--name")),
            (Some(socket), None) => return Ok(socket.clone()),
            (None, Some(name)) => return Ok(run_dir(run, name)?.join(SOCKET_NAME)),
            (None, None) => {}
        }
        if let Some(socket) = variable {
            return Ok(socket);
        }
        let found = only(
            run,
            SOCKET_NAME,
            "an API socket",
            "is weir-switchd running? (--socket gives another path)",
        )?;
        Ok(found.join(SOCKET_NAME))
    }

    /// Returns the pin directory of the selected daemon, with one directory for each port.
    ///
    /// # Errors
    ///
    /// When none is selected and there is not exactly one.
    pub fn pins(
        &self,
        run_dir_option: Option<&Path>,
        bpf_dir: Option<&Path>,
    ) -> Result<PathBuf, TargetError> {
        let variable = socket_of_environment();
        let is_named = run_dir_option.is_some() || bpf_dir.is_some() || self.name.is_some();
        let by_socket = !is_named && (self.socket.is_some() || variable.is_some());
        let pins = self.pins_beside(run_dir_option, bpf_dir, variable)?;
        // A socket may be anywhere, and even belong to another machine.
        if by_socket && !pins.exists() {
            return Err(TargetError::NoSwitch {
                what: "pins",
                run: pins.parent().unwrap_or(&pins).to_owned(),
                remedy: "--run-dir or --bpf-dir gives another directory",
            });
        }
        Ok(pins)
    }

    /// Selects like [`socket`](Self::socket); if only a socket is given, pins are in its directory.
    fn pins_beside(
        &self,
        run_dir_option: Option<&Path>,
        bpf_dir: Option<&Path>,
        variable: Option<PathBuf>,
    ) -> Result<PathBuf, TargetError> {
        let given = [
            ("--run-dir", run_dir_option.is_some()),
            ("--bpf-dir", bpf_dir.is_some()),
            ("--name", self.name.is_some()),
            ("--socket", self.socket.is_some()),
        ];
        let mut given = given.iter().filter(|(_, is_given)| *is_given);
        if let (Some((one, _)), Some((other, _))) = (given.next(), given.next()) {
            return Err(TargetError::Conflict(one, other));
        }
        if let Some(directory) = bpf_dir {
            return Ok(directory.to_owned());
        }
        let beside = |socket: &Path| socket.parent().unwrap_or(Path::new("")).to_owned();
        let directory = match (run_dir_option, &self.name, &self.socket, variable) {
            (Some(directory), ..) => directory.to_owned(),
            (None, Some(name), ..) => run_dir(Path::new(RUN), name)?,
            (None, None, Some(socket), _) => beside(socket),
            (None, None, None, Some(socket)) => beside(&socket),
            (None, None, None, None) => only(
                Path::new(RUN),
                PINS_NAME,
                "pins",
                "--run-dir or --bpf-dir gives another directory",
            )?,
        };
        Ok(directory.join(PINS_NAME))
    }
}

fn socket_of_environment() -> Option<PathBuf> {
    let value = std::env::var_os(SOCKET_VARIABLE);
    value.filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn is_missing(error: &ClientError) -> bool {
    matches!(error, ClientError::Unreachable { source, .. } if source.kind() == ErrorKind::NotFound)
}

/// Returns the names of this host's switches: run directories with a socket. Empty without access.
pub fn running_switches() -> Vec<String> {
    running(Path::new(RUN))
}

fn running(run: &Path) -> Vec<String> {
    names(&with_entry(run, SOCKET_NAME))
}

fn is_denied(error: &ClientError) -> bool {
    matches!(error, ClientError::Unreachable { source, .. } if source.kind() == ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    pub fn target(socket: Option<&str>, name: Option<&str>) -> Target {
        Target {
            socket: socket.map(PathBuf::from),
            name: name.map(str::to_owned),
        }
    }

    pub fn run_with(names: &[&str]) -> tempfile::TempDir {
        let run = tempfile::tempdir().unwrap();
        for name in names {
            fs::create_dir(run.path().join(name)).unwrap();
            fs::write(run.path().join(name).join(SOCKET_NAME), "").unwrap();
        }
        fs::create_dir(run.path().join("without-a-socket")).unwrap();
        run
    }

    #[test]
    fn the_command_line_counts_before_the_environment() {
        let run = run_with(&["s1"]);
        let variable = Some(PathBuf::from("/from/environment"));
        let of = |target: Target| target.socket(variable.clone(), run.path()).unwrap();
        assert_eq!(of(target(Some("/given"), None)), Path::new("/given"));
        assert_eq!(
            of(target(None, Some("s7"))),
            run.path().join("s7").join(SOCKET_NAME)
        );
        assert_eq!(of(target(None, None)), Path::new("/from/environment"));
    }

    #[test]
    fn the_only_switch_is_found() {
        let run = run_with(&["s1"]);
        assert_eq!(
            target(None, None).socket(None, run.path()).unwrap(),
            run.path().join("s1").join(SOCKET_NAME)
        );
    }

    #[test]
    fn several_switches_are_listed() {
        let run = run_with(&["s2", "s1"]);
        let error = target(None, None).socket(None, run.path()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "several switches run on this host: s1, s2; choose one with --name"
        );
    }

    #[test]
    fn no_switch_has_a_remedy() {
        let run = run_with(&[]);
        let error = target(None, None).socket(None, run.path()).unwrap_err();
        assert!(matches!(error, TargetError::NoSwitch { .. }));
        assert!(error.to_string().contains("is weir-switchd running?"));
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let run = run_with(&["s2", "s1"]);
        let there = running(run.path());
        let error = explain::unknown_name("nope", Path::new("/run/weir/nope/api.sock"), &there);
        assert_eq!(
            error.to_string(),
            "no switch `nope` runs on this host: there is no /run/weir/nope/api.sock; running: s1, s2"
        );
        let error = explain::unknown_name("nope", Path::new("/x/api.sock"), &[]);
        assert!(error
            .to_string()
            .ends_with("; no switch runs here: is weir-switchd running?"));
    }

    #[test]
    fn a_name_is_no_path() {
        for bad in ["", ".", "..", "../etc", "a/b"] {
            let error = target(None, Some(bad)).pins(None, None).unwrap_err();
            assert!(matches!(error, TargetError::BadName(_)), "{bad}");
        }
    }

    #[test]
    fn pins_are_beside_the_socket_that_is_named() {
        let variable = Some(PathBuf::from("/from/environment/api.sock"));
        let of = |socket, name, run_dir: Option<&str>| {
            let target = target(socket, name);
            target.pins_beside(run_dir.map(Path::new), None, variable.clone())
        };
        let at = |path: &str| Path::new(path).to_owned();
        assert_eq!(of(None, None, None).unwrap(), at("/from/environment/bpf"));
        assert_eq!(of(Some("/x/api.sock"), None, None).unwrap(), at("/x/bpf"));
        assert_eq!(
            of(None, Some("not-in-a-lab"), None).unwrap(),
            at("/run/weir/not-in-a-lab/bpf")
        );
        assert_eq!(of(None, None, Some("/y")).unwrap(), at("/y/bpf"));
        let both = of(Some("/x/api.sock"), None, Some("/y")).unwrap_err();
        assert!(matches!(
            both,
            TargetError::Conflict("--run-dir", "--socket")
        ));
    }

    #[test]
    fn pins_are_where_they_are_said_to_be() {
        let of = |name, run_dir: Option<&str>, bpf_dir: Option<&str>| {
            target(None, name)
                .pins_beside(run_dir.map(Path::new), bpf_dir.map(Path::new), None)
                .unwrap()
        };
        assert_eq!(
            of(Some("not-in-a-lab"), None, None),
            Path::new("/run/weir/not-in-a-lab/bpf")
        );
        assert_eq!(of(None, Some("/tmp/x"), None), Path::new("/tmp/x/bpf"));
        assert_eq!(
            of(None, None, Some("/sys/fs/bpf/w")),
            Path::new("/sys/fs/bpf/w")
        );
    }
}
