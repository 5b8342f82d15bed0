//! Runs every case several times, alternating, and prints the results.

use std::path::Path;

use anyhow::{ensure, Context, Result};
use clap::ValueEnum;
use serde_json::{json, Value};

use crate::case::Case;
use crate::ns3::{self, Ns3};
use crate::pages::Pages;

/// The case that ns-3 also runs.
const COMPARED: Case = Case::FatTreeHalf;

const WITH_HUGE_PAGES: [Case; 2] = [Case::FatTreeHalf, Case::FatTreeFull];

/// Runs all cases, prints tables, and writes all measurements to `json`.
pub fn run(rounds: u32, json: Option<&Path>) -> Result<()> {
    let ns3 = Ns3::build()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = jobs(cores);
    let mut runs: Vec<Value> = Vec::new();
    for round in 1..=rounds {
        for job in &jobs {
            eprintln!("round {round} of {rounds}: {}", job.name());
            runs.push(job.run()?);
            let Job { case, pages, .. } = job;
            let is_compared = *case == COMPARED && job.threads == 1;
            let Some(ns3) = ns3.as_ref().filter(|_| is_compared) else {
                continue;
            };
            for mode in ns3::MODES {
                eprintln!("round {round} of {rounds}: {}", ns3::name(mode, *pages));
                runs.push(ns3.run(mode, *pages)?);
            }
        }
    }
    println!(
        "Medians of {rounds} runs, lowest and highest in brackets. Rates are by CPU time of all threads, but for the one by the clock; M is 10^6.\n"
    );
    let names: Vec<String> = jobs.iter().map(Job::name).collect();
    print_cases(&names, &runs);
    match ns3 {
        Some(_) => print_comparison(&runs),
        None => println!("\n{}", ns3::HOW_TO_INSTALL),
    }
    if let Some(path) = json {
        let all = json!({ "rounds": rounds, "processor": processor(), "runs": runs });
        let text = serde_json::to_string_pretty(&all)?;
        std::fs::write(path, text + "\n").with_context(|| path.display().to_string())?;
    }
    Ok(())
}

struct Job {
    case: Case,
    pages: Pages,
    threads: usize,
}

/// Cases that also run on all cores: those with much work in each window.
const ON_ALL_CORES: [Case; 3] = [Case::FatTreeHalf, Case::FatTreeFull, Case::Regular10000];

fn jobs(cores: usize) -> Vec<Job> {
    let mut jobs = Vec::new();
    for case in Case::value_variants() {
        let mut add = |pages, threads| {
            jobs.push(Job {
                case: *case,
                pages,
                threads,
            });
        };
        add(Pages::Small, 1);
        if WITH_HUGE_PAGES.contains(case) {
            add(Pages::Huge, 1);
        }
        if ON_ALL_CORES.contains(case) && cores > 1 {
            add(Pages::Small, cores);
        }
    }
    jobs
}

impl Job {
    fn name(&self) -> String {
        let name = name(self.case, self.pages);
        match self.threads {
            1 => name,
            threads => format!("{name}, {threads} threads"),
        }
    }

    /// Uses a separate process, so that the peak of memory is that of this case.
    fn run(&self) -> Result<Value> {
        let case = self.case.name();
        let output = self
            .pages
            .command(std::env::current_exe()?)
            .args(["case", &case, "--threads", &self.threads.to_string()])
            .stderr(std::process::Stdio::inherit())
            .output()
            .context("starting this program again")?;
        ensure!(output.status.success(), "case {case} failed");
        let mut figures: Value =
            serde_json::from_slice(&output.stdout).with_context(|| format!("case {case}"))?;
        figures["case"] = self.name().into();
        Ok(figures)
    }
}

fn name(case: Case, pages: Pages) -> String {
    format!("{}{}", case.name(), pages.suffix())
}

/// Returns the processor's model as reported by Linux.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, model) = lines.find(|(key, _)| key.trim() == "model name")?;
    Some(model.trim().to_owned())
}

