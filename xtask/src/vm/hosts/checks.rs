//! Loads and pauses.

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use super::{line, Hosts};

/// Rate of the cable between two hosts: the longest pause is then 335 ms, so that an emulated machine refreshes in time.
const CABLE_RATE: &str = "100Mbit";

/// Maximum duration in seconds of a load that its check normally stops, in case the check fails before.
const LOAD_LIMIT_S: u32 = 380;

/// Pauses priority 3, whose frames are numbered, for several lengths, while priority 0 has a separate load.
pub fn pauses(hosts: &Hosts<'_>) -> Result<String> {
    let rounds = hosts.length.pick(2, 12);
    let result = hosts.steps(
        400,
        &format!(
            "cable
             in_ns a weir-host attach eth0 --rate {CABLE_RATE} > /dev/null
             a='nsenter --net=/run/netns/a'
             $a weir-host measure eth0 --load --priority 3 --for {LOAD_LIMIT_S}s > /tmp/load3 2>&1 & three=$!
             $a weir-host measure eth0 --load --priority 0 --length 200 --for {LOAD_LIMIT_S}s > /tmp/load0 2>&1 & zero=$!
             for round in $(seq {rounds}); do
                 for paused in 5ms 20ms 150ms; do
                     in_ns b weir-host --json measure eth0 --any --priority 3 --pauses 4 --paused $paused --between 40ms \\
                         --rate {CABLE_RATE} > /dev/null
                 done
             done
             in_ns a weir-host --json counters eth0 > /share/before
             kill -TERM $three $zero; wait $three $zero || true
             cat /tmp/load3 /tmp/load0 >&2
             in_ns a weir-host detach eth0 >&2"
        ),
    );
    hosts.clean_up("uncable");
    let said = result?;
    let counters = std::fs::read_to_string(hosts.guest.shared("before"))?;
    let counters: Value = serde_json::from_str(&counters)?;
    let of = |priority: usize, name: &str| {
        let number = counters["priorities"][priority][name].as_u64();
        number.with_context(|| format!("no {name} in {counters}"))
    };
    let (pauses, paused_ns) = (of(3, "pauses")?, of(3, "paused_ns")?);
    let (three, zero) = (of(3, "sent_frames")?, of(0, "sent_frames")?);
    let mut dropped = 0;
    for name in ["dropped_limit", "dropped_memory", "dropped_draining"] {
        dropped += of(3, name)? + of(0, name)?;
    }
    let text = format!(
        "{pauses} pauses, {:.1} s; {three} frames of the paused priority sent, {zero} of the other; {dropped} dropped\n{}",
        paused_ns as f64 / 1e9,
        said.trim()
    );
    ensure!(
        pauses >= 12 && dropped == 0 && three > 0 && zero > 0,
        "{text}"
    );
    ensure!(of(0, "pauses")? == 0, "{text}");
    Ok(text)
}

/// Measures the reaction time to XOFF and XON with TCP as the load, with and without large frames.
pub fn measured_with_tcp(hosts: &Hosts<'_>) -> Result<String> {
    let pauses = hosts.length.pick(50, 500);
    let mut text = String::new();
    for (name, options) in [
        ("TCP", ""),
        ("TCP, one segment a frame", "--gso-segments 1"),
    ] {
        let result = hosts.steps(
            300,
            &format!(
                "cable
                 in_ns a weir-host attach eth0 --rate {CABLE_RATE} {options} > /dev/null
                 nsenter --net=/run/netns/b iperf3 -s -1 > /dev/null 2>&1 &
                 wait_until 30 sh -c 'nsenter --net=/run/netns/b netstat -ltn | grep -q :5201'
                 nsenter --net=/run/netns/a iperf3 -c 10.2.0.2 -t 280 > /tmp/iperf 2>&1 & load=$!
                 in_ns b weir-host --json measure eth0 --any --pauses {pauses} --rate {CABLE_RATE}
                 kill $load"
            ),
        );
        hosts.clean_up("uncable");
        let said = result?;
        let said: Value = serde_json::from_str(&said).with_context(|| said.clone())?;
        let spread = |what: &str| {
            let number = |at: &str| said[what][at].as_f64().unwrap_or(f64::NAN);
            format!(
                "{:.0} / {:.0} / {:.0}",
                number("median"),
                number("p99"),
                number("max")
            )
        };
        line(
            &mut text,
            format_args!(
                "{name}: {} pauses, median / p99 / most: {} frames and {} B after XOFF, the last after {} µs; XON to the first {} µs",
                said["pauses"], spread("frames"), spread("bytes"), spread("xoff_to_last_us"), spread("xon_to_first_us")
            ),
        );
        let measured = said["pauses"].as_u64().context("no pauses")?;
        ensure!(measured > 0, "{text}");
        // Most pauses are obeyed before another frame is sent: on veth the pause frame is processed at once.
        let median = said["bytes"]["median"].as_f64().context("no bytes")?;
        ensure!(median <= 65_536.0, "{text}");
    }
    Ok(text)
}
