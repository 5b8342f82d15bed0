//! Payloads as a capture, and tshark's reading of it.

use std::path::Path;
use std::process::Command;

/// Writes `payloads` as UDP from 192.0.2.7 to `port`, in the format of pcap(5).
pub fn write_capture(path: &Path, port: u16, payloads: &[Vec<u8>]) {
    let mut bytes = Vec::new();
    bytes.extend(0xa1b2_c3d4_u32.to_le_bytes());
    bytes.extend([2, 0, 4, 0]);
    for value in [0, 0, 65_535, 1_u32] {
        bytes.extend(value.to_le_bytes());
    }
    for payload in payloads {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
        let udp = payload.len() as u16 + 8;
        frame.extend((udp + 20).to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 7, 192, 0, 2, 9]);
        frame.extend(port.to_be_bytes());
        frame.extend(port.to_be_bytes());
        frame.extend(udp.to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(payload);
        let length = frame.len() as u32;
        for value in [0, 0, length, length] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(&frame);
    }
    std::fs::write(path, bytes).unwrap();
}

/// Returns a line for each packet that `filter` lets through, with tabs between fields and semicolons between the values of one.
pub fn tshark(capture: &Path, filter: &str, fields: &[&str]) -> String {
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r"]).arg(capture).args(["-Y", filter]);
    tshark.args(["-T", "fields", "-E", "aggregator=;"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}
