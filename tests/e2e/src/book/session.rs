//! Runs the commands of a page at one place, one after another in one shell.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weir_lab::lab::process::{inside, program};
use weir_lab::lab::stage::Stage;

use super::block::{Place, Run, Use};
use super::expected::Expected;
use super::{repository, Page};

/// Files copied to a session's directory.
const COPIES: [&str; 4] = ["ctl/tests/data", "netns-scripts", "packaging", "scenarios"];
/// Programs replaced by stand-ins.
const STAND_INS: [&str; 9] = [
    "cargo",
    "curl",
    "sudo",
    "switchctl",
    "tail",
    "weir-lab",
    "weir-plan",
    "weir-sim",
    "weir-switchd",
];
/// Programs outside the workspace that commands need.
const TOOLS: [&str; 5] = ["curl", "ethtool", "iperf3", "jq", "tshark"];
const LIMIT_SECONDS: &str = "300";

struct Step {
    place: String,
    script: String,
    expected: Expected,
    is_exact: bool,
    status: u8,
}

/// Runs the commands of `page` for `place`. Returns the command lines that were only parsed.
///
/// # Errors
///
/// The command that deviated from the book, and its output.
pub fn run(page: &Page, place: Place, stage: Option<&Stage>) -> Result<Vec<String>, String> {
    let home = tempfile::tempdir().unwrap();
    let steps = steps(page, place, home.path());
    if !steps.iter().any(|step| step.status != u8::MAX) {
        return Ok(Vec::new());
    }
    prepare(home.path());
    std::fs::write(home.path().join(".script"), script(&steps)).unwrap();
    let mut command = command(home.path(), &repository(), place, stage);
    let output = command.output().unwrap();
    let printed = |index: usize| {
        let text = std::fs::read(home.path().join(format!(".printed/{index}")));
        String::from_utf8_lossy(&text.unwrap_or_default()).into_owned()
    };
    keep_transcript(page, place, &steps, printed);
    if !output.status.success() {
        let at = std::fs::read_to_string(home.path().join(".at")).unwrap_or_default();
        let at: usize = at.trim().parse().unwrap_or(0);
        let shell = String::from_utf8_lossy(&output.stderr);
        let Step { place, script, .. } = &steps[at];
        let all = beginning(&printed(at));
        return Err(format!("{place}: {}\n{script}{all}{shell}", output.status));
    }
    let problems: Vec<String> = (0..steps.len())
        .filter_map(|index| steps[index].compare(&printed(index)).err())
        .collect();
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    let parsed = std::fs::read_to_string(home.path().join(".parsed")).unwrap_or_default();
    Ok(parsed.lines().map(str::to_owned).collect())
}

impl Step {
    fn compare(&self, printed: &str) -> Result<(), String> {
        let compared = if self.is_exact {
            self.expected.is_exactly(printed)
        } else {
            self.expected.is_alike(printed)
        };
        compared.map_err(|problem| {
            let printed = beginning(printed);
            format!("{}: {problem}\n{}{printed}", self.place, self.script)
        })
    }
}

fn beginning(printed: &str) -> String {
    const LINES: usize = 40;
    printed
        .lines()
        .take(LINES)
        .fold(String::new(), |all, line| all + line + "\n")
}

/// Keeps the complete output, for authors of the book, in target/tmp.
fn keep_transcript(page: &Page, place: Place, steps: &[Step], printed: impl Fn(usize) -> String) {
    let name = page.path.display().to_string().replace('/', "-");
    // The test is target/debug/deps/book_commands-….
    let test = std::env::current_exe().unwrap();
    let directory = test.ancestors().nth(3).unwrap().join("tmp");
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join(format!("{name}-{place:?}.txt"));
    let mut text = String::new();
    for (index, step) in steps.iter().enumerate() {
        let _ = write!(text, "== {}\n{}{}", step.place, step.script, printed(index));
    }
    std::fs::write(file, text).unwrap();
}

