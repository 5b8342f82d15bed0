//! The switches' metrics for Prometheus' discovery: `file_sd_configs` and `http_sd_configs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

/// Addresses of metrics, by switch.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    known: BTreeMap<String, Target>,
    /// Contents of the file.
    written: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    address: String,
    tls: bool,
}

/// An entry of Prometheus' list.
#[derive(Serialize)]
struct Entry<'a> {
    targets: [&'a str; 1],
    labels: BTreeMap<&'static str, &'a str>,
}

impl Targets {
    /// Sets the metrics address of a switch; `None` for none.
    pub fn set(&mut self, name: &str, address: Option<String>, tls: bool) {
        match address {
            Some(address) => {
                self.known.insert(name.to_owned(), Target { address, tls });
            }
            None => {
                self.known.remove(name);
            }
        }
    }

    /// Formats the list as JSON. `instance` is the switch's name, by which Weir's rules and dashboards distinguish switches.
    pub fn json(&self) -> String {
        let entry = |(name, target): (&'_ String, &'_ Target)| {
            let scheme = if target.tls { "https" } else { "http" };
            (name.clone(), target.address.clone(), scheme)
        };
        let all: Vec<_> = self.known.iter().map(entry).collect();
        let entries: Vec<Entry<'_>> = all
            .iter()
            .map(|(name, address, scheme)| Entry {
                targets: [address],
                labels: BTreeMap::from([("__scheme__", *scheme), ("instance", name.as_str())]),
            })
            .collect();
        // Serialising strings cannot fail.
        serde_json::to_string_pretty(&entries).unwrap_or_else(|_| "[]".to_owned()) + "\n"
    }

    /// Writes the file atomically if its contents have changed, so that Prometheus never reads a part of it.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&mut self, file: &Path) -> Result<()> {
        let text = self.json();
        if self.written.as_ref() == Some(&text) {
            return Ok(());
        }
        let mut beside = file.as_os_str().to_owned();
        beside.push(".new");
        let beside = Path::new(&beside);
        let place = || format!("--prometheus-sd {}: cannot be written", file.display());
        fs::write(beside, &text).with_context(place)?;
        fs::rename(beside, file).with_context(place)?;
        self.written = Some(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lists_switches_with_metrics_and_is_written_on_changes() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("weir.json");
        let mut targets = Targets::default();
        targets.set("leaf\"2", Some("192.0.2.12:9464".to_owned()), false);
        targets.set("leaf1", Some("192.0.2.11:9464".to_owned()), true);
        targets.set("gone", Some("192.0.2.13:9464".to_owned()), true);
        targets.set("gone", None, false);
        targets.write(&file).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(
            read,
            serde_json::json!([
                {"targets": ["192.0.2.12:9464"], "labels": {"__scheme__": "http", "instance": "leaf\"2"}},
                {"targets": ["192.0.2.11:9464"], "labels": {"__scheme__": "https", "instance": "leaf1"}},
            ])
        );
        fs::remove_file(&file).unwrap();
        targets.write(&file).unwrap();
        assert!(!file.exists(), "nothing has changed");
        targets.set("leaf1", None, true);
        targets.write(&file).unwrap();
        assert!(!fs::read_to_string(&file).unwrap().contains("leaf1"));
        let error = targets
            .clone_unwritten()
            .write(Path::new("/nowhere/x"))
            .unwrap_err();
        assert!(
            format!("{error:#}").contains("--prometheus-sd /nowhere/x"),
            "{error:#}"
        );
    }

    impl Targets {
        fn clone_unwritten(&self) -> Self {
            Self {
                known: self.known.clone(),
                written: None,
            }
        }
    }
}
