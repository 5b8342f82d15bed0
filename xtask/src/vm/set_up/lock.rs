//! Locks of the files that runs share. The kernel releases the lock of a process that ends.

use std::fs::File;
use std::path::Path;

use anyhow::{bail, Context, Result};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Locks `file`, creating it if necessary, and waits while another run holds it.
///
/// # Errors
///
/// When the file cannot be created or locked.
pub fn wait(file: &Path) -> Result<Flock<File>> {
    let lock = Flock::lock(open(file)?, FlockArg::LockExclusive);
    lock.map_err(|(_, error)| error)
        .with_context(|| file.display().to_string())
}

/// Locks `file`, creating it if necessary.
///
/// # Errors
///
/// When another run holds it; `what` names what that run tests.
pub fn claim(file: &Path, what: &str) -> Result<Flock<File>> {
    match Flock::lock(open(file)?, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(lock),
        Err((_, Errno::EWOULDBLOCK)) => bail!(
            "another run tests {what} ({} is locked): wait for its end, or use another --cache",
            file.display()
        ),
        Err((_, error)) => Err(error).with_context(|| file.display().to_string()),
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
