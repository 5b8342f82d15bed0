//! `switchctl reload`.

use anyhow::Result;
use weir_api::client::Method;
use weir_api::reload::Reload;

use crate::target::Target;
use weir_output::{table, Output, NONE};

/// False when the file has settings that are not in force.
pub fn reload(target: &Target, output: &Output, dry_run: bool) -> Result<bool> {
    let path = if dry_run {
        "/v1/reload?dry_run=true"
    } else {
        "/v1/reload"
    };
    let report: Reload = target.send(Method::POST, path, None::<&()>)?;
    output.print(&report, text)?;
    Ok(report.kept.is_empty())
}

fn text(report: &Reload) -> String {
    if report.applied.is_empty() && report.kept.is_empty() {
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
        text += "not applied:\n";
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
    text
}
