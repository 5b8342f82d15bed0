//! Kinds of devices as ports: each in native and in generic mode, in both directions, with pauses; or refused with its
//! reason.

mod cells;
mod report;

use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use self::cells::{Expected, Kind, KINDS, NO_NATIVE};
use self::report::Row;
use super::checks::{Outcome, Verdict};
use super::guest::Guest;
use super::hosts::NETWORK;
use super::interrupt;

/// Kernel modules for these kinds, besides those of guests with hosts.
pub const MODULES: [&str; 16] = [
    "bonding",
    "bridge",
    "team",
    "team_mode_activebackup",
    "netkit",
    "macvlan",
    "macvtap",
    "ipvlan",
    "tun",
    "ifb",
    "dummy",
    "vrf",
    "ip_gre",
    "vxlan",
    "geneve",
    "wireguard",
];
const STEPS: &str = include_str!("devices.sh");
/// Name in the summary in place of a NIC.
const PLACE: &str = "devices";
/// Time limit of one cell, on a busy machine.
const LIMIT: Duration = Duration::from_secs(240);

/// Returns the names of all kinds, for the command line.
pub fn names() -> [&'static str; KINDS.len()] {
    std::array::from_fn(|number| KINDS[number].name)
}

/// Checks these kinds, or all if empty. Also returns the book's table.
pub fn check(guest: &Guest, kinds: &[String]) -> Result<(Vec<Outcome>, String)> {
    let mut outcomes = Vec::new();
    let mut rows = Vec::new();
    let is_wanted = |kind: &&Kind| kinds.is_empty() || kinds.iter().any(|name| name == kind.name);
    for kind in KINDS.iter().filter(is_wanted) {
        for mode in ["native", "generic", "auto"] {
            let Some(expected) = kind.expected(mode) else {
                continue;
            };
            let began = Instant::now();
            let result = check_one(guest, kind, mode, expected);
            interrupt::check()?;
            let row = result.as_ref().map(Row::clone);
            rows.push(row.unwrap_or_else(|_| Row::failed(kind.name, mode)));
            // ip(8) reports features that the kernel lacks.
            let lacks =
                matches!(&result, Err(error) if error.to_string().contains("Unknown device type"));
            let verdict = match lacks {
                true => {
                    Verdict::DidNotTakePlace("the guest's kernel has no such device".to_owned())
                }
                false => Verdict::of(result.map(drop)),
            };
            let outcome = Outcome {
                nic: PLACE.into(),
                name: format!("{}, {mode}", kind.name),
                figure: None,
                verdict,
                took: began.elapsed(),
            };
            outcome.print();
            outcomes.push(outcome);
        }
    }
    Ok((outcomes, report::table(&rows)))
}

fn check_one(guest: &Guest, kind: &Kind, mode: &'static str, expected: Expected) -> Result<Row> {
    let bench = Bench { guest, kind, mode };
    let checked = match expected {
        Expected::Refused(part) => bench
            .refused("lossy", part)
            .map(|()| Row::refused(kind.name, mode, part)),
        Expected::Works { lossless } => bench.works(lossless),
    };
    bench.steps("end").ok();
    checked
}

struct Bench<'a> {
    guest: &'a Guest,
    kind: &'a Kind,
    mode: &'static str,
}

