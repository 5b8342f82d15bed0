//! `switchctl config history` and `config rollback`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use time::format_description::well_known::Rfc3339;
use time::OffsetDateTime;
use weir_api::reload::{Configuration, ConfigurationHistory, Past, PastConfiguration};
use weir_config::daemon::DaemonConfig;

use super::{diff, file};
use crate::change::reload;
use crate::target::Target;
use weir_output::{table, Output};

/// `config history`.
///
/// # Errors
///
/// When the switch does not answer.
pub fn history(target: &Target, output: &Output) -> Result<()> {
    let history: ConfigurationHistory = target.get("/v1/config/history")?;
    output.print(&history, |history| {
        let rows = history.configurations.iter().rev();
        let rows = rows.map(|past| vec![past.number.to_string(), when(past), past.came.clone()]);
        format!(
            "{}\nkept in {}\n",
            table(&[">number", "in force since", "by"], rows),
            history.directory
        )
    })
}

/// UTC, to the second.
fn when(past: &Past) -> String {
    let seconds = i64::try_from(past.unix_seconds).ok();
    let at = seconds.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    at.and_then(|at| at.format(&Rfc3339).ok())
        .unwrap_or_else(|| format!("{} s", past.unix_seconds))
}

/// Returns the configuration that `config rollback` would restore, and the one in force.
///
/// # Errors
///
/// Those of [`rollback`].
pub fn wanted(target: &Target, number: Option<u64>) -> Result<(DaemonConfig, Configuration)> {
    let (past, running) = asked(target, number)?;
    Ok((parsed(&past)?, running))
}

/// Returns the requested configuration, and the one in force.
fn asked(target: &Target, number: Option<u64>) -> Result<(PastConfiguration, Configuration)> {
    let number = match number {
        Some(number) => number,
        None => before_the_last(&target.get("/v1/config/history")?)?,
    };
    let past = target.get(&format!("/v1/config/history/{number}"))?;
    Ok((past, target.get("/v1/config")?))
}

fn name(past: &PastConfiguration) -> String {
    format!("configuration {} of {}", past.past.number, when(&past.past))
}

fn parsed(past: &PastConfiguration) -> Result<DaemonConfig> {
    DaemonConfig::parse(&past.text, Path::new(&name(past))).context("this version cannot read it")
}

/// `config rollback`. Returns false if some settings need a restart, or with `dry_run` if there is a difference.
///
/// # Errors
///
/// When the configuration does not exist or cannot be parsed, the file cannot be written, or the switch refuses.
pub fn rollback(
    target: &Target,
    output: &Output,
    number: Option<u64>,
    dry_run: bool,
    confirm: Option<Duration>,
) -> Result<bool> {
    let (past, running) = asked(target, number)?;
    let path = PathBuf::from(&running.file);
    let name = name(&past);
    let config = parsed(&past)?;
    if dry_run {
        return diff::from_running(output, &running, name, config);
    }
    let backup = file::replace(&path, &past.text)?;
    weir_output::complain(&format!(
        "{} is as in {name}; the old text is in {}",
        running.file,
        backup.display()
    ));
    reload::reload(target, output, false, confirm)
}

fn before_the_last(history: &ConfigurationHistory) -> Result<u64> {
    match history.configurations.as_slice() {
        [.., before, _] => Ok(before.number),
        _ => bail!(
            "no earlier configuration is kept; `switchctl config history` lists the kept ones"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_before_the_last_is_meant() {
        let past = |number| Past {
            number,
            unix_seconds: 1_000_000_000,
            came: "reload".to_owned(),
        };
        assert_eq!(when(&past(1)), "2001-09-09T01:46:40Z");
        let mut history = ConfigurationHistory::default();
        assert!(before_the_last(&history).is_err());
        history.configurations = vec![past(7)];
        assert!(before_the_last(&history).is_err());
        history.configurations = vec![past(7), past(9)];
        assert_eq!(before_the_last(&history).unwrap(), 7);
    }
}
