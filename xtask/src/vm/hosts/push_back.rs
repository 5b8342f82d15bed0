//! An application that stalls at times, and a host that makes its neighbour wait for it.

use anyhow::{ensure, Context, Result};

use super::Hosts;

/// A UDP receiver is stopped until its socket drops; then, with `weir-host push-back`, until its sender is paused.
const STEPS: &str = r#"
sysctl -q -w net.core.rmem_max=16777216
cable
errors() { in_ns b awk '/^Udp:/ { if (line++) print $6 }' /proc/net/snmp; }
dropped() { [ "$(errors)" -gt 0 ]; }
full() { in_ns b weir-host metrics | grep -q "^weir_host_push_back_full_sockets{.*} $1\$"; }
listening() { in_ns b netstat -ltn | grep -q ':5201 '; }
receiving() { in_ns b netstat -un | grep -q '10.2.0.2:5201 '; }
start() {
    nsenter --net=/run/netns/b iperf3 -s -1 > /dev/null 2>&1 & server=$!
    wait_until 30 listening
    nsenter --net=/run/netns/a iperf3 -u -c 10.2.0.2 -b 20M -t 280 -l 1400 -w 4M > /dev/null 2>&1 & client=$!
    wait_until 30 receiving
}
stop() { kill -9 $server $client; wait $server $client || true; }
in_ns a weir-host attach eth0 --rate 100Mbit --udp 5201=3 > /dev/null
start
kill -STOP $server
wait_until 60 dropped
stop
before=$(errors)
start
nsenter --net=/run/netns/b weir-host --json push-back eth0 --priority 3 --rate 100Mbit --port 5201 --longest 1min > /share/push-back & pushing=$!
wait_until 30 full 0
for round in $(seq $rounds); do
    kill -STOP $server
    wait_until 60 full 1
    kill -CONT $server
    wait_until 60 full 0
done
kill -TERM $pushing
wait $pushing
after=$(errors)
in_ns a weir-host --json counters eth0 > /share/sender
stop
in_ns a weir-host detach eth0 --force > /dev/null
echo "$before $((after - before))"
"#;

/// Without it the socket drops; with it nothing is dropped, neither there nor at the sender, which obeys.
pub fn check(hosts: &Hosts<'_>) -> Result<String> {
    let rounds = hosts.length.pick(3, 30);
    let result = hosts.steps(300, &format!("rounds={rounds}\n{STEPS}"));
    hosts.clean_up("uncable");
    let said = result?;
    let last = said.lines().last().and_then(|line| line.split_once(' '));
    let (without, with) = last.with_context(|| said.clone())?;
    let (pushed, sender) = (
        super::plug::json(hosts, "push-back")?,
        super::plug::json(hosts, "sender")?,
    );
    let at_sender = &sender["priorities"][3];
    let text = format!(
        "stopped once without push-back: {without} dropped at the socket; {rounds} times with it: {with}, {} pauses, the socket filled to {}%; {} frames sent, {} dropped at the sender",
        pushed["pauses"], pushed["fullest_percent"], at_sender["sent_frames"], at_sender["dropped_limit"]
    );
    ensure!(without.trim() != "0" && with.trim() == "0", "{text}");
    ensure!(pushed["pauses"].as_u64() >= Some(rounds), "{text}");
    ensure!(at_sender["dropped_limit"] == 0, "{text}");
    ensure!(at_sender["pauses"].as_u64() >= Some(rounds), "{text}");
    Ok(text)
}
