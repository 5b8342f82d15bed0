//! The daemon ends, is killed, is restarted, and runs with other settings.

use std::time::Duration;

use anyhow::{ensure, Context, Result};

use super::Bench;
use crate::vm::switch::{Settings, Switch, LOSSLESS};
use crate::vm::wire::frame::{Fill, Sizes, Tags, LONGEST, SHORTEST};
use crate::vm::wire::run::{run, Pace};

/// The longest frame with a payload of 9000 bytes, without FCS.
const JUMBO: usize = 9014;
/// What the buffers hold of these.
const JUMBO_PACE: Pace = Pace {
    window: 16,
    ..Pace::USUAL
};
/// Longer than any restart: the frames on their way come once it is over.
const RESTART_PACE: Pace = Pace {
    patience: Duration::from_secs(20),
    ..Pace::USUAL
};

/// How often a port is removed and added.
const REMOVALS: u32 = 3;

/// All of it.
///
/// # Errors
///
/// Only when the run is interrupted.
pub fn check(bench: &mut Bench<'_>) -> Result<()> {
    let keeper = Settings {
        keeper: true,
        ..Settings::proven(bench.nic)
    };
    bench.with_switch("start with a keeper", keeper, |bench, switch| {
        bench.check("switchctl restart loses nothing", |bench| {
            restarted(bench, switch)
        })
    })?;
    let workers = Settings {
        workers: 2,
        ..Settings::proven(bench.nic)
    };
    bench.with_switch("start with two workers", workers, |bench, switch| {
        bench.check("two workers forward all", Bench::forwards)?;
        bench.check("kill -9, and the next start takes over", |bench| {
            taken_over(bench, switch)
        })?;
        bench.check("switchctl port remove and add", |bench| {
            for time in 1..=REMOVALS {
                removed_and_added(bench, switch).with_context(|| format!("time {time}"))?;
            }
            Ok(())
        })
    })?;
    jumbo(bench)
}

/// Frames of the lossless class are under way, as a host that obeys pauses sends them.
fn restarted(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    const COUNT: u32 = 4_000;
    let sizes = Sizes::Random(SHORTEST..=LONGEST);
    let series = bench.series(COUNT, sizes, Tags::Priority(LOSSLESS), Fill::Random);
    let job = bench
        .guest
        .start_job("sleep 0.3; switchctl --name s1 restart")?;
    let judged = run(&bench.ends, &series, RESTART_PACE)?;
    let said = job.wait(Duration::from_secs(60))?;
    ensure!(said.status == 0, "switchctl restart: {}", said.text.trim());
    switch.wait_for_links()?;
    let lapsed = bench.ends[0].pauses().lapsed[usize::from(LOSSLESS)];
    judged.is_perfect().with_context(|| {
        format!("during the restart ({lapsed} pauses were over before they were refreshed)")
    })?;
    bench.forwards().context("after the restart")
}

/// Finding I: a takeover took 9 s on igb once. It attached its program anew, which resets the link, and waited for that.
fn taken_over(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    let before = [0, 1].map(|port| switch.carrier_changes(port));
    switch.kill()?;
    switch.start_process().context("after kill -9")?;
    bench.forwards().context("after the takeover")?;
    for (port, before) in before.into_iter().enumerate() {
        let changes = switch.carrier_changes(port)? - before?;
        ensure!(
            changes == 0,
            "I: the takeover reset eth{port}: its carrier changed {changes} times"
        );
    }
    Ok(())
}

/// A port gives its device up and takes it again, while the switch runs and the other port stays as it is.
fn removed_and_added(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    let removed = bench.guest.sh("switchctl --name s1 port remove eth0")?;
    ensure!(removed.status == 0, "{}", removed.text.trim());
    let ports = switch.ports()?;
    let gone: Vec<bool> = ports.iter().map(|it| it["device_gone"] == true).collect();
    ensure!(gone == [true, false], "ports without a device: {gone:?}");
    let added = bench.guest.sh("switchctl --name s1 port add eth0")?;
    ensure!(added.status == 0, "{}", added.text.trim());
    switch.wait_for_links()?;
    bench.forwards()
}

/// Frames that take several chunks; no driver here has zero-copy for them.
fn jumbo(bench: &mut Bench<'_>) -> Result<()> {
    let settings = Settings {
        mtu: 9000,
        zero_copy: "auto",
        // igb has no native XDP for them.
        xdp_mode: "auto",
        ..Settings::proven(bench.nic)
    };
    bench.with_switch("start with an MTU of 9000", settings, |bench, _| {
        bench.check("jumbo frames of random sizes", |bench| {
            let sizes = Sizes::Random(SHORTEST..=JUMBO);
            let series = bench.series(1_000, sizes, Tags::Random, Fill::Random);
            run(&bench.ends, &series, JUMBO_PACE)?.is_perfect()
        })
    })
}
