//! Shell completion with names from this host and from a running switch.
//!
//! A shell runs this program with [`VARIABLE`] set while the user waits. The daemon is therefore asked once, for at most
//! [`LIMIT`]; without an answer there are no names and no message.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Command, CommandFactory};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use serde::de::DeserializeOwned;
use weir_api::daemon::{Deadlocks, EcnProfile, Flows, Port, Routes};

use super::Cli;
use crate::target::{self, Target};
use crate::xdp;

/// Variable set by a shell's script, to the shell's name.
const VARIABLE: &str = "SWITCHCTL_COMPLETE";
const PROGRAM: &str = "switchctl";
const LIMIT: Duration = Duration::from_millis(200);

/// Answers a completion request of a shell and ends the process; otherwise does nothing.
pub fn answer() {
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .bin(PROGRAM)
        .completer(PROGRAM)
        .complete();
}

/// Returns the script that enables completion in a shell; `None` for unsupported shells.
pub fn script(shell: Shell) -> Option<String> {
    let shells = Shells::builtins();
    let shell = shells.completer(&shell.to_string())?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .ok()?;
    String::from_utf8(script).ok()
}

/// Returns the command line, with options only if the word begins like one or nothing else is possible.
fn command() -> Command {
    let mut command = Cli::command();
    command.build();
    without_options(command)
}

fn without_options(command: Command) -> Command {
    let command = command.mut_args(|arg| match arg.is_positional() {
        true => arg,
        false => arg.hide(true),
    });
    command.mut_subcommands(without_options)
}

pub fn switches() -> ArgValueCandidates {
    ArgValueCandidates::new(|| named(target::running_switches()))
}

/// Ports of the selected switch.
pub fn ports() -> ArgValueCandidates {
    ArgValueCandidates::new(the_ports)
}

pub fn ports_or_all() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let mut candidates = the_ports();
        candidates.push(CompletionCandidate::new("all").help(Some("every port".into())));
        candidates
    })
}

fn the_ports() -> Vec<CompletionCandidate> {
    let ports: Vec<Port> = ask("/v1/ports").unwrap_or_default();
    let candidate = |port: Port| {
        let link = if port.link_up { "up" } else { "DOWN" };
        let help = format!("{}, {link}, device {}", port.role, port.device);
        CompletionCandidate::new(port.name).help(Some(help.into()))
    };
    ports.into_iter().map(candidate).collect()
}

pub fn ecn_profiles() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let profiles: Vec<EcnProfile> = ask("/v1/ecn").unwrap_or_default();
        named(profiles.into_iter().filter_map(|it| it.profile).collect())
    })
}

/// Ports with pins, with or without a daemon.
pub fn pinned_ports() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let pins = target().pins(None, None).ok();
        named(pins.and_then(|pins| xdp::pinned(&pins)).unwrap_or_default())
    })
}

pub fn destinations() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let routes: Option<Routes> = ask("/v1/routes");
        let routes = routes.map(|it| it.routes).unwrap_or_default();
        named(routes.into_iter().map(|route| route.destination).collect())
    })
}

pub fn flows() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let flows: Option<Flows> = ask("/v1/flows");
        let flows = flows.map(|it| it.flows).unwrap_or_default();
        named(flows.into_iter().map(|flow| flow.flow_hash).collect())
    })
}

/// Suspicions with a record.
pub fn suspicions() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let known: Option<Deadlocks> = ask("/v1/deadlocks");
        let known = known.unwrap_or_default();
        let all = known.current.into_iter().chain(known.past);
        let recorded = all.filter(|one| one.recorded).map(|one| {
            let help = format!("{} priority {}", one.port, one.priority);
            CompletionCandidate::new(one.id.to_string()).help(Some(help.into()))
        });
        recorded.collect()
    })
}

/// Network devices of this namespace, except the loopback device.
pub fn devices() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let devices = nix::net::if_::if_nameindex();
        let devices = devices.iter().flat_map(|list| list.iter());
        let names = devices.map(|it| it.name().to_string_lossy().into_owned());
        named(names.filter(|name| name != "lo").collect())
    })
}

fn named(names: Vec<String>) -> Vec<CompletionCandidate> {
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn ask<T: DeserializeOwned>(path: &str) -> Option<T> {
    target().get_within(path, LIMIT).ok()
}

/// Takes the target from the words of the command line after `--`, where the scripts put them.
fn target() -> Target {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    meant(words.collect())
}

fn meant(words: Vec<OsString>) -> Target {
    let words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let value = |option: &str| {
        let value = words.iter().enumerate().find_map(|(at, word)| {
            match word.strip_prefix(option)?.strip_prefix('=') {
                Some(value) => Some(value.to_owned()),
                // bash splits off `=` as a word.
                None if word == option => {
                    let mut rest = words[at + 1..].iter().filter(|word| *word != "=");
                    rest.next().cloned()
                }
                None => None,
            }
        });
        value.filter(|value| !value.is_empty())
    };
    Target {
        socket: value("--socket").map(Into::into),
        name: value("--name"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_which_switch_is_meant() {
        let of = |words: &[&str]| {
            let target = meant(words.iter().map(Into::into).collect());
            (target.name, target.socket)
        };
        let s1 = (Some("s1".to_owned()), None);
        assert_eq!(of(&["switchctl", "--name", "s1", "port", "remove", ""]), s1);
        assert_eq!(of(&["switchctl", "port", "remove", "--name=s1", ""]), s1);
        assert_eq!(of(&["switchctl", "--name", "=", "s1", ""]), s1);
        assert_eq!(of(&["switchctl", "--name", ""]), (None, None));
        let socket = Some("/x/api.sock".into());
        assert_eq!(
            of(&["switchctl", "--socket", "/x/api.sock", "pfc"]),
            (None, socket)
        );
    }
}
