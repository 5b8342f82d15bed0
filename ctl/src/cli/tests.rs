//! The command line as a whole: its help, its examples, and the book's table.

use super::*;
use clap::CommandFactory;

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
    assert!(Cli::try_parse_from(["switchctl", "neighbours"]).is_ok());
}

#[test]
fn the_help_lists_every_exit_status() {
    let help = Cli::command().render_long_help().to_string();
    for status in [
        0,
        EXIT_BAD,
        EXIT_USAGE,
        EXIT_UNREACHABLE,
        EXIT_UNBALANCED,
        EXIT_CHANGE,
    ] {
        assert!(help.contains(&format!("\n  {status}  ")), "{status}");
    }
}

/// The book's first table has a row for each command in the help.
#[test]
fn every_command_is_in_the_book() {
    let page = include_str!("../../../docs/src/reference/switchctl.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| [`"))
        .map(|line| line.split(['`', ' ', ',', ']']).collect())
        .collect();
    fn look(command: &clap::Command, parents: &[&str], rows: &[Vec<&str>]) {
        let shown = command.get_subcommands();
        for command in shown.filter(|command| command.get_name() != "help") {
            let mut path = parents.to_vec();
            path.push(command.get_name());
            let has_all = |row: &&Vec<&str>| path.iter().all(|name| row.contains(name));
            assert!(rows.iter().any(|row| has_all(&row)), "{path:?}");
            look(command, &path, rows);
        }
    }
    look(&Cli::command(), &[], &rows);
}

#[test]
fn every_command_has_an_example() {
    fn look(command: &clap::Command) {
        if command.get_subcommands().next().is_none() {
            let help = command.get_after_help().map(ToString::to_string);
            // Pages that every program can print have examples for any program.
            let is_named =
                |help: &String| help.contains("switchctl") || help.contains("for COMMAND:");
            assert!(
                help.is_some_and(|help| help.contains("Example") && is_named(&help)),
                "{}",
                command.get_name()
            );
        }
        command.get_subcommands().for_each(look);
    }
    look(&Cli::command());
}

/// A command's own options are listed together, options of all commands have a separate heading, and no line is wrapped
/// twice.
#[test]
fn help_fits_and_keeps_options_apart() {
    fn look(command: &clap::Command) {
        let name = command.get_name();
        let text = command.get_after_help().map(ToString::to_string);
        let text = text.unwrap_or_default();
        let long = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{name}");
        let options = command.get_arguments().filter(|arg| !arg.is_positional());
        for option in options {
            let heading = option.is_global_set().then_some(GLOBAL);
            assert_eq!(option.get_help_heading(), heading, "{name}: {option}");
        }
        command.get_subcommands().for_each(look);
    }
    let mut command = Cli::command();
    command.build();
    look(&command);
    let help = command.render_help().to_string();
    assert!(
        help.contains(&format!("\n{GLOBAL}:\n      --socket")),
        "{help}"
    );
}
