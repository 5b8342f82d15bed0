//! A daemon that answers from a table, and a function to run the program.
#![allow(dead_code)] // each test file uses its own part

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

/// Time limit of all waits in tests.
pub const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

/// Result of a finished run of the program.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Returns the program's command, in an environment that selects no switch.
pub fn switchctl() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchctl"));
    command.env_remove("WEIR_SOCKET");
    command
}

pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Run {
    switchctl().args(arguments).output().unwrap().into()
}

#[derive(Clone, Debug)]
pub enum Answer {
    /// HTTP status and body.
    Http(u16, String),
    /// The connection is closed; others are still accepted.
    HangUp,
    /// The daemon ends: it removes its socket and closes the connection.
    End,
}

/// Answers each path (query included) from the table, one answer after the other; the last one repeats.
pub struct FakeDaemon {
    directory: tempfile::TempDir,
    asked: Arc<Mutex<Vec<String>>>,
    sent: Arc<Mutex<Vec<(String, String)>>>,
}

impl FakeDaemon {
    pub fn new(answers: &[(&str, Vec<Answer>)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("api.sock")).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let mut table: BTreeMap<String, Vec<Answer>> = answers
            .iter()
            .map(|(path, answers)| ((*path).to_owned(), answers.clone()))
            .collect();
        let log = Arc::clone(&asked);
        let bodies = Arc::clone(&sent);
        let socket = directory.path().join("api.sock");
        // Ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, &socket, &mut table, &log, &bodies);
            }
        });
        Self {
            directory,
            asked,
            sent,
        }
    }

    /// Creates a daemon with one path and one successful answer.
    pub fn good(path: &str, body: &str) -> Self {
        Self::new(&[(path, vec![Answer::Http(200, body.to_owned())])])
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("api.sock")
    }

    /// Runs the program against this daemon.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.command(arguments).output().unwrap().into()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = switchctl();
        command.arg("--socket").arg(self.socket()).args(arguments);
        command
    }

    pub fn sent(&self) -> Vec<(String, String)> {
        self.sent.lock().unwrap().clone()
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(
    stream: UnixStream,
    socket: &Path,
    table: &mut BTreeMap<String, Vec<Answer>>,
    asked: &Mutex<Vec<String>>,
    sent: &Mutex<Vec<(String, String)>>,
) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() || first.is_empty() {
        return; // only a connection attempt
    }
    let mut line = String::new();
    let mut length = 0;
    while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let method = first.split(' ').next().unwrap_or_default().to_owned();
    let body = String::from_utf8(body).unwrap();
    sent.lock().unwrap().push((method, body));
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.clone());
    let answer = match table.get_mut(&path) {
        Some(answers) if answers.len() > 1 => answers.remove(0),
        Some(answers) => answers[0].clone(),
        None => Answer::Http(
            404,
            format!("{{\"error\": \"no such path: {path}; paths: /v1/status\"}}"),
        ),
    };
    match answer {
        Answer::Http(status, body) => {
            let _ = write!(
                reader.get_mut(),
                "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
        }
        Answer::HangUp => {}
        Answer::End => std::fs::remove_file(socket).unwrap(),
    }
}

/// Returns the lines of a text marked with `|` in the source.
pub fn lines(text: &str) -> String {
    text.lines()
        .filter_map(|line| line.trim_start().strip_prefix('|'))
        .map(|line| line.to_owned() + "\n")
        .collect()
}

/// Creates a file in a directory that is removed with the returned guard.
pub fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

pub fn text_of(path: &Path) -> String {
    path.display().to_string()
}
