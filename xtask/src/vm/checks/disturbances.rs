//! Effects of an operator, a cable or a tool on a device while the switch runs.

use std::time::Duration;

use anyhow::{ensure, Context, Result};

use super::Bench;
use crate::vm::switch::Switch;
use crate::vm::wire::frame::{Fill, Sizes, Tags, LONGEST, SHORTEST};
use crate::vm::wire::run::flood;

const COUNT: u32 = 200;

/// Causes each disturbance, and checks that the switch recovers from it.
pub fn check(bench: &mut Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    bench.check("a cable pulled out and put back", |bench| {
        while_down(
            bench,
            switch,
            || bench.guest.set_link("wire1", false),
            || bench.guest.set_link("wire1", true),
        )
    })?;
    bench.check("ip link set down, then up", |bench| {
        let set = |state: &str| {
            bench
                .guest
                .must(&format!("ip link set eth1 {state}"))
                .map(drop)
        };
        while_down(bench, switch, || set("down"), || set("up"))
    })?;
    bench.check("ethtool -L while running", |bench| {
        reconfigured(bench, switch, "ethtool -L eth0 combined 1")
    })?;
    bench.check("ethtool -G while running", |bench| {
        reconfigured(bench, switch, "ethtool -G eth0 rx 256 tx 256")
    })?;
    if bench.nic.drops_when_full() {
        bench.check(
            "frames that the device has no buffer for are shown",
            |bench| overrun(bench, switch),
        )?;
    }
    Ok(())
}

/// Sends more frames at once than the shortest ring has buffers for.
fn overrun(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    const COUNT: u32 = 4_000;
    bench.guest.must("ethtool -G eth0 rx 32")?;
    std::thread::sleep(Duration::from_secs(1));
    switch.wait_for_links()?;
    let before = switch.losses_shown()?;
    let sizes = Sizes::InTurn(SHORTEST..=SHORTEST);
    let series = bench.series(COUNT, sizes, Tags::None, Fill::Random);
    let judged = flood(&bench.ends, &series, || Ok(()))?;
    let shown = switch.losses_shown()? - before;
    bench.guest.must("ethtool -G eth0 rx 256")?;
    std::thread::sleep(Duration::from_secs(1));
    switch.wait_for_links()?;
    judged.is_true()?;
    ensure!(
        shown == u64::from(judged.lost()),
        "{judged}; the switch shows {shown} losses"
    );
    bench.forwards().context("afterwards")
}

/// Frames for a port that is down wait, or are lost and shown; afterwards all frames are forwarded again.
fn while_down(
    bench: &Bench<'_>,
    switch: &Switch<'_>,
    down: impl FnOnce() -> Result<()>,
    up: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let before = (switch.losses_shown()?, switch.frames_sent(1)?);
    down()?;
    // The kernel notifies the daemon.
    std::thread::sleep(Duration::from_secs(1));
    let sizes = Sizes::Random(SHORTEST..=LONGEST);
    let series = bench.series(COUNT, sizes, Tags::None, Fill::Random);
    let mut is_down = false;
    let judged = flood(&bench.ends, &series, || {
        std::thread::sleep(Duration::from_secs(1));
        is_down = switch.ports()?.iter().any(|port| port["link_up"] == false);
        up()?;
        switch.wait_for_links()
    })?;
    ensure!(is_down, "the switch does not see that the link is down");
    judged.is_true()?;
    // Frames that the device took before its link was down are lost on the cable: the switch has sent them.
    let sent = switch.frames_sent(1)? - before.1;
    let shown = switch.losses_shown()? - before.0;
    ensure!(
        sent + shown == u64::from(COUNT),
        "while down: {judged}; the switch says {sent} sent and shows {shown} losses"
    );
    bench.forwards().context("afterwards")
}

/// The kernel may refuse the change; frames are forwarded in either case.
fn reconfigured(bench: &Bench<'_>, switch: &Switch<'_>, command: &str) -> Result<()> {
    let said = bench.guest.sh(command)?;
    std::thread::sleep(Duration::from_secs(1));
    switch.wait_for_links()?;
    bench.forwards().with_context(|| {
        format!(
            "after `{command}` (status {}: {})",
            said.status,
            said.text.trim()
        )
    })
}
