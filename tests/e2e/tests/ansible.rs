//! The example playbook at a running switch: its commands in the order in which Ansible runs them. Ansible itself is not
//! needed.

use std::process::{Command, Output};

use serde_json::Value;
use weir_lab::lab::process::program;
use weir_tests::Bench;

/// Exit status of `--check` for a command with an effect.
const CHANGE: i32 = 7;

fn example() -> Value {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/examples/ansible/switch.yml"
    );
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut plays: Vec<Value> = serde_yaml_ng::from_str(&text).unwrap();
    plays.remove(0)
}

fn words(list: &Value) -> Vec<String> {
    let words = list.as_array().unwrap_or_else(|| panic!("{list}"));
    words
        .iter()
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

struct Switch<'a> {
    bench: &'a Bench,
    /// Common prefix of the playbook's calls.
    begins: Vec<String>,
}

impl Switch<'_> {
    fn run(&self, words: &[String], check: bool) -> Output {
        let mut command = Command::new(program("switchctl").unwrap());
        command.args(&self.begins[1..]).args(words);
        command.args(check.then_some("--check"));
        command
            .arg("--socket")
            .arg(&self.bench.switch.config.api_socket);
        command.output().unwrap()
    }

    /// Returns true if it would change something; checks that exit status and JSON agree.
    fn would_change(&self, words: &[String]) -> bool {
        let output = self.run(words, true);
        let status = output.status.code().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            [0, CHANGE].contains(&status),
            "{words:?}: {status}: {errors}"
        );
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["changed"], status == CHANGE, "{words:?}: {told}");
        let (before, after) = (&told["diff"]["before"], &told["diff"]["after"]);
        assert_eq!(before != after, status == CHANGE, "{words:?}: {told}");
        status == CHANGE
    }
}

#[test]
fn a_playbook_changes_once_what_is_not_so_yet() {
    let play = example();
    let bench = Bench::new(&[], |_| ());
    let switch = Switch {
        bench: &bench,
        begins: words(&play["vars"]["switchctl"]),
    };
    assert_eq!(switch.begins, ["switchctl", "--json"]);
    let mut wanted: Vec<Vec<String>> = Vec::new();
    for command in play["vars"]["wanted"].as_array().unwrap() {
        wanted.push(words(command));
    }
    let save = ["config", "save"].map(str::to_owned).to_vec();
    // The playbook's conditions are those of this test.
    let tasks = play["tasks"].to_string();
    for condition in ["rc == 7", "rc not in [0, 7]", "'config', 'save', '--check'"] {
        assert!(tasks.contains(condition), "{condition}: {tasks}");
    }
    for command in &wanted {
        // Asking changes nothing.
        assert!(
            switch.would_change(command) && switch.would_change(command),
            "{command:?}"
        );
        let output = switch.run(command, false);
        assert!(output.status.success(), "{command:?}: {output:?}");
        assert!(!switch.would_change(command), "{command:?} is there now");
    }
    assert!(switch.would_change(&save));
    assert!(switch.run(&save, false).status.success());
    assert!(!switch.would_change(&save));

    let split = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    for (line, changes) in [
        ("reload", false),
        ("port add h1", false),
        ("port remove h1", true),
        ("route set 02:00:00:00:00:99 h2", true),
        ("route move-bucket 02:00:00:00:00:99 0 h1", false),
        ("route move-bucket 02:00:00:00:00:99 0 h2", true),
        ("route pin 02:00:00:00:00:99 1234abcd h2", true),
        ("route unpin 02:00:00:00:00:99 1234abcd", false),
        ("route remove 02:00:00:00:00:99", true),
        ("route remove 02:00:00:00:00:98", false),
        ("pfcwd stop h1", true),
        ("pfcwd stop h2", false),
        ("config rollback", true),
    ] {
        assert_eq!(switch.would_change(&split(line)), changes, "{line}");
    }
    // Commands without an effect, and refused ones, are neither.
    for (line, status, said) in [
        ("status", 2, "--check works only with"),
        ("port remove nope", 1, "no port `nope`"),
        ("route set 02:00:00:00:00:99 h1,nope", 1, "no port `nope`"),
        ("ecn set nope --kmin 10KiB", 1, "no profile `nope`"),
    ] {
        let output = switch.run(&split(line), true);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{line}: {errors}");
        assert!(errors.contains(said), "{line}: {errors}");
    }
    bench.end();
}
