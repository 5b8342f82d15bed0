//! Switches and hosts that obey pauses, together: the lab's scenarios in the guest, with TCP and with RDMA.

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use super::{line, Hosts};

/// The scenarios, files of scenarios/kernel.
pub const SCENARIOS: [&str; 4] = [
    "incast-kernel.toml",
    "incast-leaf-spine.toml",
    "rdma-incast.toml",
    "rdma-ring4.toml",
];
/// Rate that an emulated machine forwards while its CPUs are busy.
const INCAST_RATE: &str = "link-defaults.rate=20Mbit";
/// Number of hosts of an incast: eight senders and one receiver.
const HOSTS: usize = 9;
/// Packets of `--size 16384 --iters 25` with an MTU of 1024 bytes.
const RDMA_PACKETS: u64 = 25 * 16_384 / 1024;
/// TCP data as a share of a full frame of 1,500 B with preamble, FCS and gap, and with TCP timestamps.
const TCP_SHARE: f64 = 1448.0 / 1538.0;

/// Returns settings of an ordinary network: no class is lossless, and no host obeys pauses.
fn ordinary() -> Vec<String> {
    let lossy = ["mode=lossy", "buffer=64KiB", "xoff=", "xon=", "headroom="];
    let class = lossy
        .iter()
        .map(|change| format!("class.lossless.{change}"));
    let hosts = (1..=HOSTS).map(|host| format!("host.h{host}.obeys-pfc=false"));
    class.chain(hosts).collect()
}

struct Ran {
    result: Value,
    said: String,
}

impl Ran {
    /// Returns the frames that the switches dropped, for any reason.
    fn dropped(&self) -> u64 {
        let drops = self.result["drops"].as_object();
        let counts = drops.into_iter().flat_map(|drops| drops.values());
        counts.filter_map(Value::as_u64).sum()
    }

    /// Returns true if every host obeyed PFC through `weir-host`; the lab lists those that do not.
    fn all_obey(&self) -> bool {
        !self.said.contains("PFC: ")
    }

    fn applications(&self) -> &[Value] {
        let all = self.result["applications"].as_array();
        all.map_or(&[], Vec::as_slice)
    }

    fn ended_well(&self) -> usize {
        let well = |one: &&Value| one["exit_status"].as_i64() == Some(0);
        self.applications().iter().filter(well).count()
    }

    /// Returns a number reported by iperf3, summed over all applications.
    fn of_tcp(&self, name: &str) -> Result<f64> {
        let numbers = self.applications().iter().map(|one| one[name].as_f64());
        let sum: Option<f64> = numbers.sum();
        sum.with_context(|| format!("an application has no {name}: {}", self.said))
    }

    /// Returns the TCP connections' total share of the line at [`INCAST_RATE`].
    fn share_of_line(&self) -> Result<f64> {
        Ok(self.of_tcp("bits_per_second")? / TCP_SHARE / 20e6)
    }

    /// Returns a counter in rdma.sh's last line, summed over all applications.
    fn of_rdma(&self, name: &str) -> Result<u64> {
        self.of_rdma_without("", name)
    }

    /// Like [`of_rdma`](Self::of_rdma), without the application `other`.
    fn of_rdma_without(&self, other: &str, name: &str) -> Result<u64> {
        let applications = self.applications().iter();
        let counted = applications.filter(|one| one["name"].as_str() != Some(other));
        let counters = counted.map(|one| {
            let mut lines = one["output"].as_str()?.lines();
            let mut words = lines
                .find_map(|line| line.strip_prefix("rdma:"))?
                .split_whitespace();
            words.find_map(|word| {
                word.strip_prefix(name)?
                    .strip_prefix('=')?
                    .parse::<u64>()
                    .ok()
            })
        });
        let sum: Option<u64> = counters.sum();
        sum.with_context(|| format!("an application has no {name}: {}", self.said))
    }
}

/// Local ACK timeout exponent: an RDMA device retransmits after 4.096 µs × 2^24, 69 s, later than any pause ends.
const PATIENT: u32 = 24;
/// Retransmission after 0.27 s, for lossy networks.
const IMPATIENT: u32 = 16;

