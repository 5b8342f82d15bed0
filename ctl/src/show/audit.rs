//! `switchctl audit`.

use anyhow::Result;
use weir_api::audit::{Audit, Difference, PortAudit};

use crate::target::Target;
use weir_output::{reasons, table, Output};

/// The accounts of a switch do not balance.
#[derive(Debug, thiserror::Error)]
#[error("{0} of the sums above differ: frames or packet memory are unaccounted for. This is a defect of the switch")]
pub struct Unbalanced(usize);

/// Shows where every frame is.
///
/// # Errors
///
/// [`Unbalanced`], after everything was shown.
pub fn audit(target: &Target, output: &Output) -> Result<()> {
    let audit: Audit = target.get("/v1/audit")?;
    let differences = audit.differences();
    if output.is_json() {
        let mut body = serde_json::to_value(&audit)?;
        body["differences"] = serde_json::to_value(&differences)?;
        output.line(&serde_json::to_string_pretty(&body)?)?;
    } else {
        output.line(text(&audit, &differences).trim_end())?;
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Unbalanced(differences.len()).into())
}

fn text(audit: &Audit, differences: &[Difference]) -> String {
    let mut text = table(
        &[
            "port",
            ">received",
            ">delivered",
            ">held",
            ">read",
            "dropped on arrival",
            "dropped later",
        ],
        rows(audit, |port| {
            vec![
                port.port.clone(),
                port.received.to_string(),
                port.delivered.to_string(),
                port.held.to_string(),
                port.read.to_string(),
                reasons(&port.refused),
                reasons(&port.given_up),
            ]
        }),
    );
    text += "\n";
    text += &table(
        &[
            "port",
            ">waiting",
            ">data sent",
            ">control sent",
            ">completed",
            ">with transmitter",
            ">lent to the kernel",
            ">lost by the kernel",
        ],
        rows(audit, |port| {
            vec![
                port.port.clone(),
                port.waiting.to_string(),
                port.sent_data.to_string(),
                port.sent_control.to_string(),
                port.completed.to_string(),
                port.with_transmitter.to_string(),
                port.receiving().to_string(),
                port.lost_by_kernel.to_string(),
            ]
        }),
    );
    let sum = |of: fn(&PortAudit) -> u64| audit.ports.iter().map(of).sum::<u64>();
    let dropped = sum(|port| port.refused.values().chain(port.given_up.values()).sum());
    let memory = &audit.memory;
    text += &format!(
        "\nframes  {} received = {} delivered + {} held + {} read + {dropped} dropped\n",
        sum(|port| port.received),
        sum(|port| port.delivered),
        sum(|port| port.held),
        sum(|port| port.read),
    );
    text += &format!(
        "memory  {} chunks = {} free + {} lent to the kernel + {} held + {} more of long frames + {} of control frames\n",
        memory.chunks,
        memory.free,
        sum(PortAudit::receiving),
        memory.held_by_core,
        memory.further,
        memory.control,
    );
    if differences.is_empty() {
        return text + "all is accounted for\n";
    }
    for difference in differences {
        let place = difference
            .port
            .as_ref()
            .map_or_else(|| "the switch".to_owned(), |port| format!("port {port}"));
        text += &format!(
            "DIFFERENCE  {place}: {}: {} on the left, {} on the right\n",
            difference.equation, difference.left, difference.right
        );
    }
    text
}

fn rows<'a>(
    audit: &'a Audit,
    row: impl Fn(&PortAudit) -> Vec<String> + 'a,
) -> impl Iterator<Item = Vec<String>> + 'a {
    audit.ports.iter().map(row)
}
