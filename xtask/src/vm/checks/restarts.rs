//! Ending, killing and restarting the daemon, and other settings.

use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};

use super::Bench;
use crate::vm::switch::{Settings, Switch, LOSSLESS};
use crate::vm::wire::frame::{Fill, Sizes, Tags, LONGEST, SHORTEST};
use crate::vm::wire::run::{run, Judged, Pace};

/// Longest frame with a payload of 9000 bytes, without FCS.
const JUMBO: usize = 9014;
/// Pace that fits the buffers.
const JUMBO_PACE: Pace = Pace {
    window: 16,
    ..Pace::USUAL
};
/// Longer than any restart: frames in flight arrive once it is over.
const RESTART_PACE: Pace = Pace {
    patience: Duration::from_secs(20),
    ..Pace::USUAL
};

const REMOVALS: u32 = 3;

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

/// Restarts while a host that obeys pauses sends frames of the lossless class.
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

/// Finding I: a takeover once took 9 s on igb. It attached its program again, which resets the
/// link, and waited for that.
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

/// A port releases its device and attaches it again, while the switch runs and the other port is unaffected.
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
        // igb has no native XDP for these frames.
        xdp_mode: "auto",
        ..Settings::proven(bench.nic)
    };
    if bench.nic.long_frames_need_lro() {
        bench.check(
            "jumbo frames without lro: refused, or shown as lost",
            |bench| without_lro(bench, &settings),
        )?;
        bench.check("jumbo frames and offloads = \"manage\"", |bench| {
            let settings = Settings {
                offloads: Some("manage"),
                ..settings.clone()
            };
            bring_up(bench, "off")?;
            forwarded_twice(bench, &settings)
        })?;
        bench.check("jumbo frames with lro, twice", |bench| {
            bring_up(bench, "on")?;
            forwarded_twice(bench, &settings)
        })?;
    }
    bench.with_switch("start with an MTU of 9000", settings, |bench, switch| {
        bench.check("jumbo frames of random sizes", |bench| {
            jumbo_frames(bench, 1_000)?.is_perfect()
        })?;
        if bench.nic.long_frames_need_lro() {
            bench.check(
                "jumbo frames and a reset: shown as lost, and mended",
                |bench| reset(bench, switch),
            )?;
        }
        Ok(())
    })
}

fn jumbo_frames(bench: &Bench<'_>, count: u32) -> Result<Judged> {
    let sizes = Sizes::Random(SHORTEST..=JUMBO);
    let series = bench.series(count, sizes, Tags::Random, Fill::Random);
    run(&bench.ends, &series, JUMBO_PACE)
}

/// Brings both devices up with `lro` on or off.
fn bring_up(bench: &Bench<'_>, lro: &str) -> Result<()> {
    let commands = format!(
        "for device in eth0 eth1; do
             ip link set $device down; ethtool -K $device lro {lro}; ip link set $device mtu 9000 up
         done"
    );
    bench.guest.must(&commands).map(drop)
}

/// The daemon refuses settings that would lose frames and names the remedy; if started with them nevertheless, it shows each
/// lost frame.
fn without_lro(bench: &Bench<'_>, settings: &Settings) -> Result<()> {
    const REMEDY: &str = "ethtool -K eth0 lro on";
    const COUNT: u32 = 100;
    bring_up(bench, "off")?;
    match Switch::start(bench.guest, settings.clone()) {
        Ok(switch) => {
            switch.stop()?;
            bail!("the daemon starts without a warning about lro");
        }
        Err(error) => ensure!(format!("{error:#}").contains(REMEDY), "{error:#}"),
    }
    let ignoring = Settings {
        offloads: Some("ignore"),
        ..settings.clone()
    };
    let switch = Switch::start(bench.guest, ignoring)?;
    let shown = all_losses_shown(bench, &switch, COUNT);
    switch.stop()?;
    shown
}

/// Attaching the program has switched `lro` off, and the device is brought up without it.
fn reset(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    const COUNT: u32 = 100;
    bench
        .guest
        .must("ip link set eth0 down; ip link set eth0 up; sleep 1")?;
    switch.wait_for_links()?;
    all_losses_shown(bench, switch, COUNT)?;
    removed_and_added(bench, switch)?;
    jumbo_frames(bench, COUNT)?.is_perfect()
}

/// Long frames are lost, and every lost frame is shown.
fn all_losses_shown(bench: &Bench<'_>, switch: &Switch<'_>, count: u32) -> Result<()> {
    let before = switch.losses_shown()?;
    let judged = jumbo_frames(bench, count)?;
    let shown = switch.losses_shown()? - before;
    judged.is_true()?;
    ensure!(
        judged.lost() > 0,
        "nothing is lost without lro: there is nothing to refuse"
    );
    ensure!(
        shown == u64::from(judged.lost()),
        "{judged}; the switch shows {shown} losses"
    );
    Ok(())
}

/// The first stop leaves the devices in the state that the second start needs.
fn forwarded_twice(bench: &Bench<'_>, settings: &Settings) -> Result<()> {
    const COUNT: u32 = 200;
    for time in ["first", "second"] {
        let switch = Switch::start(bench.guest, settings.clone())
            .with_context(|| format!("the {time} start"))?;
        let judged = jumbo_frames(bench, COUNT)?;
        switch.stop()?;
        judged
            .is_perfect()
            .with_context(|| format!("after the {time} start"))?;
    }
    Ok(())
}
