//! Sends a series from host to host and judges the received frames.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{bail, Result};

use super::end::End;
use super::frame::{named, Series};
use crate::vm::interrupt;

/// Pace of a series.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Maximum number of frames in flight.
    pub window: u32,
    /// Time without a frame after which missing frames count as lost.
    pub patience: Duration,
}

impl Pace {
    /// Fewer frames in flight than any buffer holds, so that the switch has no reason to drop one.
    pub const USUAL: Self = Self {
        window: 64,
        patience: Duration::from_secs(2),
    };
}

/// Number of such times after which sending ends, because the switch forwards nothing.
const SILENCES_MAX: u32 = 3;

/// Result of a series.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// Frames sent.
    pub sent: u32,
    /// Distinct frames that arrived intact.
    pub received: u32,
    /// Frames that arrived with changed bytes.
    pub corrupt: u32,
    /// Frames that arrived again.
    pub duplicates: u32,
    /// Frames that arrived after a later one of their priority and flow.
    pub reordered: u32,
    /// Frames that were never sent.
    pub foreign: u32,
    /// The first incorrect frame.
    pub first_wrong: Option<String>,
}

impl Judged {
    /// Returns the number of frames that did not arrive intact.
    pub fn lost(&self) -> u32 {
        self.sent - self.received
    }

    /// Checks that all frames arrived once, in order and unchanged, and no others.
    ///
    /// # Errors
    ///
    /// Describes the first problem.
    pub fn is_perfect(&self) -> Result<()> {
        if self.lost() > 0 {
            bail!("{self}");
        }
        self.is_true()
    }

    /// Checks that all received frames are correct; some may be missing.
    ///
    /// # Errors
    ///
    /// Describes the first problem.
    pub fn is_true(&self) -> Result<()> {
        if self.corrupt + self.duplicates + self.reordered + self.foreign > 0 {
            bail!("{self}");
        }
        Ok(())
    }
}

impl std::fmt::Display for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} of {} frames arrived; {} corrupt, {} twice, {} reordered, {} that nobody sent",
            self.received, self.sent, self.corrupt, self.duplicates, self.reordered, self.foreign
        )?;
        match &self.first_wrong {
            Some(first) => write!(f, "; the first: {first}"),
            None => Ok(()),
        }
    }
}

/// Sends `series`, obeying pauses, until all frames have arrived or no more do.
///
/// # Errors
///
/// When the NIC accepts no frames, or the run is interrupted.
pub fn run(ends: &[End], series: &Series, pace: Pace) -> Result<Judged> {
    let [from, to] = series.ports.map(|port| &ends[port]);
    let mut judge = Judge::new(series);
    let mut next = 0;
    let mut given_up = 0;
    let mut silences = 0;
    let mut heard = Instant::now();
    while judge.judged.received + judge.judged.corrupt < series.count {
        interrupt::check()?;
        let arrived = judge.judged.received + judge.judged.corrupt + given_up;
        while next < series.count && next < arrived + pace.window {
            let frame = series.frame(next);
            let priority = named(&frame).map_or(0, |(_, _, priority)| priority);
            if from.is_paused(priority) {
                break;
            }
            from.send(&frame)?;
            next += 1;
            judge.judged.sent = next;
        }
        if let Some(frame) = to.receive(Duration::from_millis(1)) {
            heard = Instant::now();
            judge.take(&frame);
            while let Some(frame) = to.receive(Duration::ZERO) {
                judge.take(&frame);
            }
        } else if heard.elapsed() >= pace.patience {
            silences += 1;
            if next == series.count || silences == SILENCES_MAX {
                break;
            }
            given_up = next - judge.judged.received - judge.judged.corrupt;
            heard = Instant::now();
        }
    }
    // Unexpected or duplicated frames follow the last one.
    while let Some(frame) = to.receive(Duration::from_millis(50)) {
        judge.take(&frame);
    }
    Ok(judge.judged)
}

/// Sends a series as fast as the NIC accepts it, ignoring pauses, calls `then` once all is sent, and judges the received
/// frames.
///
/// # Errors
///
/// Those of [`run`], and of `then`.
pub fn flood(ends: &[End], series: &Series, then: impl FnOnce() -> Result<()>) -> Result<Judged> {
    let [from, to] = series.ports.map(|port| &ends[port]);
    let mut judge = Judge::new(series);
    for number in 0..series.count {
        interrupt::check()?;
        from.send(&series.frame(number))?;
        judge.judged.sent += 1;
        while let Some(frame) = to.receive(Duration::ZERO) {
            judge.take(&frame);
        }
    }
    then()?;
    while let Some(frame) = to.receive(Pace::USUAL.patience) {
        judge.take(&frame);
    }
    Ok(judge.judged)
}

