//! Frames built by scapy, an independent implementation.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::Bench;

/// Sends each line's expression as frames and prints their number; byte strings are sent unchanged.
const PROGRAM: &str = "
import socket, sys
from scapy.all import *
from scapy.contrib.mac_control import *
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0))
print('ready', flush=True)
for line in sys.stdin:
    count, expression = line.split(' ', 1)
    frame = eval(expression)
    for number in range(int(count)):
        out.send(bytes(frame))
    print('sent', flush=True)
";

/// A scapy process that sends from one host.
pub struct Scapy {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Scapy {
    /// Starts it and waits until it is ready.
    pub fn start(bench: &Bench, host: &str) -> Self {
        // The system's Python has the package.
        let mut child = bench
            .command(host, "/usr/bin/python3")
            .args(["-c", PROGRAM, bench.host_device()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut scapy = Self {
            child,
            input,
            output,
        };
        scapy.expect("ready");
        scapy
    }

    /// Sends the frame of a Python expression `count` times; returns when they have left.
    pub fn send(&mut self, count: u32, expression: &str) {
        writeln!(self.input, "{count} {expression}").unwrap();
        self.expect("sent");
    }

    fn expect(&mut self, word: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), word, "scapy has failed; its error is above");
    }
}

impl Drop for Scapy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
