//! Files to be packed, reproducibly: sorted, without owner, with one date.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{bail, Context, Result};
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// Permissions of data files.
pub const DATA: u32 = 0o644;
/// Permissions of programs.
pub const PROGRAM: u32 = 0o755;
const DIRECTORY: u32 = 0o755;

/// Contents by path, without a leading slash.
#[derive(Debug, Default)]
pub struct Tree(BTreeMap<String, Entry>);

#[derive(Debug)]
enum Entry {
    Directory { mode: u32 },
    File { bytes: Vec<u8>, mode: u32 },
}

impl Tree {
    /// Adds a file and its parent directories.
    pub fn add(&mut self, path: &str, mode: u32, bytes: Vec<u8>) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent, DIRECTORY);
        }
        self.0.insert(path.to_owned(), Entry::File { bytes, mode });
    }

    /// Adds a directory and its parents.
    pub fn directory(&mut self, path: &str, mode: u32) {
        let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
        for parent in parents {
            let entry = Entry::Directory { mode: DIRECTORY };
            self.0.entry(parent.to_owned()).or_insert(entry);
        }
        let entry = Entry::Directory { mode };
        self.0.entry(path.to_owned()).or_insert(entry);
    }

    /// Adds a file of this machine.
    pub fn copy(&mut self, path: &str, mode: u32, from: &Path) -> Result<()> {
        let bytes = std::fs::read(from).with_context(|| from.display().to_string())?;
        self.add(path, mode, bytes);
        Ok(())
    }

    /// Copies files like cargo-deb's list. If `into` ends in a slash or is empty, it is the directory for all files
    /// that match `pattern`, whose last part may contain one `*`. Otherwise it is the path of a single file. A pattern
    /// that ends in `**/*` matches all files below.
    ///
    /// # Errors
    ///
    /// When no file matches, or one cannot be read.
    pub fn copy_all(&mut self, into: &str, mode: u32, pattern: &Path) -> Result<()> {
        if pattern.ends_with("**/*") {
            let below = pattern.parent().and_then(Path::parent);
            return self.copy_below(into, mode, below.unwrap_or(pattern));
        }
        let name = pattern.file_name().and_then(|name| name.to_str());
        let Some((before, after)) = name.and_then(|name| name.split_once('*')) else {
            let is_directory = into.is_empty() || into.ends_with('/');
            let name = name.filter(|_| is_directory).unwrap_or_default();
            return self.copy(&format!("{into}{name}"), mode, pattern);
        };
        let directory = pattern.parent().unwrap_or(pattern);
        let listed =
            std::fs::read_dir(directory).with_context(|| directory.display().to_string())?;
        let mut is_empty = true;
        for entry in listed {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let fits = name.len() >= before.len() + after.len();
            if fits && name.starts_with(before) && name.ends_with(after) {
                self.copy(&format!("{into}{name}"), mode, &directory.join(&name))?;
                is_empty = false;
            }
        }
        if is_empty {
            bail!("{}: no such file", pattern.display());
        }
        Ok(())
    }

    fn copy_below(&mut self, into: &str, mode: u32, directory: &Path) -> Result<()> {
        let listed =
            std::fs::read_dir(directory).with_context(|| directory.display().to_string())?;
        for entry in listed {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() {
                self.copy_below(&format!("{into}{name}/"), mode, &entry.path())?;
            } else {
                self.copy(&format!("{into}{name}"), mode, &entry.path())?;
            }
        }
        Ok(())
    }

    /// Packs everything below `prefix`, with files dated `time`.
    ///
    /// # Errors
    ///
    /// When a path is too long for the format.
    pub fn tar(&self, prefix: &str, time: u64) -> Result<Vec<u8>> {
        let mut builder = Builder::new(Vec::new());
        for (path, entry) in &self.0 {
            let (kind, mode, bytes, end) = match entry {
                Entry::Directory { mode } => (EntryType::Directory, *mode, &[][..], "/"),
                Entry::File { bytes, mode } => (EntryType::Regular, *mode, &bytes[..], ""),
            };
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_mtime(time);
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(bytes.len() as u64);
            builder
                .append_data(&mut header, format!("{prefix}{path}{end}"), bytes)
                .with_context(|| path.clone())?;
        }
        Ok(builder.into_inner()?)
    }
}

/// Compresses without a name and a date.
pub fn gzip(bytes: &[u8], compression: Compression) -> Result<Vec<u8>> {
    let mut encoder: GzEncoder<Vec<u8>> = GzBuilder::new().write(Vec::new(), compression);
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn an_archive_depends_on_nothing_but_names_and_bytes() {
        let order = [
            ("usr/bin/b", "two"),
            ("etc/a", "one"),
            ("usr/bin/a", "three"),
        ];
        let pack = |files: &[(&str, &str)]| {
            let mut tree = Tree::default();
            for (path, text) in files {
                tree.add(path, DATA, text.as_bytes().to_vec());
            }
            tree.tar("weir/", 1_000).unwrap()
        };
        let mut reversed = order;
        reversed.reverse();
        let packed = pack(&order);
        assert_eq!(packed, pack(&reversed));

        let mut archive = tar::Archive::new(&packed[..]);
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let header = entry.header().clone();
            let owner = (header.uid().unwrap(), header.gid().unwrap());
            assert_eq!((owner, header.mtime().unwrap()), ((0, 0), 1_000));
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            (entry.path().unwrap().display().to_string(), text)
        });
        let entries: Vec<_> = entries.collect();
        let paths: Vec<_> = entries.iter().map(|(path, _)| &**path).collect();
        let wanted = [
            "weir/etc/",
            "weir/etc/a",
            "weir/usr/",
            "weir/usr/bin/",
            "weir/usr/bin/a",
            "weir/usr/bin/b",
        ];
        assert_eq!(paths, wanted);
        assert_eq!(entries[1].1, "one");
        let again = || gzip(&packed, Compression::best()).unwrap();
        assert_eq!(again(), again());
    }
}
