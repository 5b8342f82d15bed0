//! Running one part of a sweep.
// The runs share nothing, and their rows are sorted: the order of threads does not matter.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{HumanDuration, ProgressBar};
use weir_recording::table::{parquet, Cell};
use weir_sim::sweep::{Campaign, Finished, Shard, SWEEP_FORMAT};

use super::files::{Files, Journal, KEY};
use crate::cli::SweepArguments;
use crate::output::bar_of_runs;

/// A shell's status for a command ended by Ctrl-C.
const EXIT_INTERRUPTED: i32 = 130;
const LINE_INTERVAL: Duration = Duration::from_secs(30);

/// Interval of syncs: if a machine fails, at most this much work is lost.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

enum Message {
    Finished(u64, Box<Finished>),
    Interrupted,
}

/// Runs the rest of the part, and writes its files.
pub fn run(
    campaign: &Campaign,
    shard: Shard,
    directory: &Path,
    arguments: &SweepArguments,
) -> Result<()> {
    let key = campaign.shard_key(shard);
    let files = Files::new(directory, shard)?;
    if files.is_finished(&key)? {
        weir_output::sayln!(
            "nothing to run: {} has all runs",
            files.table("runs").display()
        )?;
        return Ok(());
    }
    let (mut journal, kept) = files.open_journal()?;
    if files.is_finished(&key)? {
        // The previous owner of the journal has finished the part in the meantime.
        return journal.remove();
    }
    let is_kept = !kept.is_empty();
    let kept = kept.into_iter().filter(|one| campaign.is_complete(one));
    let mut by_key: BTreeMap<String, Finished> = kept.map(|one| (one.key.clone(), one)).collect();
    let mut done: BTreeMap<u64, Finished> = BTreeMap::new();
    let mut left = Vec::new();
    for index in shard.runs(campaign.sweep().run_count()) {
        match by_key.remove(&campaign.key(index)) {
            Some(finished) => _ = done.insert(index, finished),
            None => left.push(index),
        }
    }
    let before = done.len();
    if before == 0 && is_kept {
        return files.refuse_journal();
    }
    finish(campaign, &left, &mut done, &mut journal, arguments)?;
    let failed = done.values().filter(|one| has_failed(one)).count();
    write(campaign, &files, &key, done)?;
    journal.remove()?;
    let (now, path) = (left.len(), files.table("runs"));
    let runs = |count: usize| format!("{count} run{}", if count == 1 { "" } else { "s" });
    weir_output::sayln!(
        "{}: {before} kept from before, {now} run now, {failed} failed; {}",
        runs(before + now),
        path.display()
    )?;
    Ok(())
}

fn has_failed(finished: &Finished) -> bool {
    !matches!(finished.outcome.first(), Some(Cell::Null))
}

/// Runs `left` on the requested number of threads, and writes each run as soon as it is finished.
fn finish(
    campaign: &Campaign,
    left: &[u64],
    done: &mut BTreeMap<u64, Finished>,
    journal: &mut Journal,
    arguments: &SweepArguments,
) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.jobs.unwrap_or(cores).clamp(1, left.len().max(1));
    let (sender, receiver) = sync_channel(jobs);
    let interrupted = sender.clone();
    // A run may take long: do not wait for it.
    ctrlc::set_handler(move || _ = interrupted.send(Message::Interrupted))
        .context("cannot catch signals")?;
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(index) = left.get(place) else {
                    return;
                };
                let finished = Box::new(campaign.run(*index));
                if sender.send(Message::Finished(*index, finished)).is_err() {
                    return;
                }
            });
        }
        // On an error the receiver is dropped, and the threads end after their run.
        keep(receiver, left.len(), done, journal, arguments.quiet)
    })
}

fn keep(
    receiver: Receiver<Message>,
    count: usize,
    done: &mut BTreeMap<u64, Finished>,
    journal: &mut Journal,
    quiet: bool,
) -> Result<()> {
    let bar = bar_of_runs(count as u64, quiet);
    let has_lines = !quiet && !std::io::stderr().is_terminal();
    let (mut here, mut failed) = (0, 0);
    let (mut told, mut synced) = (Duration::ZERO, Duration::ZERO);
    while here < count {
        match receiver.recv_timeout(LINE_INTERVAL) {
            Ok(Message::Finished(index, finished)) => {
                journal.keep(&finished)?;
                if bar.elapsed() >= synced + SYNC_INTERVAL {
                    journal.sync()?;
                    synced = bar.elapsed();
                }
                here += 1;
                failed += usize::from(has_failed(&finished));
                done.insert(index, *finished);
                bar.set_position(here as u64);
                if failed > 0 {
                    bar.set_message(format!(", {failed} failed"));
                }
            }
            Ok(Message::Interrupted) => {
                bar.finish_and_clear();
                journal.sync()?;
                eprintln!(
                    "interrupted: {} of {} runs are finished and kept; the same command continues with the others",
                    done.len(),
                    done.len() + count - here
                );
                std::process::exit(EXIT_INTERRUPTED);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if has_lines && bar.elapsed() >= told + LINE_INTERVAL {
            told = bar.elapsed();
            eprintln!("{}", line(&bar, here, count, failed));
        }
    }
    bar.finish_and_clear();
    Ok(())
}

fn line(bar: &ProgressBar, here: usize, count: usize, failed: usize) -> String {
    let left = match here {
        0 => "time left unknown".to_owned(),
        _ => {
            let each = bar.elapsed().as_secs_f64() / here as f64;
            let left = Duration::from_secs_f64(each * (count - here) as f64);
            format!("about {} left", HumanDuration(left))
        }
    };
    format!("{here} of {count} runs, {failed} failed, {left}")
}

/// Writes the tables sorted by run. The table of runs comes last: it marks the part as finished.
fn write(
    campaign: &Campaign,
    files: &Files,
    key: &str,
    done: BTreeMap<u64, Finished>,
) -> Result<()> {
    let (mut runs, mut flows, mut ports) = (Vec::new(), Vec::new(), Vec::new());
    for (index, finished) in done {
        let numbered = |row: Vec<Cell>| {
            let mut numbered = vec![Cell::Count(index as i64)];
            numbered.extend(row);
            numbered
        };
        flows.extend(finished.flows.into_iter().map(numbered));
        ports.extend(finished.ports.into_iter().map(numbered));
        let mut row = campaign.identity(index);
        row.extend(finished.outcome);
        runs.push(row);
    }
    let notes = [
        ("weir.sweep_format", SWEEP_FORMAT.to_string()),
        (KEY, key.to_owned()),
    ];
    let tables = campaign.sweep().tables;
    let all = [
        ("flows", tables.flows, Campaign::flow_columns(), flows),
        ("ports", tables.ports, Campaign::port_columns(), ports),
        ("runs", true, campaign.run_columns(), runs),
    ];
    for (name, is_wanted, columns, rows) in all {
        if is_wanted {
            let bytes = parquet("weir-sim", &columns, &rows, &notes)?;
            files.write(&files.table(name), &bytes)?;
        }
    }
    Ok(())
}
