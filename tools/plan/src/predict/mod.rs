//! Computes a plan from switches and streams.

pub mod arrivals;
pub mod buffers;
mod ecn;
pub mod egress;
pub mod pools;
mod shares;

use std::collections::BTreeMap;

use anyhow::Result;
use weir_calculus::algebra::{Curve, Extended};
use weir_config::daemon::Class;
use weir_config::switch::headroom::Charging;
use weir_core::config::Reserve;
use weir_core::units::LINE_OVERHEAD;
use weir_core::{Bytes, ClassMode, Duration, FeedbackCoding, MarkAt, PfcThresholds, PortRole};

use crate::network::{gigabits, kilobits, micros, Network, Port, Stream, Switch};
use crate::result::{BudgetPlan, EgressPlan, Headroom, IngressPlan, Pauses};
use arrivals::{Arrivals, Input};
use egress::{Egress, Limits, Outcome};
use shares::Demand;

/// One egress in one class, computed.
pub struct Computed {
    /// Index of the class.
    pub class: usize,
    /// The port.
    pub egress: usize,
    /// The egress.
    pub queue: Egress,
    /// Charge per byte on the line.
    pub factor: f64,
    /// Result.
    pub outcome: Outcome,
}

/// Plans one switch. With `alone`, each egress is a separate case that receives all traffic.
pub fn switch(
    network: &Network,
    switch: &Switch,
    alone: bool,
) -> Result<(Vec<IngressPlan>, Vec<EgressPlan>)> {
    let computed = computed(network, switch, alone)?;
    let mut ingress = Vec::new();
    for class in 0..switch.classes.len() {
        for port in 0..switch.ports.len() {
            ingress.extend(ingress_plan(switch, class, port, alone, &computed)?);
        }
    }
    let egress = computed
        .iter()
        .map(|one| {
            let xoffs = xoff_times(switch, one, alone, &computed)?;
            let first = xoffs.into_iter().flatten().reduce(f64::min);
            egress_plan(switch, one, first)
        })
        .collect::<Result<_>>()?;
    Ok((ingress, egress))
}

/// Returns true if budgets rather than pauses limit traffic from this port.
pub fn has_budgets(class: &Class, port: &Port) -> bool {
    matches!(class.mode, ClassMode::Level { .. }) && port.role == PortRole::Fabric
}

/// Computes every egress of a switch in every class that sends to it.
pub fn computed(network: &Network, switch: &Switch, alone: bool) -> Result<Vec<Computed>> {
    // Streams by egress, class and ingress.
    let mut groups: BTreeMap<(usize, usize), BTreeMap<usize, Vec<&Stream>>> = BTreeMap::new();
    for stream in &switch.streams {
        let queue = groups.entry((stream.egress, stream.class)).or_default();
        queue.entry(stream.ingress).or_default().push(stream);
    }
    let line = |port: usize| gigabits(switch.ports[port].link.rate);
    let wanted = |ingress: usize, streams: &[&Stream]| {
        let rates = streams.iter().map(|stream| stream.rate);
        let sum: f64 = rates.map(|rate| rate.unwrap_or(line(ingress))).sum();
        sum.min(line(ingress))
    };
    let mut by_ingress = vec![0.0; switch.ports.len()];
    for inputs in groups.values() {
        for (ingress, streams) in inputs {
            by_ingress[*ingress] += wanted(*ingress, streams);
        }
    }
    let part = |ingress: usize, streams: &[&Stream]| {
        let wanted = wanted(ingress, streams);
        // Recorded traffic already shares the line.
        let is_recorded = streams.iter().all(|stream| stream.recorded.is_some());
        if alone || is_recorded {
            wanted
        } else {
            wanted * (line(ingress) / by_ingress[ingress]).min(1.0)
        }
    };
    let mut all = Vec::new();
    for (&(egress, class), inputs) in &groups {
        let inputs: Vec<Input> = inputs
            .iter()
            .map(|(ingress, streams)| input(switch, *ingress, part(*ingress, streams), streams))
            .collect();
        let of_this_port = groups.iter().filter(|((port, _), _)| *port == egress);
        let demands: Vec<Demand> = of_this_port
            .filter(|((_, other), _)| !alone || *other == class)
            .map(|((_, other), inputs)| {
                let inputs = inputs.iter();
                let rates = inputs.map(|(ingress, streams)| (*ingress, part(*ingress, streams)));
                Demand::new(*other, rates.collect(), &switch.classes[*other])
            })
            .collect();
        let rate = shares::class_rate(line(egress), class, &demands);
        let streams = switch.streams.iter();
        let here = streams.filter(|stream| (stream.egress, stream.class) == (egress, class));
        let factors = here.map(|stream| stream.charge);
        let factor = factors.fold(0.0, f64::max);
        let queue = Egress {
            rate,
            inputs,
            end: network.end,
        };
        let (limits, full) = limits(&switch.classes[class], switch.charging, factor);
        let outcome = queue.outcome(limits, full)?;
        all.push(Computed {
            class,
            egress,
            queue,
            factor,
            outcome,
        });
    }
    Ok(all)
}

