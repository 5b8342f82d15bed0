//! Removes the remains of killed labs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::build::root;

/// Prefix of all labs' namespaces, followed by the process ID.
const NAMESPACE: &str = "weir-";
const DIRECTORY: &str = "lab-";

/// Removes the remains of labs that no longer run, or everything that begins with `prefix`.
///
/// # Errors
///
/// When something cannot be removed.
pub fn run(prefix: Option<&str>) -> Result<()> {
    let prefixes = match prefix {
        Some(prefix) => BTreeSet::from([prefix.to_owned()]),
        None => left_behind(),
    };
    if prefixes.is_empty() {
        println!("nothing to remove");
    }
    for prefix in prefixes {
        let status = Command::new("sh")
            .arg(root().join("netns-scripts/lab-down.sh"))
            .arg("--all")
            .arg(&prefix)
            .status()
            .context("starting lab-down.sh")?;
        if !status.success() {
            bail!("lab-down.sh {prefix} failed ({status})");
        }
    }
    Ok(())
}

/// Returns the prefixes `weir-PID-` of labs whose process is gone.
fn left_behind() -> BTreeSet<String> {
    [("/run/netns", NAMESPACE), ("/run/weir", DIRECTORY)]
        .iter()
        .filter_map(|(directory, prefix)| Some((std::fs::read_dir(directory).ok()?, prefix)))
        .flat_map(|(entries, prefix)| {
            entries
                .filter_map(Result::ok)
                .map(move |entry| (entry, prefix))
        })
        .filter_map(|(entry, prefix)| lab_process(&entry.file_name().to_string_lossy(), prefix))
        .filter(|process| !Path::new("/proc").join(process).exists())
        .map(|process| format!("{NAMESPACE}{process}-"))
        .collect()
}

/// Returns the process ID in a name such as `weir-4711-0-s1` or `lab-4711-0`.
fn lab_process(name: &str, prefix: &str) -> Option<String> {
    let (process, _) = name.strip_prefix(prefix)?.split_once('-')?;
    process
        .parse::<u32>()
        .ok()
        .map(|process| process.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_labs_names_have_a_process() {
        let process = |name| lab_process(name, NAMESPACE);
        assert_eq!(process("weir-4711-0-s1").as_deref(), Some("4711"));
        assert_eq!(
            lab_process("lab-4711-0", DIRECTORY).as_deref(),
            Some("4711")
        );
        for other in [
            "weir-s1",
            "weir-4711",
            "s1",
            "weir-x-0-s1",
            "xweir-1-0-s1",
            "lab-1-0",
        ] {
            assert_eq!(process(other), None, "{other}");
        }
    }
}