/// Judges the frames of one series as they arrive.
#[derive(Debug)]
pub struct Judge<'a> {
    series: &'a Series,
    seen: Vec<bool>,
    /// Last number by priority and flow, within which frames keep their order.
    last: BTreeMap<(u8, Option<u32>), u32>,
    /// Results until now; the caller sets `sent`.
    pub judged: Judged,
}

impl<'a> Judge<'a> {
    pub fn new(series: &'a Series) -> Self {
        Self {
            series,
            seen: vec![false; series.count as usize],
            last: BTreeMap::new(),
            judged: Judged::default(),
        }
    }

    /// Judges one received frame.
    pub fn take(&mut self, frame: &[u8]) {
        let judged = &mut self.judged;
        let known = named(frame).filter(|(series, number, _)| {
            *series == self.series.id && (*number as usize) < self.seen.len()
        });
        let Some((_, number, priority)) = known else {
            // The switch's LLDP announcements.
            if frame.get(12..14) != Some(&[0x88, 0xcc]) {
                judged.foreign += 1;
                let text = || format!("{} B that nobody sent: {:02x?}", frame.len(), head(frame));
                judged.first_wrong.get_or_insert_with(text);
            }
            return;
        };
        let sent = self.series.frame(number);
        if frame != sent {
            judged.corrupt += 1;
            let text = || {
                let at = frame.iter().zip(&sent).position(|(a, b)| a != b);
                let at = at.unwrap_or(frame.len().min(sent.len()));
                let (read, sent) = (frame.len(), sent.len());
                format!("frame {number} of {sent} B came with {read} B, other from byte {at} on")
            };
            judged.first_wrong.get_or_insert_with(text);
            return;
        }
        if std::mem::replace(&mut self.seen[number as usize], true) {
            judged.duplicates += 1;
            return;
        }
        judged.received += 1;
        let flow = (priority, self.series.flow(number));
        let last = self.last.entry(flow).or_insert(number);
        if number < *last {
            judged.reordered += 1;
            let text = || format!("frame {number} behind frame {last} of its priority");
            judged.first_wrong.get_or_insert_with(text);
        }
        *last = number.max(*last);
    }
}

fn head(frame: &[u8]) -> &[u8] {
    &frame[..frame.len().min(24)]
}

#[cfg(test)]
mod tests {
    use super::super::frame::{Fill, Sizes, Tags};
    use super::*;

    fn series() -> Series {
        Series {
            id: 1,
            ports: [0, 1],
            count: 10,
            sizes: Sizes::InTurn(60..=69),
            tags: Tags::Priority(3),
            fill: Fill::Random,
            flows: 0,
        }
    }

    #[test]
    fn each_fault_is_found() {
        let series = series();
        let mut judge = Judge::new(&series);
        judge.judged.sent = 10;
        for number in [0, 2, 1, 1] {
            judge.take(&series.frame(number));
        }
        let mut changed = series.frame(3);
        changed[40] ^= 1;
        judge.take(&changed);
        judge.take(&series.frame(4)[..60]);
        judge.take(&[0; 60]);
        let judged = &judge.judged;
        assert_eq!((judged.received, judged.lost()), (3, 7));
        assert_eq!((judged.reordered, judged.duplicates), (1, 1));
        assert_eq!((judged.corrupt, judged.foreign), (2, 1));
        assert!(judged.is_perfect().is_err() && judged.is_true().is_err());
    }

    #[test]
    fn a_whole_series_is_perfect_and_a_tag_that_is_gone_is_not() {
        let series = series();
        let mut judge = Judge::new(&series);
        judge.judged.sent = 10;
        (0..10).for_each(|number| judge.take(&series.frame(number)));
        judge.judged.is_perfect().unwrap();

        let mut judge = Judge::new(&series);
        judge.judged.sent = 1;
        let mut stripped = series.frame(0);
        stripped.drain(12..16);
        judge.take(&stripped);
        assert_eq!(judge.judged.corrupt, 1);
    }
}
