//! The variant for kernels without queueing disciplines in BPF: `weir-host plug`.

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use super::Hosts;

const RATE: &str = "100Mbit";
const PAUSED_MS: f64 = 20.0;

/// Priority 3 is paused while priority 0 continues; then the processes are killed, one, the other, and both.
pub fn check(hosts: &Hosts<'_>) -> Result<String> {
    let pauses = hosts.length.pick(20, 200);
    let result = hosts.steps(
        300,
        &format!(
            "cable
             a='nsenter --net=/run/netns/a'
             plug --rate {RATE}
             plugged
             $a weir-host measure eth0 --load --priority 3 --for 250s > /tmp/load3 2>&1 & three=$!
             $a weir-host measure eth0 --load --priority 0 --length 200 --for 250s > /tmp/load0 2>&1 & zero=$!
             kill -STOP $zero
             in_ns b weir-host --json measure eth0 --priority 3 --pauses {pauses} --paused {PAUSED_MS}ms --rate {RATE} > /share/measured
             kill -CONT $zero
             in_ns b weir-host --json measure eth0 --any --priority 3 --pauses 4 --paused 100ms --rate {RATE} > /dev/null
             nsenter --net=/run/netns/b weir-host measure eth0 --any --priority 3 --pauses 1 --paused 4s --rate {RATE} > /dev/null & pausing=$!
             while kill -0 $pausing 2> /dev/null; do in_ns a weir-host --json counters eth0 >> /share/during; done
             in_ns a weir-host metrics | grep -q '^weir_host_pauses_total{{device=\"eth0\",priority=\"3\"}} [1-9]'
             kill -TERM $three $zero; wait $three $zero || true
             cat /tmp/load3 /tmp/load0 >&2
             kill -TERM $keeper
             wait $keeper
             unplugged
             for killed in worker keeper; do
                 plug --rate {RATE}
                 if [ $killed = worker ]; then kill -9 $worker; else kill -9 $keeper; fi
                 wait_until 20 unplugged
                 wait $keeper || true
             done
             plug --rate {RATE}
             kill -STOP $worker; kill -9 $keeper; kill -9 $worker; wait $keeper || true
             plugged
             in_ns a weir-host status eth0 2>&1 | grep -q 'a killed .weir-host plug'
             for all in status metrics; do
                 if in_ns a weir-host $all > /tmp/all 2> /tmp/all-said; then echo \"$all passes it over\"; exit 1; fi
                 grep -q 'a killed .weir-host plug' /tmp/all-said
             done
             grep -q '^# TYPE weir_host_attached' /tmp/all
             in_ns a weir-host detach eth0 > /dev/null
             unplugged
             plug --rate {RATE}
             in_ns a weir-host detach eth0 > /dev/null
             unplugged
             wait $keeper
             ! in_ns a ip maddr show dev eth0 | grep -qi 01:80:c2:00:00:01"
        ),
    );
    let left = hosts
        .steps(10, "cat /tmp/plug-said || true")
        .unwrap_or_default();
    hosts.clean_up("uncable");
    let said = result.with_context(|| left)?;
    let measured = json(hosts, "measured")?;
    let (paused, other) = sent_during_a_pause(hosts)?;
    let spread = |what: &str| {
        ["median", "p99", "max"].map(|at| measured[what][at].as_f64().unwrap_or(f64::NAN))
    };
    let text = format!(
        "{} pauses, median / p99 / most: {:.0?} frames and {:.0?} B after XOFF, the last after {:.0?} µs; XON to the first {:.0?} µs; {} missing, {} out of order; while priority 3 was paused, {paused} of its frames were sent and {other} of priority 0\n{}",
        measured["pauses"], spread("frames"), spread("bytes"), spread("xoff_to_last_us"),
        spread("xon_to_first_us"), measured["missing"], measured["out_of_order"], said.trim()
    );
    ensure!(measured["pauses"].as_u64() > Some(0), "{text}");
    ensure!(paused == 0 && other > 0, "{text}");
    // If a pause is not obeyed, frames are sent until its end. The reaction time is only recorded for the page, since
    // processes wait for the CPU.
    let last = measured["xoff_to_last_us"]["median"].as_f64();
    ensure!(
        last.is_some_and(|last| last <= PAUSED_MS * 1e3 / 2.0),
        "{text}"
    );
    ensure!(measured["missing"].as_u64() == Some(0), "{text}");
    ensure!(
        !said.contains("refused") || said.matches("; 0 refused").count() == 2,
        "{text}"
    );
    Ok(text)
}

/// Returns the frames of priority 3 and of priority 0 sent between two samples, while priority 3 was paused all the time.
fn sent_during_a_pause(hosts: &Hosts<'_>) -> Result<(u64, u64)> {
    let text = std::fs::read_to_string(hosts.guest.shared("during"))?;
    let looks = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let looks: Vec<Value> = looks.collect::<Result<_, _>>()?;
    let of =
        |look: &Value, priority: usize, name: &str| look["priorities"][priority][name].as_u64();
    let (mut paused, mut other) = (0, 0);
    for two in looks.windows(2) {
        let [before, after] = two else { continue };
        let is_paused = |look: &Value| of(look, 3, "paused_for_ns").is_some();
        if !is_paused(before)
            || !is_paused(after)
            || of(before, 3, "pauses") != of(after, 3, "pauses")
        {
            continue;
        }
        let sent =
            |look: &Value, priority| of(look, priority, "sent_frames").context("no sent_frames");
        paused += sent(after, 3)? - sent(before, 3)?;
        other += sent(after, 0)? - sent(before, 0)?;
    }
    Ok((paused, other))
}

pub(super) fn json(hosts: &Hosts<'_>, name: &str) -> Result<Value> {
    let text = std::fs::read_to_string(hosts.guest.shared(name))?;
    serde_json::from_str(&text).context(text)
}
