//! Mutation tests of the switch core, the worker and the wire formats: the same mutants at two revisions, each with the tests
//! that reach it. All mutants of a revision are in one build (see [`splice`]); a variable of the environment chooses one.
//!
//! ```sh
//! cargo xtask mutants --before REVISION --after REVISION
//! ```
//!
//! An interrupted run goes on from its journal. `--report` prints the table of what has been run so far.

mod collect;
mod splice;
mod suite;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{bail, ensure, Context, Result};

use collect::{Key, Site, AREAS};
use suite::{Outcome, Test};

const USAGE: &str =
    "`cargo xtask mutants` starts this, with BEFORE AFTER SEED COUNT JOBS DIRECTORY [--report]";

struct Options {
    revisions: [String; 2],
    seed: u64,
    count: usize,
    jobs: usize,
    directory: PathBuf,
    report: bool,
}

impl Options {
    fn from_arguments() -> Result<Self> {
        let mut arguments: Vec<String> = std::env::args().skip(1).collect();
        let report = arguments.pop_if(|last| last == "--report").is_some();
        let [before, after, seed, count, jobs, directory] = &arguments[..] else {
            bail!(USAGE);
        };
        fs::create_dir_all(directory)?;
        Ok(Self {
            revisions: [commit(before)?, commit(after)?],
            seed: seed.parse()?,
            count: count.parse()?,
            jobs: jobs.parse()?,
            directory: Path::new(directory).canonicalize()?,
            report,
        })
    }
}

