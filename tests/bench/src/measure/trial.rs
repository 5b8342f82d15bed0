//! One trial: a load and its result.

use std::time::{Duration, Instant};

use anyhow::{bail, Result};
use weir_lab::lab::interrupt;

use crate::cpu::{softirq_threads, Bound, CpuTimes, Cpus};
use crate::frame::{self, FCS_BYTES};
use crate::histogram::Histogram;
use crate::programs::{Orders, Tally};
use crate::sender::{now_nanos, Stamp};
use crate::stage::{Stage, DESTINATION, QUANTUM_PICOS, SOURCE};
use crate::system::{Switch, PRIORITY};
use crate::xsk::BATCH;

const PICOS_PER_SECOND: f64 = 1e12;

/// Frame size and number of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Frame length with FCS, as in RFC 2544.
    pub frame_bytes: usize,
    /// Number of flows, a power of two: UDP source ports between one pair of hosts, used in turn.
    pub flows: u32,
}

/// Rate, sender and duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Frames per second; `None` for the maximum.
    pub rate: Option<f64>,
    /// Sender.
    pub by: Generator,
    /// For how long.
    pub duration: Duration,
}

/// Kinds of senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// An AF_XDP socket.
    AfXdp,
    /// The kernel's live frames.
    LiveFrames,
}

impl Generator {
    /// Name in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfXdp => "af_xdp",
            Self::LiveFrames => "live_frames",
        }
    }
}

/// Result of a load.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Frames sent.
    pub sent: u64,
    /// Duration of sending.
    pub elapsed: Duration,
    /// Arrived frames.
    pub tally: Tally,
    /// Latency of the frames.
    pub latency: Histogram,
    /// CPU times of the trial.
    pub cpu: CpuTimes,
    /// PFC frames sent by the switch.
    pub pfc_frames: u64,
}

impl Outcome {
    /// Frames sent that did not arrive.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.tally.frames)
    }

    /// Frames sent per second.
    pub fn offered(&self) -> f64 {
        self.sent as f64 / self.elapsed.as_secs_f64()
    }

    /// Frames per second that arrived.
    pub fn goodput(&self) -> f64 {
        self.tally.frames as f64 / self.elapsed.as_secs_f64()
    }

    /// CPU time divided by the number of frames that arrived.
    pub fn nanos_per_frame(&self, nanos: u64) -> f64 {
        nanos as f64 / (self.tally.frames as f64).max(1.0)
    }
}

/// Trials of one kind of traffic through one switch.
pub struct Trials<'a> {
    stage: &'a mut Stage,
    switch: &'a mut dyn Switch,
    cpus: Cpus,
    traffic: Traffic,
    template: Vec<u8>,
    softirq_threads: Vec<u32>,
    last_trial: u32,
}

impl<'a> Trials<'a> {
    /// Creates trials through `switch`, which must be ready.
    pub fn new(
        stage: &'a mut Stage,
        switch: &'a mut dyn Switch,
        cpus: Cpus,
        traffic: Traffic,
    ) -> Self {
        let template = frame::template(SOURCE, DESTINATION, traffic.frame_bytes - FCS_BYTES);
        stage.sender.prepare(&template);
        Self {
            stage,
            switch,
            cpus,
            traffic,
            template,
            softirq_threads: softirq_threads(),
            last_trial: 0,
        }
    }

    /// The switch under test.
    pub fn switch(&mut self) -> &mut dyn Switch {
        self.switch
    }

