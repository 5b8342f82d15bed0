//! Actions on a running network: links fail, switches freeze and restart, hosts misbehave.

use weir_core::config::default_bucket_count;
use weir_core::units::PRIORITY_COUNT;
use weir_core::wire::mac_control::MacControl;
use weir_core::{Command, Duration, Instant, PortId, PortSet, Quanta, Switch};

use super::disturbance::Disturbance;
use crate::network::node::{ControlCpu, Frozen, NO_FRAME};
use crate::network::plan::{host_address, End};
use crate::network::{Event, Network};

/// A change of the device of a switch's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChange {
    /// It is removed.
    Gone,
    /// It has returned, with a link.
    Back,
    /// It starts or stops completing transmissions.
    Completes(bool),
}

/// One change, at the time given in the plan. Every beginning must have an end; of two that overlap, the later end counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// A link fails and loses the frames on it. Both switches notice at once.
    LinkDown(u32),
    /// A link works again.
    LinkUp(u32),
    /// A switch stops, dataplane and control plane. Input queues up as far as its rings reach.
    Freeze(u32),
    /// It resumes where it stopped.
    Thaw(u32),
    /// A switch loses its frames and all state, and is silent.
    Stop(u32),
    /// It starts afresh.
    Start(u32),
    /// Sets the latency from the dataplane to the control CPU, and also back.
    ControlLatency {
        /// The switch.
        switch: u32,
        /// The latency.
        latency: Duration,
    },
    /// Sets if a host obeys PFC.
    HostObeys {
        /// The host.
        host: u32,
        /// True if it does.
        obeys: bool,
    },
    /// A switch sends frames for a host by one of these ports from now on. Frozen and stopped switches ignore this.
    Route {
        /// The switch.
        switch: u32,
        /// The host.
        host: u32,
        /// The new group.
        members: PortSet,
    },
    /// A host repeatedly asks its switch to pause all priorities of the mask.
    StormBegin {
        /// The host.
        host: u32,
        /// Bit p: priority p.
        priorities: u8,
    },
    /// It stops; its last pause expires.
    StormEnd(u32),
    /// Control frames on a link are disturbed in both directions.
    Disturb {
        /// The link.
        link: u32,
        /// The disturbance.
        disturbance: Disturbance,
    },
    /// The disturbance ends.
    Calm {
        /// The link.
        link: u32,
        /// The disturbance.
        disturbance: Disturbance,
    },
    /// The transmitter of a switch's port completes nothing from now on.
    Hang {
        /// The switch.
        switch: u32,
        /// Its port.
        port: PortId,
    },
    /// It completes its frames, and continues.
    Unhang {
        /// The switch.
        switch: u32,
        /// Its port.
        port: PortId,
    },
    /// A switch notices a change of a port's device. Frozen and stopped switches notice nothing.
    Notice {
        /// The switch.
        switch: u32,
        /// Its port.
        port: PortId,
        /// The change.
        change: DeviceChange,
    },
    /// The plan's impairment with this index begins. Frozen and stopped switches ignore it.
    Impair(u32),
    /// It ends.
    Repair(u32),
}

impl Network {
    /// Applies an action. With several threads, each applies it to the lines that it knows, and to its own switches and
    /// hosts.
    pub(in crate::network) fn act(&mut self, action: Action) {
        if !self.takes_part_in(action) {
            return;
        }
        match action {
            Action::LinkDown(link) => self.set_link(link, false),
            Action::LinkUp(link) => self.set_link(link, true),
            Action::Freeze(switch) => self.freeze(switch as usize),
            Action::Thaw(switch) => self.thaw(switch as usize),
            Action::Stop(switch) => self.stop(switch as usize),
            Action::Start(switch) => self.start(switch as usize),
            Action::ControlLatency { switch, latency } => {
                if let Some(cpu) = &mut self.nodes[switch as usize].control {
                    cpu.latency = latency;
                }
            }
            Action::HostObeys { host, obeys } => {
                let nic = &mut self.nics[host as usize];
                nic.obeys_pfc = obeys;
                if !obeys {
                    nic.paused_until = [Instant::ZERO; PRIORITY_COUNT];
                }
                self.pump_host(host);
            }
            Action::Route {
                switch,
                host,
                members,
            } => self.set_route(switch as usize, host, members),
            Action::StormBegin { host, priorities } => {
                self.nics[host as usize].storm = priorities;
                self.storm(host);
            }
            Action::Hang { switch, port } => self.set_hung(switch as usize, port, true),
            Action::Unhang { switch, port } => self.set_hung(switch as usize, port, false),
            Action::Notice {
                switch,
                port,
                change,
            } => self.notice(switch as usize, port, change),
            Action::Impair(index) => self.begin_impairment(index),
            Action::Repair(index) => self.end_impairment(index),
            Action::StormEnd(host) => self.nics[host as usize].storm = 0,
            Action::Disturb { link, disturbance } => {
                for line in self.lines_of(link) {
                    if let Some(line) = self.lines.get_mut(line) {
                        line.disturbances.push(disturbance);
                    }
                }
            }
            Action::Calm { link, disturbance } => {
                for line in self.lines_of(link) {
                    let Some(line) = self.lines.get_mut(line) else {
                        continue;
                    };
                    let list = &mut line.disturbances;
                    if let Some(place) = list.iter().position(|known| *known == disturbance) {
                        list.remove(place);
                    }
                }
            }
        }
    }

