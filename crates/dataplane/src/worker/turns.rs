//! Ports that may have frames to send. A port without frames is not queried again until the switch core names it or
//! its time has come.

use weir_core::{Instant, PortId, PortSet};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Turns {
    asked: PortSet,
    /// By resting port: when it may have frames because of time alone.
    wakes: Vec<Instant>,
    /// Not later than the first of these times.
    first: Instant,
}

impl Turns {
    /// Creates the state in which no port is queried.
    pub(super) fn new(port_count: usize) -> Self {
        Self {
            asked: PortSet::EMPTY,
            wakes: vec![Instant::FAR_FUTURE; port_count],
            first: Instant::FAR_FUTURE,
        }
    }

    /// Marks a port that may have frames to send.
    pub(super) fn ask(&mut self, port: PortId) {
        self.asked.insert(port);
    }

    /// Returns true until the port [rests](Self::rest).
    pub(super) fn is_asked(&self, port: PortId) -> bool {
        self.asked.contains(port)
    }

    /// Marks a port without frames to send, unless time alone makes one eligible at `until`.
    pub(super) fn rest(&mut self, port: PortId, until: Option<Instant>) {
        let until = until.unwrap_or(Instant::FAR_FUTURE);
        self.asked.remove(port);
        if let Some(wake) = self.wakes.get_mut(port.index()) {
            *wake = until;
        }
        self.first = self.first.min(until);
    }

    /// Marks the ports whose time has come. O(ports) if any is due, else O(1).
    pub(super) fn wake(&mut self, now: Instant) {
        if self.first > now {
            return;
        }
        self.first = Instant::FAR_FUTURE;
        for (index, wake) in self.wakes.iter_mut().enumerate() {
            if *wake > now {
                self.first = self.first.min(*wake);
                continue;
            }
            *wake = Instant::FAR_FUTURE;
            if let Some(port) = PortId::from_index(index) {
                self.asked.insert(port);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_rests_until_its_moment_or_until_it_is_named() {
        let at = Instant::from_nanos;
        let [a, b, c] = [0, 1, 2].map(|port| PortId::from_index(port).unwrap());
        let mut turns = Turns::new(3);
        let asked = |turns: &Turns| [a, b, c].map(|port| turns.is_asked(port));
        assert_eq!(asked(&turns), [false; 3]);
        [a, b, c].into_iter().for_each(|port| turns.ask(port));
        turns.wake(at(1));
        assert_eq!(asked(&turns), [true; 3]);
        turns.rest(a, Some(at(10)));
        turns.rest(b, Some(at(5)));
        turns.rest(c, None);
        turns.wake(at(4));
        assert_eq!(asked(&turns), [false; 3]);
        turns.wake(at(5));
        assert_eq!(asked(&turns), [false, true, false]);
        turns.rest(b, None);
        turns.ask(c);
        turns.wake(at(9));
        assert_eq!(asked(&turns), [false, false, true]);
        turns.wake(at(100));
        assert_eq!(asked(&turns), [true, false, true]);
    }
}
