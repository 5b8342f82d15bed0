//! `switchctl doctor --loop` at one NIC, with a reflector at the other; the test is the cable between them.

use std::time::Duration;

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use super::Bench;
use crate::vm::switch::Settings;
use crate::vm::wire::end::Patch;

/// Time for more than 5,000 frames in an emulated machine, and for finding the neighbour.
const LIMIT: Duration = Duration::from_secs(150);

/// Tests a correct NIC and, if drivers strip tags, each end of the cable with that fault.
pub fn check(bench: &mut Bench<'_>) -> Result<()> {
    bench.check(
        "doctor --loop: all sizes, tags and PFC frames come back from the other NIC",
        |bench| {
            let problems = tried(bench, "true")?;
            ensure!(problems.is_empty(), "{problems:#?}");
            Ok(())
        },
    )?;
    if !bench.nic.strips_tags() {
        return Ok(());
    }
    for (device, place) in [("eth0", "here"), ("eth1", "at the neighbour")] {
        let name = format!("doctor --loop names tags that are lost {place}, and the cure");
        bench.check(&name, |bench| strips(bench, device, place))?;
    }
    Ok(())
}

/// With `rxvlan` on at `device`, tags are lost there; the remedy prevents it.
fn strips(bench: &Bench<'_>, device: &str, place: &str) -> Result<()> {
    let wrong = format!("ethtool -K {device} rxvlan on");
    let problems = tried(bench, &wrong)?;
    let [problem] = &problems[..] else {
        anyhow::bail!("not one problem: {problems:#?}");
    };
    let found = problem["found"].as_str().unwrap_or_default();
    ensure!(
        found.contains("lost their VLAN tag") && found.ends_with(place),
        "{found}"
    );
    let cure = format!("ethtool -K {device} rxvlan off");
    let remedy = problem["remedy"].to_string();
    ensure!(remedy.contains(&cure), "{remedy} and not `{cure}`");
    let left = tried(bench, &format!("{wrong}; {cure}"))?;
    ensure!(left.is_empty(), "still wrong after the cure: {left:#?}");
    Ok(())
}

/// Returns the problems found after the change `before`. The switch's file makes the daemon keep offloads.
fn tried(bench: &Bench<'_>, before: &str) -> Result<Vec<Value>> {
    let guest = bench.guest;
    let mut settings = Settings::proven(bench.nic);
    settings.offloads = Some("ignore");
    guest.must(&settings.preparation())?;
    settings.write(guest)?;
    let _cable = Patch::between(&bench.ends[0], &bench.ends[1]);
    guest.must(&format!(
        "{before}
         weir-endpoint reflect eth1 > /tmp/reflect.log 2>&1 &
         echo $! > /tmp/reflect.pid
         tries=0
         until grep -q ^reflecting /tmp/reflect.log; do
             tries=$((tries + 1))
             [ $tries -lt 100 ] || {{ cat /tmp/reflect.log; exit 1; }}
             sleep 0.1
         done"
    ))?;
    let said = guest.sh_within(
        LIMIT,
        "switchctl --json doctor --config /share/s1.toml --loop eth0 --time 120s > /tmp/loop.json 2> /tmp/complaint
         [ -s /tmp/loop.json ] && cat /tmp/loop.json || cat /tmp/complaint",
    );
    let ended = guest.must("kill $(cat /tmp/reflect.pid); sleep 0.2; cat /tmp/reflect.log");
    let said = said?;
    let findings: Vec<Value> = serde_json::from_str(&said.text)
        .with_context(|| format!("doctor says: {}", said.text.trim()))?;
    let of_loop = |it: &Value| {
        let check = it["check"].as_str().unwrap_or_default();
        check.starts_with("loop") && it["grade"] != "ok"
    };
    ensure!(
        findings.iter().any(|it| it["check"] == "loop"),
        "no trial: {findings:#?}; the reflector: {ended:?}"
    );
    Ok(findings.into_iter().filter(of_loop).collect())
}