fn input(switch: &Switch, ingress: usize, line: f64, streams: &[&Stream]) -> Input {
    let longest = streams.iter().map(|stream| stream.frame).max();
    let delay = switch.ports[ingress]
        .link
        .feedback_delay(longest.unwrap_or(Bytes::ZERO));
    // The line limits the total of flows without a rate.
    let flows = streams.iter().map(|stream| Arrivals {
        start: stream.start,
        stop: stream.stop,
        rate: stream.rate,
        volume: stream.volume,
        on_off: stream.on_off,
        recorded: stream.recorded.clone(),
    });
    Input {
        ingress,
        flows: flows.collect(),
        line,
        feedback_delay: micros(delay),
    }
}

/// Returns thresholds as kbit on the line, and the amount that counts as full.
pub fn limits(class: &Class, charging: Charging, factor: f64) -> (Option<Limits>, f64) {
    let on_line = |size: Bytes| kilobits(size.get() as f64 / factor);
    match class.mode {
        ClassMode::Lossy { buffer } => (None, on_line(buffer.max(charging.cell))),
        ClassMode::Pfc(thresholds)
        | ClassMode::Level {
            edge: thresholds, ..
        } => {
            let limits = Limits {
                xoff: on_line(thresholds.xoff()),
                xon: on_line(thresholds.xon()),
            };
            (Some(limits), limits.xoff)
        }
    }
}

/// Returns the charge of this amount on the line.
fn charged(kilobits: f64, factor: f64) -> u64 {
    (kilobits * 1e3 / 8.0 * factor).round() as u64
}

/// Returns the time at which each input's buffer reaches xoff, or its size, before any pause. Other egress ports also fill
/// it.
fn xoff_times(
    switch: &Switch,
    one: &Computed,
    alone: bool,
    all: &[Computed],
) -> Result<Vec<Option<f64>>> {
    let inputs = one.queue.inputs.iter();
    inputs
        .map(|input| {
            let siblings: Vec<&Computed> = if alone {
                vec![one]
            } else {
                all.iter()
                    .filter(|other| other.class == one.class)
                    .collect()
            };
            xoff_time(switch, one.class, input.ingress, &siblings)
        })
        .collect()
}

/// Returns the time at which one buffer reaches xoff, or its size, from its contents for all of these.
pub fn xoff_time(
    switch: &Switch,
    class: usize,
    ingress: usize,
    computed: &[&Computed],
) -> Result<Option<f64>> {
    let (_, full) = limits(&switch.classes[class], switch.charging, 1.0);
    let mut feeds = computed.iter().filter_map(|one| {
        let mut inputs = one.queue.inputs.iter();
        Some((one, inputs.position(|input| input.ingress == ingress)?))
    });
    if let (Some((one, input)), None) = (feeds.next(), feeds.next()) {
        // Earlier pauses of others leave it more of the port.
        if let Some(paused) = &one.outcome.paused {
            let backlog = &paused.group_backlogs[input];
            return egress::reaches(backlog, paused.end, full / one.factor);
        }
    }
    let mut sum = Curve::zero();
    let mut end = f64::INFINITY;
    for one in computed {
        let place = one
            .queue
            .inputs
            .iter()
            .position(|input| input.ingress == ingress);
        if let Some(place) = place {
            let backlog = one
                .outcome
                .free_backlog(place)?
                .held(&one.outcome.free.end)?;
            sum = sum.plus(&backlog.scaled(&one.factor))?;
            end = end.min(one.outcome.free.end);
        }
    }
    if end.is_infinite() {
        return Ok(None);
    }
    egress::reaches(&sum, end, full)
}

