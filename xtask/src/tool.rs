//! Tools that come from elsewhere and may not be there.

use std::process::{Command, Stdio};

/// Whether a tool is there: `command` asks it for its version. Nothing of the answer is shown.
pub fn answers(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// How to get a tool that does not [answer](answers); `None` for one that is there.
pub fn remedy<'a>(command: &mut Command, remedy: &'a str) -> Option<&'a str> {
    (!answers(command)).then_some(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_has_a_remedy_and_what_is_there_has_none() {
        let there = remedy(Command::new("true").arg("--version"), "install it");
        assert_eq!(there, None);
        for missing in ["weir-no-such-tool", "false"] {
            let remedy = remedy(&mut Command::new(missing), "install it");
            assert_eq!(remedy, Some("install it"), "{missing}");
        }
    }
}
