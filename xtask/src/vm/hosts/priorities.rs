//! Priorities of frames if `prio` sorts them.

use anyhow::{ensure, Context, Result};

use super::plug::json;
use super::{line, Hosts};

const DATAGRAMS: u64 = 50;
/// Datagrams of iperf3 to two ports and with two DSCPs, then with a VLAN tag. The guest has no IPv6.
const STEPS: &str = r#"
cable
for port in 4791 5201; do nsenter --net=/run/netns/b iperf3 -s -p $port > /dev/null 2>&1 & done
listening() { in_ns b netstat -ltn | grep -q ":$1 "; }
for port in 4791 5201; do wait_until 30 listening $port; done
to() { in_ns a iperf3 -u -b 10M -k $datagrams -l 500 -c "$@" > /tmp/iperf 2>&1 || { cat /tmp/iperf; exit 1; }; }
plug --rate 100Mbit --priorities dscp --dscp 26=7 --udp 4791=3
to 10.2.0.2 -p 4791
to 10.2.0.2 -p 5201 -S 128
to 10.2.0.2 -p 5201 -S 104
in_ns a weir-host --json counters eth0 > /share/by-dscp
in_ns a weir-host detach eth0 > /dev/null
wait $keeper
for end in 'a 1' 'b 2'; do
    set -- $end
    in_ns $1 ip link add link eth0 name tagged type vlan id 5 egress-qos-map 0:6
    in_ns $1 ip addr add 10.5.0.$2/24 dev tagged
    in_ns $1 ip link set tagged up
done
plug --rate 100Mbit --priorities vlan --udp 4791=3
to 10.5.0.2 -p 4791
for to in 10.5.0.2 10.2.0.2; do in_ns a ping -c 3 -W 5 $to > /dev/null; done
in_ns a weir-host --json counters eth0 > /share/by-tag
in_ns a weir-host detach eth0 > /dev/null
wait $keeper
unplugged
"#;

#[derive(Clone, Copy, Debug)]
enum Sent {
    Nothing,
    /// A few frames, such as iperf3's first connections, and pings.
    Something,
    /// At least the datagrams to one destination; a run begins with one more.
    Once,
}

/// Checks priorities by UDP port, DSCP and VLAN tag: each kind of frame is counted at its own priority.
pub fn check(hosts: &Hosts<'_>) -> Result<String> {
    let result = hosts.steps(300, &format!("datagrams={DATAGRAMS}\n{STEPS}"));
    let left = hosts.steps(10, "cat /tmp/plug-said || true");
    hosts.clean_up("uncable");
    result.with_context(|| left.unwrap_or_default())?;
    let mut text = String::new();
    let (no, some, once) = (Sent::Nothing, Sent::Something, Sent::Once);
    for (name, file, expected) in [
        (
            "by DSCP and UDP port",
            "by-dscp",
            [some, no, no, once, once, no, no, once],
        ),
        (
            "by tag and UDP port",
            "by-tag",
            [some, no, no, once, no, no, some, no],
        ),
    ] {
        let counters = json(hosts, file)?;
        let sent = |priority: usize| {
            counters["priorities"][priority]["sent_frames"]
                .as_u64()
                .unwrap_or(0)
        };
        let all: Vec<u64> = (0..expected.len()).map(sent).collect();
        line(
            &mut text,
            format_args!("{name}: {all:?} frames of priorities 0 to 7"),
        );
        for (expected, sent) in expected.iter().zip(&all) {
            let is_so = match expected {
                Sent::Nothing => *sent == 0,
                Sent::Something => *sent > 0,
                Sent::Once => *sent >= DATAGRAMS,
            };
            ensure!(is_so, "{text}");
        }
    }
    Ok(text)
}
