//! Priority flow control, both ways.

use std::time::{Duration, Instant};

use anyhow::{ensure, Result};

use super::Bench;
use crate::vm::interrupt;
use crate::vm::switch::{Switch, LOSSLESS};
use crate::vm::wire::control::LONGEST as LONGEST_PAUSE;
use crate::vm::wire::frame::{Fill, Sizes, Tags, LONGEST};
use crate::vm::wire::run::Judge;

const PRIORITY: usize = LOSSLESS as usize;
/// Well before the longest pause, 335 ms, is over.
const REFRESH: Duration = Duration::from_millis(20);
/// How long the switch may take to obey, in a guest that stands still now and then.
const REACTION: Duration = Duration::from_millis(500);

/// Pauses obeyed and pauses sent.
///
/// # Errors
///
/// Only when the run is interrupted.
pub fn check(bench: &mut Bench<'_>, switch: &Switch<'_>) -> Result<()> {
    bench.check("a pause is obeyed, and only by its priority", |bench| {
        obeyed(bench)
    })?;
    bench.check(
        "a queue that fills while it is paused pauses its source",
        |bench| sent(bench, switch),
    )
}

/// Keeps the switch paused at the second host for `time`, doing `meanwhile` now and then.
fn paused_for(
    bench: &Bench<'_>,
    time: Duration,
    mut meanwhile: impl FnMut() -> Result<()>,
) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < time {
        interrupt::check()?;
        bench.ends[1].pause(PRIORITY, LONGEST_PAUSE)?;
        meanwhile()?;
        std::thread::sleep(REFRESH);
    }
    Ok(())
}

fn obeyed(bench: &Bench<'_>) -> Result<()> {
    const COUNT: u32 = 20;
    let sizes = Sizes::InTurn(LONGEST..=LONGEST);
    let lossless = bench.series(COUNT, sizes.clone(), Tags::Priority(LOSSLESS), Fill::Random);
    let other = bench.series(COUNT, sizes, Tags::Priority(5), Fill::Random);
    let mut held = Judge::new(&lossless);
    let mut passing = Judge::new(&other);
    paused_for(bench, REACTION, || Ok(()))?;
    for number in 0..COUNT {
        bench.ends[0].send(&lossless.frame(number))?;
        bench.ends[0].send(&other.frame(number))?;
    }
    (held.judged.sent, passing.judged.sent) = (COUNT, COUNT);
    let mut early = 0;
    paused_for(bench, 2 * REACTION, || {
        while let Some(frame) = bench.ends[1].receive(Duration::ZERO) {
            match crate::vm::wire::frame::named(&frame) {
                Some((series, ..)) if series == lossless.id => {
                    early += 1;
                    held.take(&frame);
                }
                _ => passing.take(&frame),
            }
        }
        Ok(())
    })?;
    bench.ends[1].pause(PRIORITY, 0)?;
    passing.judged.is_perfect()?;
    ensure!(
        early == 0,
        "{early} of {COUNT} frames came in spite of the pause"
    );
    while let Some(frame) = bench.ends[1].receive(REACTION) {
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
    paused_for(bench, REACTION, || Ok(()))?;
    for number in 0..COUNT {
        bench.ends[0].send(&series.frame(number))?;
    }
    judge.judged.sent = COUNT;
    paused_for(bench, Duration::from_secs(3), || Ok(()))?;
    let while_full = bench.ends[0].pauses();
    bench.ends[1].pause(PRIORITY, 0)?;
    while let Some(frame) = bench.ends[1].receive(2 * REACTION) {
        judge.take(&frame);
    }
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