fn commit(revision: &str) -> Result<String> {
    let output = Command::new("git")
        .args(["rev-parse", "--short=8", "--verify", revision])
        .output()?;
    ensure!(output.status.success(), "no revision {revision}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// One revision: its source as committed, and the copy with mutants.
struct Side {
    name: &'static str,
    directory: PathBuf,
    unviable: BTreeSet<u32>,
}

impl Side {
    fn new(name: &'static str, commit: &str, directory: &Path) -> Result<Self> {
        let side = Self {
            name,
            directory: directory.join(commit),
            unviable: BTreeSet::new(),
        };
        for copy in ["source", "tree"] {
            let to = side.directory.join(copy);
            if to.exists() {
                continue;
            }
            fs::create_dir_all(&to)?;
            let archive = format!(
                "git archive {commit} | tar --extract --directory '{}'",
                to.display()
            );
            ensure!(
                Command::new("sh")
                    .args(["-c", &archive])
                    .status()?
                    .success(),
                "{archive} failed"
            );
            if copy == "tree" {
                suite::prepare(&to)?;
            }
        }
        Ok(side)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// A mutant at both revisions.
struct Mutant {
    key: Key,
    sites: [Site; 2],
}

/// Returns the mutants that exist at both revisions: of equal keys, or of equal keys in equal files if several have one.
fn common(found: [Vec<(Key, Site)>; 2]) -> Vec<Mutant> {
    let group = |found: Vec<(Key, Site)>| {
        let mut groups: BTreeMap<Key, Vec<Site>> = BTreeMap::new();
        for (key, site) in found {
            groups.entry(key).or_default().push(site);
        }
        groups
    };
    let [before, after] = found.map(group);
    let mut common = Vec::new();
    for (key, before) in before {
        let Some(after) = after.get(&key) else {
            continue;
        };
        let unique = before.len() == 1 && after.len() == 1;
        for site in before {
            let other = after
                .iter()
                .find(|other| unique || other.below == site.below);
            if let Some(other) = other {
                common.push(Mutant {
                    key: key.clone(),
                    sites: [site, other.clone()],
                });
            }
        }
    }
    common
}

/// Returns a sample in which each area has a share by its number of mutants, but at least an eighth.
fn sample(all: Vec<Mutant>, seed: u64, count: usize) -> Vec<Mutant> {
    let total = all.len();
    let mut areas: BTreeMap<&str, Vec<Mutant>> = BTreeMap::new();
    for mutant in all {
        areas.entry(mutant.key.area).or_default().push(mutant);
    }
    let mut state = seed;
    let mut random = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut chosen = Vec::new();
    for mutants in areas.into_values() {
        let share = (count * mutants.len() / total.max(1)).max(count / 8);
        let mut keyed: Vec<(u64, Mutant)> = mutants
            .into_iter()
            .map(|mutant| (random(), mutant))
            .collect();
        keyed.sort_by_key(|(order, _)| *order);
        keyed.truncate(share);
        chosen.extend(keyed);
    }
    // Mixed, so that what has been run so far is a sample too.
    chosen.sort_by_key(|(order, _)| *order);
    chosen.into_iter().map(|(_, mutant)| mutant).collect()
}

fn main() -> Result<()> {
    let options = Options::from_arguments()?;
    let [before, after] = &options.revisions;
    let mut sides = [
        Side::new("before", before, &options.directory)?,
        Side::new("after", after, &options.directory)?,
    ];
    let found = [
        collect::collect(&sides[0].path("source"))?,
        collect::collect(&sides[1].path("source"))?,
    ];
    println!(
        "seed {}; {} mutants at {before}, {} at {after}",
        options.seed,
        found[0].len(),
        found[1].len()
    );
    let common = common(found);
    for (area, _) in AREAS {
        println!(
            "{area}: {} at both",
            common
                .iter()
                .filter(|mutant| mutant.key.area == area)
                .count()
        );
    }
    let mutants = sample(common, options.seed, options.count);
    println!("{} in the sample", mutants.len());
    let journal = options.directory.join(format!(
        "journal-{before}-{after}-{}-{}.tsv",
        options.seed, options.count
    ));
    for side in &mut sides {
        let text = fs::read_to_string(side.path("unviable")).unwrap_or_default();
        side.unviable = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    }
    if !options.report {
        test_all(&options, &mut sides, &mutants, &journal)?;
    }
    println!("{}", report(&options, &sides, &mutants, &journal)?);
    Ok(())
}

fn test_all(
    options: &Options,
    sides: &mut [Side; 2],
    mutants: &[Mutant],
    journal: &Path,
) -> Result<()> {
    let mut surveys = Vec::new();
    for (index, side) in sides.iter_mut().enumerate() {
        surveys.push(survey(side, index, mutants)?);
    }
    let unviable: BTreeSet<u32> = sides
        .iter()
        .flat_map(|side| side.unviable.iter().copied())
        .collect();
    let done: BTreeSet<(String, u32)> = read(journal)?
        .into_iter()
        .map(|entry| (entry.side, entry.number))
        .collect();
    let tests = [suite::by_mutant(&surveys[0]), suite::by_mutant(&surveys[1])];
    let mut work = Vec::new();
    for number in numbers(mutants)
        .filter(|number| !unviable.contains(number))
        .rev()
    {
        for (side, tests) in sides.iter().zip(&tests).rev() {
            if !done.contains(&(side.name.to_owned(), number)) {
                work.push((
                    side.name,
                    number,
                    tests.get(&number).map_or(&[][..], Vec::as_slice),
                ));
            }
        }
    }
    println!("{} runs to do", work.len());
    let (work, file) = (
        Mutex::new(work),
        Mutex::new(OpenOptions::new().create(true).append(true).open(journal)?),
    );
    let next = || work.lock().expect("no thread panics").pop();
    let serve = || -> Result<()> {
        while let Some((side, number, tests)) = next() {
            let (outcome, by) = one(number, tests)?;
            let line = format!("{side}\t{number}\t{outcome}\t{by}\n");
            file.lock()
                .expect("no thread panics")
                .write_all(line.as_bytes())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.jobs.max(1))
            .map(|_| scope.spawn(serve))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no thread panics"))
    })
}

fn numbers(mutants: &[Mutant]) -> impl DoubleEndedIterator<Item = u32> + use<> {
    // 0 is no mutant.
    1..=u32::try_from(mutants.len()).unwrap_or(u32::MAX)
}

/// Runs a mutant's tests until one fails; returns the outcome, and the test that failed or the number that passed.
fn one(number: u32, tests: &[&Test]) -> Result<(&'static str, String)> {
    for test in tests {
        match test.with(number)? {
            Outcome::Passed => {}
            Outcome::Failed => return Ok(("caught", test.name.clone())),
            Outcome::Hung => return Ok(("hung", test.name.clone())),
        }
    }
    Ok((
        if tests.is_empty() {
            "unreached"
        } else {
            "survived"
        },
        tests.len().to_string(),
    ))
}

/// Builds the tests of a revision, and returns those that reach mutants; the result is kept.
fn survey(side: &mut Side, index: usize, mutants: &[Mutant]) -> Result<Vec<Test>> {
    let kept = side.path("tests.tsv");
    if let Ok(text) = fs::read_to_string(&kept) {
        return suite::from_text(&text).with_context(|| kept.display().to_string());
    }
    let sites: Vec<(u32, &Site)> = numbers(mutants)
        .zip(mutants.iter().map(|mutant| &mutant.sites[index]))
        .collect();
    let (source, tree, target) = (side.path("source"), side.path("tree"), side.path("target"));
    let file = side.path("unviable");
    let note = |numbers: &BTreeSet<u32>| {
        let lines: String = numbers.iter().map(|number| format!("{number}\n")).collect();
        Ok(fs::write(&file, lines)?)
    };
    let executables = suite::build(&source, &tree, &target, &sites, &mut side.unviable, note)?;
    let (tests, left_out) = suite::survey(&executables, &side.path("reached"))?;
    println!(
        "{}: {} tests reach mutants; left out: {left_out:#?}",
        side.name,
        tests.len()
    );
    fs::write(kept, suite::to_text(&tests))?;
    Ok(tests)
}

struct Entry {
    side: String,
    number: u32,
    outcome: String,
    by: String,
}

fn read(journal: &Path) -> Result<Vec<Entry>> {
    let text = fs::read_to_string(journal).unwrap_or_default();
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [side, number, outcome, by] = fields[..] else {
            bail!("{}: {line:?}", journal.display());
        };
        Ok(Entry {
            side: side.to_owned(),
            number: number.parse()?,
            outcome: outcome.to_owned(),
            by: by.to_owned(),
        })
    };
    text.lines().map(parse).collect()
}

/// Returns the tables: mutants that both revisions have run, by area, and those that survive, by file.
fn report(
    options: &Options,
    sides: &[Side; 2],
    mutants: &[Mutant],
    journal: &Path,
) -> Result<String> {
    let mut outcomes: BTreeMap<(String, u32), Entry> = BTreeMap::new();
    for entry in read(journal)? {
        outcomes.insert((entry.side.clone(), entry.number), entry);
    }
    let outcome = |side: usize, number: u32| outcomes.get(&(sides[side].name.to_owned(), number));
    let survives = |side: usize, number: u32| {
        outcome(side, number)
            .is_some_and(|entry| matches!(entry.outcome.as_str(), "survived" | "unreached"))
    };
    let run: Vec<(u32, &Mutant)> = numbers(mutants)
        .zip(mutants)
        .filter(|(number, _)| outcome(0, *number).is_some() && outcome(1, *number).is_some())
        .collect();
    let unviable = numbers(mutants)
        .filter(|number| sides.iter().any(|side| side.unviable.contains(number)))
        .count();
    let [before, after] = &options.revisions;
    let mut text = format!(
        "Seed {}; {} mutants drawn, {unviable} do not compile, {} run at both revisions.\n\n",
        options.seed,
        mutants.len(),
        run.len()
    );
    writeln!(
        text,
        "| area | mutants | caught at {before} | caught at {after} |\n|---|--:|--:|--:|"
    )?;
    let row = |area: &str, run: &[(u32, &Mutant)]| {
        let caught = |side: usize| {
            run.iter()
                .filter(|(number, _)| !survives(side, *number))
                .count()
        };
        format!(
            "| {area} | {} | {} | {} |\n",
            run.len(),
            caught(0),
            caught(1)
        )
    };
    for (area, _) in AREAS {
        let here: Vec<_> = run
            .iter()
            .filter(|(_, mutant)| mutant.key.area == area)
            .copied()
            .collect();
        text += &row(area, &here);
    }
    text += &row("all", &run);
    let mut files: BTreeMap<&Path, [usize; 3]> = BTreeMap::new();
    let mut lines = BTreeMap::new();
    for (number, mutant) in &run {
        let site = &mutant.sites[1];
        let counts = files.entry(&site.file).or_default();
        counts[0] += 1;
        counts[1] += usize::from(survives(0, *number));
        counts[2] += usize::from(survives(1, *number));
        if survives(0, *number) || survives(1, *number) {
            let said = |side| {
                outcome(side, *number).map_or_else(String::new, |entry| {
                    format!("{} ({})", entry.outcome, entry.by)
                })
            };
            let Key {
                function,
                original,
                replacement,
                ..
            } = &mutant.key;
            let line = format!(
                "{}:{}\t{number}\t{function}\t{replacement}\t{original}\tbefore {}\tafter {}",
                site.file.display(),
                site.line,
                said(0),
                said(1),
            );
            lines.insert((&site.file, site.line, *number), line);
        }
    }
    writeln!(
        text,
        "\n| file | mutants | survive at {before} | survive at {after} |\n|---|--:|--:|--:|"
    )?;
    for (file, [run, first, second]) in files.iter().filter(|(_, counts)| counts[1] + counts[2] > 0)
    {
        writeln!(
            text,
            "| `{}` | {run} | {first} | {second} |",
            file.display()
        )?;
    }
    fs::write(
        options.directory.join("survivors.tsv"),
        lines
            .into_values()
            .map(|line| line + "\n")
            .collect::<String>(),
    )?;
    Ok(text)
}