    /// True if the action concerns a line, or a switch or host of this part.
    fn takes_part_in(&self, action: Action) -> bool {
        let switch = match action {
            Action::LinkDown(_)
            | Action::LinkUp(_)
            | Action::Disturb { .. }
            | Action::Calm { .. } => return true,
            Action::HostObeys { host, .. }
            | Action::StormBegin { host, .. }
            | Action::StormEnd(host) => return self.nics.has(host as usize),
            Action::Freeze(switch)
            | Action::Thaw(switch)
            | Action::Stop(switch)
            | Action::Start(switch)
            | Action::ControlLatency { switch, .. }
            | Action::Route { switch, .. }
            | Action::Hang { switch, .. }
            | Action::Unhang { switch, .. }
            | Action::Notice { switch, .. } => switch,
            Action::Impair(index) | Action::Repair(index) => {
                self.plan.impairments[index as usize].switch
            }
        };
        self.nodes.has(switch as usize)
    }

    /// A storming host sends a pause, and schedules the next for when half of it is over.
    pub(in crate::network) fn storm(&mut self, host: u32) {
        let nic = &mut self.nics[host as usize];
        if nic.storm == 0 {
            return;
        }
        let mut times = [None; PRIORITY_COUNT];
        for (priority, time) in times.iter_mut().enumerate() {
            *time = (nic.storm & 1 << priority != 0).then_some(Quanta::MAX);
        }
        let mut bytes = [0; 64];
        let frame = MacControl::Pfc { times };
        let length = frame.emit(host_address(host), &mut bytes).unwrap_or(0);
        nic.control = Some(bytes[..length].to_vec());
        let half = Quanta::MAX
            .at(self.plan.hosts[host as usize].rate)
            .divided_by(2);
        let place = nic.place;
        self.queue
            .push(place, self.now + half, Event::Storm { host });
        self.pump_host(host);
    }

    fn lines_of(&self, link: u32) -> Vec<usize> {
        let ends = self.plan.links[link as usize].ends;
        ends.into_iter()
            .filter_map(|end| self.line_of(end))
            .collect()
    }

    fn set_link(&mut self, link: u32, up: bool) {
        for line in self.lines_of(link) {
            let Some(line) = self.lines.get_mut(line) else {
                continue;
            };
            if up {
                line.down_count = line.down_count.saturating_sub(1);
            } else {
                line.down_count += 1;
                line.epoch = line.epoch.wrapping_add(1);
            }
        }
        for end in self.plan.links[link as usize].ends {
            self.queue.begin_step();
            let up = self
                .line_of(end)
                .and_then(|line| self.lines.get_mut(line))
                .is_some_and(|line| line.is_taken_for_up());
            match end {
                End::Port { switch, .. } if !self.nodes.has(switch as usize) => {}
                End::Host(host) if !self.nics.has(host as usize) => {}
                End::Port { switch, port } => {
                    let node = switch as usize;
                    // The port exists in the plan.
                    let _ = self.nodes[node]
                        .switch
                        .apply(self.now, Command::SetLink { port, up });
                    self.settle(node);
                }
                End::Host(host) => self.pump_host(host),
            }
        }
    }

