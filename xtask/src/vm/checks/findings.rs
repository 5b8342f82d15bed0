//! Findings A to H of issue 19: the effects of default settings. Finding I is checked where the daemon takes over.

use std::time::Duration;

use anyhow::{bail, ensure, Result};

use super::Bench;
use crate::vm::nic::Nic;
use crate::vm::switch::{carrier_changes, Settings, Switch, LOSSLESS, PORTS};
use crate::vm::tap::Tap;
use crate::vm::wire::control::PFC_BYTES;
use crate::vm::wire::frame::{Fill, Sizes, Tags, LONGEST, SHORTEST};

const COUNT: u32 = 500;
const MANY_QUEUES: &str = "B: a device of several queues loses nothing, or is refused";

/// Checks all findings that concern this NIC.
pub fn check(bench: &mut Bench<'_>) -> Result<()> {
    let nic = bench.nic;
    if nic.strips_tags() {
        bench.check("E: tags are not lost with rxvlan on", tags)?;
    }
    let shipped = Settings {
        // As E requires.
        keep_tags: nic.strips_tags(),
        ..Settings::shipped(nic)
    };
    bench.with_switch("start as shipped", shipped, |bench, switch| {
        if nic.has_zero_copy() {
            bench.check("F: nothing is lost without traffic", |_| idle(switch))?;
        }
        bench.check("C: short frames are forwarded as shipped", |bench| {
            let sizes = Sizes::InTurn(SHORTEST..=SHORTEST);
            let series = bench.series(COUNT, sizes, Tags::None, Fill::Random);
            bench.send(&series)?.is_perfect()
        })?;
        bench.check("A: no frame is cut as shipped", |bench| {
            let sizes = Sizes::InTurn(1_000..=LONGEST);
            let series = bench.series(COUNT + 15, sizes, Tags::None, Fill::Random);
            bench.send(&series)?.is_perfect()
        })?;
        bench.check("A: no part of a frame is obeyed as shipped", |bench| {
            forged(bench, switch)
        })
    })?;
    bench.check(
        "H: one start resets the link once, and warns of nothing",
        resets,
    )?;
    bench.check("G: what a device lacks is named as the reason", refused)?;
    if nic == Nic::Virtio {
        bench.check("one port without zero-copy has all ports copied", mixed)?;
        match bench.tap {
            Some(tap) => bench.check(MANY_QUEUES, |bench| many_queues(bench, tap))?,
            None => bench.not_done(MANY_QUEUES, "a tap device needs root"),
        }
    }
    if let Some(settings) = losing(nic) {
        bench.check("D: what the XDP program drops is shown", |bench| {
            dropped_by_program(bench, settings)
        })?;
    }
    Ok(())
}

/// By default the daemon refuses a device that strips tags from frames, and names the command; if permitted, it changes the
/// setting itself, and restores it.
fn tags(bench: &Bench<'_>) -> Result<()> {
    const REMEDY: &str = "ethtool -K eth0 rxvlan off";
    let shipped = Settings::shipped(bench.nic);
    match Switch::start(bench.guest, shipped.clone()) {
        Ok(switch) => {
            switch.stop()?;
            bail!("the daemon starts without a warning about rxvlan");
        }
        Err(error) => ensure!(format!("{error:#}").contains(REMEDY), "{error:#}"),
    }
    let managed = Settings {
        offloads: Some("manage"),
        ..shipped
    };
    let switch = Switch::start(bench.guest, managed)?;
    let sizes = Sizes::Random(SHORTEST..=1_000);
    let series = bench.series(COUNT, sizes, Tags::Priority(LOSSLESS), Fill::Random);
    let judged = bench.send(&series)?;
    switch.stop()?;
    judged.is_perfect()?;
    let features = bench.guest.must("ethtool -k eth0")?;
    ensure!(
        features.contains("rx-vlan-offload: on"),
        "rxvlan is not put back"
    );
    Ok(())
}

fn idle(switch: &Switch<'_>) -> Result<()> {
    std::thread::sleep(Duration::from_secs(1));
    for port in switch.ports()? {
        let losses = &port["kernel_losses"];
        let counts = losses.as_object().into_iter().flat_map(|all| all.values());
        let sum: u64 = counts.filter_map(serde_json::Value::as_u64).sum();
        ensure!(
            sum == 0,
            "{}: lost by the kernel, without a frame: {losses}",
            port["name"]
        );
    }
    Ok(())
}

/// Sends control frames at every offset of an ordinary frame of 1,084 bytes.
fn forged(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    let before = switch.control_frames_received()?;
    let sizes = Sizes::InTurn(1_084..=1_084);
    let series = bench.series(PFC_BYTES as u32, sizes, Tags::None, Fill::Control);
    let judged = bench.send(&series)?;
    let forged = switch.control_frames_received()? - before;
    ensure!(
        forged == 0,
        "the switch took {forged} parts of {} frames for control frames; {judged}",
        judged.sent
    );
    Ok(())
}

