//! The root file system of the image.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::dist::tree::{Tree, DATA, PROGRAM};

/// Programs of the image, and their directories. The archive has the complete set for a lab.
const PROGRAMS: [(&str, &str); 6] = [
    ("usr/sbin/", "weir-switchd"),
    ("usr/sbin/", "weir-endpoint"),
    ("usr/sbin/", "weir-host"),
    ("usr/bin/", "switchctl"),
    ("usr/bin/", "weir-plan"),
    ("usr/bin/", "weir-page"),
];
/// Files for the C library: root, the user of the switch, and the group that may use the API.
const FILES: [(&str, &str); 3] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/:/usr/sbin/nologin\nweir:x:999:999:weir:/:/usr/sbin/nologin\n",
    ),
    ("etc/group", "root:x:0:\nweir:x:999:\n"),
    (
        "etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files dns\n",
    ),
];
/// Mount points of any runtime, directories for a configuration and its rollbacks, and the run directory.
const DIRECTORIES: [(&str, u32); 8] = [
    ("dev", 0o755),
    ("etc/weir", 0o755),
    ("proc", 0o555),
    ("run/weir", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr/share/doc/weir", 0o755),
    ("var/lib/weir", 0o755),
];
const LICENSES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// Builds the file system with the programs of a directory, and the libraries of those that are not static.
pub fn tree(programs: &Path) -> Result<Tree> {
    let mut tree = Tree::default();
    for (path, mode) in DIRECTORIES {
        tree.directory(path, mode);
    }
    for (path, text) in FILES {
        tree.add(path, DATA, text.as_bytes().to_vec());
    }
    for name in LICENSES {
        let from = crate::build::root().join(name);
        tree.copy(&format!("usr/share/doc/weir/{name}"), DATA, &from)?;
    }
    for (into, name) in PROGRAMS {
        let program = programs.join(name);
        tree.copy(&format!("{into}{name}"), PROGRAM, &program)?;
        for library in libraries(&program)? {
            let path = library.trim_start_matches('/');
            tree.copy(path, PROGRAM, Path::new(&library))?;
        }
    }
    Ok(tree)
}

/// Returns the libraries of a program, and its dynamic linker; nothing for a static one.
fn libraries(program: &Path) -> Result<Vec<String>> {
    // ldd also fails for static programs.
    let said = Command::new("ldd")
        .arg(program)
        .output()
        .context("ldd of the Debian package libc-bin")?;
    Ok(paths(&String::from_utf8_lossy(&said.stdout)))
}

/// Returns the paths in lines of ldd(1): `libz.so.1 => /lib/libz.so.1 (0x…)`, `/lib64/ld-linux-x86-64.so.2 (0x…)`.
fn paths(said: &str) -> Vec<String> {
    let words = said.lines().filter_map(|line| {
        let (path, _) = line.split_once(" (0x")?;
        path.split_whitespace().next_back()
    });
    words
        .filter(|word| word.starts_with('/'))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_what_ldd_finds() {
        let said = "\tlinux-vdso.so.1 (0x00007ffe)\n\tlibelf.so.1 => /lib/x86_64-linux-gnu/libelf.so.1 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let wanted = [
            "/lib/x86_64-linux-gnu/libelf.so.1",
            "/lib64/ld-linux-x86-64.so.2",
        ];
        assert_eq!(paths(said), wanted);
        assert_eq!(paths("\tstatically linked\n"), Vec::<String>::new());
    }
}
