//! All switches of this machine.

use std::path::{Path, PathBuf};

use super::{names, socket_of_environment, with_entry, Target, RUN, SOCKET_NAME};

impl Target {
    /// Returns the switches of this machine, by name: those whose run directories are next to that of the given socket, by
    /// default under /run/weir. A socket of none of them is added under its path.
    pub fn all(&self) -> Vec<(String, Self)> {
        let given = self.socket.clone().or_else(|| {
            let variable = socket_of_environment();
            variable.filter(|_| self.name.is_none())
        });
        let run = match given.as_deref() {
            Some(socket) if socket.ends_with(SOCKET_NAME) => socket.ancestors().nth(2),
            _ => Some(Path::new(RUN)),
        };
        let directories = with_entry(run.unwrap_or(Path::new(RUN)), SOCKET_NAME);
        let named = names(&directories).into_iter().zip(&directories);
        let mut all: Vec<_> = named
            .map(|(name, directory)| (name, Self::at(directory.join(SOCKET_NAME))))
            .collect();
        if let Some(socket) = given {
            let known = all
                .iter()
                .any(|(_, one)| one.socket.as_ref() == Some(&socket));
            if !known {
                all.insert(0, (socket.display().to_string(), Self::at(socket)));
            }
        }
        all
    }

    fn at(socket: PathBuf) -> Self {
        Self {
            socket: Some(socket),
            name: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{run_with, target};
    use super::*;

    #[test]
    fn all_switches_are_those_beside_the_one_that_is_given() {
        let run = run_with(&["s2", "s1"]);
        let socket = run.path().join("s1").join(SOCKET_NAME);
        let given = target(Some(&socket.to_string_lossy()), None);
        let all = given.all();
        let named: Vec<&str> = all.iter().map(|(name, _)| &**name).collect();
        assert_eq!(named, ["s1", "s2"]);
        assert_eq!(all[0].1, given);
        // A socket with another name, as one forwarded by ssh.
        let forwarded = run.path().join("leaf1.sock");
        let all = target(Some(&forwarded.to_string_lossy()), None).all();
        assert_eq!(all[0].0, forwarded.to_string_lossy());
        assert_eq!(all[0].1.socket.as_ref(), Some(&forwarded));
    }
}
