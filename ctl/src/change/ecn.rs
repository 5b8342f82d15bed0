//! `switchctl ecn`: lists ECN marking by profile, and changes thresholds.

use anyhow::Result;
use weir_api::client::Method;
use weir_api::daemon::{EcnChange, EcnProfile};
use weir_api::words::MarkMoment;
use weir_config::units::{format_probability, format_size};
use weir_core::{Bytes, PartsPerMillion};

use crate::cli::{EcnCommand, EcnValues};
use crate::target::Target;
use weir_output::{table, Output, NONE};

const PATH: &str = "/v1/ecn";

/// Runs the command.
///
/// # Errors
///
/// When the switch does not answer, has no such profile, or refuses the values.
pub fn ecn(target: &Target, output: &Output, command: Option<&EcnCommand>) -> Result<()> {
    let Some(EcnCommand::Set(values)) = command else {
        let all: Vec<EcnProfile> = target.get(PATH)?;
        return output.print(&all, |all| list(all));
    };
    let path = format!("{PATH}/{}", values.profile);
    let profile: EcnProfile = target.send(Method::PUT, &path, Some(&change(values)))?;
    output.print(&profile, |profile| list(std::slice::from_ref(profile)))
}

pub fn change(values: &EcnValues) -> EcnChange {
    EcnChange {
        kmin_bytes: values.kmin.map(Bytes::get),
        kmax_bytes: values.kmax.map(Bytes::get),
        pmax_parts_per_million: values.pmax.map(PartsPerMillion::get),
        mark_at: values.mark_at.as_deref().map(MarkMoment::from),
    }
}

fn list(profiles: &[EcnProfile]) -> String {
    if profiles.is_empty() {
        return "no class marks frames: the configuration has neither [[ecn]] nor ecn-kmin\n"
            .to_owned();
    }
    let none = || NONE.to_owned();
    let size = |bytes: u64| format_size(Bytes::new(bytes));
    table(
        &[
            "profile", ">kmin", ">kmax", ">pmax", "mark at", "classes", ">marked",
        ],
        profiles.iter().map(|one| {
            let pmax = PartsPerMillion::new(one.pmax_parts_per_million);
            vec![
                one.profile.clone().unwrap_or_else(none),
                size(one.kmin_bytes),
                size(one.kmax_bytes),
                pmax.map_or_else(none, format_probability),
                one.mark_at.to_string(),
                match one.classes.is_empty() {
                    true => none(),
                    false => one.classes.join(", "),
                },
                one.marked_frames_total.to_string(),
            ]
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn parsed(words: &[&str]) -> Result<EcnChange, String> {
        let words = ["switchctl", "ecn", "set", "A"].iter().chain(words);
        let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        let Command::Ecn {
            command: Some(EcnCommand::Set(values)),
        } = cli.command
        else {
            panic!("another command");
        };
        assert_eq!(values.profile, "A");
        Ok(change(&values))
    }

    #[test]
    fn values_have_units_and_sonics_names_are_understood() {
        let expected = EcnChange {
            kmin_bytes: Some(250_000),
            kmax_bytes: Some(1 << 20),
            pmax_parts_per_million: Some(50_000),
            mark_at: None,
        };
        let ours = ["--kmin", "250kB", "--kmax", "1MiB", "--pmax", "5%"];
        assert_eq!(parsed(&ours), Ok(expected.clone()));
        let sonics = ["--gmin", "250kB", "--gmax", "1MiB", "--gdrop", "5%"];
        assert_eq!(parsed(&sonics), Ok(expected));
        let off = EcnChange {
            mark_at: Some("never".into()),
            ..EcnChange::default()
        };
        assert_eq!(parsed(&["--mark-at", "never"]), Ok(off));
        for (words, said) in [
            (&[][..], "required"),
            (&["--kmin", "250"], "unit"),
            (&["--pmax", "101%"], "not a probability"),
            (&["--mark-at", "noon"], "arrival, departure, never"),
        ] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains(said), "{said}: {error}");
        }
    }

    #[test]
    fn a_profile_is_a_line() {
        assert!(list(&[]).contains("[[ecn]]"));
        let mut profile = EcnProfile {
            kmin_bytes: 250_000,
            kmax_bytes: 1 << 20,
            pmax_parts_per_million: 50_000,
            classes: vec!["lossless".to_owned(), "bulk".to_owned()],
            marked_frames_total: 7,
            ..EcnProfile::default()
        };
        let line = |profile: &EcnProfile| {
            let text = list(std::slice::from_ref(profile));
            let line = text.lines().nth(1).unwrap();
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let rest = ["1MiB", "5%", "arrival", "lossless,", "bulk", "7"];
        assert_eq!(line(&profile)[2..], rest);
        profile.profile = Some("A".to_owned());
        profile.classes.clear();
        assert_eq!(line(&profile)[0], "A");
    }
}
