//! Frames are forwarded intact, in order and with their tags, also while the devices are disturbed.

use anyhow::{bail, ensure, Result};

use super::{disturbances, pauses, Bench};
use crate::vm::switch::{Settings, Switch, LOSSLESS};
use crate::vm::wire::control::PFC_BYTES;
use crate::vm::wire::frame::{Fill, Sizes, Tags, LONGEST, SHORTEST};
use crate::vm::wire::run::{flood, Pace};

/// Frames of random sizes, contents, tags and priorities.
const RANDOM_FRAMES: u32 = 100_000;
/// Number of frames sent without regard to pauses and windows.
const FLOOD_FRAMES: u32 = 20_000;
const SIZES: u32 = (LONGEST - SHORTEST + 1) as u32;

/// Checks forwarding with settings known to work.
pub fn check(bench: &mut Bench<'_>) -> Result<()> {
    let settings = Settings::proven(bench.nic);
    bench.with_switch("start", settings, |bench, switch| {
        bench.check("attached as the driver can", |bench| {
            attached(bench, switch)
        })?;
        bench.check("every size, both ways", every_size)?;
        bench.check("every size with a tag of priority 3", |bench| {
            let sizes = Sizes::InTurn(SHORTEST..=LONGEST);
            let series = bench.series(SIZES, sizes, Tags::Priority(LOSSLESS), Fill::Random);
            bench.send(&series)?.is_perfect()?;
            priority_was_seen(switch, SIZES)
        })?;
        bench.check("100,000 random frames, no loss unseen", |bench| {
            random(bench, switch)
        })?;
        bench.check(
            "control frames hidden in every frame are not obeyed",
            |bench| hostile(bench, switch),
        )?;
        pauses::check(bench, switch)?;
        bench.check("overload: every loss is shown", |bench| {
            overload(bench, switch)
        })?;
        disturbances::check(bench, switch)
    })
}

fn attached(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    for port in switch.ports()? {
        let (mode, zero_copy) = (&port["xdp_mode"], &port["zero_copy"]);
        ensure!(
            mode == bench.nic.xdp_mode() && *zero_copy == bench.nic.has_zero_copy(),
            "{}: XDP {mode}, zero-copy {zero_copy}",
            port["name"]
        );
    }
    Ok(())
}

fn every_size(bench: &Bench<'_>) -> Result<()> {
    for ports in [[0, 1], [1, 0]] {
        let sizes = Sizes::InTurn(SHORTEST..=LONGEST);
        let mut series = bench.series(SIZES, sizes, Tags::None, Fill::Random);
        series.ports = ports;
        bench.send(&series)?.is_perfect()?;
    }
    Ok(())
}

fn priority_was_seen(switch: &Switch<'_>, least: u32) -> Result<()> {
    let queues = switch.ask("queues")?;
    let of_priority = |queue: &&serde_json::Value| {
        queue["priority"] == LOSSLESS && queue["port"] == switch.device(0)
    };
    let queue = queues
        .as_array()
        .and_then(|all| all.iter().find(of_priority));
    let frames = queue.and_then(|queue| queue["rx_frames_total"].as_u64());
    match frames {
        Some(frames) if frames >= u64::from(least) => Ok(()),
        other => bail!("the switch received {other:?} frames of priority 3, {least} were sent"),
    }
}

fn random(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    let before = switch.losses_shown()?;
    let sizes = Sizes::Random(SHORTEST..=LONGEST);
    let judged = bench.send(&bench.series(RANDOM_FRAMES, sizes, Tags::Random, Fill::Random))?;
    judged.is_true()?;
    let shown = switch.losses_shown()? - before;
    ensure!(
        shown == u64::from(judged.lost()),
        "{judged}; the switch shows {shown} losses"
    );
    ensure!(
        judged.lost() == 0,
        "{judged}, although never more than {} were on their way",
        Pace::USUAL.window
    );
    Ok(())
}

/// Sends one frame of each size and each phase of the control frames in it, so that a cut at any position yields a control
/// frame.
fn hostile(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    let before = switch.control_frames_received()?;
    let sizes = Sizes::InTurn(SHORTEST..=LONGEST);
    let count = SIZES * PFC_BYTES as u32;
    let judged = bench.send(&bench.series(count, sizes, Tags::None, Fill::Control))?;
    let forged = switch.control_frames_received()? - before;
    ensure!(
        forged == 0,
        "the switch took {forged} parts of frames for control frames; {judged}"
    );
    judged.is_perfect()
}

fn overload(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    let taken = || -> Result<u64> {
        let read = "cat /sys/class/net/eth0/statistics/rx_packets";
        Ok(bench.guest.must(read)?.trim().parse()?)
    };
    let before = switch.losses_shown()?;
    let taken_before = taken()?;
    let sizes = Sizes::Random(SHORTEST..=LONGEST);
    let series = bench.series(FLOOD_FRAMES, sizes, Tags::Random, Fill::Random);
    let judged = flood(&bench.ends, &series, || Ok(()))?;
    judged.is_true()?;
    let shown = switch.losses_shown()? - before;
    // QEMU's igb silently drops frames while a queue has no buffers. A device without such losses takes all.
    let lost_by_device = u64::from(judged.sent).saturating_sub(taken()? - taken_before);
    ensure!(
        shown + lost_by_device == u64::from(judged.lost()),
        "{judged}; the device took all but {lost_by_device}, and the switch shows {shown} losses"
    );
    Ok(())
}
