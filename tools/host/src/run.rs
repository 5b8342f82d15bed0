//! Execution of the commands.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use weir_output::{facts, seconds, Output};

use crate::attach::{attach, detach, Attachment, Detachment};
use crate::cli::{rate, Cli, Command, MeasureArguments};
use crate::device::Device;
use crate::error::Error;
use crate::kernel::load;
use crate::measure::{self, load::send_load, neighbour::Spread, Reaction};
use crate::plug;
use crate::push_back;
use crate::status::{counters_text, metrics_text, status_text, Status};

/// Runs the command. Returns false if a device is not as it should be.
///
/// # Errors
///
/// When the command fails.
pub fn run(cli: &Cli, output: Output) -> Result<bool> {
    match &cli.command {
        Command::Attach(arguments) => {
            let device = Device::find(&arguments.device)?;
            // Before errors that would occur only on a kernel with support.
            load::check(&device.name)?;
            let settings = arguments.settings(&device)?;
            let done = attach(&device, &settings, arguments.drain.drain())?;
            output.print(&done, attached_text)?;
        }
        Command::Plug(arguments) => {
            let device = Device::find(&arguments.device)?;
            let plan = arguments.plan(&device)?;
            let Some(keeper) = arguments.worker_of else {
                return Ok(plug::keep(&device, &plan)?);
            };
            let summary = plug::work(&device, &plan, keeper)
                .with_context(|| format!("{}: obeying pauses", device.name))?;
            output.print(&summary, plugged_text)?;
        }
        Command::PushBack(arguments) => {
            let device = Device::find(&arguments.device)?;
            let summary = push_back::watch(&device, &arguments.plan(&device)?)?;
            output.print(&summary, pushed_back_text)?;
        }
        Command::Detach { device, drain } => {
            let device = Device::find(device)?;
            let was_plugged = plug::stop(&device, drain.drain())?;
            let mut done = detach(&device, drain.drain())?;
            done.was_attached |= was_plugged;
            output.print(&done, detached_text)?;
        }
        Command::Status { device } => {
            let (all, failed) = match device {
                Some(device) => (vec![Status::of(&Device::find(device)?)?], Vec::new()),
                None => Status::all()?,
            };
            output.print(&all, |all| status_text(all))?;
            return Ok(report(&failed) && all.iter().all(|status| status.whole));
        }
        Command::Counters { device } => {
            let status = Status::of(&Device::find(device)?)?;
            output.print(&status, counters_text)?;
        }
        Command::Metrics { out } => {
            let (all, failed) = Status::all()?;
            let text = metrics_text(&all) + &push_back::metrics_text(&push_back::running());
            match out {
                Some(file) => replace(file, &text)?,
                None => output.line(text.trim_end())?,
            }
            return Ok(report(&failed));
        }
        Command::Measure(arguments) => measure_or_load(arguments, output)?,
        Command::Generated(generated) => {
            generated.run(Cli::command(), &crate::cli::MANUAL, output, |_| None)?
        }
    }
    Ok(true)
}

/// Reports errors of single devices; returns true without any.
fn report(failed: &[Error]) -> bool {
    for error in failed {
        eprintln!("weir-host: {error}");
    }
    failed.is_empty()
}

/// Replaces the file atomically: a reader finds the old contents or the new.
fn replace(file: &Path, text: &str) -> Result<()> {
    let mut name = file
        .file_name()
        .context("--out must name a file")?
        .to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = file.with_file_name(name);
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, file));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written.with_context(|| file.display().to_string())
}

fn plugged_text(summary: &plug::Summary) -> String {
    let status = &summary.status;
    let dropped: u64 = status.priorities.iter().map(|one| one.dropped_limit).sum();
    let warning = match dropped {
        0 => String::new(),
        dropped => format!(
            "{dropped} frames were dropped at --limit: make it larger than all send buffers\n"
        ),
    };
    let sent = facts(&[("sent although paused", summary.sent_paused.to_string())]);
    format!("{}{sent}{warning}", counters_text(status))
}

