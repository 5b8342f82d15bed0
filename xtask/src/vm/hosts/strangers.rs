//! Pauses that may come from any station.

use anyhow::{ensure, Result};

use super::plug::json;
use super::{line, Hosts};

/// The neighbour pauses priority 3 with frames tagged with VLAN 0, which bridges forward, and then with proper ones.
const STEPS: &str = r#"
cable
for n in a b; do
    in_ns $n ip link add link eth0 name tagged type vlan id 0
    in_ns $n ip link set tagged up
done
pause() { in_ns b weir-host --json measure $1 --any --priority 3 --pauses 3 --paused 20ms --rate 100Mbit > /dev/null; }
both() {
    loads=
    for device in eth0 tagged; do
        nsenter --net=/run/netns/a weir-host measure $device --load --priority 3 --for 100s > /tmp/load 2>&1 & loads="$loads $!"
    done
    pause tagged
    in_ns a weir-host --json counters eth0 > /share/$1-tagged
    pause eth0
    in_ns a weir-host --json counters eth0 > /share/$1-proper
    kill -TERM $loads; wait $loads || true
}
in_ns a weir-host attach eth0 --rate 100Mbit > /dev/null
both attach
in_ns a weir-host detach eth0 --force > /dev/null
plug --rate 100Mbit
both plug
in_ns a weir-host detach eth0 > /dev/null
wait $keeper
"#;

/// Tagged pauses are counted and not obeyed.
pub fn check(hosts: &Hosts<'_>) -> Result<String> {
    let result = hosts.steps(200, STEPS);
    hosts.clean_up("uncable");
    result?;
    let mut text = String::new();
    for how in ["attach", "plug"] {
        let of = |name: &str| json(hosts, &format!("{how}-{name}"));
        let (tagged, proper) = (of("tagged")?, of("proper")?);
        let pauses = |counters: &serde_json::Value| counters["priorities"][3]["pauses"].as_u64();
        let bad = tagged["totals"]["bad_frames"].as_u64().unwrap_or(0);
        let [by_tagged, in_the_end] = [pauses(&tagged), pauses(&proper)];
        line(
            &mut text,
            format_args!("{how}: {bad} tagged frames, {by_tagged:?} pauses by them, {in_the_end:?} in the end"),
        );
        ensure!(
            bad >= 3 && by_tagged == Some(0) && in_the_end >= Some(3),
            "{text}"
        );
    }
    Ok(text)
}