/// Runs a scenario with changes. Unmet expectations are no error.
fn run(hosts: &Hosts<'_>, scenario: &str, changes: &[String], timeout: u32) -> Result<Ran> {
    let set = |change: &String| format!("--set {change}");
    let set: Vec<String> = changes.iter().map(set).collect();
    let name = format!("{scenario}.json");
    let time = hosts.length.pick(10, 60);
    // Includes the time to create and remove nine namespaces and a daemon.
    let seconds = hosts.length.pick(300, 600);
    let said = hosts.steps(
        seconds,
        &format!(
            "cd /etc
             sed 's/--time 5/--time {time}/; s/--qp-timeout {PATIENT}/--qp-timeout {timeout}/' {scenario} > /tmp/{scenario}
             WEIR_SCRIPTS=/etc weir-lab run /tmp/{scenario} {} --json /share/{name} > /tmp/said 2>&1 ||
                 echo status $?
             grep -E ' obeys? PFC: ' /tmp/said || true
             tail -n 25 /tmp/said
             sh /etc/lab-down.sh --all weir- > /dev/null
             # While a device of RDMA is on its way out, the kernel cannot make another namespace (ENODEV).
             wait_until 60 sh -c '! rdma link show | grep -q .'",
            set.join(" ")
        ),
    );
    let said = said?;
    let text = std::fs::read_to_string(hosts.guest.shared(&name)).with_context(|| said.clone())?;
    Ok(Ran {
        result: serde_json::from_str(&text)?,
        said,
    })
}

/// Eight TCP connections into one port: an ordinary network loses frames, and with `weir-host` none is lost.
pub fn tcp_incast(hosts: &Hosts<'_>) -> Result<String> {
    incast(hosts, "incast-kernel.toml", |text, name, ran| {
        let (dropped, again) = (ran.dropped(), ran.of_tcp("retransmitted")?);
        let share = ran.share_of_line()?;
        line(
            text,
            format_args!(
                "{name}: {dropped} dropped, {again} segments sent again, {share:.2} of the line used"
            ),
        );
        Ok(again > 0.0)
    })
}

/// Eight hosts into one port, in an ordinary network and with `weir-host`. `is_sent_again` writes a line about a run and
/// returns true if it had retransmissions.
fn incast(
    hosts: &Hosts<'_>,
    file: &str,
    is_sent_again: impl Fn(&mut String, &str, &Ran) -> Result<bool>,
) -> Result<String> {
    let mut text = String::new();
    let rate = [INCAST_RATE.to_owned()];
    for (name, changes) in [
        ("no lossless class, no weir-host", ordinary()),
        ("PFC and weir-host", Vec::new()),
    ] {
        let is_lossless = changes.is_empty();
        let timeout = if is_lossless { PATIENT } else { IMPATIENT };
        let ran = run(hosts, file, &[&rate[..], &changes].concat(), timeout)?;
        let (is_dropped, is_again) = (ran.dropped() > 0, is_sent_again(&mut text, name, &ran)?);
        ensure!(ran.ended_well() == HOSTS - 1, "{text}\n{}", ran.said);
        ensure!(ran.all_obey() == is_lossless, "{text}\n{}", ran.said);
        match is_lossless {
            true => ensure!(!is_dropped && !is_again, "{text}\n{}", ran.said),
            // Otherwise the comparison would show nothing.
            false => ensure!(is_dropped && is_again, "{text}\n{}", ran.said),
        }
    }
    Ok(text)
}

/// Through four leaves and two spines, with `weir-host`: nothing is dropped. Retransmissions are only reported: with six
/// daemons in the guest, frames wait for seconds, and TCP retransmits segments not acknowledged in time.
pub fn tcp_leaf_spine(hosts: &Hosts<'_>) -> Result<String> {
    // More than the hosts' overshoot, and within the guest's memory: one chunk for each frame, however small.
    let changes = [INCAST_RATE, "class.lossless.headroom=1MiB"].map(str::to_owned);
    let ran = run(hosts, "incast-leaf-spine.toml", &changes, PATIENT)?;
    let (dropped, again) = (ran.dropped(), ran.of_tcp("retransmitted")?);
    let share = ran.share_of_line()?;
    let text = format!(
        "PFC and weir-host: {dropped} dropped, {again} segments sent again, {share:.2} of the line used"
    );
    ensure!(
        ran.ended_well() == HOSTS - 1 && ran.all_obey() && dropped == 0,
        "{text}\n{}",
        ran.said
    );
    Ok(text)
}

