//! Frames and payloads as a capture, and tshark's reading of it. Other packages' tests include this file.

use std::path::Path;
use std::process::Command;

/// Writes frames in the format of pcap(5).
pub fn write_capture(path: &Path, frames: &[Vec<u8>]) {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for frame in frames {
        let length = frame.len() as u32;
        for word in [0, 0, length, length] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(frame);
    }
    std::fs::write(path, bytes).unwrap();
}

/// Returns frames with `payloads` as UDP from 192.0.2.7 to `port`.
pub fn udp(port: u16, payloads: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let frame = |payload: &Vec<u8>| {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
        let udp = payload.len() as u16 + 8;
        frame.extend((udp + 20).to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 7, 192, 0, 2, 9]);
        for word in [port, port, udp, 0] {
            frame.extend(word.to_be_bytes());
        }
        frame.extend(payload);
        frame
    };
    payloads.iter().map(frame).collect()
}

/// Returns a line for each packet that `filter` lets through, with tabs between fields and semicolons between the values of one.
pub fn tshark(capture: &Path, filter: &str, fields: &[&str]) -> String {
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r"]).arg(capture).args(["-Y", filter]);
    tshark.args(["-T", "fields", "-E", "aggregator=;"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = tshark
        .output()
        .expect("tshark; `cargo xtask setup` installs it");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}
