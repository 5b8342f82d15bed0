//! Buffers over time.

use std::collections::BTreeMap;

use anyhow::Result;
use weir_calculus::algebra::Curve;

use super::network::{Network, Switch};
use super::planner::{computed, has_budgets, limits, xoff_time, Computed};

/// What one ingress port holds over time.
pub struct Buffer {
    /// The port.
    pub port: String,
    /// The first priority of its class.
    pub priority: u8,
    /// As charged, in kbit.
    pub curve: Curve<f64>,
    /// The end of the prediction, in µs.
    pub end: f64,
    /// xoff, or the end of a lossy buffer, where that ends its growth.
    pub full_bytes: Option<f64>,
    /// When that is reached.
    pub xoff_at: Option<f64>,
}

impl Buffer {
    /// What it holds; `None` beyond the end.
    pub fn bytes_at(&self, time: f64) -> Option<f64> {
        const BYTES_PER_KILOBIT: f64 = 125.0;
        let kilobits = self.curve.at(&time).finite()?;
        (time <= self.end).then_some(kilobits * BYTES_PER_KILOBIT)
    }
}

/// Each buffer of a switch, with PFC where its class has it.
pub fn buffers(network: &Network, switch: &Switch) -> Result<Vec<Buffer>> {
    let computed = computed(network, switch, false)?;
    let mut found: BTreeMap<(usize, usize), (Curve<f64>, f64)> = BTreeMap::new();
    for one in &computed {
        for (index, input) in one.queue.inputs.iter().enumerate() {
            let class = &switch.classes[one.class];
            let has_budgets = has_budgets(class, &switch.ports[input.ingress]);
            let paused = one.outcome.paused.as_ref().filter(|_| !has_budgets);
            let (curve, end) = match paused {
                Some(paused) => (paused.group_backlogs[index].clone(), paused.end),
                None => (one.outcome.free_backlog(index)?, one.outcome.free.end),
            };
            let curve = curve.held(&end)?.scaled(&one.factor);
            let sum = found
                .entry((one.class, input.ingress))
                .or_insert((Curve::zero(), f64::INFINITY));
            *sum = (sum.0.plus(&curve)?, sum.1.min(end));
        }
    }
    let all: Vec<&Computed> = computed.iter().collect();
    found
        .into_iter()
        .map(|((class, port), (curve, end))| {
            let settings = &switch.classes[class];
            let of_class: Vec<&Computed> = all
                .iter()
                .copied()
                .filter(|one| one.class == class)
                .collect();
            let is_full = !has_budgets(settings, &switch.ports[port]);
            let (_, full) = limits(settings, switch.charging, 1.0);
            Ok(Buffer {
                port: switch.ports[port].name.clone(),
                priority: settings.priorities[0].index() as u8,
                curve,
                end,
                full_bytes: is_full.then_some(full * 1e3 / 8.0),
                xoff_at: if is_full {
                    xoff_time(switch, class, port, &of_class)?
                } else {
                    None
                },
            })
        })
        .collect()
}
