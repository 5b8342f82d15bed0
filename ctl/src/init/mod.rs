//! `switchctl config init`: a first configuration, for the devices of this host.

mod devices;
mod text;

use std::path::Path;

use anyhow::{bail, Context, Result};
use serde::Serialize;
use toml_edit::{value, DocumentMut};
use weir_config::daemon::DaemonConfig;
use weir_output::Output;

use crate::cli::InitArguments;
use crate::convert::write_new;
use crate::plan::{self, Advice};
use crate::target::Target;
use text::Wanted;

/// Default name of a switch, as in the package's configuration.
const NAME: &str = "switch";
/// Maximum number of rounds, since following advice can lead to further advice.
const ROUNDS_MAX: usize = 8;

#[derive(Serialize)]
struct Answer<'a> {
    notes: &'a [String],
    /// The text, unless it was written to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<&'a str>,
}

/// Finds the devices, lets the planner choose thresholds, and writes the file.
///
/// # Errors
///
/// When a device cannot be a port, the name is invalid, or the file cannot be written.
pub fn run(target: &Target, arguments: &InitArguments, output: &Output) -> Result<()> {
    let devices = devices::find(&arguments.port, &arguments.fabric)?;
    let wanted = Wanted {
        name: target.name.as_deref().unwrap_or(NAME),
        devices: &devices,
        roce: arguments.roce,
    };
    let (text, mut notes) = planned(text::write(&wanted))?;
    for device in devices.iter().filter(|it| !it.addresses.is_empty()) {
        notes.push(format!(
            "{}: the host uses it with {}, and cannot while the switch has it",
            device.name,
            device.addresses.join(", ")
        ));
    }
    if let Some(out) = &arguments.output {
        write_new(out, &text)?;
    }
    let printed = Some(&*text).filter(|_| arguments.output.is_none());
    if !output.is_json() {
        for note in &notes {
            eprintln!("note: {note}");
        }
    }
    let answer = Answer {
        notes: &notes,
        config: printed,
    };
    if printed.is_none() && !output.is_json() {
        return Ok(());
    }
    output.print(&answer, |answer| {
        answer.config.unwrap_or_default().to_owned()
    })
}

/// Returns the text with the planner's thresholds, and its notes. Fails if a daemon would refuse the text.
fn planned(text: String) -> Result<(String, Vec<String>)> {
    let mut document: DocumentMut = text.parse().context("the template")?;
    for _ in 0..ROUNDS_MAX {
        let text = document.to_string();
        DaemonConfig::parse(&text, Path::new("the configuration"))?;
        let Some(advice) = plan::all_advice(&text) else {
            let note =
                "weir-plan is not installed: thresholds follow a rule of thumb; check them by `switchctl plan`";
            return Ok((text, vec![note.to_owned()]));
        };
        if advice.is_empty() {
            return Ok((text, Vec::new()));
        }
        for one in &advice {
            take(&mut document, one)?;
        }
    }
    let note = "the planner still has advice: see `switchctl plan`".to_owned();
    Ok((document.to_string(), vec![note]))
}

fn take(document: &mut DocumentMut, advice: &Advice) -> Result<()> {
    let classes = document
        .get_mut("class")
        .and_then(|item| item.as_array_of_tables_mut());
    let class = classes
        .into_iter()
        .flat_map(|classes| classes.iter_mut())
        .find(|class| class.get("name").and_then(|name| name.as_str()) == Some(&advice.class));
    let Some(class) = class else {
        bail!(
            "the plan names class {}, which the configuration lacks",
            advice.class
        );
    };
    class[&advice.key] = value(&advice.value);
    Ok(())
}
