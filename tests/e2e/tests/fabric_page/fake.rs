//! Fake switches: sockets that repeat a daemon's recorded answers, with other names.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use serde_json::{json, Value};
use weir_lab::endpoint::run::clock;

/// Recorded answer of switch s1 of `scenarios/ring4.toml` to `GET /v1/overview`, with two of its ports.
const RECORDED: &str = include_str!("../../../../tools/page/tests/data/overview.json");
/// Placeholder for the time of the answer.
const MOMENT: &str = "1234567890123456789";

/// Behaviour of a socket.
#[derive(Clone)]
pub enum Says {
    /// Returns this body.
    Body(String),
    /// Returns these bytes once for any request, then closes.
    Bytes(String),
    /// Returns a head, then a blank periodically without end.
    Drips(Duration),
    /// Returns blanks as fast as possible without end.
    Floods,
    Nothing,
}

/// A switch of a made-up network.
pub struct Made {
    overview: Value,
}

impl Made {
    /// Creates a healthy one; `edge` adds a host.
    pub fn new(name: &str, neighbours: &[String], edge: bool) -> Self {
        let mut overview: Value = serde_json::from_str(RECORDED).unwrap();
        overview["monotonic_nanos"] = json!(MOMENT.parse::<u64>().unwrap());
        overview["status"]["name"] = json!(name);
        overview["status"]["health"] = json!({"verdict": "ok", "reasons": []});
        overview["deadlocks"] = json!({"current": [], "past": []});
        overview["events"] = json!([]);
        let (port, pfc) = (overview["ports"][0].clone(), overview["pfc"][0].clone());
        let mut names: Vec<(String, &str)> = neighbours
            .iter()
            .map(|name| (name.clone(), "fabric"))
            .collect();
        if edge {
            names.push((format!("h-{name}"), "edge"));
        }
        overview["ports"] = names
            .iter()
            .map(|(name, role)| {
                let mut port = port.clone();
                port["name"] = json!(name);
                port["role"] = json!(role);
                port["link_up"] = json!(true);
                port
            })
            .collect();
        overview["pfc"] = names
            .iter()
            .map(|(name, _)| {
                let mut pfc = pfc.clone();
                for what in ["pausing", "paused", "suspected"] {
                    pfc[what] = json!(false);
                }
                pfc["port"] = json!(name);
                pfc["release_ingress"] = json!(null);
                pfc["paused_seconds_total"] = json!(0.0);
                pfc
            })
            .collect();
        overview["neighbors"] = neighbours
            .iter()
            .map(|name| (name.clone(), json!(name)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        Self { overview }
    }

    /// Makes this neighbour hold its port.
    pub fn held(mut self, by: &str, suspected: bool) -> Self {
        let queue = self.overview["pfc"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .find(|one| one["port"] == by)
            .unwrap();
        queue["paused"] = json!(true);
        queue["suspected"] = json!(suspected);
        if suspected {
            let now = clock().unwrap().as_nanos();
            let deadlock = json!({
                "id": 1, "port": by, "priority": queue["priority"], "reason": "pause",
                "began_monotonic_nanos": now, "idle_seconds": 0.1, "queued_bytes": 30_000,
                "loops_found": 0, "releases": 0,
            });
            self.overview["deadlocks"]["current"] = json!([deadlock]);
        }
        self
    }

    /// Converts it to an answer.
    pub fn says(&self) -> Says {
        Says::Body(self.overview.to_string())
    }
}

/// Makes a socket in `run`/`name` answer until the process ends.
pub fn serve(run: &Path, name: &str, says: Says) {
    let directory = run.join(name);
    std::fs::create_dir(&directory).unwrap();
    let listener = UnixListener::bind(directory.join("api.sock")).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let says = says.clone();
            std::thread::spawn(move || answer(stream, &says));
        }
    });
}

/// Serves one connection. The client may close it at any time.
fn answer(mut stream: UnixStream, says: &Says) {
    let mut asked = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        asked.extend_from_slice(&buffer[..length]);
        if !asked.ends_with(b"\r\n\r\n") {
            continue;
        }
        let is_overview = asked.starts_with(b"GET /v1/overview ");
        asked.clear();
        let written = match says {
            Says::Body(body) if is_overview => {
                let now = clock().unwrap().as_nanos().to_string();
                let body = body.replace(MOMENT, &now);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
                write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len())
            }
            Says::Body(_) => write!(
                stream,
                "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
            ),
            Says::Bytes(bytes) => {
                let _ = stream.write_all(bytes.as_bytes());
                return;
            }
            Says::Drips(pause) => go_on(&mut stream, b" ", *pause),
            Says::Floods => go_on(&mut stream, &[b' '; 65_536], Duration::ZERO),
            Says::Nothing => Ok(()),
        };
        if written.is_err() {
            return;
        }
    }
}

/// Sends until the client closes the connection.
fn go_on(stream: &mut UnixStream, piece: &[u8], pause: Duration) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
    )?;
    loop {
        stream.write_all(piece)?;
        std::thread::sleep(pause);
    }
}
