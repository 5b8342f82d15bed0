//! Which ports are worth asking what they send. A port that has nothing is not asked before the switch core names it, or
//! its moment has come.

use weir_core::{Instant, PortId, PortSet};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Turns {
    asked: PortSet,
    /// By port that rests: when it may have something by time alone.
    wakes: Vec<Instant>,
    /// Not later than the first of them.
    first: Instant,
}

impl Turns {
    /// No port is asked.
    pub(super) fn new(port_count: usize) -> Self {
        Self {
            asked: PortSet::EMPTY,
            wakes: vec![Instant::FAR_FUTURE; port_count],
            first: Instant::FAR_FUTURE,
        }
    }

    /// It may have something.
    pub(super) fn ask(&mut self, port: PortId) {
        self.asked.insert(port);
    }

    /// True until it [rests](Self::rest).
    pub(super) fn is_asked(&self, port: PortId) -> bool {
        self.asked.contains(port)
    }

    /// It has nothing, but for what it may have at some moment by time alone.
    pub(super) fn rest(&mut self, port: PortId, until: Option<Instant>) {
        let until = until.unwrap_or(Instant::FAR_FUTURE);
        self.asked.remove(port);
        if let Some(wake) = self.wakes.get_mut(port.index()) {
            *wake = until;
        }
        self.first = self.first.min(until);
    }

    /// Asks those whose moment has come. O(ports) then, else O(1).
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
