//! The ring of four switches over emulated NICs: `weir-lab` in a guest, whose links are pairs of NICs. Hosts' links as well,
//! since the kernel refuses copy mode to a socket that shares packet memory with a zero-copy one, so a veth would put
//! all ports into copy mode.

use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};

use super::{Outcome, Verdict, Wanted};
use crate::vm::guest::Guest;
use crate::vm::interrupt;
use crate::vm::nic::{device, Cable, Nic};

/// Number of the first NIC, also in ip-with-nics.sh.
const FIRST: usize = 16;
/// Number of links: four between switches, five to hosts.
const LINKS: usize = 9;
/// Number of links between switches, which come first.
const BETWEEN_SWITCHES: usize = 4;
const PORTS: usize = 2 * 4 + 5;
/// Time for a run of 15 s, and for starting and ending four daemons and five endpoints on two emulated CPUs.
const LIMIT: Duration = Duration::from_secs(420);
/// Rate of an emulated machine over three hops, with times that tolerate occasional stalls, and with the minimum of packet
/// memory, since mapping it for four daemons takes long.
const SLOWER: [&str; 7] = [
    "duration=15s",
    "link-defaults.rate=2Mbit",
    "class.lossless.headroom=256KiB",
    "deadlock.detect=500ms",
    "deadlock.clcm-interval=100ms",
    "deadlock.release=200ms",
    "expect.breaker.first-release-within=5s",
];

/// The rings, with their changes to scenarios/ring4.toml. The file states the expectations of each.
const RUNS: [(&str, &[&str]); 3] = [
    ("the ring of four locks under plain PFC", &[]),
    (
        "the ring of four recovers by the Deadlock Breaker, 0 lost",
        &["deadlock.policy=breaker"],
    ),
    (
        "the ring of four never locks under Levels",
        // The headroom covers stalls: a machine that stalls for this long does not obey Feedback.
        &[
            "class.lossless.mode=level",
            "link-defaults.round-trip=500ms",
        ],
    ),
];

/// Returns the emulator's arguments for pairs of NICs. Hosts use virtio: igb takes 4 KiB of I/O ports behind a separate
/// bridge, of which a PC has room for 15.
pub fn devices(nic: Nic) -> Vec<String> {
    (0..2 * LINKS)
        .flat_map(|number| {
            let pair = number / 2;
            let nic = match pair < BETWEEN_SWITCHES {
                true => nic,
                false => Nic::Virtio,
            };
            device(FIRST + number, nic.model(), Cable::Device(pair as u32))
        })
        .collect()
}

/// Runs all three rings.
pub fn check(nic: Nic, guest: &Guest, wanted: &Wanted) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for (name, changes) in RUNS.into_iter().filter(|(name, _)| wanted.has(name)) {
        let began = Instant::now();
        let verdict = Verdict::of(run(nic, guest, changes));
        interrupt::check()?;
        let outcome = Outcome {
            nic: nic.name().into(),
            name: name.to_owned(),
            figure: None,
            verdict,
            took: began.elapsed(),
        };
        outcome.print();
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn run(nic: Nic, guest: &Guest, changes: &[&str]) -> Result<()> {
    let changes = SLOWER.iter().chain(changes);
    let changes: Vec<String> = changes.map(|change| format!("--set {change}")).collect();
    let changes = changes.join(" ");
    let said = guest.sh_within(
        LIMIT,
        &format!(
            "rm -f /tmp/next-nic
             export WEIR_SCRIPTS=/etc
             PATH=/etc/nics:$PATH weir-lab run /etc/ring4.toml --keep {changes}
             status=$?
             echo attached: $(cat /run/weir/lab-*/s?.log | grep -c zero_copy=true)
             sh /etc/lab-down.sh --all weir- > /dev/null
             exit $status"
        ),
    )?;
    ensure!(
        said.status == 0,
        "weir-lab ({}): {}",
        said.status,
        said.text.trim()
    );
    let attached = said
        .text
        .lines()
        .find_map(|line| line.strip_prefix("attached: "));
    let attached: usize = attached.context("no daemon's log")?.trim().parse()?;
    ensure!(
        !nic.has_zero_copy() || attached == PORTS,
        "{attached} of {PORTS} ports are in zero-copy"
    );
    Ok(())
}