fn print_cases(names: &[String], runs: &[Value]) {
    let mut rows = vec![[
        "case",
        "switches",
        "hosts",
        "flows",
        "events",
        "frame-hops",
        "M events/s",
        "M frame-hops/s",
        "by the clock",
        "peak, MiB",
        "MB a switch",
        "built, s",
    ]
    .map(String::from)];
    for name in names {
        let Some(first) = of(runs, name).next() else {
            continue;
        };
        let count = |key: &str| first[key].to_string();
        let spread = |value: &dyn Fn(&Value) -> f64| Spread::new(of(runs, name).map(value));
        rows.push([
            name.clone(),
            count("switches"),
            count("hosts"),
            count("flows"),
            count("events"),
            count("frame_hops"),
            spread(&|run| rate(run, "events")).text(),
            spread(&|run| rate(run, "frame_hops")).text(),
            spread(&|run| number(run, "frame_hops") / number(run, "wall_seconds") / 1e6).text(),
            format!(
                "{:.0}",
                spread(&|run| number(run, "resident_peak_kib") / 1024.0).median
            ),
            format!(
                "{:.2}",
                spread(&|run| number(run, "resident_peak_kib") * 1024e-6 / number(run, "switches"))
                    .median
            ),
            format!(
                "{:.1}",
                spread(&|run| number(run, "build_cpu_seconds")).median
            ),
        ]);
    }
    print_rows(&rows);
}

fn print_comparison(runs: &[Value]) {
    println!("\nThe same fat-tree at the same load, alternating with ns-3:\n");
    let mut rows = vec![[
        "simulator",
        "frame-hops per virtual us",
        "events per frame-hop",
        "M events/s",
        "M frame-hops/s",
        "Weir's frame-hops/s by its",
        "Weir's events/s by its",
    ]
    .map(String::from)];
    for pages in [Pages::Small, Pages::Huge] {
        let own = name(COMPARED, pages);
        let of_own = |key: &str| Spread::new(of(runs, &own).map(|run| rate(run, key))).median;
        let others = ns3::MODES.map(|mode| ns3::name(mode, pages));
        for name in std::iter::once(&own).chain(&others) {
            let Some(first) = of(runs, name).next() else {
                continue;
            };
            let [hops, events] = ["frame_hops", "events"]
                .map(|key| Spread::new(of(runs, name).map(|run| rate(run, key))));
            let micros = number(first, "measured_nanoseconds") / 1000.0;
            let events_per_hop = number(first, "events") / number(first, "frame_hops");
            rows.push([
                name.clone(),
                format!("{:.0}", number(first, "frame_hops") / micros),
                format!("{events_per_hop:.2}"),
                events.text(),
                hops.text(),
                format!("{:.1}", of_own("frame_hops") / hops.median),
                format!("{:.1}", of_own("events") / events.median),
            ]);
        }
    }
    print_rows(&rows);
}

fn of<'a>(runs: &'a [Value], name: &'a str) -> impl Iterator<Item = &'a Value> {
    runs.iter().filter(move |run| run["case"] == name)
}

fn number(run: &Value, key: &str) -> f64 {
    run[key].as_f64().unwrap_or(f64::NAN)
}

/// Returns millions per second of CPU time.
fn rate(run: &Value, key: &str) -> f64 {
    number(run, key) / number(run, "cpu_seconds") / 1e6
}

struct Spread {
    lowest: f64,
    median: f64,
    highest: f64,
}

impl Spread {
    /// Takes at least one number.
    fn new(numbers: impl Iterator<Item = f64>) -> Self {
        let mut numbers: Vec<f64> = numbers.collect();
        numbers.sort_by(f64::total_cmp);
        let [low, high] = [(numbers.len() - 1) / 2, numbers.len() / 2];
        Self {
            lowest: numbers[0],
            median: (numbers[low] + numbers[high]) / 2.0,
            highest: numbers[numbers.len() - 1],
        }
    }

    fn text(&self) -> String {
        format!(
            "{:.2} ({:.2}–{:.2})",
            self.median, self.lowest, self.highest
        )
    }
}

fn print_rows<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    for (index, row) in rows.iter().enumerate() {
        let cells = row.iter().enumerate();
        let cells = cells.map(|(column, cell)| format!("{cell:>0$}", width(column).unwrap_or(0)));
        println!("| {} |", cells.collect::<Vec<_>>().join(" | "));
        if index == 0 {
            println!("|{}", "---:|".repeat(COLUMNS));
        }
    }
}