    fn set_route(&mut self, node: usize, host: u32, members: PortSet) {
        if self.nodes[node].frozen.is_some() {
            return;
        }
        let change = Command::SetRoute {
            destination: host_address(host),
            members,
            buckets: default_bucket_count(members.count()),
        };
        // A group without ports, or with a missing port, is refused; the old one remains.
        let _ = self.nodes[node].switch.apply(self.now, change);
        self.settle(node);
    }

    fn notice(&mut self, node: usize, port: PortId, change: DeviceChange) {
        match change {
            DeviceChange::Gone => self.ask(node, Command::DeviceGone { port }),
            DeviceChange::Back => {
                self.ask(node, Command::DeviceBack { port });
                self.ask(node, Command::SetLink { port, up: true });
            }
            DeviceChange::Completes(completes) => {
                self.ask(node, Command::SetTransmitter { port, completes });
                self.charge_held(node, port);
            }
        }
    }

    /// A daemon charges the frames of a stuck transmitter to its port.
    fn charge_held(&mut self, node: usize, port: PortId) {
        let state = &mut self.nodes[node];
        let line = state.first_line + port.index() as u32;
        if let Some((epoch, handle)) = self.lines[line as usize].held {
            if state.epoch == epoch {
                let _ = state.switch.charge_to_egress(port, handle);
                self.settle(node);
            }
        }
    }

    fn set_hung(&mut self, node: usize, port: PortId, hung: bool) {
        let line = self.nodes[node].first_line + port.index() as u32;
        self.lines[line as usize].hangs = hung;
        if let (false, Some((epoch, handle))) = (hung, self.lines[line as usize].held.take()) {
            self.port_free(line, epoch, handle);
        }
    }

    fn freeze(&mut self, node: usize) {
        self.nodes[node].frozen.get_or_insert_default();
    }

    fn thaw(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        if state.frozen.as_ref().is_none_or(|frozen| frozen.is_stopped) {
            return;
        }
        let frozen = state.frozen.take().unwrap_or_default();
        for handle in frozen.completions {
            self.complete(node, handle);
        }
        self.take_late(node);
        for (line, payload) in frozen.door {
            if let Some(End::Port { port, .. }) = self.lines[line as usize].to {
                self.arrive_at_switch(node, port, line, payload);
            }
        }
        self.nodes[node].switch.handle_timeout(self.now);
        self.settle(node);
        self.control(node);
    }

    fn stop(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        state.epoch = state.epoch.wrapping_add(1);
        for frame in state.frames.iter_mut() {
            let frame = std::mem::replace(frame, NO_FRAME);
            if frame != NO_FRAME {
                self.totals.lost_in_restarts += 1;
                self.frames.give_back(frame);
            }
        }
        let frozen = self.nodes[node].frozen.replace(Frozen {
            is_stopped: true,
            ..Frozen::default()
        });
        let frozen = frozen.unwrap_or_default();
        for (_, payload) in frozen.door {
            self.lose(payload, |totals| &mut totals.lost_in_restarts);
        }
        self.forget_impairments(node);
    }

    fn start(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        if state
            .frozen
            .as_ref()
            .is_none_or(|frozen| !frozen.is_stopped)
        {
            return;
        }
        self.past_counters.note(&state.switch);
        // It was created once, so it can be created again.
        let mut config = self.plan.switches[node].config.clone();
        // Later than all epochs of its predecessor.
        config.credits.epoch += u32::from(state.epoch) << 16;
        let Ok(switch) = Switch::new(config) else {
            return;
        };
        state.switch = switch;
        if let Some(spreader) = &mut state.spreader {
            spreader.forget();
        }
        state.reset_handles();
        state.frozen = None;
        state.timer_at = Instant::FAR_FUTURE;
        let epoch = u64::from(state.epoch);
        state.control = self.plan.switches[node].control.as_ref().map(|plan| {
            let mut plan = plan.clone();
            plan.seed = plan.seed.wrapping_add(epoch << 32);
            ControlCpu::new(&plan)
        });
        let first = state.first_line as usize;
        for port in state.ports().collect::<Vec<_>>() {
            if !self.lines[first + port.index()].is_up() {
                let up = false;
                let _ = self.nodes[node]
                    .switch
                    .apply(self.now, Command::SetLink { port, up });
            }
        }
        self.settle(node);
    }
}