fn pushed_back_text(summary: &push_back::Summary) -> String {
    let counts = &summary.counts;
    let warning = match counts.dropped {
        0 => String::new(),
        dropped => format!(
            "{dropped} frames were dropped at full sockets: give them larger receive buffers, or --xoff less\n"
        ),
    };
    let head = facts(&[
        ("pauses", counts.pauses.to_string()),
        ("refreshes", counts.refreshes.to_string()),
        ("too late", counts.late_refreshes.to_string()),
        ("paused", seconds(counts.paused_ns as f64 / 1e9)),
        ("sockets", summary.sockets.to_string()),
        ("not watched", summary.unwatched.to_string()),
        ("given up", counts.given_up.to_string()),
        ("fullest", format!("{}%", counts.fullest_percent)),
        ("dropped", counts.dropped.to_string()),
        ("not sent", summary.unsent.to_string()),
        ("looks", counts.looks.to_string()),
    ]);
    format!("{head}{warning}")
}

fn attached_text(done: &Attachment) -> String {
    let Attachment { device, qdisc, .. } = done;
    if done.again {
        let refused = match done.refused {
            0 => String::new(),
            refused => format!(" ({refused} frames were refused meanwhile)"),
        };
        return format!("{device}: attached anew as {qdisc}{refused}");
    }
    format!(
        "{device}: attached as {qdisc}, in the place of {}",
        done.before
    )
}

fn detached_text(done: &Detachment) -> String {
    let Detachment {
        device,
        drained,
        refused,
        freed,
        ..
    } = done;
    if !done.was_attached {
        return format!("{device}: nothing of weir-host was there");
    }
    let drain_ms = done.drain_seconds * 1e3;
    let lost = match freed {
        0 => String::new(),
        freed => format!(", {freed} freed unsent"),
    };
    format!("{device}: detached; {drained} frames drained in {drain_ms:.1} ms, {refused} refused meanwhile{lost}")
}

fn measure_or_load(arguments: &MeasureArguments, output: Output) -> Result<()> {
    let device = Device::find(&arguments.device)?;
    let stop = stopped_by_signals()?;
    if arguments.load {
        let (priority, length) = (arguments.priority, usize::from(arguments.length));
        let sent = send_load(&device, priority, length, arguments.span, &stop)
            .with_context(|| format!("{}: sending", device.name))?;
        return output.print(&sent, |sent| {
            format!(
                "{} frames sent, {} bytes; {} refused",
                sent.frames, sent.bytes, sent.refused
            )
        });
    }
    let plan = measure::Plan {
        priority: arguments.priority,
        pauses: arguments.pauses,
        paused: arguments.paused,
        between: arguments.between,
        rate: rate(arguments.rate, &device)?,
        any: arguments.any,
    };
    let reaction = measure::measure(&device, plan, &stop).with_context(|| device.name.clone())?;
    output.print(&reaction, reaction_text)
}

/// Returns a flag that the first SIGINT or SIGTERM sets.
fn stopped_by_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    ctrlc::set_handler(move || seen.store(true, std::sync::atomic::Ordering::Relaxed))
        .context("catching signals")?;
    Ok(stop)
}

fn reaction_text(reaction: &Reaction) -> String {
    let spread = |one: &Spread, unit: &str| {
        let Spread { median, p99, max } = one;
        format!("{median:.0} / {p99:.0} / {max:.0} {unit}")
    };
    let mut text = facts(&[
        (
            "pauses",
            format!(
                "{} ({} more came too late to count)",
                reaction.pauses, reaction.late
            ),
        ),
        ("", "median / p99 / most".to_owned()),
        ("after XOFF", spread(&reaction.frames, "frames")),
        ("", spread(&reaction.bytes, "bytes")),
        (
            "XOFF to the last frame",
            spread(&reaction.xoff_to_last_us, "µs"),
        ),
        (
            "XON to the first frame",
            spread(&reaction.xon_to_first_us, "µs"),
        ),
        ("received", format!("{} frames", reaction.received)),
        ("missing", reaction.missing.to_string()),
        ("out of order", reaction.out_of_order.to_string()),
    ]);
    text.push_str(&format!(
        "headroom: the switch's port needs room for {0:.0} bytes of this priority above xoff; in its configuration\n  overshoot = \"{0:.0}B\"\n",
        reaction.bytes.max
    ));
    text
}
