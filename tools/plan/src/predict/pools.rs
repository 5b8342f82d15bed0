//! Required sizes of pools.

use weir_config::switch::Switch;
use weir_core::config::PoolShare;
use weir_core::{Bytes, ClassConfig, ClassMode, PortConfig, Priority};

use crate::result::PoolPlan;

/// Returns the plan of each pool of a switch.
pub fn pools(name: &str, switch: &Switch) -> Vec<PoolPlan> {
    let names: Vec<String> = switch.pools.iter().map(|pool| pool.name.clone()).collect();
    let core = switch.clone().core();
    let ports = core.ports.len();
    let plan = |(index, pool): (usize, String)| {
        let config = core.pools[index];
        let shares: Vec<(&ClassConfig, PoolShare)> = core
            .classes
            .iter()
            .filter_map(|class| Some((class, class.pool?)))
            .filter(|(_, share)| usize::from(share.pool) == index)
            .collect();
        let buffers = shares.len() * ports;
        let with = |count: usize| {
            let of_port = |port| {
                let classes = Priority::ALL.into_iter().zip(&core.classes);
                classes.filter_map(move |(priority, class)| class.share_at(port, priority))
            };
            let all = core.ports.iter().flat_map(of_port);
            all.filter(|share| usize::from(share.pool) == index)
                .map(|share| share.threshold.with_buffers(config.size, count))
                .max()
                .unwrap_or_default()
        };
        let reserved: Bytes = shares.iter().map(|(_, share)| share.reserved).sum();
        let own = |(class, _): &(&ClassConfig, PoolShare)| -> u64 {
            // As many frames as have the same thresholds in separate buffers per port.
            let bound = |port: &PortConfig| {
                let mode = class.mode_at(port);
                mode.memory_bound(port.role).round_up_to(core.cell)
            };
            core.ports.iter().map(|port| bound(port).get()).sum()
        };
        let lossless = shares
            .iter()
            .filter(|(class, _)| matches!(class.mode, ClassMode::Pfc(_)));
        PoolPlan {
            switch: name.to_owned(),
            pool,
            ports,
            headroom_is_set: switch.pools[index].headroom.is_some(),
            size_bytes: config.size.get(),
            headroom_bytes: config.headroom.get(),
            headroom_wanted_bytes: core.headroom_wanted(index).get(),
            oversubscription: config.oversubscription,
            buffers,
            lossless_buffers: lossless.count() * ports,
            alone_bytes: with(1).get(),
            two_bytes: with(2).get(),
            all_bytes: with(buffers.max(1)).get(),
            memory_bytes: (config.size + config.headroom + config.headroom).get()
                + reserved.get() * ports as u64,
            own_memory_bytes: shares.iter().map(own).sum(),
        }
    };
    names.into_iter().enumerate().map(plan).collect()
}

impl PoolPlan {
    /// Returns notes on it.
    pub fn notes(&self) -> Vec<String> {
        let place = format!("{}, pool {}", self.switch, self.pool);
        let mut notes = Vec::new();
        if self.lossless_buffers > 0 {
            notes.push(format!(
                "{place}: the times above are those of a buffer that is alone in it; with others it pauses sooner"
            ));
        }
        if self.oversubscription > 1 && self.headroom_wanted_bytes > self.headroom_bytes {
            notes.push(format!(
                "{place}: its lossless buffers have {} B of headroom together, and it has {} B: lossless frames can be lost (headroom-oversubscription = {})",
                self.headroom_wanted_bytes, self.headroom_bytes, self.oversubscription
            ));
        }
        notes
    }
}
