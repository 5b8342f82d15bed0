//! Explains why there is no answer, and the remedy, in terms of commands.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::unistd::{Gid, Group};
use weir_api::client::ClientError;
use weir_api::routes::{Method, Route, ROUTES};
use weir_config::daemon::read_socket;

use super::{TargetError, SOCKET_NAME};

const NO_SUCH_PATH: &str = "no such path: ";

/// Adds the remedy to an error.
pub fn explain(error: ClientError, socket: &Path) -> TargetError {
    let place = socket.display();
    let unreachable = |what: String, remedy: &str| TargetError::Unreachable {
        what,
        remedy: remedy.to_owned(),
    };
    match &error {
        ClientError::Unreachable { source, .. } => match source.kind() {
            ErrorKind::PermissionDenied => denied(socket),
            _ if fs::metadata(socket).is_ok_and(|there| !there.file_type().is_socket()) => {
                no_socket(socket)
            }
            ErrorKind::ConnectionRefused => unreachable(
                format!("{error}: {source}"),
                "the socket is stale: its weir-switchd has stopped; start it again",
            ),
            _ => unreachable(format!("{error}: {source}"), "is weir-switchd running?"),
        },
        ClientError::TimedOut { .. } => unreachable(
            error.to_string(),
            "weir-switchd accepts connections but does not answer; see its log",
        ),
        ClientError::Refused { message, .. } => TargetError::BadAnswer {
            what: in_commands(message),
        },
        // A daemon that ends truncates its answers.
        ClientError::Malformed { .. } if UnixStream::connect(socket).is_err() => unreachable(
            format!("the daemon at {place} stopped"),
            "start weir-switchd again",
        ),
        ClientError::Malformed { .. } => TargetError::BadAnswer {
            what: format!(
                "{place}: cannot parse the answer: {error}; do switchctl and weir-switchd have the same version?"
            ),
        },
    }
}

pub fn unknown_name(name: &str, socket: &Path, running: &[String]) -> TargetError {
    let remedy = match running {
        [] => "no switch runs here: is weir-switchd running?".to_owned(),
        names => format!("running: {}", names.join(", ")),
    };
    TargetError::Unreachable {
        what: format!(
            "no switch `{name}` runs on this host: there is no {}",
            socket.display()
        ),
        remedy,
    }
}

/// Names the groups that may use the socket, or the read-only one next to it.
fn denied(socket: &Path) -> TargetError {
    let group_of = |path: &Path| {
        let owner = fs::metadata(path).map(|there| there.gid()).ok();
        let owner = owner.filter(|gid| *gid != 0)?;
        let group = Group::from_gid(Gid::from_raw(owner)).ok()??;
        Some(group.name)
    };
    // Without access to the directory the socket is invisible.
    let parent = socket.parent().unwrap_or(Path::new("/"));
    let full = group_of(socket).or_else(|| group_of(parent));
    let reading = group_of(&read_socket(socket)).filter(|group| full.as_ref() != Some(group));
    let remedy = match (full, reading) {
        (None, None) => "use sudo, or give a group access by `api.group`".to_owned(),
        (Some(full), None) => format!("use sudo, or join the group `{full}`"),
        (None, Some(reading)) => format!("use sudo, or join the group `{reading}` to look only"),
        (Some(full), Some(reading)) => {
            format!("use sudo, or join the group `{full}`, or `{reading}` to look only")
        }
    };
    TargetError::Unreachable {
        what: format!("permission denied: {}", socket.display()),
        remedy,
    }
}

fn no_socket(path: &Path) -> TargetError {
    let inside = path.join(SOCKET_NAME);
    let is_socket = |there: &Metadata| there.file_type().is_socket();
    let what = if path.is_dir() {
        "is a directory"
    } else {
        "is a file"
    };
    TargetError::Unreachable {
        what: format!("{} {what}, not a socket", path.display()),
        remedy: match fs::metadata(&inside).is_ok_and(|there| is_socket(&there)) {
            true => format!("did you mean --socket {}?", inside.display()),
            false => {
                "--socket takes a switch's API socket, such as /run/weir/s1/api.sock".to_owned()
            }
        },
    }
}

/// Replaces requests in a refusal by commands: `GET /v1/deadlocks` is `switchctl deadlock`.
fn in_commands(message: &str) -> String {
    if let Some(rest) = message.strip_prefix(NO_SUCH_PATH) {
        let path = rest.split([';', ' ']).next().unwrap_or_default();
        let route = ROUTES.iter().find(|route| route.matches(path));
        let command = route.and_then(|route| route.commands.first());
        let what = command.map_or("this request".to_owned(), |name| format!("`{name}`"));
        return format!(
            "the running weir-switchd does not support {what}: it is older than this switchctl; restart it"
        );
    }
    let mut shown: Vec<&Route> = ROUTES
        .iter()
        .filter(|route| route.method == Method::Get)
        .collect();
    // `/v1/deadlocks/ID` before `/v1/deadlocks`.
    shown.sort_by_key(|route| std::cmp::Reverse(route.path.len()));
    let mut text = message.to_owned();
    for route in shown {
        let request = format!("GET {}", route.shown_path());
        match route.commands.first() {
            Some(command) => text = text.replace(&request, &format!("`switchctl {command}`")),
            // No command corresponds to it.
            None => {
                if let Some(at) = text.find(&format!("; {request}")) {
                    text.truncate(at);
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_commands() {
        for (message, told) in [
            (
                "no such suspicion: 9; GET /v1/deadlocks lists the known ones",
                "no such suspicion: 9; `switchctl deadlock` lists the known ones",
            ),
            (
                "4 captures are running already, the maximum; GET /v1/captures lists them",
                "4 captures are running already, the maximum",
            ),
            (
                "no such path: /v1/levels; paths: /v1/status",
                "the running weir-switchd does not support `levels`: it is older than this switchctl; restart it",
            ),
            ("port s9 is no member", "port s9 is no member"),
        ] {
            assert_eq!(in_commands(message), told);
        }
    }

    #[test]
    fn a_path_that_is_not_a_socket_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let told = no_socket(&file).to_string();
        assert!(told.contains("is a file, not a socket"), "{told}");
        let told = no_socket(directory.path()).to_string();
        assert!(told.contains("is a directory, not a socket"), "{told}");
        assert!(told.contains("such as /run/weir/s1/api.sock"), "{told}");
        let socket = directory.path().join(SOCKET_NAME);
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let told = no_socket(directory.path()).to_string();
        assert!(
            told.ends_with(&format!("did you mean --socket {}?", socket.display())),
            "{told}"
        );
    }
}
