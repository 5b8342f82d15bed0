//! The configuration's text, with comments for its editors.

use std::fmt::Write;

use weir_config::daemon::FirstThresholds;
use weir_config::units::{format_rate, format_size};
use weir_core::{BitRate, Bytes, PortRole};

use super::devices::Device;

const STEP: Bytes = Bytes::new(1024);

pub struct Wanted<'a> {
    pub name: &'a str,
    pub devices: &'a [Device],
    pub roce: bool,
}

/// Returns the TOML. Thresholds follow a rule of thumb for the fastest port; the planner adjusts them.
pub fn write(wanted: &Wanted<'_>) -> String {
    let fastest = wanted.devices.iter().map(|device| device.rate).max();
    let thresholds = FirstThresholds::for_rate(fastest.unwrap_or(BitRate::from_mbit(1)));
    let mut out = format!(
        "# Check it by `switchctl config check`, `switchctl plan` and `switchctl doctor --config`, each with this file.\n\
         \nname = {}\n\
         \n[log]\nlevel = \"info\"\n\
         \n[metrics]\n# Prometheus; \"off\" for none.\nlisten = \"127.0.0.1:9464\"\n\
         \n[page]\n# The live page: read-only, without authentication.\nlisten = \"127.0.0.1:9465\"\n\
         \n[deadlock]\n# Releases frames of a credit loop without loss. \"auto\" also moves flows off it; \"off\" only reports it.\npolicy = \"breaker\"\n\
         \n[forwarding]\n# Learns addresses and floods unknown destinations. Only in networks without loops; otherwise write [[route]]s.\nlearning = true\n",
        quoted(wanted.name)
    );
    if wanted.roce {
        out += "\n[pfcwd]\n# A host that pauses its port for ever must not stop others.\nenabled = true\n\
                \n[lldp]\n# Asks hosts to send RoCEv2 with priority 3.\nudp = { 4791 = 3 }\n";
    }
    lossless(&mut out, wanted.roce, thresholds);
    if wanted.roce {
        out +=
            "\n# Congestion notifications (CNP, DSCP 48): few and small, and they go before all else.\n\
                [[class]]\nname = \"cnp\"\npriority = 6\nmode = \"lossy\"\nscheduler = \"strict\"\n";
    }
    out += "\n# While the switch runs, every frame that arrives at a port belongs to it.\n";
    for device in wanted.devices {
        port(&mut out, device);
    }
    out
}

/// Formats a TOML string.
fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

fn lossless(out: &mut String, roce: bool, thresholds: FirstThresholds) {
    let FirstThresholds {
        xoff,
        xon,
        headroom,
    } = thresholds;
    let name = if roce { "roce" } else { "lossless" };
    *out += "\n# Frames of priority 3 (PCP 3, or DSCP 24 to 31) are lossless: neighbours are paused in time, and must obey. Hosts with\n\
             # Linux do so with weir-host; `police` is for ports of those that do not. All other frames are lossy.\n";
    let _ = writeln!(
        out,
        "[[class]]\nname = \"{name}\"\npriority = 3\nmode = \"pfc\"\nxoff = \"{}\"\nxon = \"{}\"\nheadroom = \"{}\"",
        format_size(xoff),
        format_size(xon),
        format_size(headroom)
    );
    if roce {
        let [kmin, kmax] = [xoff.get() / 4, xoff.get()].map(|size| {
            let size = Bytes::new(size).round_up_to(STEP);
            format_size(size)
        });
        let _ = writeln!(
            out,
            "# Congestion Experienced, so that senders slow down before they are paused.\n\
             ecn-kmin = \"{kmin}\"\necn-kmax = \"{kmax}\"\necn-pmax = \"10%\"",
        );
    }
}

fn port(out: &mut String, device: &Device) {
    let Device {
        name, role, rate, ..
    } = device;
    let _ = writeln!(out, "\n# {}.", device.about);
    if !device.addresses.is_empty() {
        let _ = writeln!(
            out,
            "# The host uses it with {}, and cannot while the switch has it.",
            device.addresses.join(", ")
        );
    }
    let _ = writeln!(
        out,
        "[[port]]\ndevice = {}\nrole = \"{}\"\nrate = \"{}\"",
        quoted(name),
        role.name(),
        format_rate(*rate)
    );
    if *role == PortRole::Edge {
        *out += "# `weir-host measure` finds the amount that the host still sends after a pause:\n# overshoot = \"128KiB\"\n";
    }
}
