//! Attached, detached and killed, again and again: nothing may be left.

use anyhow::{ensure, Result};

use super::Hosts;

/// Attaches and detaches under traffic, and kills either at random times.
pub fn check(hosts: &Hosts<'_>) -> Result<String> {
    let rounds = hosts.length.pick(30, 1000);
    let result = hosts.steps(
        hosts.length.pick(240, 3000),
        &format!(
            "cable
             a='nsenter --net=/run/netns/a'
             $a ping -i 0.2 10.2.0.2 > /tmp/ping 2>&1 & ping=$!
             killed=0
             for round in $(seq {rounds}); do
                 for what in attach detach; do
                     options=; [ $what = detach ] || options='--rate 1Gbit'
                     if [ $((round % 2)) = 0 ]; then
                         in_ns a weir-host $what eth0 $options > /tmp/said 2>&1 || {{ cat /tmp/said; exit 1; }}
                     else
                         $a weir-host $what eth0 $options > /tmp/said 2>&1 & one=$!
                         usleep $(( $(od -An -N2 -tu2 /dev/urandom) * 3 ))
                         if kill -9 $one 2> /dev/null; then killed=$((killed + 1)); fi
                         wait $one || true
                     fi
                 done
             done
             in_ns a weir-host attach eth0 --rate 1Gbit > /dev/null
             in_ns a weir-host status eth0 > /dev/null
             in_ns a weir-host detach eth0 > /dev/null
             wait_until 20 nothing_left a eth0
             in_ns a ip -d link show eth0 | grep -q 'gso_max_segs 65535'
             ! in_ns a ip maddr show dev eth0 | grep -qi 01:80:c2:00:00:01
             in_ns a ping -c 3 -W 5 10.2.0.2 > /dev/null
             # With the device goes everything.
             in_ns a weir-host attach eth0 --rate 1Gbit --obey 3 > /dev/null
             kill $ping
             in_ns a ip link del eth0
             wait_until 20 nothing_left b lo
             echo {rounds} times attached and detached, $killed calls killed"
        ),
    );
    hosts.clean_up("uncable");
    Ok(result?.trim().lines().last().unwrap_or_default().to_owned())
}

/// What the kernel has logged since it booted.
pub fn no_warning(hosts: &Hosts<'_>) -> Result<String> {
    let log = hosts.steps(30, "dmesg")?;
    let signs = [
        "WARNING:",
        "BUG:",
        "Oops",
        "Call Trace",
        "refcount_t",
        "unregister_netdevice: waiting",
    ];
    let found: Vec<&str> = log
        .lines()
        .filter(|line| signs.iter().any(|sign| line.contains(sign)))
        .collect();
    ensure!(found.is_empty(), "{}", found.join("\n"));
    Ok(String::new())
}
