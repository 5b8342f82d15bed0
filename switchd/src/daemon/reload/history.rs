//! The last configuration files in force, kept for a rollback.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use weir_api::reload::{ConfigurationHistory, Past, PastConfiguration};

use crate::os::run_dir;
use crate::os::user::{self, User};

/// Number of files that are kept.
pub const LENGTH: usize = 10;
/// Directory that systemd keeps for the service (systemd.exec(5), StateDirectory=).
const STATE_DIRECTORY: &str = "STATE_DIRECTORY";
/// Used below the run directory if there is no state directory; lasts until the switch is stopped.
const NAME: &str = "history";
const ENDING: &str = ".toml";

/// Returns the directory that systemd keeps for the service.
pub fn state_directory() -> Option<PathBuf> {
    // Several directories are separated by colons; the unit sets one.
    let kept = std::env::var_os(STATE_DIRECTORY)?;
    (!kept.is_empty()).then(|| PathBuf::from(kept))
}

/// Gives the switch `name` its part of the state directory, which systemd keeps for root, before it changes to `user`. An error
/// is logged by the first [`History::note`].
pub fn give(name: &str, user: User) {
    let Some(path) = state_directory().map(|kept| kept.join(name)) else {
        return;
    };
    let _ = std::fs::create_dir(&path);
    if user::owner(&path).is_ok_and(|owner| owner.is_root()) {
        let _ = run_dir::give(&path, user);
    }
}

/// Way in which a file came into force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// The switch began with it.
    Start,
    /// By a reload, confirmed if required.
    Reload,
}

impl Came {
    /// Returns the name used in file names and output.
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Reload => "reload",
        }
    }
}

/// A directory with one file per configuration: `NUMBER-SECONDS-start.toml`, seconds since 1970 in UTC.
#[derive(Debug)]
pub struct History {
    directory: PathBuf,
    writing: Mutex<()>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    number: u64,
    seconds: u64,
    came: String,
    path: PathBuf,
}

impl History {
    /// Creates the history of the switch `name`.
    pub fn new(run_dir: &Path, name: &str) -> Self {
        let kept = state_directory().map(|kept| kept.join(name).join(NAME));
        Self::at(kept.unwrap_or_else(|| path(run_dir)))
    }

    fn at(directory: PathBuf) -> Self {
        Self {
            directory,
            writing: Mutex::new(()),
        }
    }

    /// Stores `text`, unless it equals the last entry, and deletes old entries. Disk errors are only logged, since the
    /// switch works without a history.
    pub fn note(&self, text: &str, came: Came) {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.try_note(text, came) {
            tracing::warn!(
                %error,
                directory = %self.directory.display(),
                "cannot keep this configuration for a rollback"
            );
        }
    }

    fn try_note(&self, text: &str, came: Came) -> io::Result<()> {
        run_dir::create_directory(&self.directory)?;
        let mut entries = self.entries()?;
        let last = entries.last();
        if last.is_some_and(|last| std::fs::read(&last.path).is_ok_and(|it| it == text.as_bytes()))
        {
            return Ok(());
        }
        let number = last.map_or(1, |last| last.number.saturating_add(1));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let seconds = now.map_or(0, |since| since.as_secs());
        let name = format!("{number:06}-{seconds}-{}{ENDING}", came.name());
        // Written completely or not at all, even if interrupted.
        let new = self.directory.join("new");
        run_dir::replace_file(&new, text.as_bytes())?.sync_all()?;
        std::fs::rename(&new, self.directory.join(name))?;
        let gone = (entries.len() + 1).saturating_sub(LENGTH);
        for entry in entries.drain(..gone) {
            run_dir::remove_file(&entry.path)?;
        }
        Ok(())
    }

    /// Returns all entries, oldest first. Ignores files with other names.
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let directory = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            directory => directory?,
        };
        let mut entries = Vec::new();
        for file in directory {
            let path = file?.path();
            entries.extend(entry(path));
        }
        entries.sort_by_key(|entry| entry.number);
        Ok(entries)
    }

    /// Returns the entries.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn list(&self) -> io::Result<ConfigurationHistory> {
        let entries = self.entries()?.into_iter();
        Ok(ConfigurationHistory {
            directory: self.directory.display().to_string(),
            configurations: entries.map(|entry| entry.past()).collect(),
        })
    }

    /// Returns the entry of this number; `None` without one.
    ///
    /// # Errors
    ///
    /// When the entry cannot be read.
    pub fn get(&self, number: u64) -> io::Result<Option<PastConfiguration>> {
        let mut entries = self.entries()?.into_iter();
        let Some(entry) = entries.find(|entry| entry.number == number) else {
            return Ok(None);
        };
        Ok(Some(PastConfiguration {
            text: std::fs::read_to_string(&entry.path)?,
            past: entry.past(),
        }))
    }
}

impl Entry {
    fn past(self) -> Past {
        Past {
            number: self.number,
            unix_seconds: self.seconds,
            came: self.came,
        }
    }
}

/// The run directory's own, which is deleted when the switch is stopped.
pub fn path(run_dir: &Path) -> PathBuf {
    run_dir.join(NAME)
}

fn entry(path: PathBuf) -> Option<Entry> {
    let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
    let mut parts = name.splitn(3, '-');
    Some(Entry {
        number: parts.next()?.parse().ok()?,
        seconds: parts.next()?.parse().ok()?,
        came: parts.next()?.to_owned(),
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ten_are_kept_and_none_twice() {
        let directory = tempfile::tempdir().unwrap();
        let history = History::at(directory.path().join("a/history"));
        assert_eq!(history.list().unwrap().configurations, []);
        history.note("0", Came::Start);
        history.note("0", Came::Start);
        for number in 1..=12 {
            history.note(&number.to_string(), Came::Reload);
            history.note(&number.to_string(), Came::Reload);
        }
        let foreign = history.directory.join("notes.toml");
        std::fs::write(&foreign, "").unwrap();
        let kept = history.list().unwrap().configurations;
        let numbers: Vec<u64> = kept.iter().map(|past| past.number).collect();
        assert_eq!(numbers, (4..=13).collect::<Vec<u64>>());
        assert!(kept.iter().all(|past| past.came == "reload"));
        assert_eq!(history.get(4).unwrap().unwrap().text, "3");
        assert_eq!(history.get(3).unwrap(), None);
        assert!(foreign.exists());
        // The remains of an interrupted write are no entry and do no harm.
        std::fs::write(history.directory.join("new"), "half").unwrap();
        history.note("again", Came::Start);
        assert_eq!(history.get(14).unwrap().unwrap().text, "again");
        // A disk error does not end the switch.
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        History::at(file.join("history")).note("x", Came::Start);
    }
}
