//! A host with a rate limit.

use anyhow::{ensure, Context, Result};

use super::plug::json;
use super::{line, Hosts};

const MAX_RATE: &str = "10Mbit";
const BYTES_PER_SECOND: f64 = 10e6 / 8.0;
/// Preamble, FCS and gap of a frame, in bytes.
const OVERHEAD_BYTES: f64 = 24.0;
/// Capacity of the bucket, plus two frames: one that overdraws it, and one in flight when the count begins.
const BURST_BYTES: f64 = 65_536.0 + 2.0 * 1538.0;
/// A load for five seconds, counted at the other end of the cable. The clock is read before the first count and after the
/// last one, so that waiting for a CPU cannot increase the rate.
const COUNT: &str = r#"
statistics=/sys/class/net/eth0/statistics
clock() { cut -d' ' -f1 /proc/uptime; }
received() { in_ns b sh -c "mount -t sysfs b /sys; cat $statistics/rx_bytes $statistics/rx_packets; umount /sys" | tr '\n' ' '; }
flows() { [ "$(received | cut -d' ' -f2)" -gt 100 ]; }
count() {
    nsenter --net=/run/netns/a weir-host measure eth0 --load --priority 3 --for 200s > /tmp/load 2>&1 & load=$!
    wait_until 30 flows
    from=$(clock); first=$(received)
    sleep 5
    last=$(received); to=$(clock)
    in_ns b weir-host --json measure eth0 --any --priority 3 --pauses 4 --paused 100ms --rate 100Mbit > "/share/rate-$1"
    kill -TERM $load; wait $load || true
    echo "$1 $from $to $first $last"
}
"#;

/// With `attach` and with `plug` the host sends at most the limit, and obeys pauses; without a limit it sends more.
pub fn check(hosts: &Hosts<'_>) -> Result<String> {
    let result = hosts.steps(
        200,
        &format!(
            "{COUNT}
             cable
             in_ns a weir-host attach eth0 --rate 100Mbit > /dev/null
             count unbounded
             in_ns a weir-host attach eth0 --rate 100Mbit --max-rate {MAX_RATE} > /dev/null
             count attach
             in_ns a weir-host --json counters eth0 > /share/attach-counters
             in_ns a weir-host detach eth0 --force > /dev/null
             plug --rate 100Mbit --max-rate {MAX_RATE}
             count plug
             in_ns a weir-host --json counters eth0 > /share/plug-counters
             in_ns a weir-host detach eth0 > /dev/null
             wait $keeper
             unplugged"
        ),
    );
    hosts.clean_up("uncable");
    let said = result?;
    let mut text = String::new();
    for name in ["unbounded", "attach", "plug"] {
        let found = said.lines().find_map(|line| line.strip_prefix(name));
        let numbers = found.with_context(|| said.clone())?.split_whitespace();
        let numbers: Vec<f64> = numbers.map(str::parse).collect::<Result<_, _>>()?;
        let [from, to, bytes, packets, bytes_after, packets_after] = numbers[..] else {
            anyhow::bail!("{said}");
        };
        let seconds = to - from;
        let sent = bytes_after - bytes + OVERHEAD_BYTES * (packets_after - packets);
        let after_xoff = json(hosts, &format!("rate-{name}"))?["bytes"]["median"]
            .as_f64()
            .context("no bytes")?;
        line(
            &mut text,
            format_args!(
                "{name}: {:.2} Mbit/s on the wire in {seconds:.1} s; {after_xoff} B after XOFF in the median",
                sent * 8.0 / seconds / 1e6
            ),
        );
        let is_bounded = sent <= seconds * BYTES_PER_SECOND + BURST_BYTES;
        ensure!(is_bounded == (name != "unbounded") && sent > 0.0, "{text}");
        if is_bounded {
            let counters = json(hosts, &format!("{name}-counters"))?;
            let waits = counters["totals"]["rate_waits"].as_u64().unwrap_or(0);
            let bound = counters["settings"]["max_rate_bits_per_second"].as_u64();
            ensure!(waits > 0 && bound == Some(10_000_000), "{text}{counters}");
            ensure!(after_xoff <= BURST_BYTES, "{text}");
        }
    }
    Ok(text)
}
