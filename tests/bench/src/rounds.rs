//! The whole measurement: systems alternate, round by round, in alternating order.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::cpu::{load_average, Cpus};
use crate::measure::trial::{Traffic, Trials};
use crate::measure::{Effort, Measurement};
use crate::stage::Stage;
use crate::system::System;

/// Version of the JSON.
pub const FORMAT: u32 = 1;

/// Plan of the measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Systems to measure.
    pub systems: Vec<System>,
    /// Frame sizes with FCS, in bytes.
    pub frame_bytes: Vec<usize>,
    /// Numbers of flows, powers of two.
    pub flows: Vec<u32>,
    /// Thoroughness.
    pub effort: Effort,
}

/// All results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Version: [`FORMAT`].
    pub format: u32,
    /// Start in seconds since 1970.
    pub began_unix_seconds: u64,
    /// Duration.
    pub took_seconds: f64,
    /// The machine.
    pub machine: Machine,
    /// Thoroughness.
    pub effort: Effort,
    /// In the order of measurement.
    pub measurements: Vec<Measurement>,
}

/// The machine and its other load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Number of usable CPUs.
    pub cpu_count: usize,
    /// CPUs of the sender and of the switch.
    pub cpus: [usize; 2],
    /// Version of the kernel.
    pub kernel: String,
    /// Load averages at the beginning.
    pub load_before: String,
    /// Load averages at the end.
    pub load_after: String,
}

impl Plan {
    /// Makes all measurements; reports progress and the remaining time on standard error.
    ///
    /// # Errors
    ///
    /// A system cannot be measured, or the run is interrupted. Everything is cleaned up.
    pub fn run(&self) -> Result<Measured> {
        for system in &self.systems {
            system.check()?;
        }
        let cpus = Cpus::of_this_machine()?;
        let began = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        let mut machine = Machine::this(cpus)?;
        let begin = Instant::now();
        let mut measurements = Vec::new();
        let count = self.effort.rounds as usize * self.frame_bytes.len() * self.systems.len();
        let mut done = 0;
        for round in 1..=self.effort.rounds {
            for frame_bytes in &self.frame_bytes {
                for system in in_turns(&self.systems, round) {
                    tell(begin, done, count, round, *frame_bytes, system);
                    measurements.extend(self.measure(system, round, *frame_bytes, cpus)?);
                    done += 1;
                }
            }
        }
        machine.load_after = load_average();
        Ok(Measured {
            format: FORMAT,
            began_unix_seconds: began.as_secs(),
            took_seconds: begin.elapsed().as_secs_f64(),
            machine,
            effort: self.effort.clone(),
            measurements,
        })
    }

    fn measure(
        &self,
        system: System,
        round: u32,
        frame_bytes: usize,
        cpus: Cpus,
    ) -> Result<Vec<Measurement>> {
        let mut stage = Stage::build()?;
        let mut switch = system.start(&stage.site, cpus)?;
        let mut measurements = Vec::with_capacity(self.flows.len());
        for flows in &self.flows {
            let traffic = Traffic {
                frame_bytes,
                flows: *flows,
            };
            let mut trials = Trials::new(&mut stage, switch.as_mut(), cpus, traffic);
            let measurement = Measurement::make(system, round, traffic, &self.effort, &mut trials)
                .with_context(|| format!("{}, {frame_bytes} B, {flows} flows", system.name()))?;
            measurements.push(measurement);
        }
        switch
            .end()
            .with_context(|| format!("ending {}", system.name()))?;
        Ok(measurements)
    }
}

impl Machine {
    fn this(cpus: Cpus) -> Result<Self> {
        let info = std::fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
        let processor = info
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
            .map_or("unknown", |(_, name)| name);
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
        Ok(Self {
            processor: processor.to_owned(),
            cpu_count: std::thread::available_parallelism()?.get(),
            cpus: [cpus.sender, cpus.switch],
            kernel: kernel.trim().to_owned(),
            load_before: load_average(),
            load_after: String::new(),
        })
    }
}

/// Orders odd rounds from first to last, even ones from last to first, so that a drift of the machine affects all alike.
pub(crate) fn in_turns<T: Clone>(all: &[T], round: u32) -> Vec<T> {
    let mut order = all.to_vec();
    if round.is_multiple_of(2) {
        order.reverse();
    }
    order
}

fn tell(begin: Instant, done: usize, count: usize, round: u32, frame_bytes: usize, system: System) {
    let left = match done {
        0 => String::new(),
        _ => {
            let each = begin.elapsed() / done as u32;
            let seconds = (each * (count - done) as u32).as_secs();
            format!(", {}:{:02} left", seconds / 60, seconds % 60)
        }
    };
    eprintln!(
        "[{}/{count}] round {round}, {frame_bytes} B: {}{left}",
        done + 1,
        system.name()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_round_goes_backwards() {
        let systems = [System::Bare, System::Ovs, System::Bridge];
        assert_eq!(in_turns(&systems, 1), systems);
        assert_eq!(
            in_turns(&systems, 2),
            [System::Bridge, System::Ovs, System::Bare]
        );
    }
}
