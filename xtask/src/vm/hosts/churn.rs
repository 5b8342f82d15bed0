//! Attaching, detaching and killing repeatedly leaves nothing behind.

use anyhow::{ensure, Context, Result};

use super::Hosts;

/// Rounds between two lines of progress, and within one time limit.
const BATCH: u32 = 50;
const BATCH_SECONDS: u64 = 300;

/// Attaches and detaches under traffic, and kills either at random times.
pub fn check(hosts: &Hosts<'_>) -> Result<String> {
    let rounds = hosts.length.pick(30, 1000);
    let result = churn(hosts, rounds);
    hosts.clean_up("uncable; killall ping");
    let killed = result?;
    Ok(format!(
        "{rounds} times attached and detached, {killed} calls killed"
    ))
}

/// Returns the number of killed calls.
fn churn(hosts: &Hosts<'_>, rounds: u32) -> Result<u32> {
    hosts.steps(
        30,
        "cable
         nsenter --net=/run/netns/a ping -i 0.2 10.2.0.2 > /tmp/ping 2>&1 &",
    )?;
    let (mut done, mut killed) = (0, 0);
    while done < rounds {
        let batch = BATCH.min(rounds - done);
        killed += batch_of(hosts, done, batch)?;
        done += batch;
        if rounds > BATCH {
            println!("          {done} of {rounds} rounds, {killed} calls killed");
        }
    }
    hosts.steps(
        120,
        "in_ns a weir-host attach eth0 --rate 1Gbit > /dev/null
         in_ns a weir-host status eth0 > /dev/null
         in_ns a weir-host detach eth0 > /dev/null
         wait_until 20 nothing_left a eth0
         in_ns a ip -d link show eth0 | grep -q 'gso_max_segs 65535'
         ! in_ns a ip maddr show dev eth0 | grep -qi 01:80:c2:00:00:01
         in_ns a ping -c 3 -W 5 10.2.0.2 > /dev/null
         # With the device goes everything.
         in_ns a weir-host attach eth0 --rate 1Gbit --obey 3 > /dev/null
         in_ns a ip link del eth0
         wait_until 20 nothing_left b lo",
    )?;
    Ok(killed)
}

/// Runs this many rounds after the first ones; every second one is not disturbed.
fn batch_of(hosts: &Hosts<'_>, done: u32, batch: u32) -> Result<u32> {
    let (first, last) = (done + 1, done + batch);
    let said = hosts.steps(
        BATCH_SECONDS,
        &format!(
            "a='nsenter --net=/run/netns/a'
             killed=0
             for round in $(seq {first} {last}); do
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
             echo killed $killed"
        ),
    )?;
    let last = said
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("killed "));
    let killed = last.with_context(|| said.clone())?;
    Ok(killed.trim().parse()?)
}

/// Checks the kernel's log since boot.
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