fn ingress_plan(
    switch: &Switch,
    class: usize,
    port: usize,
    alone: bool,
    computed: &[Computed],
) -> Result<Option<IngressPlan>> {
    let of_class = computed.iter().filter(|one| one.class == class);
    let feeds: Vec<(&Computed, usize)> = of_class
        .filter_map(|one| {
            let mut inputs = one.queue.inputs.iter();
            Some((one, inputs.position(|input| input.ingress == port)?))
        })
        .collect();
    if feeds.is_empty() {
        return Ok(None);
    }
    let settings = &switch.classes[class];
    let at = &switch.ports[port];
    let streams = switch.streams.iter();
    let mut lengths: Vec<Bytes> = streams
        .filter(|stream| (stream.ingress, stream.class) == (port, class))
        .flat_map(|stream| [stream.frame, stream.wasteful])
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    let headroom = if alone {
        // Frame lengths are unknown.
        headroom(
            switch.charging,
            settings,
            at,
            &switch.charging.worst_frames(),
        )
    } else {
        headroom(switch.charging, settings, at, &lengths)
    };
    let budgets = budgets(switch.charging, settings, at);

    let mut peaks = Vec::new();
    let mut xoff_at: Option<f64> = None;
    let mut pauses: Option<Pauses> = None;
    for (one, input) in &feeds {
        let peak = match (settings.mode, &budgets) {
            // No pause: budgets end its growth.
            (ClassMode::Level { budgets, .. }, Some(_)) => {
                let free = &one.outcome.free;
                let peak = egress::peak(&one.outcome.free_backlog(*input)?, free.end)?;
                if peak > 0.0 && one.queue.end.is_none() {
                    budgets.total().get()
                } else {
                    charged(peak, one.factor)
                }
            }
            _ => charged(one.outcome.peak_of(*input)?, one.factor),
        };
        peaks.push(peak);
        if budgets.is_none() {
            let seen = pauses_of(&one.outcome, *input);
            let worse = seen.as_ref().map(|pauses| pauses.duty) > pauses.as_ref().map(|p| p.duty);
            if worse {
                pauses = seen;
            }
        }
        if alone {
            let own = xoff_time(switch, class, port, &[one])?;
            xoff_at = [xoff_at, own].into_iter().flatten().reduce(f64::min);
        }
    }
    if !alone {
        let ones: Vec<&Computed> = feeds.iter().map(|(one, _)| *one).collect();
        xoff_at = xoff_time(switch, class, port, &ones)?;
    }
    let shared = !alone && peaks.iter().filter(|peak| **peak > 0).count() > 1;
    let most: u64 = if alone {
        peaks.iter().copied().max().unwrap_or(0)
    } else {
        peaks.iter().sum()
    };
    // Frames arrive whole.
    let frame = lengths
        .last()
        .map(|length| switch.charging.charged(*length));
    let most = most.max(frame.unwrap_or_default().get());
    let bound = match (settings.mode, &headroom, &budgets) {
        (ClassMode::Level { budgets, .. }, _, Some(_)) => budgets.total().get(),
        (ClassMode::Lossy { buffer }, ..) => buffer.get(),
        (mode, Some(headroom), _) => {
            let xoff = mode.thresholds().map_or(Bytes::ZERO, PfcThresholds::xoff);
            xoff.get() + headroom.needed_bytes
        }
        _ => most,
    };
    Ok(Some(IngressPlan {
        switch: switch.name.clone(),
        port: at.name.clone(),
        class: settings.name.clone(),
        mode: settings.mode.name(),
        role: at.role.name(),
        peak_bytes: most.min(bound),
        xoff_at_us: if budgets.is_some() { None } else { xoff_at },
        pauses,
        headroom: if budgets.is_some() { None } else { headroom },
        budgets,
        shared,
    }))
}

fn headroom(charging: Charging, class: &Class, port: &Port, lengths: &[Bytes]) -> Option<Headroom> {
    let thresholds = class.mode.thresholds()?;
    // A frame may find the pool full, with no part of it below xoff.
    let xoff = match class.pool {
        Some(_) => Bytes::ZERO,
        None => thresholds.xoff(),
    };
    let needed = |lengths: &[Bytes]| {
        let needed = port.link.headroom_needed(charging, xoff, lengths);
        needed.get()
    };
    Some(Headroom {
        configured_bytes: port
            .cable_headroom
            .filter(|_| class.headroom_by_cable)
            .unwrap_or(thresholds.headroom())
            .get(),
        needed_bytes: needed(lengths),
        needed_any_frame_bytes: needed(&charging.worst_frames()),
    })
}

