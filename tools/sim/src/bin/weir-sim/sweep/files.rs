//! Files of one part of a sweep: a journal of finished runs while it works, Parquet files at the end.
// These data decide which runs are skipped, never the result of a run.
#![allow(clippy::disallowed_methods)]

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use weir_recording::table;
use weir_sim::sweep::{Finished, Shard};

/// Key in the footer of a part's files: a digest of their inputs.
pub const KEY: &str = "weir.shard_sha256";

/// Paths of one part's files.
pub struct Files {
    directory: PathBuf,
    shard: Shard,
}

impl Files {
    /// Creates the directory. Refuses one with a sweep in other parts: readers of all files would see its runs twice.
    pub fn new(directory: &Path, shard: Shard) -> Result<Self> {
        std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        let ending = format!("-of-{:05}", shard.count);
        for entry in
            std::fs::read_dir(directory).with_context(|| directory.display().to_string())?
        {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            let stem = name.split('.').next().unwrap_or_default();
            let is_part = (name.ends_with(".parquet") && name.starts_with("runs-"))
                || (name.ends_with(".jsonl") && name.starts_with("unfinished-"));
            if is_part && !stem.ends_with(&ending) {
                bail!(
                    "{} is of a sweep in another number of parts; remove the files there, or use another directory with --out",
                    directory.join(&*name).display()
                );
            }
        }
        Ok(Self {
            directory: directory.to_owned(),
            shard,
        })
    }

    /// Returns the path of a table: `runs`, `flows` or `ports`.
    pub fn table(&self, table: &str) -> PathBuf {
        let Shard { index, count } = self.shard;
        let name = format!("{table}-{index:05}-of-{count:05}.parquet");
        self.directory.join(name)
    }

    fn journal(&self) -> PathBuf {
        let Shard { index, count } = self.shard;
        let name = format!("unfinished-{index:05}-of-{count:05}.jsonl");
        self.directory.join(name)
    }

    /// Returns true if the part is finished; fails if it belongs to another sweep.
    pub fn is_finished(&self, key: &str) -> Result<bool> {
        let path = self.table("runs");
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let of = table::note(file, KEY).with_context(|| path.display().to_string())?;
        if of.as_deref() != Some(key) {
            return Self::refuse(&path);
        }
        Ok(true)
    }

    /// Writes a file completely or not at all.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = self.directory.join(format!(".{name}.tmp"));
        let written = || -> std::io::Result<()> {
            let mut file = File::create(&temporary)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&temporary, path)?;
            File::open(&self.directory)?.sync_all()
        };
        written().with_context(|| format!("cannot write {}", path.display()))
    }

    /// Refuses `path`, which belongs to another command.
    fn refuse<T>(path: &Path) -> Result<T> {
        bail!(
            "{} is of another sweep, scenario or version of weir-sim; remove it, or use another directory with --out",
            path.display()
        )
    }

    /// Refuses the journal of another command.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn refuse_journal<T>(&self) -> Result<T> {
        Self::refuse(&self.journal())
    }

    /// Opens the journal exclusively; also returns the runs already finished.
    pub fn open_journal(&self) -> Result<(Journal, Vec<Finished>)> {
        let path = self.journal();
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = opened.with_context(|| format!("cannot open {}", path.display()))?;
        let mut file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((_, Errno::EWOULDBLOCK)) => {
                bail!(
                    "{} is in use: part {} is being run by another process; wait for it, or run another part with --shard",
                    path.display(),
                    self.shard
                )
            }
            Err((_, error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()))
            }
        };
        let (finished, length) = read(&mut file).with_context(|| path.display().to_string())?;
        // Bytes after the last complete line were being written when the writer was killed.
        file.set_len(length)
            .and_then(|()| file.seek(SeekFrom::Start(length)))
            .with_context(|| path.display().to_string())?;
        Ok((Journal { path, file }, finished))
    }
}

/// Reads the complete lines of a journal; also returns where they end.
fn read(file: &mut File) -> std::io::Result<(Vec<Finished>, u64)> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let (mut finished, mut length) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(text) = line.strip_suffix(b"\n") else {
            break;
        };
        let Ok(one) = serde_json::from_slice(text) else {
            break;
        };
        finished.push(one);
        length += line.len() as u64;
    }
    Ok((finished, length))
}

/// Finished runs, one line each.
pub struct Journal {
    path: PathBuf,
    file: Flock<File>,
}

impl Journal {
    /// Writes a run: once this returns, it survives the end of this process.
    pub fn keep(&mut self, finished: &Finished) -> Result<()> {
        let mut line = serde_json::to_vec(finished)?;
        line.push(b'\n');
        let written = self.file.write_all(&line);
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Makes the entries survive a crash of the machine. Disks may take longer than a short run.
    pub fn sync(&mut self) -> Result<()> {
        let synced = self.file.sync_data();
        synced.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Removes it, once its runs are in other files.
    pub fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path).with_context(|| self.path.display().to_string())
    }
}
