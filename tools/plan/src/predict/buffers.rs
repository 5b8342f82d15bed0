//! Buffers over time.

use std::collections::BTreeMap;

use anyhow::Result;
use weir_calculus::algebra::Curve;

use super::egress::peak;
use super::{computed, has_budgets, limits, xoff_time, Computed};
use crate::network::{Network, Switch};

/// Contents of one ingress port over time.
pub struct Buffer {
    /// The port.
    pub port: String,
    /// Name of the class.
    pub class: String,
    /// The first priority of its class.
    pub priority: u8,
    /// Contents as charged, in kbit.
    pub curve: Curve<f64>,
    /// End of the prediction, in µs.
    pub end: f64,
    /// xoff, or the size of a lossy buffer, if it limits the growth.
    pub full_bytes: Option<f64>,
    /// Time at which it is reached.
    pub xoff_at: Option<f64>,
    /// Beginning and end of the neighbour's pauses.
    pub pauses: Vec<[f64; 2]>,
}

impl Buffer {
    /// Returns the contents at a time; `None` after the end.
    pub fn bytes_at(&self, time: f64) -> Option<f64> {
        const BYTES_PER_KILOBIT: f64 = 125.0;
        let kilobits = self.curve.at(&time).finite()?;
        (time <= self.end).then_some(kilobits * BYTES_PER_KILOBIT)
    }
}

struct Part {
    /// Contents as charged, in kbit.
    curve: Curve<f64>,
    end: f64,
    pauses: Vec<[f64; 2]>,
}

/// Returns each buffer of a switch, with PFC if its class uses it. Contents for several queues add up. With `alone`, each
/// queue is a separate case, and the one that fills the buffer most counts.
pub fn buffers(network: &Network, switch: &Switch, alone: bool) -> Result<Vec<Buffer>> {
    let computed = computed(network, switch, alone)?;
    let mut found: BTreeMap<(usize, usize), Vec<(&Computed, Part)>> = BTreeMap::new();
    for one in &computed {
        for index in 0..one.queue.inputs.len() {
            let port = one.queue.inputs[index].ingress;
            let of_buffer = found.entry((one.class, port)).or_default();
            of_buffer.push((one, part(switch, one, index)?));
        }
    }
    let one_buffer = |((class, port), mut parts): ((usize, usize), Vec<(&Computed, Part)>)| {
        if alone {
            parts = fullest(parts)?;
        }
        let settings = &switch.classes[class];
        let is_full = !has_budgets(settings, &switch.ports[port]);
        let (_, full) = limits(settings, switch.charging, 1.0);
        let feeds: Vec<&Computed> = parts.iter().map(|(one, _)| *one).collect();
        let mut sum = Curve::zero();
        for (_, part) in &parts {
            sum = sum.plus(&part.curve)?;
        }
        let ends = parts.iter().map(|(_, part)| part.end);
        // Pauses of the egress that pauses it most.
        let pauses = parts.iter().map(|(_, part)| &part.pauses);
        let pauses = pauses.max_by_key(|pauses| pauses.len());
        Ok(Buffer {
            port: switch.ports[port].name.clone(),
            class: settings.name.clone(),
            priority: settings.priorities[0].get(),
            curve: sum,
            end: ends.fold(f64::INFINITY, f64::min),
            full_bytes: is_full.then_some(full * 1e3 / 8.0),
            xoff_at: if is_full {
                xoff_time(switch, class, port, &feeds)?
            } else {
                None
            },
            pauses: pauses.cloned().unwrap_or_default(),
        })
    };
    found.into_iter().map(one_buffer).collect()
}

fn part(switch: &Switch, one: &Computed, input: usize) -> Result<Part> {
    let port = &switch.ports[one.queue.inputs[input].ingress];
    let has_budgets = has_budgets(&switch.classes[one.class], port);
    let paused = one.outcome.paused.as_ref().filter(|_| !has_budgets);
    let (curve, end, pauses) = match paused {
        Some(paused) => {
            let own = paused.pauses.iter().filter(|pause| pause.group == input);
            let spans = own.map(|pause| [pause.from, pause.to.unwrap_or(paused.end)]);
            let curve = paused.group_backlogs[input].clone();
            (curve, paused.end, spans.collect())
        }
        None => {
            let free = &one.outcome.free;
            (one.outcome.free_backlog(input)?, free.end, Vec::new())
        }
    };
    Ok(Part {
        curve: curve.held(&end)?.scaled(&one.factor),
        end,
        pauses,
    })
}

fn fullest(parts: Vec<(&Computed, Part)>) -> Result<Vec<(&Computed, Part)>> {
    let mut fullest: Option<(f64, (&Computed, Part))> = None;
    for one in parts {
        let most = peak(&one.1.curve, one.1.end)?;
        if fullest.as_ref().is_none_or(|(known, _)| most > *known) {
            fullest = Some((most, one));
        }
    }
    Ok(fullest.map(|(_, one)| one).into_iter().collect())
}
