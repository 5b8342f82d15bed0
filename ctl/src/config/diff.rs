//! `switchctl config diff`.

use std::path::Path;

use anyhow::{anyhow, Result};
use serde::Serialize;
use weir_api::reload::Configuration;
use weir_config::daemon::{Change, DaemonConfig, Takes};

use super::{Source, STANDARD_INPUT};
use crate::cli::DiffArguments;
use crate::target::Target;
use weir_output::{table, Output, NONE};

/// The setting that a daemon's command line overrides.
const LOG_LEVEL: &str = "log.level";

/// The command line is valid but makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(&'static str);

#[derive(Debug, Serialize)]
struct Difference {
    before: String,
    after: String,
    changes: Vec<Step>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_hand: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Step {
    key: String,
    from: Option<String>,
    to: Option<String>,
    /// `reload` or `restart`.
    takes: &'static str,
    /// Reason for which a reload does not suffice, unless the setting implies it.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

struct Side {
    name: String,
    config: DaemonConfig,
    /// Packet memory for buffers, in chunks.
    chunks: usize,
    log_level_fixed: bool,
    by_hand: Vec<String>,
}

/// Returns false if there is a difference.
///
/// # Errors
///
/// When a file is not valid, or the running switch does not answer.
pub fn run(target: &Target, output: &Output, arguments: &DiffArguments) -> Result<bool> {
    let inputs = arguments.files.iter();
    if inputs
        .filter(|file| file.as_os_str() == STANDARD_INPUT)
        .count()
        > 1
    {
        return Err(Usage("standard input can be only one of the two files").into());
    }
    let (before, after) = match (arguments.running, arguments.files.as_slice()) {
        (true, [file]) => (running(target)?, side(file)?),
        (false, [before, after]) => (side(before)?, side(after)?),
        (true, _) => {
            return Err(Usage("--running compares the running switch with one file").into())
        }
        (false, _) => {
            return Err(Usage("give two files, or --running and one").into());
        }
    };
    compare(output, before, after)
}

/// Like `config diff --running`, with a file already read as `name`.
///
/// # Errors
///
/// When the switch's configuration cannot be read.
pub fn from_running(
    output: &Output,
    running: &Configuration,
    name: String,
    config: DaemonConfig,
) -> Result<bool> {
    let after = Side {
        name,
        chunks: config.buffer_chunks(),
        config,
        log_level_fixed: false,
        by_hand: Vec::new(),
    };
    compare(output, of_running(running)?, after)
}

fn compare(output: &Output, before: Side, after: Side) -> Result<bool> {
    let reloaded = before.config.reloaded(&after.config, before.chunks);
    let steps = reloaded.steps(&before.config, &after.config).into_iter();
    let difference = Difference {
        changes: steps
            .map(|(change, takes)| step(change, takes, before.log_level_fixed))
            .collect(),
        before: before.name,
        after: after.name,
        by_hand: before.by_hand,
    };
    output.print(&difference, text)?;
    Ok(difference.changes.is_empty())
}

fn side(file: &Path) -> Result<Side> {
    let source = Source::read(file);
    let config = source.config?;
    Ok(Side {
        name: source.name.display().to_string(),
        chunks: config.buffer_chunks(),
        config,
        log_level_fixed: false,
        by_hand: Vec::new(),
    })
}

fn running(target: &Target) -> Result<Side> {
    of_running(&target.get("/v1/config")?)
}

fn of_running(running: &Configuration) -> Result<Side> {
    let config = DaemonConfig::parse(&running.text, Path::new(&running.file)).map_err(|error| {
        anyhow!("the running switch has a configuration that this switchctl cannot read; do they have the same version? {error}")
    })?;
    Ok(Side {
        name: format!("running switch {}", config.name),
        chunks: usize::try_from(running.buffer_chunks)?,
        config,
        log_level_fixed: running.log_level_fixed,
        by_hand: running.by_hand.iter().map(|it| it.key.clone()).collect(),
    })
}

fn step(change: Change, takes: Takes, log_level_fixed: bool) -> Step {
    let Change { key, from, to } = change;
    let (takes, why) = match takes {
        Takes::Reload if log_level_fixed && key == LOG_LEVEL => {
            let why = "overridden by --log-level on the command line";
            ("restart", Some(why.to_owned()))
        }
        Takes::Reload => ("reload", None),
        Takes::Restart(why) => ("restart", why),
    };
    Step {
        key,
        from,
        to,
        takes,
        why,
    }
}

fn text(difference: &Difference) -> String {
    let Difference {
        before,
        after,
        changes,
        by_hand,
    } = difference;
    let mut text = match changes.is_empty() {
        true => format!("no difference between {before} and {after}\n"),
        false => format!("--- {before}\n+++ {after}\n"),
    };
    for (takes, heading) in [
        ("reload", "by `switchctl reload`, at once and without loss"),
        ("restart", "by `switchctl restart`"),
    ] {
        let steps: Vec<&Step> = changes.iter().filter(|step| step.takes == takes).collect();
        if !steps.is_empty() {
            text += &format!("\n{heading}:\n{}", rows(&steps));
        }
    }
    if !by_hand.is_empty() {
        let count = by_hand.len();
        text += &format!("\nnot compared: {count} settings changed at run time; `switchctl config save --dry-run` shows them\n");
    }
    text
}

fn rows(steps: &[&Step]) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| NONE.to_owned());
    let has_why = steps.iter().any(|step| step.why.is_some());
    let why = |text: String| has_why.then_some(text);
    let headings = [
        Some("setting"),
        Some("old"),
        Some("new"),
        has_why.then_some("why"),
    ];
    let headings: Vec<&str> = headings.into_iter().flatten().collect();
    let rows = steps.iter().map(|step| {
        let cells = [
            Some(step.key.clone()),
            Some(value(&step.from)),
            Some(value(&step.to)),
            why(step.why.clone().unwrap_or_default()),
        ];
        cells.into_iter().flatten().collect()
    });
    table(&headings, rows)
}