    /// Runs one trial.
    ///
    /// # Errors
    ///
    /// The run is interrupted, the switch has ended, or the kernel refuses a call.
    pub fn run(&mut self, load: Load) -> Result<Outcome> {
        interrupt::check()?;
        self.switch.check()?;
        self.last_trial += 1;
        self.stage.programs.begin(self.orders(load))?;
        let _bound = Bound::to(self.cpus.sender)?;
        let processes = self.switch.processes();
        let pfc_before = self.stage.programs.pfc_frames()?;
        let cpu_before = CpuTimes::now(&processes, &self.softirq_threads)?;
        let (sent, elapsed) = match load.by {
            Generator::AfXdp => self.send(load)?,
            Generator::LiveFrames => self.send_live(load)?,
        };
        let cpu_sending = CpuTimes::now(&processes, &self.softirq_threads)?;
        let tally = self.drain(sent)?;
        let cpu = CpuTimes {
            // the sender's work while it waits is not part of the path
            sender: cpu_sending.since(cpu_before).sender,
            sender_user: cpu_sending.since(cpu_before).sender_user,
            ..CpuTimes::now(&processes, &self.softirq_threads)?.since(cpu_before)
        };
        if tally.frames > sent {
            bail!(
                "{} frames have arrived of {sent} that were sent",
                tally.frames
            );
        }
        Ok(Outcome {
            sent,
            elapsed,
            tally,
            latency: self.stage.programs.latency()?,
            cpu,
            pfc_frames: self.stage.programs.pfc_frames()? - pfc_before,
        })
    }

    fn orders(&self, load: Load) -> Orders {
        Orders {
            trial: self.last_trial,
            ifindex: self.stage.sender_ifindex,
            flows: self.traffic.flows,
            quantum_picos: QUANTUM_PICOS,
            gap_picos: load.rate.map_or(0, |rate| (PICOS_PER_SECOND / rate) as u64),
            live_for: load.duration,
            priority: PRIORITY,
        }
    }

    /// Sends paced by the clock. After a pause or a delay, it catches up by a few frames at most.
    fn send(&mut self, load: Load) -> Result<(u64, Duration)> {
        const CATCH_UP_FRAMES: u64 = 64;
        let stamp = Stamp {
            trial: self.last_trial,
            flow_mask: self.traffic.flows - 1,
        };
        let length = self.template.len();
        let begin = Instant::now();
        let mut origin = begin;
        let mut since_origin = 0u64;
        let mut sent = 0u64;
        loop {
            let now = Instant::now();
            let elapsed = now.duration_since(begin);
            if elapsed >= load.duration {
                return Ok((sent, elapsed));
            }
            let due = load.rate.map_or(BATCH as u64, |rate| {
                let allowed = (now.duration_since(origin).as_secs_f64() * rate) as u64;
                allowed.saturating_sub(since_origin)
            });
            if due > CATCH_UP_FRAMES {
                origin = now;
                since_origin = 0;
            }
            if due == 0 {
                std::hint::spin_loop();
                continue;
            }
            if self.stage.programs.paused_until(PRIORITY)? > now_nanos() {
                continue;
            }
            let due = due.min(CATCH_UP_FRAMES) as usize;
            let count = self.stage.sender.send(stamp, sent as u32, due, length) as u64;
            sent += count;
            since_origin += count;
        }
    }

    /// Runs the kernel's sender once, which does the pacing.
    fn send_live(&mut self, load: Load) -> Result<(u64, Duration)> {
        /// More than a CPU can produce in a second. The rest is not sent once the time is over.
        const FASTEST: f64 = 4e6;
        let rate = load.rate.map_or(FASTEST, |rate| rate.min(FASTEST));
        let count = (rate * load.duration.as_secs_f64()).ceil() as u32;
        let sent = self.stage.programs.send_live(&self.template, count);
        // A signal also ends the system call.
        interrupt::check()?;
        sent
    }

    /// Waits until all frames have arrived, or arrivals end.
    fn drain(&mut self, sent: u64) -> Result<Tally> {
        const QUIET: Duration = Duration::from_millis(50);
        const LIMIT: Duration = Duration::from_secs(5);
        const INTERVAL: Duration = Duration::from_millis(1);
        let begin = Instant::now();
        let mut tally = self.stage.programs.tally()?;
        let mut last_arrival = begin;
        loop {
            let under_way = self.stage.sender.settle();
            let now = Instant::now();
            let seen = std::mem::replace(&mut tally, self.stage.programs.tally()?);
            if seen.frames != tally.frames {
                last_arrival = now;
            }
            let is_quiet = under_way == 0 && now.duration_since(last_arrival) >= QUIET;
            if tally.frames >= sent || is_quiet || now.duration_since(begin) >= LIMIT {
                return Ok(tally);
            }
            std::thread::sleep(INTERVAL);
        }
    }
}
