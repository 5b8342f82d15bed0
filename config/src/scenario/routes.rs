//! Next hops of a whole network, and where they lead.

pub(super) mod compute;

use super::topology::{Adjacency, PortPeer};

/// By switch, then by host: the ports that a frame to the host may leave by. None: no route goes.
pub(super) type NextHops = Vec<Vec<Vec<usize>>>;

/// Why frames do not arrive, and the switch that they get no further than.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stuck {
    /// There is no next hop, or one that does not lead on.
    End(usize),
    /// They can come back here.
    Circle(usize),
}

/// Where frames to one host can go.
pub(super) struct Walk<'a> {
    adjacency: &'a Adjacency,
    next_hops: &'a NextHops,
    host: usize,
    states: Vec<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    /// On the way that is being followed.
    Open,
    /// Links to the host's switch on the longest way from here, or why there is none.
    Done(Result<usize, Stuck>),
}

impl<'a> Walk<'a> {
    pub(super) fn new(adjacency: &'a Adjacency, next_hops: &'a NextHops, host: usize) -> Self {
        Self {
            adjacency,
            next_hops,
            host,
            states: vec![State::New; adjacency.switch_count()],
        }
    }

    /// Links between switches on the longest way from `switch`, whatever members are chosen on it.
    /// Over all switches O(links).
    ///
    /// # Errors
    ///
    /// When frames do not arrive with each choice.
    pub(super) fn longest(&mut self, switch: usize) -> Result<usize, Stuck> {
        match self.states[switch] {
            State::Done(known) => return known,
            State::Open => return Err(Stuck::Circle(switch)),
            State::New => {}
        }
        self.states[switch] = State::Open;
        let next_hops = self.next_hops;
        let members = &next_hops[switch][self.host];
        let mut longest = if members.is_empty() {
            Err(Stuck::End(switch))
        } else {
            Ok(0)
        };
        for port in members {
            let links = match self.adjacency.peer(switch, *port) {
                Some(PortPeer::Host(host)) if host == self.host => Ok(0),
                Some(PortPeer::Switch(next)) => self.longest(next).map(|links| links + 1),
                _ => Err(Stuck::End(switch)),
            };
            longest = longest.and_then(|longest| Ok(longest.max(links?)));
        }
        self.states[switch] = State::Done(longest);
        longest
    }

    /// The switches on the way from `switch`; `None` where a group has several members or none.
    pub(super) fn only_way(&self, switch: usize) -> Option<Vec<usize>> {
        let mut way = vec![switch];
        let mut at = switch;
        loop {
            let [port] = self.next_hops[at][self.host].as_slice() else {
                return None;
            };
            match self.adjacency.peer(at, *port)? {
                PortPeer::Host(host) => return (host == self.host).then_some(way),
                PortPeer::Switch(next) if !way.contains(&next) => {
                    way.push(next);
                    at = next;
                }
                PortPeer::Switch(_) => return None,
            }
        }
    }

    /// Whether members of the groups lead along these switches and to the host.
    pub(super) fn allows(&self, way: &[usize]) -> bool {
        let leads = |switch: usize, peer: PortPeer| {
            let mut members = self.next_hops[switch][self.host].iter();
            members.any(|port| self.adjacency.peer(switch, *port) == Some(peer))
        };
        let onwards = way
            .windows(2)
            .all(|pair| leads(pair[0], PortPeer::Switch(pair[1])));
        onwards
            && way
                .last()
                .is_some_and(|last| leads(*last, PortPeer::Host(self.host)))
    }

    /// Every link between switches that frames from `switch` can take, by its two ends, each once.
    pub(super) fn links(&self, switch: usize) -> Vec<(usize, usize)> {
        let mut seen = vec![false; self.adjacency.switch_count()];
        let mut waiting = vec![switch];
        let mut links = Vec::new();
        seen[switch] = true;
        while let Some(at) = waiting.pop() {
            for port in &self.next_hops[at][self.host] {
                let Some(PortPeer::Switch(next)) = self.adjacency.peer(at, *port) else {
                    continue;
                };
                links.push((at, next));
                if !std::mem::replace(&mut seen[next], true) {
                    waiting.push(next);
                }
            }
        }
        links
    }
}
