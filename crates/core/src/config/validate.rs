//! Checks of a configuration that its types cannot express.

use std::collections::BTreeSet;

use super::{
    ClassConfig, ClassMode, ConfigError, PartsPerMillion, PfcThresholds, PortRole, RedConfig,
    RouteConfig, SchedulerConfig, SwitchConfig, BUCKETS_MAX,
};
use crate::credit::CreditTerms;
use crate::level::Budgets;
use crate::sets::vlans::VlanId;
use crate::switch::check_route;
use crate::units::{BitRate, Duration, PortId, Priority, Quanta, LINE_OVERHEAD, PORT_COUNT_MAX};

impl SwitchConfig {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    ///
    /// The first violated constraint.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if !(1..=PORT_COUNT_MAX).contains(&self.ports.len()) {
            return Err(ConfigError::PortCount(self.ports.len()));
        }
        if !(64..=65_536).contains(&self.cell.get()) {
            return Err(ConfigError::Cell(self.cell));
        }
        if self
            .detector
            .is_some_and(|detector| detector.detect.is_zero())
        {
            return Err(ConfigError::ZeroDetect);
        }
        if self.loops.is_some_and(|loops| loops.interval.is_zero()) {
            return Err(ConfigError::ZeroLoopInterval);
        }
        if self
            .lifetime
            .is_some_and(|lifetime| lifetime.limit.is_zero())
        {
            return Err(ConfigError::ZeroLifetime);
        }
        if self
            .ports
            .iter()
            .filter_map(|port| port.watchdog)
            .any(|watchdog| watchdog.is_zero())
        {
            return Err(ConfigError::ZeroStorm);
        }
        if self.pause_time == Quanta::ZERO {
            return Err(ConfigError::ZeroPause);
        }
        if self.feedback_refresh.is_zero() {
            return Err(ConfigError::ZeroRefresh);
        }
        for (priority, class) in Priority::ALL.into_iter().zip(&self.classes) {
            self.validate_class(priority, class)?;
            for port in self.ports.iter().filter(|port| port.cable.is_some()) {
                let mode = class.mode_at(port);
                self.validate_class(priority, &ClassConfig { mode, ..*class })?;
            }
        }
        self.validate_pools()?;
        self.validate_rates()?;
        let needed = self.frames_needed();
        if self.frame_count < needed {
            return Err(ConfigError::TooFewFrames {
                frame_count: self.frame_count,
                buffers: self.buffer_bound(),
                needed,
            });
        }
        if self.flows.capacity > 0 && self.flows.age.is_zero() {
            return Err(ConfigError::ZeroFlowAge);
        }
        self.validate_tree()?;
        if !self.vlans.is_empty() && self.vlans.len() != self.ports.len() {
            return Err(ConfigError::VlanPorts {
                settings: self.vlans.len(),
                ports: self.ports.len(),
            });
        }
        self.validate_routes()
    }

    pub(crate) fn validate_rates(&self) -> Result<(), ConfigError> {
        let share = self.strict_share;
        if share == PartsPerMillion::ZERO || share == PartsPerMillion::ONE {
            return Err(ConfigError::StrictShare(share));
        }
        let least = self
            .classes
            .iter()
            .filter_map(|class| class.scheduler.rate_min);
        let sum = least.fold(0u64, |sum, rate| sum.saturating_add(rate.get()));
        let Some(rates) = BitRate::new(sum) else {
            return Ok(());
        };
        for (index, port) in self.ports.iter().enumerate() {
            let most = u128::from(port.rate.get()) * u128::from(share.get());
            if u128::from(sum) * u128::from(PartsPerMillion::ONE.get()) > most {
                return Err(ConfigError::RatesMinTooHigh {
                    port: PortId::from_index(index).unwrap_or_default(),
                    rates,
                    share,
                    rate: port.rate,
                });
            }
        }
        Ok(())
    }

    fn validate_scheduler(
        &self,
        priority: Priority,
        scheduler: &SchedulerConfig,
    ) -> Result<(), ConfigError> {
        let Some(rate_max) = scheduler.rate_max else {
            return Ok(());
        };
        if let Some(rate_min) = scheduler.rate_min.filter(|rate| *rate > rate_max) {
            return Err(ConfigError::RateMinAboveMax {
                priority,
                rate_min,
                rate_max,
            });
        }
        let frame = self.frame_length_max;
        let takes = rate_max.time_for(frame + LINE_OVERHEAD);
        // A frame must leave between two samples of the detector.
        match self.detector.map(|detector| detector.detect) {
            Some(detect) if takes.saturating_mul(2) > detect => Err(ConfigError::RateMaxTooLow {
                priority,
                rate_max,
                frame,
                takes,
                detect,
            }),
            _ => Ok(()),
        }
    }

    fn validate_tree(&self) -> Result<(), ConfigError> {
        let port_count = self.ports.len();
        let tree = self.flood.tree.unwrap_or_default();
        let beyond = tree.iter().find(|port| port.index() >= port_count);
        beyond.map_or(Ok(()), |port| {
            Err(ConfigError::TreePort { port, port_count })
        })
    }

    /// b_i ≥ γmax + rT for every i. The paper requires it only of b_1 (equation 23), but its proof of freedom from
    /// deadlock needs it of all: lemma 3 concludes from m_k ≥ b_k that the Feedback falls below k, and with round trips
    /// that follows only from m_k ≥ γmax + rT.
    fn validate_budgets(&self, priority: Priority, budgets: &Budgets) -> Result<(), ConfigError> {
        let gamma_max = self.gamma_max();
        for (index, budget) in budgets.as_slice().iter().enumerate() {
            if *budget < gamma_max {
                return Err(ConfigError::BudgetBelowFrame {
                    priority,
                    level: index + 1,
                    budget: *budget,
                    gamma_max,
                });
            }
        }
        for (index, port) in self.ports.iter().enumerate() {
            if port.role != PortRole::Fabric {
                continue;
            }
            let reserve = self.reserve(port);
            for (level, budget) in (1..).zip(budgets.as_slice()) {
                if *budget < gamma_max + reserve {
                    return Err(ConfigError::RoundTripTooLong {
                        priority,
                        port: index,
                        round_trip: port.round_trip,
                        level,
                        budget: *budget,
                        gamma_max,
                        reserve,
                        needed: gamma_max + reserve,
                    });
                }
            }
        }
        Ok(())
    }

    pub(crate) fn validate_class(
        &self,
        priority: Priority,
        class: &ClassConfig,
    ) -> Result<(), ConfigError> {
        if class.age_limit.is_some_and(Duration::is_zero) {
            return Err(ConfigError::ZeroAge(priority));
        }
        let marking = class.ecn.as_ref().map_or(Ok(()), RedConfig::check);
        marking.map_err(|error| ConfigError::Marking { priority, error })?;
        if class.weight == 0 {
            return Err(ConfigError::ZeroWeight(priority));
        }
        self.validate_scheduler(priority, &class.scheduler)?;
        let frame = self.gamma_max();
        let at_least_a_frame = |what, value| {
            if value < frame {
                return Err(ConfigError::BufferBelowFrame {
                    priority,
                    what,
                    value,
                    frame,
                });
            }
            Ok(())
        };
        let enough = |thresholds: PfcThresholds| {
            at_least_a_frame("xoff", thresholds.xoff())?;
            at_least_a_frame("headroom", thresholds.headroom())
        };
        self.validate_share(priority, class)?;
        self.validate_credits(priority, class)?;
        match class.mode {
            ClassMode::Lossy { .. } if class.pool.is_some() => Ok(()),
            ClassMode::Lossy { buffer } => at_least_a_frame("buffer", buffer),
            ClassMode::Pfc(thresholds) => enough(thresholds),
            ClassMode::Level {
                budgets,
                rules,
                edge,
            } => {
                self.validate_budgets(priority, &budgets)?;
                if rules.level_min >= budgets.depth() {
                    return Err(ConfigError::LevelMinTooHigh {
                        priority,
                        level_min: rules.level_min,
                        depth: budgets.depth(),
                    });
                }
                enough(edge)
            }
        }
    }

    fn validate_credits(&self, priority: Priority, class: &ClassConfig) -> Result<(), ConfigError> {
        let Some(credits) = &class.credits else {
            return Ok(());
        };
        let ClassMode::Pfc(thresholds) = class.mode else {
            return Err(ConfigError::CreditsWithoutPfc(priority));
        };
        if class.pool.is_some() {
            return Err(ConfigError::CreditsInPool(priority));
        }
        let is_whole = credits.size.get().is_multiple_of(self.cell.get());
        let terms = CreditTerms::of(credits, thresholds.limit()).filter(|_| is_whole);
        let terms = terms.ok_or(ConfigError::CreditTerms {
            priority,
            size: credits.size,
            cell: self.cell,
        })?;
        // One longest frame is stored while the next one is in flight.
        let needed = terms.cost(self.frame_length_max).saturating_mul(2);
        if terms.limit() < needed {
            return Err(ConfigError::CreditLimit {
                priority,
                limit: terms.limit(),
                needed,
            });
        }
        Ok(())
    }

    fn validate_routes(&self) -> Result<(), ConfigError> {
        let mut seen = BTreeSet::new();
        let pins: usize = self.routes.iter().map(|route| route.pins.len()).sum();
        if pins > self.ecmp.pin_capacity {
            return Err(ConfigError::TooManyPins {
                pins,
                capacity: self.ecmp.pin_capacity,
            });
        }
        for RouteConfig {
            destination,
            vlan,
            ports,
            buckets,
            pins,
        } in &self.routes
        {
            if ports.is_empty() {
                return Err(ConfigError::EmptyRoute {
                    destination: *destination,
                });
            }
            if let Some(port) = ports.iter().find(|port| port.index() >= self.ports.len()) {
                return Err(ConfigError::RoutePort {
                    destination: *destination,
                    port: *port,
                    port_count: self.ports.len(),
                });
            }
            let members: BTreeSet<_> = ports.iter().collect();
            if members.len() < ports.len() {
                return Err(ConfigError::RepeatedPort {
                    destination: *destination,
                });
            }
            if !(members.len()..=BUCKETS_MAX).contains(&usize::from(*buckets)) {
                return Err(ConfigError::BucketCount {
                    destination: *destination,
                    buckets: *buckets,
                    members: members.len(),
                });
            }
            let is_way = |port: &PortId| ports.len() > 1 && ports.contains(port);
            let pinned: BTreeSet<u32> = pins.iter().map(|(flow_hash, _)| *flow_hash).collect();
            if pinned.len() < pins.len() || !pins.iter().all(|(_, port)| is_way(port)) {
                return Err(ConfigError::BadPin {
                    destination: *destination,
                });
            }
            if vlan.is_some() && (self.vlans.is_empty() || *vlan == Some(VlanId::UNTAGGED)) {
                return Err(ConfigError::RouteVlan(*destination));
            }
            check_route(&self.vlans, *vlan, ports.iter().copied()).map_err(|port| {
                ConfigError::RouteNotInVlan {
                    destination: *destination,
                    vlan: *vlan,
                    port,
                }
            })?;
            if !seen.insert((*vlan, *destination)) {
                return Err(ConfigError::DuplicateRoute(*destination));
            }
        }
        Ok(())
    }
}