/// Eight hosts write into the memory of one: the RDMA counterpart.
pub fn rdma_incast(hosts: &Hosts<'_>) -> Result<String> {
    let wanted = RDMA_PACKETS * (HOSTS as u64 - 1);
    incast(hosts, "rdma-incast.toml", |text, name, ran| {
        Ok(sent_again(text, name, ran, wanted)? > 0)
    })
}

/// Writes a line about a run of RDMA; returns the number of retransmitted packets.
fn sent_again(text: &mut String, name: &str, ran: &Ran, wanted: u64) -> Result<u64> {
    let sent = ran.of_rdma("sent_pkts")?;
    let again = sent.saturating_sub(wanted);
    line(
        text,
        format_args!(
            "{name}: {} dropped; {sent} packets sent for {wanted}, {again} of them again; the \
            other end missed one {} times, did not answer in time {} times",
            ran.dropped(),
            ran.of_rdma("rcvd_seq_err")?,
            ran.of_rdma("completer_retry_err")?
        ),
    );
    Ok(again)
}

/// Slow enough for four daemons and five hosts, with times that an emulated machine keeps.
const RING: [&str; 7] = [
    "link-defaults.rate=4Mbit",
    "class.lossless.xoff=30KiB",
    "class.lossless.xon=26KiB",
    "class.lossless.headroom=512KiB",
    "deadlock.detect=500ms",
    "deadlock.clcm-interval=100ms",
    "deadlock.release=200ms",
];

/// RDMA over the deadlock-prone ring of four: it deadlocks under plain PFC; under the Deadlock Breaker and under Levels
/// nothing is dropped or retransmitted, and every program completes.
pub fn rdma_ring(hosts: &Hosts<'_>) -> Result<String> {
    const FILE: &str = "rdma-ring4.toml";
    const PROGRAMS: usize = 7;
    // Connected by the connection manager, whose timeout is shorter than a release.
    const BY_MANAGER: &str = "ping";
    let mut text = String::new();
    for (name, changes) in [
        ("plain PFC", &["duration=45s"][..]),
        ("Deadlock Breaker", &["deadlock.policy=breaker"]),
        (
            "Levels",
            &[
                "class.lossless.mode=level",
                "class.lossless.max-hops=2",
                "link-defaults.round-trip=500ms",
            ],
        ),
    ] {
        let changes = RING
            .iter()
            .chain(changes)
            .map(|change| (*change).to_owned());
        let ran = run(hosts, FILE, &changes.collect::<Vec<_>>(), PATIENT)?;
        let (missed, late) = (
            ran.of_rdma("rcvd_seq_err")?,
            ran.of_rdma_without(BY_MANAGER, "completer_retry_err")?,
        );
        let (suspected, ended) = (
            ran.result["suspected_peak"].as_u64().unwrap_or(0),
            ran.ended_well(),
        );
        line(
            &mut text,
            format_args!(
                "{name}: {suspected} ports suspected at a time, {} releases; {ended} of {PROGRAMS} programs ended; {} dropped, {missed} missed, {late} not answered in time",
                ran.result["releases"],
                ran.dropped()
            ),
        );
        ensure!(ran.all_obey(), "{text}\n{}", ran.said);
        ensure!(ran.dropped() == 0 && missed == 0, "{text}\n{}", ran.said);
        if name == "plain PFC" {
            ensure!(suspected >= 4 && ended < PROGRAMS, "{text}\n{}", ran.said);
        } else {
            ensure!(late == 0 && ended == PROGRAMS, "{text}\n{}", ran.said);
        }
    }
    Ok(text)
}
