//! Writing a daemon's configuration file: whole or not at all, and what was there stays beside it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Puts `text` in the place of the file's. The old text is in the file that is returned, `FILE.bak`.
///
/// # Errors
///
/// When the file cannot be read or a directory not be written; the file is as it was then.
pub fn replace(file: &Path, text: &str) -> Result<PathBuf> {
    // Where a link leads, so that the link stays one.
    let file = fs::canonicalize(file).with_context(|| file.display().to_string())?;
    let beside = |ending: &str| {
        let mut name = file.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    };
    let (backup, new) = (beside(".bak"), beside(".new"));
    fs::copy(&file, &backup).with_context(|| backup.display().to_string())?;
    let outcome = write(&file, &new, text);
    if outcome.is_err() {
        // What is half written helps nobody.
        let _ = fs::remove_file(&new);
    }
    outcome.with_context(|| file.display().to_string())?;
    Ok(backup)
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
