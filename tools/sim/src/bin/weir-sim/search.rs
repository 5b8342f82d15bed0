//! `weir-sim search`.

use std::sync::Mutex;

use anyhow::Result;
use weir_sim::search::{ask, Answer, Mode, Question, SearchError};

use crate::cli::SearchArguments;
use crate::output::{bar, write};
use crate::parallel::on_all_cores;

/// Maximum number of failing networks listed one by one.
const TOLD_MAX: usize = 20;

#[derive(Default)]
struct Tally {
    asked: u64,
    sent: u64,
    received: u64,
    frame_hops: u64,
    lost: u64,
    control_frames: u64,
    pfc_deadlocks: u64,
    pfc_stuck: u64,
    pool_received: u64,
    pool_deadlocks: u64,
    failures: Vec<(u64, String)>,
}

/// Returns true if all networks behaved as Theorem 1 promises, and some of them locked under plain PFC.
pub fn search(arguments: &SearchArguments) -> Result<bool> {
    let bar = bar(arguments.networks, arguments.quiet);
    let tally = Mutex::new(Tally::default());
    on_all_cores(arguments.jobs, arguments.networks as usize, &|index| {
        let seed = arguments.first + index as u64;
        let (level, others) = ask_all(seed, arguments.faults);
        if let Ok(mut tally) = tally.lock() {
            tally.add(seed, level, others);
            bar.set_message(format!(
                "{} deadlocks under PFC, {} failures,",
                tally.pfc_deadlocks,
                tally.failures.len()
            ));
        }
        bar.inc(1);
    });
    bar.finish_and_clear();
    let mut tally = tally.into_inner().unwrap_or_default();
    tally.failures.sort();
    tally.print(arguments)?;
    if let Some(path) = &arguments.json {
        write(path, &serde_json::to_string_pretty(&tally.json(arguments))?)?;
    }
    let proves = arguments.faults || arguments.networks < 1000 || tally.pfc_deadlocks > 0;
    if !proves {
        weir_output::sayln!("plain PFC never deadlocked: this search proves nothing")?;
    }
    Ok(tally.failures.is_empty() && proves)
}

type Outcome = Result<Answer, SearchError>;

/// Runs under Levels; without faults also under plain PFC, with dedicated and with shared buffers.
fn ask_all(seed: u64, with_faults: bool) -> (Outcome, Option<[Outcome; 2]>) {
    let question = Question { with_faults };
    let level = ask(seed, Mode::Level, question);
    let under_pfc = || [Mode::Pfc, Mode::Pool].map(|mode| ask(seed, mode, question));
    (level, (!with_faults).then(under_pfc))
}

impl Tally {
    fn add(&mut self, seed: u64, level: Outcome, others: Option<[Outcome; 2]>) {
        self.asked += 1;
        match level {
            Ok(answer) => {
                self.sent += answer.sent;
                self.received += answer.received;
                self.frame_hops += answer.frame_hops;
                self.lost += answer.lost;
                self.control_frames += answer.control_frames;
                if !answer.keeps_the_promise() {
                    self.failures.push((seed, format!("{answer:?}")));
                }
            }
            Err(error) => self.failures.push((seed, error.to_string())),
        }
        let Some([pfc, pool]) = others else {
            return;
        };
        if let Some(answer) = self.under_pfc(seed, "under PFC", pfc) {
            self.pfc_deadlocks += u64::from(answer.stuck > 0);
            self.pfc_stuck += answer.stuck;
        }
        if let Some(answer) = self.under_pfc(seed, "with shared buffers", pool) {
            self.pool_deadlocks += u64::from(answer.stuck > 0);
            self.pool_received += answer.received;
        }
    }

    /// No frame may be lost, even if some wait forever.
    fn under_pfc(&mut self, seed: u64, how: &str, outcome: Outcome) -> Option<Answer> {
        match outcome {
            Ok(answer) => {
                if !answer.loses_nothing() {
                    self.failures.push((seed, format!("{how}: {answer:?}")));
                }
                Some(answer)
            }
            Err(error) => {
                self.failures.push((seed, format!("{how}: {error}")));
                None
            }
        }
    }

    fn print(&self, arguments: &SearchArguments) -> Result<()> {
        weir_output::sayln!(
            "{} random networks from seed {} under Levels{}: {} frames sent, {} received, {} lost, {} frame-hops, {} control frames",
            self.asked,
            arguments.first,
            if arguments.faults { " with faults" } else { "" },
            self.sent,
            self.received,
            self.lost,
            self.frame_hops,
            self.control_frames,
        )?;
        if !arguments.faults {
            weir_output::sayln!(
                "the same networks under plain PFC: {} deadlocks, {} frames stuck in them",
                self.pfc_deadlocks,
                self.pfc_stuck
            )?;
            weir_output::sayln!(
                "the same networks under PFC with shared buffers: {} frames received, {} deadlocks",
                self.pool_received,
                self.pool_deadlocks
            )?;
        }
        weir_output::sayln!("{} failures", self.failures.len())?;
        for (seed, what) in self.failures.iter().take(TOLD_MAX) {
            let faults = if arguments.faults { " --faults" } else { "" };
            weir_output::sayln!("seed {seed}: {what}; replay with: weir-sim search --first {seed} --networks 1{faults}")?;
        }
        Ok(())
    }

    fn json(&self, arguments: &SearchArguments) -> serde_json::Value {
        serde_json::json!({
            "format": 1,
            "first_seed": arguments.first,
            "networks": self.asked,
            "with_faults": arguments.faults,
            "frames_sent": self.sent,
            "frames_received": self.received,
            "frames_lost": self.lost,
            "frame_hops": self.frame_hops,
            "control_frames": self.control_frames,
            "pfc_deadlocks": self.pfc_deadlocks,
            "pfc_frames_stuck": self.pfc_stuck,
            "pool_frames_received": self.pool_received,
            "pool_deadlocks": self.pool_deadlocks,
            "failures": self.failures.iter().map(|(seed, what)| serde_json::json!({"seed": seed, "what": what})).collect::<Vec<_>>(),
        })
    }
}
