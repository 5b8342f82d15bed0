//! The way for kernels without queueing disciplines in BPF: `weir-host plug`.

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use super::Hosts;

const RATE: &str = "100Mbit";
/// How long each measured pause lasts.
const PAUSED_MS: f64 = 20.0;

/// Priority 3 is paused while priority 0 goes on; then the processes are killed, one, the other, and both.
pub fn check(hosts: &Hosts<'_>) -> Result<String> {
    let pauses = hosts.length.pick(20, 200);
    let result = hosts.steps(
        300,
        &format!(
            "cable
             a='nsenter --net=/run/netns/a'
             plugged() {{ in_ns a tc qdisc show dev eth0 | grep -q 'plug 7743:'; }}
             unplugged() {{ ! in_ns a tc qdisc show dev eth0 | grep -qE ' plug | 7748:'; }}
             held() {{ in_ns a weir-host status eth0 2>&1 | grep -q 'held by'; }}
             plug() {{
                 $a weir-host --json plug eth0 --rate {RATE} > /share/plug 2> /tmp/plug-said & keeper=$!
                 wait_until 20 held
                 worker=$(in_ns a weir-host status eth0 2>&1 | sed 's/.*process \\([0-9]*\\).*/\\1/')
             }}
             plug
             plugged
             $a weir-host measure eth0 --load --priority 3 --for 250s > /tmp/load3 2>&1 & three=$!
             $a weir-host measure eth0 --load --priority 0 --length 200 --for 250s > /tmp/load0 2>&1 & zero=$!
             kill -STOP $zero
             in_ns b weir-host --json measure eth0 --priority 3 --pauses {pauses} --paused {PAUSED_MS}ms --rate {RATE} > /share/measured
             kill -CONT $zero
             in_ns b weir-host --json measure eth0 --any --priority 3 --pauses 4 --paused 100ms --rate {RATE} > /dev/null
             kill -TERM $three $zero; wait $three $zero || true
             cat /tmp/load3 /tmp/load0 >&2
             kill -TERM $keeper
             wait $keeper
             unplugged
             for killed in worker keeper; do
                 plug
                 if [ $killed = worker ]; then kill -9 $worker; else kill -9 $keeper; fi
                 wait_until 20 unplugged
                 wait $keeper || true
             done
             plug
             kill -STOP $worker; kill -9 $keeper; kill -9 $worker; wait $keeper || true
             plugged
             in_ns a weir-host status eth0 2>&1 | grep -q 'is dead'
             in_ns a weir-host detach eth0 > /dev/null
             unplugged
             plug
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
    let spread = |what: &str| {
        ["median", "p99", "max"].map(|at| measured[what][at].as_f64().unwrap_or(f64::NAN))
    };
    let text = format!(
        "{} pauses, median / p99 / most: {:.0?} frames and {:.0?} B after XOFF, the last after {:.0?} µs; XON to the first {:.0?} µs; {} missing, {} out of order\n{}",
        measured["pauses"], spread("frames"), spread("bytes"), spread("xoff_to_last_us"),
        spread("xon_to_first_us"), measured["missing"], measured["out_of_order"], said.trim()
    );
    ensure!(measured["pauses"].as_u64() > Some(0), "{text}");
    // A pause that is not obeyed has frames until its end. How soon one is obeyed is for the page: processes wait for their turn.
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

fn json(hosts: &Hosts<'_>, name: &str) -> Result<Value> {
    let text = std::fs::read_to_string(hosts.guest.shared(name))?;
    serde_json::from_str(&text).context(text)
}
