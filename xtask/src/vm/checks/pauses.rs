//! Priority flow control in both directions.

use std::time::{Duration, Instant};

use anyhow::{ensure, Result};

use super::Bench;
use crate::vm::interrupt::{self, wait_for};
use crate::vm::switch::{Switch, LOSSLESS};
use crate::vm::wire::control::LONGEST as LONGEST_PAUSE;
use crate::vm::wire::frame::{Fill, Sizes, Tags, LONGEST};
use crate::vm::wire::run::Judge;

const PRIORITY: usize = LOSSLESS as usize;
/// Well before the end of the longest pause, 335 ms.
const REFRESH: Duration = Duration::from_millis(20);
/// Time within which the switch obeys, unless the guest stalls just then.
const REACTION: Duration = Duration::from_millis(500);
/// Time for expected frames to arrive, in a guest that shares its CPUs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Checks pauses obeyed and pauses sent.
pub fn check(bench: &mut Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    bench.check("a pause is obeyed, and only by its priority", |bench| {
        obeyed(bench, switch)
    })?;
    bench.check(
        "a queue that fills while it is paused pauses its source",
        |bench| sent(bench, switch),
    )
}

/// Keeps the switch paused at the second host for at least `least`, and until `is_done`, which is called between two pauses.
fn paused_until(
    bench: &Bench<'_>,
    least: Duration,
    mut is_done: impl FnMut() -> bool,
) -> Result<()> {
    let began = Instant::now();
    loop {
        interrupt::check()?;
        bench.ends[1].pause(PRIORITY, LONGEST_PAUSE)?;
        let done = is_done();
        let paused = began.elapsed();
        if paused >= least && (done || paused >= PATIENCE) {
            return Ok(());
        }
        std::thread::sleep(REFRESH);
    }
}

fn pause(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    let before = switch.control_frames_received()?;
    let began = Instant::now();
    loop {
        paused_until(bench, REACTION, || true)?;
        if switch.control_frames_received()? > before {
            // The pause may have expired while the condition was checked.
            return paused_until(bench, REACTION, || true);
        }
        ensure!(
            began.elapsed() < PATIENCE,
            "the switch does not see the pauses"
        );
    }
}

fn obeyed(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    const COUNT: u32 = 20;
    let sizes = Sizes::InTurn(LONGEST..=LONGEST);
    let lossless = bench.series(COUNT, sizes.clone(), Tags::Priority(LOSSLESS), Fill::Random);
    let other = bench.series(COUNT, sizes, Tags::Priority(5), Fill::Random);
    let mut held = Judge::new(&lossless);
    let mut passing = Judge::new(&other);
    pause(bench, switch)?;
    for number in 0..COUNT {
        bench.ends[0].send(&lossless.frame(number))?;
        bench.ends[0].send(&other.frame(number))?;
    }
    (held.judged.sent, passing.judged.sent) = (COUNT, COUNT);
    let mut early = 0;
    paused_until(bench, 2 * REACTION, || {
        while let Some(frame) = bench.ends[1].receive(Duration::ZERO) {
            match crate::vm::wire::frame::named(&frame) {
                Some((series, ..)) if series == lossless.id => {
                    early += 1;
                    held.take(&frame);
                }
                _ => passing.take(&frame),
            }
        }
        passing.judged.is_perfect().is_ok()
    })?;
    bench.ends[1].pause(PRIORITY, 0)?;
    passing.judged.is_perfect()?;
    ensure!(
        early == 0,
        "{early} of {COUNT} frames came in spite of the pause"
    );
    while held.judged.is_perfect().is_err() {
        let Some(frame) = bench.ends[1].receive(PATIENCE) else {
            break;
        };
        held.take(&frame);
    }
    held.judged.is_perfect()
}

fn sent(bench: &Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    // Beyond xoff, and well within the headroom.
    const COUNT: u32 = 150;
    let lost_before = switch.losses_shown()?;
    let before = bench.ends[0].pauses();
    let sizes = Sizes::InTurn(LONGEST..=LONGEST);
    let series = bench.series(COUNT, sizes, Tags::Priority(LOSSLESS), Fill::Random);
    let mut judge = Judge::new(&series);
    pause(bench, switch)?;
    for number in 0..COUNT {
        bench.ends[0].send(&series.frame(number))?;
    }
    judge.judged.sent = COUNT;
    let is_paused = || bench.ends[0].pauses().xoff[PRIORITY] > before.xoff[PRIORITY];
    paused_until(bench, Duration::from_secs(3), is_paused)?;
    let while_full = bench.ends[0].pauses();
    bench.ends[1].pause(PRIORITY, 0)?;
    while judge.judged.is_perfect().is_err() {
        let Some(frame) = bench.ends[1].receive(PATIENCE) else {
            break;
        };
        judge.take(&frame);
    }
    // Pauses are counted in order: the last one follows the last frame.
    let is_resumed = || bench.ends[0].pauses().xon[PRIORITY] > while_full.xon[PRIORITY];
    wait_for(PATIENCE, || Ok(is_resumed().then_some(())))?;
    let after = bench.ends[0].pauses();
    let xoff = while_full.xoff[PRIORITY] - before.xoff[PRIORITY];
    ensure!(xoff > 0, "the source was not paused");
    let xon = after.xon[PRIORITY] - while_full.xon[PRIORITY];
    ensure!(
        xon > 0,
        "the source was paused {xoff} times and never resumed"
    );
    judge.judged.is_perfect()?;
    let lost = switch.losses_shown()? - lost_before;
    ensure!(
        lost == 0,
        "nothing is missing, but the switch shows {lost} losses"
    );
    Ok(())
}