/// Returns the steps. Writing a file is a separate step with a status that no command has.
fn steps(page: &Page, place: Place, home: &Path) -> Vec<Step> {
    let mut steps = Vec::new();
    for block in &page.blocks {
        let at = format!("{}:{}", page.path.display(), block.line);
        let step = |script: String, expected, run: Option<&Run>| Step {
            place: at.clone(),
            script,
            expected,
            is_exact: run.is_some_and(|run| run.is_exact),
            status: run.map_or(0, |run| run.status),
        };
        match &block.used {
            Use::Run(run) if run.place == place => {
                for script in &block.before {
                    steps.push(step(format!("{script}\n"), Expected::default(), None));
                }
                for (script, expected) in &run.commands {
                    let mut script = format!("{}\n", script.trim_end());
                    if !run.overrides.is_empty() {
                        let overrides = run.overrides.join(" ");
                        script = format!(
                            "export WEIR_BOOK_SET='{overrides}'\n{script}unset WEIR_BOOK_SET\n"
                        );
                    }
                    if run.is_parsed_only {
                        script =
                            format!("export WEIR_BOOK_PARSED=1\n{script}unset WEIR_BOOK_PARSED\n");
                    }
                    steps.push(step(script, expected.clone(), Some(run)));
                }
            }
            Use::File(name) => {
                let kept = format!(".file-{}", steps.len());
                std::fs::write(home.join(&kept), &block.text).unwrap();
                let script = format!("cp /run/book/{kept} {name}\n");
                steps.push(Step {
                    status: u8::MAX,
                    ..step(script, Expected::default(), None)
                });
            }
            _ => {}
        }
    }
    steps
}

fn script(steps: &[Step]) -> String {
    let mut script = String::from("set -eo pipefail\nexec < /dev/null\n");
    for (index, step) in steps.iter().enumerate() {
        let _ =
            write!(
            script,
            "echo {index} > /run/book/.at\nset {}e\n{{\n{}}} > /run/book/.printed/{index} 2>&1\n",
            if matches!(step.status, 0 | u8::MAX) { '-' } else { '+' },
            step.script
        );
        if !matches!(step.status, 0 | u8::MAX) {
            let _ = writeln!(script, "status=$?; set -e; [ $status = {} ]", step.status);
        }
    }
    script
}

fn prepare(home: &Path) {
    for tool in TOOLS {
        let found = std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|at| at.join(tool).is_file()));
        assert!(found, "{tool} is missing: `cargo xtask setup` installs it");
    }
    for name in COPIES {
        let copied = Command::new("cp")
            .arg("-r")
            .arg(repository().join(name))
            .arg(home)
            .status();
        assert!(copied.unwrap().success(), "copying {name}");
    }
    for directory in [".printed", ".stand-ins", "target"] {
        std::fs::create_dir(home.join(directory)).unwrap();
    }
    std::os::unix::fs::symlink("/run/weir-bin", home.join("target/release")).unwrap();
    write_program(&home.join(".sandbox"), include_str!("sandbox.sh"));
    for name in STAND_INS {
        let path = home.join(".stand-ins").join(name);
        write_program(&path, include_str!("stand-in.sh"));
    }
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{metadata:?}");
    std::fs::write(home.join(".metadata.json"), metadata.stdout).unwrap();
}

fn write_program(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// At the desk in separate namespaces, which end with it; on a ring in its switch's network namespace.
fn command(home: &Path, checkout: &Path, place: Place, stage: Option<&Stage>) -> Command {
    let unshare = Path::new("unshare");
    let mut command = match stage {
        Some(stage) => inside(&stage.names().namespace(place.switch()), unshare),
        None => {
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "TERM", "unshare", "--net", "--pid", "--fork"]);
            command.args(["--kill-child", "--mount-proc"]);
            command
        }
    };
    command
        .args(["--mount", "--propagation", "private"])
        .args(["timeout", "-k", "5", LIMIT_SECONDS])
        .arg(home.join(".sandbox"))
        .arg(home)
        .arg(binaries())
        .arg(checkout)
        .arg("/run/book/.script")
        .stdin(Stdio::null());
    if let Some(stage) = stage {
        let names = stage.names();
        command.arg(names.directory()).arg(names.prefix());
        command.arg(place.switch());
        command.args(stage.switches.iter().map(|switch| &switch.name));
    }
    command
}

/// Checks that programs of a checkout below the temporary directory find its files.
///
/// # Errors
///
/// The sandbox does not run.
pub fn finds_a_checkout(checkout: &Path, file: &str) -> Result<bool, String> {
    let home = tempfile::tempdir().unwrap();
    write_program(&home.path().join(".sandbox"), include_str!("sandbox.sh"));
    let script = format!("[ -f '{}' ] && echo found\n", checkout.join(file).display());
    std::fs::write(home.path().join(".script"), script).unwrap();
    let mut command = command(home.path(), checkout, Place::Desk, None);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(output.stdout == b"found\n")
}

fn binaries() -> PathBuf {
    let built = |name| program(name).unwrap_or_else(|error| panic!("{error:#}"));
    // `switchctl plan` runs it.
    built("weir-plan");
    let switchctl = built("switchctl");
    switchctl.parent().expect("it is a file").to_owned()
}
