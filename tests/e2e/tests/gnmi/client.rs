//! pygnmi, an independent implementation.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{json, Value};
use weir_lab::lab::process::inside;

/// Port of all switches, each in a separate namespace.
pub const PORT: u16 = 9339;

/// A pygnmi in a switch's namespace.
pub struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Client {
    /// Connects; `Err` with pygnmi's message on failure.
    pub fn connect(python: &Path, namespace: &str, options: &Value) -> Result<Self, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut options = options.clone();
        options["port"] = PORT.into();
        let mut child = inside(namespace, python)
            .arg(here.join("python/gnmi_client.py"))
            .arg(options.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self {
            child,
            input,
            output,
        };
        match client.answer() {
            ready if ready == "ready" => Ok(client),
            error => Err(error["error"].as_str().unwrap().to_owned()),
        }
    }

    /// Connects without TLS.
    pub fn plain(python: &Path, namespace: &str) -> Self {
        Self::connect(python, namespace, &json!({"insecure": true})).unwrap()
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("pygnmi: {error}: {line}"))
    }

    pub fn ask(&mut self, ask: &Value) -> Value {
        writeln!(self.input, "{ask}").unwrap();
        self.answer()
    }

    /// Returns all leaves below `path`.
    pub fn leaves(&mut self, path: &str) -> BTreeMap<String, Value> {
        let answer = self.ask(&json!({"do": "get", "path": [path], "encoding": "proto"}));
        let mut leaves = BTreeMap::new();
        for notification in answer["notification"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"))
        {
            take(&mut leaves, notification);
        }
        leaves
    }

    /// Begins a subscription; returns its number.
    pub fn subscribe(&mut self, mode: &str, subscriptions: &Value) -> u64 {
        let list = json!({"mode": mode, "encoding": "proto", "subscription": subscriptions});
        let stream = self.ask(&json!({"do": "subscribe", "list": list}));
        stream.as_u64().unwrap_or_else(|| panic!("{stream}"))
    }

    /// Returns the next message of the stream.
    pub fn next(&mut self, stream: u64) -> Value {
        let told = self.ask(&json!({"do": "next", "stream": stream}));
        assert!(told.get("error").is_none(), "{told}");
        told
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Applies a notification's values and deletions.
pub fn take(known: &mut BTreeMap<String, Value>, notification: &Value) {
    let list = |name: &str| notification[name].as_array().cloned().unwrap_or_default();
    for gone in list("delete") {
        let gone = gone.as_str().unwrap().to_owned();
        known.retain(|path, _| !path.starts_with(&gone));
    }
    for update in list("update") {
        let path = update["path"].as_str().unwrap().to_owned();
        known.insert(path, update["val"].clone());
    }
}