impl Bench<'_> {
    fn steps(&self, steps: &str) -> Result<String> {
        let script = format!("{NETWORK}\n{STEPS}\nset -e\n{steps}\n");
        let said = self.guest.sh_within(LIMIT, &script)?;
        ensure!(said.status == 0, "({}) {}", said.status, said.text.trim());
        Ok(said.text)
    }

    /// The start fails with the exit status for an invalid configuration, and the reason.
    fn refused(&self, classes: &str, part: &str) -> Result<()> {
        let (name, mode) = (self.kind.name, self.mode);
        let device = self.kind.device;
        let said = self.steps(&format!(
            "end; begin; make {name}; configuration {mode} {classes} {device} z0
             set +e; start; [ $? = 3 ] || {{ stop; echo 'it starts'; }}
             nsenter --net=/run/netns/w switchctl --json doctor --config /tmp/d.toml > /share/doctor; true"
        ))?;
        ensure!(
            said.contains("status 2"),
            "not refused as a configuration: {}",
            said.trim()
        );
        ensure!(said.contains(part), "without its reason: {}", said.trim());
        if part == NO_NATIVE {
            return Ok(());
        }
        let doctor = std::fs::read_to_string(self.guest.shared("doctor"))?;
        let findings: Value = serde_json::from_str(&doctor).with_context(|| doctor.clone())?;
        let is_problem = |finding: &Value| {
            let found = finding["found"].as_str().unwrap_or_default();
            finding["grade"] == "problem" && finding["check"] == "kind" && found.contains(part)
        };
        let found = findings
            .as_array()
            .is_some_and(|all| all.iter().any(is_problem));
        ensure!(found, "the doctor does not report it: {doctor}");
        Ok(())
    }

    /// Frames of all sizes and pauses pass in both directions, and the switch counts every frame that hosts lose through it.
    fn works(&self, lossless: bool) -> Result<Row> {
        if !lossless {
            self.refused("lossless", self.kind.not_lossless)?;
        }
        let trial = self.trial()?;
        let sums = self.sums(if lossless { "lossless" } else { "lossy" })?;
        let row = Row::of(self.kind.name, self.mode, &trial, sums);
        row.check(self.kind)?;
        Ok(row)
    }

    /// Runs `switchctl doctor --loop` with a neighbour that reflects frames.
    fn trial(&self) -> Result<Value> {
        let (name, mode) = (self.kind.name, self.mode);
        self.steps(&format!(
            "end; begin; make {name}; configuration {mode} lossy x0
             wait_until 20 sh -c 'nsenter --net=/run/netns/w ip link show x0 | grep -q LOWER_UP'
             nsenter --net=/run/netns/f weir-endpoint reflect y0 > /tmp/reflect 2>&1 & reflector=$!
             sleep 1
             nsenter --net=/run/netns/w switchctl --json doctor --config /tmp/d.toml --loop x0 --time 100s \\
                 --report /share/trial > /dev/null 2> /tmp/complaint || true
             kill $reflector
             [ -s /share/trial ] || {{ cat /tmp/complaint /tmp/reflect; exit 1; }}"
        ))?;
        let text = std::fs::read_to_string(self.guest.shared("trial"))?;
        std::fs::remove_file(self.guest.shared("trial"))?;
        let report: Value = serde_json::from_str(&text)?;
        Ok(report["trial"].clone())
    }

    /// Sends hosts' datagrams to and from the neighbour, through a switch with the device and a veth.
    fn sums(&self, classes: &str) -> Result<[Sum; 2]> {
        let (name, mode) = (self.kind.name, self.mode);
        self.steps(&format!(
            "end; begin; make {name}; configuration {mode} {classes} x0 z0
             in_ns f ip addr add 10.3.0.1/24 dev y0
             start
             wait_until 15 nsenter --net=/run/netns/g ping -c 1 -W 1 10.3.0.1 || {{ counts; exit 1; }}
             nsenter --net=/run/netns/f iperf3 -s > /dev/null 2>&1 & server=$!
             wait_until 30 sh -c 'nsenter --net=/run/netns/f netstat -ltn | grep -q :5201'
             for way in to from; do
                 [ $way = to ] && reverse= || reverse=-R
                 wait_until 60 sh -c \"nsenter --net=/run/netns/g iperf3 -J -u -b 2M -l 1000 -w 2M -t 4 $reverse -c 10.3.0.1 > /share/$way\"
             done
             sleep 8
             switchctl --name d --json ports > /share/ports
             switchctl --name d --json status > /share/status || [ $? = 5 ]
             for n in f g; do in_ns $n cat /proc/net/snmp; done | without_room > /share/hosts
             kill $server; stop"
        ))?;
        let read = |file: &str| -> Result<Value> {
            let text = std::fs::read_to_string(self.guest.shared(file))?;
            serde_json::from_str(&text).with_context(|| format!("{file}: {text}"))
        };
        let (ports, status) = (read("ports")?, read("status")?);
        let counted = report::lost(&ports);
        let by_hosts = read("hosts")?.as_u64().context("no count of hosts")?;
        // A busy machine sometimes stalls the guest.
        let reasons = status["health"]["reasons"].as_array();
        let mut reasons = reasons.into_iter().flatten();
        let healthy = reasons.all(|reason| reason["kind"] == "dataplane_stalled");
        let sum = |file: &str| -> Result<Sum> {
            let all = read(file)?;
            let of = |key: &str| all["end"]["sum"][key].as_u64().context("no sum of iperf3");
            let (sent, lost) = (of("packets")?, of("lost_packets")?);
            Ok(Sum {
                sent,
                arrived: sent - lost.min(sent),
                counted,
                by_hosts,
                healthy,
            })
        };
        Ok([sum("to")?, sum("from")?])
    }
}

/// Datagrams in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    sent: u64,
    arrived: u64,
    /// Losses by all counters of the switch, in both directions.
    counted: u64,
    /// Datagrams received by the hosts but dropped because the application was late, in both directions.
    by_hosts: u64,
    healthy: bool,
}
