//! Our frames, decoded by tshark.

use std::path::Path;
use std::process::Command;

use weir_core::wire::lldp::Content;

use crate::lldp::frames::*;

fn tshark(capture: &Path, arguments: &[&str]) -> String {
    let output = Command::new("tshark")
        .args(["-n", "-r"])
        .arg(capture)
        .args(arguments)
        .output()
        .expect("tshark is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Writes frames in the format of pcap(5).
fn write_capture(path: &Path, frames: &[Vec<u8>]) {
    let mut bytes = Vec::new();
    bytes.extend(0xa1b2_c3d4_u32.to_le_bytes());
    bytes.extend([2, 0, 4, 0]);
    for value in [0, 0, 65_535, 1_u32] {
        bytes.extend(value.to_le_bytes());
    }
    for frame in frames {
        let length = u32::try_from(frame.len()).unwrap();
        for value in [0, 0, length, length] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(frame);
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn tshark_reads_every_value_that_we_write() {
    let capture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lldp.pcap");
    let shutdown = bytes_of(&lldp(Content::Shutdown));
    // A frame that deserves objections shows that they would be seen.
    let pfc_too_short = announcing(&[organisation([0, 0x80, 0xc2, 11], &[])]);
    write_capture(&capture, &[bytes_of(&golden()), shutdown, pfc_too_short]);
    let objections = tshark(
        &capture,
        &[
            "-Y",
            "_ws.malformed || _ws.expert",
            "-T",
            "fields",
            "-e",
            "frame.number",
        ],
    );
    assert_eq!(objections, "3\n");

    let numbered = |name: &str, values: [&str; 8]| -> Vec<(String, String)> {
        (0..8)
            .map(|index| (format!("{name}{index}"), values[index].to_owned()))
            .collect()
    };
    let mut expected: Vec<(String, String)> = [
        ("eth.dst", "01:80:c2:00:00:0e"),
        ("eth.src", "02:57:00:00:00:99"),
        ("eth.type", "0x88cc"),
        ("lldp.tlv.type", "1,2,3,4,5,6,7,127,127,127,127,127,0"),
        ("lldp.chassis.subtype", "4"),
        ("lldp.chassis.id.mac", "02:57:00:00:00:01"),
        ("lldp.port.subtype", "5"),
        ("lldp.port.id", "s1-eth0"),
        ("lldp.time_to_live", "121"),
        ("lldp.port.desc", "to s2"),
        ("lldp.tlv.system.name", "s1"),
        ("lldp.tlv.system.desc", "Weir 0.1"),
        ("lldp.tlv.system_cap", "0x0004"),
        ("lldp.tlv.system_cap.bridge", "1"),
        ("lldp.tlv.enable_system_cap", "0x0004"),
        ("lldp.ieee.802_1.subtype", "0x09,0x0b,0x0c"),
        // OUIs in decimal: three of IEEE 802.1, and ours twice.
        ("lldp.orgtlv.oui", "32962,32962,32962,153413,153413"),
        // ETS is not willing, PFC is.
        ("lldp.dcbx.ieee.willing", "0,1"),
        ("lldp.dcbx.ieee.ets.cbs", "1"),
        ("lldp.dcbx.ieee.ets.maxtcs", "0"),
        ("lldp.dcbx.ieee.pfc.mbc", "0"),
        ("lldp.dcbx.ieee.pfc.numtcs", "8"),
        ("lldp.dcbx.ieee.app.reserved", "0x00"),
        ("lldp.dcbx.ieee.app.prio", "3,4"),
        // Wireshark's spelling.
        ("lldp.dcbx.iee.app.sf", "1,3"),
        ("lldp.dcbx.feature.app.proto", "0x8915,0x12b7"),
        ("lldp.unknown_subtype", "1,2"),
        (
            "lldp.unknown_subtype.content",
            "010100000000004420000000,0101101005ee0000012c0800fc00",
        ),
    ]
    .map(|(field, value)| (field.to_owned(), value.to_owned()))
    .to_vec();
    let own = ["1", "0", "2", "3", "4", "5", "6", "7"];
    expected.extend(numbered("lldp.dcbx.feature.pg.pgid_prio", own));
    let shares = ["20", "20", "20", "40", "0", "0", "0", "0"];
    expected.extend(numbered("lldp.dcbx.feature.pg.per", shares));
    let selection = ["2", "2", "2", "2", "0", "0", "1", "255"];
    expected.extend(numbered("lldp.dcbx.ieee.ets.tsa", selection));
    let enabled = ["0", "0", "0", "1", "1", "0", "0", "0"];
    expected.extend(numbered("lldp.dcbx.feature.pfc.prio", enabled));

    let mut arguments = vec!["-Y", "frame.number == 1", "-T", "fields"];
    for (field, _) in &expected {
        arguments.extend(["-e", field]);
    }
    let line = tshark(&capture, &arguments);
    let values: Vec<&str> = line.trim_end_matches('\n').split('\t').collect();
    assert_eq!(values.len(), expected.len());
    for ((field, expected), value) in expected.iter().zip(values) {
        assert_eq!(value, expected, "{field}");
    }

    let fields = [
        "-T",
        "fields",
        "-e",
        "lldp.tlv.type",
        "-e",
        "lldp.time_to_live",
    ];
    let arguments = [&["-Y", "frame.number == 2"][..], &fields].concat();
    assert_eq!(tshark(&capture, &arguments), "1,2,3,0\t0\n");
}