/// Checks that the carrier changes at most once.
fn resets(bench: &Bench<'_>) -> Result<()> {
    const ONCE: u64 = 2;
    let changes = || carrier_changes(bench.guest, "eth0");
    bench
        .guest
        .must("for device in eth0 eth1; do ip link set $device up; done; sleep 2")?;
    let before = changes()?;
    let switch = Switch::start(bench.guest, Settings::proven(bench.nic))?;
    std::thread::sleep(Duration::from_secs(3));
    let changed = changes()? - before;
    let log = switch.log()?;
    switch.stop()?;
    ensure!(
        changed <= ONCE,
        "the carrier of eth0 changed {changed} times in one start"
    );
    let alarms: Vec<&str> = log
        .lines()
        .filter(|line| (line.contains("WARN") || line.contains("ERROR")) && line.contains("link"))
        .collect();
    ensure!(alarms.is_empty(), "{}", alarms.join("\n"));
    Ok(())
}

/// A device without zero-copy, or with too few queues.
fn refused(bench: &Bench<'_>) -> Result<()> {
    let nic = bench.nic;
    let mut settings = Settings {
        zero_copy: "require",
        ..Settings::proven(nic)
    };
    let mut reason = "zero-copy";
    match nic {
        // The device without iommu_platform.
        Nic::Virtio => settings.devices[0] = "eth2".to_owned(),
        Nic::Igb => {
            settings.queues = [2 * nic.queues(); PORTS];
            reason = "ethtool -l eth0";
        }
        Nic::E1000e | Nic::Vmxnet3 => {}
    }
    let error = match Switch::start(bench.guest, settings) {
        Ok(switch) => {
            switch.stop()?;
            bail!("the daemon starts");
        }
        Err(error) => format!("{error:#}"),
    };
    ensure!(
        error.contains(reason) && !error.contains("CAP_NET_RAW"),
        "{error}"
    );
    Ok(())
}

/// The kernel has no memory for both kinds; the daemon starts nevertheless, and reports it.
fn mixed(bench: &Bench<'_>) -> Result<()> {
    let mut settings = Settings::shipped(bench.nic);
    settings.devices[1] = "eth2".to_owned();
    let switch = Switch::start(bench.guest, settings)?;
    let log = switch.log()?;
    let ports = switch.ports()?;
    switch.stop()?;
    ensure!(
        ports.iter().all(|port| port["zero_copy"] == false),
        "{ports:?}"
    );
    ensure!(log.contains("all ports are copied"), "{log}");
    Ok(())
}

/// Reproduces the book's page on real NICs: one of several queues, and one socket.
fn many_queues(bench: &Bench<'_>, tap: &Tap) -> Result<()> {
    const FLOWS: usize = 32;
    const PATIENCE: Duration = Duration::from_secs(3);
    bench.guest.must("ethtool -L eth3 combined 1")?;
    let mut settings = Settings::shipped(bench.nic);
    settings.devices[1] = "eth3".to_owned();
    let switch = match Switch::start(bench.guest, settings) {
        Ok(switch) => switch,
        Err(error) => {
            let error = format!("{error:#}");
            ensure!(
                error.contains("ethtool"),
                "refused without a remedy: {error}"
            );
            return Ok(());
        }
    };
    let flows = tap.flows(FLOWS)?;
    let mut arrived = 0;
    // In turn, so that the tap device's queues never fill.
    for _ in 0..COUNT / FLOWS as u32 {
        for flow in &flows {
            flow.send(b"weir")?;
        }
        let wanted = arrived + FLOWS;
        while arrived < wanted && bench.ends[0].receive(PATIENCE).is_some() {
            arrived += 1;
        }
        if arrived < wanted {
            break;
        }
    }
    let shown = switch.ask("ports")?;
    switch.stop()?;
    let sent = FLOWS * (COUNT as usize / FLOWS);
    ensure!(
        arrived == sent,
        "{arrived} frames arrived until some were missing; {sent} were to come; ports: {shown}"
    );
    Ok(())
}

/// Returns settings that make the XDP program drop frames, if the driver has any.
fn losing(nic: Nic) -> Option<Settings> {
    let proven = Settings::proven(nic);
    match nic {
        Nic::Igb => Some(Settings {
            queues: [1; PORTS],
            ..proven
        }),
        Nic::Vmxnet3 => Some(Settings {
            xdp_mode: "native",
            ..proven
        }),
        Nic::Virtio | Nic::E1000e => None,
    }
}

/// The daemon refuses such settings, or shows every frame that they lose.
fn dropped_by_program(bench: &Bench<'_>, settings: Settings) -> Result<()> {
    const FLOWS: u32 = 64;
    let switch = match Switch::start(bench.guest, settings) {
        Ok(switch) => switch,
        Err(error) => {
            let error = format!("{error:#}");
            let is_named = ["remove `queues`", "set dataplane.xdp-mode"]
                .iter()
                .any(|remedy| error.contains(remedy));
            ensure!(is_named, "refused without a remedy: {error}");
            return Ok(());
        }
    };
    let before = switch.losses_shown()?;
    let sizes = Sizes::Random(SHORTEST..=LONGEST);
    let mut series = bench.series(COUNT, sizes, Tags::None, Fill::Random);
    series.flows = FLOWS;
    let judged = bench.send(&series)?;
    let shown = switch.losses_shown()? - before;
    switch.stop()?;
    ensure!(
        shown == u64::from(judged.lost()),
        "{judged}; the switch shows {shown} losses"
    );
    Ok(())
}
