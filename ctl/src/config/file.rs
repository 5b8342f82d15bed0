//! Writes a daemon's configuration file, completely or not at all, and keeps a backup.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};

const BACKUPS_MAX: usize = 10_000;

/// Replaces the file's text by `text`. Returns the backup with the old text: `FILE.bak`, or the first of `FILE.bak.1`,
/// `FILE.bak.2` and so on that is free or already has the same text.
///
/// # Errors
///
/// When the file cannot be read or its directory cannot be written; the file is then unchanged.
pub fn replace(file: &Path, text: &str) -> Result<PathBuf> {
    // Follows a link, so that it remains one.
    let file = fs::canonicalize(file).with_context(|| file.display().to_string())?;
    let beside = |ending: &str| {
        let mut name = file.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    };
    let new = beside(".new");
    let number = |number: usize| match number {
        0 => beside(".bak"),
        number => beside(&format!(".bak.{number}")),
    };
    let backup = back_up(&file, (0..BACKUPS_MAX).map(number))?;
    let outcome = write(&file, &new, text);
    if outcome.is_err() {
        let _ = fs::remove_file(&new);
    }
    outcome.with_context(|| file.display().to_string())?;
    Ok(backup)
}

/// Copies the file to the first free one of `places`, unless an earlier one is such a copy.
fn back_up(file: &Path, places: impl Iterator<Item = PathBuf>) -> Result<PathBuf> {
    let text = fs::read(file).with_context(|| file.display().to_string())?;
    for place in places {
        match File::create_new(&place) {
            Ok(_) => {
                fs::copy(file, &place).with_context(|| place.display().to_string())?;
                return Ok(place);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::read(&place).is_ok_and(|other| other == text) {
                    return Ok(place);
                }
            }
            Err(error) => return Err(error).with_context(|| place.display().to_string()),
        }
    }
    bail!("{} has {BACKUPS_MAX} backups; remove some", file.display())
}

fn write(file: &Path, new: &Path, text: &str) -> io::Result<()> {
    let permissions = fs::metadata(file)?.permissions();
    let mut written = File::create(new)?;
    written.set_permissions(permissions)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(new, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn no_backup_is_overwritten_and_none_is_there_twice() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("s1.toml");
        fs::write(&file, "first").unwrap();
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let replaced = |text| name(replace(&file, text).unwrap());
        assert_eq!(replaced("second"), "s1.toml.bak");
        assert_eq!(replaced("third"), "s1.toml.bak.1");
        assert_eq!(replaced("first"), "s1.toml.bak.2");
        assert_eq!(replaced("second"), "s1.toml.bak", "which has `first`");
        assert_eq!(replaced("fourth"), "s1.toml.bak.1", "which has `second`");
        for (backup, text) in [("bak", "first"), ("bak.1", "second"), ("bak.2", "third")] {
            let path = directory.path().join(format!("s1.toml.{backup}"));
            assert_eq!(fs::read_to_string(path).unwrap(), text);
        }
    }

    #[test]
    fn the_old_text_stays_beside_the_new_one_and_a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("s1.toml");
        let link = directory.path().join("link.toml");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let backup = replace(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_to_string(backup).unwrap(), "old");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            3,
            "nothing else"
        );
        assert!(replace(&directory.path().join("none.toml"), "x").is_err());
    }
}
