//! `switchctl reload`.

use std::time::Duration;

use anyhow::Result;
use weir_api::client::Method;
use weir_api::reload::{Confirmed, Reload};

use crate::target::Target;
use weir_output::{table, Output, NONE};

/// Returns false when some settings of the file are not in force.
pub fn reload(
    target: &Target,
    output: &Output,
    dry_run: bool,
    confirm: Option<Duration>,
) -> Result<bool> {
    let path = match (dry_run, confirm) {
        (true, _) => "/v1/reload?dry_run=true".to_owned(),
        (false, None) => "/v1/reload".to_owned(),
        (false, Some(time)) => format!("/v1/reload?confirm_seconds={}", time.as_secs_f64()),
    };
    let report: Reload = target.send(Method::POST, &path, None::<&()>)?;
    output.print(&report, text)?;
    Ok(report.kept.is_empty())
}

/// `switchctl confirm`.
pub fn confirm(target: &Target, output: &Output) -> Result<()> {
    let confirmed: Confirmed = target.send(Method::POST, "/v1/reload/confirm", None::<&()>)?;
    output.print(&confirmed, |confirmed| {
        let Confirmed { file, seconds_left } = confirmed;
        format!("the settings of {file} stay; {seconds_left:.0} s were left")
    })
}

fn text(report: &Reload) -> String {
    if report.applied.is_empty() && report.kept.is_empty() && report.confirm_seconds.is_none() {
        return format!("{} is already in force\n", report.file);
    }
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| NONE.to_owned());
    let mut text = String::new();
    if !report.applied.is_empty() {
        let verb = if report.dry_run {
            "would be applied"
        } else {
            "applied"
        };
        text += &format!("{verb}:\n");
        let rows = report.applied.iter();
        text += &table(
            &["setting", "before", "from now on"],
            rows.map(|row| vec![row.key.clone(), value(&row.from), value(&row.to)]),
        );
    }
    if !report.kept.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text += match report.held_back.is_empty() {
            true => "not applied:\n",
            false => "nothing is applied, because of these settings:\n",
        };
        let rows = report.kept.iter();
        text += &table(
            &["setting", "running", "file", "why"],
            rows.map(|row| {
                vec![
                    row.key.clone(),
                    value(&row.running),
                    value(&row.file),
                    row.why.clone(),
                ]
            }),
        );
    }
    if !report.held_back.is_empty() {
        text += "\npossible without them:\n";
        let rows = report.held_back.iter();
        text += &table(
            &["setting", "running", "file"],
            rows.map(|row| vec![row.key.clone(), value(&row.from), value(&row.to)]),
        );
    }
    if let Some(seconds) = report.confirm_seconds {
        text += &format!("\ngoes back in {seconds} s unless `switchctl confirm` keeps it\n");
    }
    text
}
