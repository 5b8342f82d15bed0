//! Locks of the files that runs share. The kernel releases the lock of a process that ends.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{bail, Context, Result};

/// Locks `file`, creating it if necessary, and waits while another run holds it.
///
/// # Errors
///
/// When the file cannot be created or locked.
pub fn wait(file: &Path) -> Result<File> {
    let lock = open(file)?;
    lock.lock().with_context(|| file.display().to_string())?;
    Ok(lock)
}

/// Locks `file`, creating it if necessary.
///
/// # Errors
///
/// When another run holds it; `what` says what that run does.
pub fn claim(file: &Path, what: &str) -> Result<File> {
    let lock = open(file)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => bail!(
            "another run tests {what} ({} is locked): wait for its end, or use another --cache",
            file.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| file.display().to_string()),
    }
}

fn open(file: &Path) -> Result<File> {
    let lock = File::create(file);
    lock.with_context(|| file.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_of_the_same_kind_is_refused() {
        let file = std::env::temp_dir().join(format!("weir-lock-{}", std::process::id()));
        let first = claim(&file, "NICs").unwrap();
        let refused = format!("{:#}", claim(&file, "NICs").unwrap_err());
        assert!(refused.starts_with("another run tests NICs"), "{refused}");
        drop(first);
        claim(&file, "NICs").unwrap();
        std::fs::remove_file(&file).unwrap();
    }
}
