//! Run directories of switches, and of those in labs, which are one level deeper.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{TargetError, PINS_NAME, SOCKET_NAME};

/// Prefix of `weir-lab`'s directories for a lab's switches.
const LAB: &str = "lab-";

/// Returns the names of switches; those in a lab are prefixed with the lab's name.
pub(super) fn names(directories: &[PathBuf]) -> Vec<String> {
    directories.iter().filter_map(|path| name(path)).collect()
}

fn name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    let above = path.parent().and_then(Path::file_name);
    Some(match above.map(|above| above.to_string_lossy()) {
        Some(lab) if lab.starts_with(LAB) => format!("{lab}/{name}"),
        _ => name.into_owned(),
    })
}

/// Returns the directories in `run` and in its labs that have `entry`, and those without access.
pub(super) fn with_entry(run: &Path, entry: &str) -> Vec<PathBuf> {
    let mut found = those_with(entry, below(run));
    found.extend(in_labs(run, entry));
    found.sort();
    found
}

fn in_labs(run: &Path, entry: &str) -> Vec<PathBuf> {
    let directories = labs(run).into_iter().flat_map(|lab| below(&lab));
    those_with(entry, directories.collect())
}

fn those_with(entry: &str, mut directories: Vec<PathBuf>) -> Vec<PathBuf> {
    directories.retain(|path| match fs::symlink_metadata(path.join(entry)) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    });
    directories.sort();
    directories
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn labs(run: &Path) -> Vec<PathBuf> {
    let is_lab = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(LAB) && path.is_dir()
    };
    below(run).into_iter().filter(is_lab).collect()
}

/// Returns the run directory of a switch: `s1` is /run/weir/s1 or, if missing, that of the only lab with an `s1`;
/// `lab-4711-0/s1` selects the lab.
pub(super) fn run_dir(run: &Path, name: &str) -> Result<PathBuf, TargetError> {
    let is_one =
        |name: &str| !(name.is_empty() || name == "." || name == ".." || name.contains('/'));
    if let Some((lab, switch)) = name.split_once('/') {
        if lab.starts_with(LAB) && is_one(switch) {
            return Ok(run.join(lab).join(switch));
        }
    }
    if !is_one(name) {
        return Err(TargetError::BadName(name.to_owned()));
    }
    let own = run.join(name);
    if own.exists() {
        return Ok(own);
    }
    let in_labs = labs(run).into_iter().map(|lab| lab.join(name));
    let is_one = |path: &PathBuf| {
        [SOCKET_NAME, PINS_NAME]
            .iter()
            .any(|name| path.join(name).exists())
    };
    let mut found: Vec<PathBuf> = in_labs.filter(is_one).collect();
    found.sort();
    match &found[..] {
        [] => Ok(own),
        [only] => Ok(only.clone()),
        several => Err(TargetError::Several {
            names: names(several).join(", "),
        }),
    }
}

/// Returns the only run directory under `run` that has `entry`; one in a lab only if no switch runs outside of labs.
pub(super) fn only(
    run: &Path,
    entry: &str,
    what: &'static str,
    remedy: &'static str,
) -> Result<PathBuf, TargetError> {
    let mut found = those_with(entry, below(run));
    if found.is_empty() {
        found = in_labs(run, entry);
    }
    if found.len() > 1 {
        return Err(TargetError::Several {
            names: names(&found).join(", "),
        });
    }
    found.pop().ok_or_else(|| TargetError::NoSwitch {
        what,
        run: run.to_owned(),
        remedy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_labs_switch_is_found_by_its_name_where_it_is_the_only_one() {
        let run = tempfile::tempdir().unwrap();
        let make = |path: &str| fs::create_dir_all(run.path().join(path)).unwrap();
        let of = |name: &str| run_dir(run.path(), name).map_err(|error| error.to_string());
        make("lab-6-0/s1"); // ended
        make("lab-7-0/s1/bpf");
        make("other/s1/bpf");
        assert_eq!(of("s1").unwrap(), run.path().join("lab-7-0/s1"));
        assert_eq!(
            of("s2").unwrap(),
            run.path().join("s2"),
            "to be told that it is not there"
        );
        make("lab-8-0/s1/bpf");
        let several =
            "several switches run on this host: lab-7-0/s1, lab-8-0/s1; choose one with --name";
        assert_eq!(of("s1").unwrap_err(), several);
        assert_eq!(of("lab-8-0/s1").unwrap(), run.path().join("lab-8-0/s1"));
        make("s1");
        assert_eq!(
            of("s1").unwrap(),
            run.path().join("s1"),
            "a switch of its own comes first"
        );
        for bad in [
            "lab-8-0/..",
            "lab-8-0/",
            "lab-8-0/a/b",
            "other/s1",
            "../lab-8-0",
        ] {
            assert!(
                of(bad).unwrap_err().starts_with("invalid switch name"),
                "{bad}"
            );
        }
    }

    #[test]
    fn switches_of_labs_are_listed_with_their_lab() {
        let run = tempfile::tempdir().unwrap();
        for path in ["lab-7-0/s2", "lab-7-0/s1", "s9", "lab-7-0/plan"] {
            fs::create_dir_all(run.path().join(path)).unwrap();
            if path != "lab-7-0/plan" {
                fs::write(run.path().join(path).join("api.sock"), "").unwrap();
            }
        }
        let found = names(&with_entry(run.path(), "api.sock"));
        assert_eq!(found, ["lab-7-0/s1", "lab-7-0/s2", "s9"]);
        let only_one = || only(run.path(), "api.sock", "", "").map_err(|error| error.to_string());
        assert_eq!(
            only_one().unwrap(),
            run.path().join("s9"),
            "a lab makes no doubt"
        );
        fs::remove_dir_all(run.path().join("s9")).unwrap();
        assert!(only_one().unwrap_err().starts_with("several switches"));
        fs::remove_dir_all(run.path().join("lab-7-0/s2")).unwrap();
        assert_eq!(only_one().unwrap(), run.path().join("lab-7-0/s1"));
    }
}