fn budgets(charging: Charging, class: &Class, port: &Port) -> Option<BudgetPlan> {
    let (ClassMode::Level { budgets, .. }, PortRole::Fabric) = (class.mode, port.role) else {
        return None;
    };
    let round_trip = match port.coding {
        FeedbackCoding::Grants => Duration::ZERO,
        _ => port.round_trip,
    };
    let longest = charging.frame_length_max;
    let reserve = Reserve::new(port.link.rate, round_trip, charging.cell, longest).total();
    let gamma_max = charging.charged(longest);
    let least = budgets.as_slice().iter().min().copied().unwrap_or_default();
    Some(BudgetPlan {
        depth: budgets.as_slice().len(),
        least_bytes: least.get(),
        gamma_max_bytes: gamma_max.get(),
        reserve_bytes: reserve.get(),
        spare_bytes: least.get() as i64 - (gamma_max + reserve).get() as i64,
    })
}

fn pauses_of(outcome: &Outcome, input: usize) -> Option<Pauses> {
    let paused = outcome.paused.as_ref()?;
    let own: Vec<(f64, Option<f64>)> = paused
        .pauses
        .iter()
        .filter(|pause| pause.group == input)
        .map(|pause| (pause.from, pause.to))
        .collect();
    let (first, last) = (own.first()?.0, own.last()?.0);
    let lengths = own.iter().filter_map(|(from, to)| Some((*to)? - from));
    let longest = lengths.reduce(f64::max);
    let (from, to) = if own.len() > 1 {
        (first, last)
    } else {
        (first, paused.end)
    };
    let within = own
        .iter()
        .map(|(begin, end)| end.unwrap_or(paused.end).min(to) - begin.max(from));
    let spent: f64 = within.filter(|span| *span > 0.0).sum();
    Some(Pauses {
        count: own.len(),
        first_us: first,
        longest_us: longest,
        period_us: (own.len() > 1).then(|| (last - first) / (own.len() - 1) as f64),
        duty: if to > from { spent / (to - from) } else { 0.0 },
        until_us: paused.end,
    })
}

fn egress_plan(switch: &Switch, one: &Computed, xoff_at: Option<f64>) -> Result<EgressPlan> {
    let class = &switch.classes[one.class];
    let queue = &one.queue;
    let count = queue.inputs.len();
    let peak = one.outcome.peak()?;
    let paused = one.outcome.paused.as_ref();
    let runs_dry = paused.is_some_and(|paused| !paused.pauses.is_empty());
    let longest_feedback = queue.inputs.iter().map(|input| input.feedback_delay);
    let streams = switch.streams.iter();
    let here = streams.filter(|stream| (stream.egress, stream.class) == (one.egress, one.class));
    let frame = here.map(|stream| stream.frame).max().unwrap_or_default();
    let payload = frame.get() as f64 / (frame + LINE_OVERHEAD).get() as f64;
    let drained = queue.rate * longest_feedback.fold(0.0, f64::max) / count as f64;
    Ok(EgressPlan {
        switch: switch.name.clone(),
        port: switch.ports[one.egress].name.clone(),
        class: class.name.clone(),
        senders: count,
        offered_gbps: queue.offered(),
        rate_gbps: queue.rate,
        peak_bytes: charged(peak, one.factor),
        peak_frame_bytes: charged(peak, payload),
        delay_us: delay(switch, one)?.unwrap_or(peak / queue.rate),
        ecn: class
            .ecn
            .filter(|red| red.at != MarkAt::Never)
            .map(|red| ecn::plan(one, red, xoff_at))
            .transpose()?,
        xon_needed_bytes: runs_dry.then(|| charged(drained, one.factor)),
    })
}

/// h(Σ γ_{r,b}, β_{C,0}) with one frame of each flow as b, if every flow has a rate and their sum is below C.
fn delay(switch: &Switch, one: &Computed) -> Result<Option<f64>> {
    let mut arrivals = Curve::zero();
    let streams = switch.streams.iter();
    for stream in streams.filter(|stream| (stream.egress, stream.class) == (one.egress, one.class))
    {
        let (Some(rate), None, None) = (stream.rate, stream.volume, &stream.recorded) else {
            return Ok(None);
        };
        let frame = kilobits((stream.frame + LINE_OVERHEAD).get() as f64);
        arrivals = arrivals.plus(&Curve::token_bucket(frame, rate))?;
    }
    let service = Curve::rate_function(one.queue.rate);
    Ok(match arrivals.horizontal_deviation(&service)? {
        Extended::Finite(delay) => Some(delay),
        Extended::Infinite => None,
    })
}
