//! Control CPUs: events reach them, and their commands the dataplane, with latency.

use std::collections::VecDeque;

use weir_core::{Event as CoreEvent, Instant};

use super::{Event, LogKind, Network};

impl Network {
    /// Reports an event of the dataplane of `node` to its CPU.
    pub(super) fn tell_control(&mut self, node: usize, event: CoreEvent) {
        let Some(cpu) = &mut self.nodes[node].control else {
            return;
        };
        let at = self.now + cpu.latency;
        cpu.inbox.push_back((at, event));
        self.queue
            .push(node as u32, at, Event::Control { node: node as u32 });
    }

    /// Handles everything due at the CPU of `node`: events that have arrived, timers, and commands that have reached the
    /// dataplane.
    pub(super) fn control(&mut self, node: usize) {
        let now = self.now;
        let state = &mut self.nodes[node];
        if state.frozen.is_some() {
            return;
        }
        let Some(cpu) = &mut state.control else {
            return;
        };
        while let Some((_, command)) = take_due(&mut cpu.outbox, now) {
            // If the dataplane refuses a command, events have overtaken it; the control plane handles that.
            let _ = state.switch.apply(now, command);
        }
        while let Some((_, event)) = take_due(&mut cpu.inbox, now) {
            cpu.plane.handle_event(&CoreEvent { at: now, ..event });
        }
        if cpu.plane.next_timeout().is_some_and(|at| at <= now) {
            cpu.plane.handle_timeout(now);
        }
        let mut commands = false;
        while let Some(command) = cpu.plane.poll_command() {
            cpu.outbox.push_back((now + cpu.latency, command));
            commands = true;
        }
        while let Some(report) = cpu.plane.poll_report() {
            self.log.add(now, node, LogKind::Report(report));
        }
        let due = Event::Control { node: node as u32 };
        if commands {
            self.queue.push(node as u32, now + cpu.latency, due);
        }
        if cpu.timer_at <= now {
            cpu.timer_at = Instant::FAR_FUTURE;
        }
        if let Some(at) = cpu.plane.next_timeout() {
            if at < cpu.timer_at {
                cpu.timer_at = at;
                self.queue.push(node as u32, at, due);
            }
        }
        self.settle(node);
    }
}

/// Takes the first entry of `queue` if it is due.
fn take_due<T>(queue: &mut VecDeque<(Instant, T)>, now: Instant) -> Option<(Instant, T)> {
    let due = queue.front().is_some_and(|(at, _)| *at <= now);
    due.then(|| queue.pop_front()).flatten()
}
