//! Paths of frames to one host.

use super::NextHops;
use crate::scenario::topology::{Adjacency, PortPeer};

/// Reason why frames do not arrive, and the last switch that they reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scenario) enum Stuck {
    /// There is no next hop, or one that leads nowhere.
    End(usize),
    /// They can return here.
    Circle(usize),
}

/// Paths of frames to one host, and the cost of links on them.
pub(in crate::scenario) struct Walk<'a, C = fn(usize, usize) -> usize> {
    adjacency: &'a Adjacency,
    next_hops: &'a NextHops,
    host: usize,
    /// Cost of the link between two switches, in this direction.
    cost: C,
    states: Vec<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    /// On the path being followed.
    Open,
    /// The cost of the most expensive path from here, or the reason why there is none.
    Done(Result<usize, Stuck>),
}

/// A switch whose members are being visited.
struct Visit {
    switch: usize,
    /// Index in the group.
    member: usize,
    dearest: Result<usize, Stuck>,
}

impl<'a> Walk<'a> {
    /// A walk that counts links.
    pub(in crate::scenario) fn new(
        adjacency: &'a Adjacency,
        next_hops: &'a NextHops,
        host: usize,
    ) -> Self {
        Self::with_cost(adjacency, next_hops, host, |_, _| 1)
    }
}

impl<'a, C: Fn(usize, usize) -> usize> Walk<'a, C> {
    pub(in crate::scenario) fn with_cost(
        adjacency: &'a Adjacency,
        next_hops: &'a NextHops,
        host: usize,
        cost: C,
    ) -> Self {
        Self {
            adjacency,
            next_hops,
            host,
            cost,
            states: vec![State::New; adjacency.switch_count()],
        }
    }

    /// The cost of links between switches on the most expensive path from `switch`, over all choices of members.
    /// O(links) over all switches.
    ///
    /// # Errors
    ///
    /// Frames do not arrive with every choice.
    pub(in crate::scenario) fn longest(&mut self, switch: usize) -> Result<usize, Stuck> {
        if let State::Done(known) = self.states[switch] {
            return known;
        }
        // Paths can be as long as the number of switches: no recursion.
        let mut visits = vec![self.visit(switch)];
        while let Some(mut visit) = visits.pop() {
            let at = visit.switch;
            match self.next_hops[at][self.host].get(visit.member) {
                None => self.states[at] = State::Done(visit.dearest),
                Some(port) => match self.rest(at, *port) {
                    Rest::Known(rest) => {
                        visit.dearest = visit.dearest.and_then(|dearest| Ok(dearest.max(rest?)));
                        visit.member += 1;
                        visits.push(visit);
                    }
                    Rest::Through(next) => {
                        visits.push(visit);
                        let next = self.visit(next);
                        visits.push(next);
                    }
                },
            }
        }
        match self.states[switch] {
            State::Done(known) => known,
            // The loop above ends with it done.
            State::New | State::Open => Err(Stuck::End(switch)),
        }
    }

    fn visit(&mut self, switch: usize) -> Visit {
        self.states[switch] = State::Open;
        let dearest = if self.next_hops[switch][self.host].is_empty() {
            Err(Stuck::End(switch))
        } else {
            Ok(0)
        };
        Visit {
            switch,
            member: 0,
            dearest,
        }
    }

    fn rest(&self, at: usize, port: usize) -> Rest {
        match self.adjacency.peer(at, port) {
            Some(PortPeer::Host(host)) if host == self.host => Rest::Known(Ok(0)),
            Some(PortPeer::Switch(next)) => match self.states[next] {
                State::New => Rest::Through(next),
                State::Open => Rest::Known(Err(Stuck::Circle(next))),
                State::Done(rest) => Rest::Known(rest.map(|rest| rest + (self.cost)(at, next))),
            },
            _ => Rest::Known(Err(Stuck::End(at))),
        }
    }

    /// The switches on the path from `switch`; `None` if a group has several members or none.
    pub(in crate::scenario) fn only_way(&self, switch: usize) -> Option<Vec<usize>> {
        let mut way = vec![switch];
        let mut at = switch;
        loop {
            let [port] = &self.next_hops[at][self.host] else {
                return None;
            };
            match self.adjacency.peer(at, *port)? {
                PortPeer::Host(host) => return (host == self.host).then_some(way),
                // A longer path has returned somewhere.
                PortPeer::Switch(next) if way.len() < self.adjacency.switch_count() => {
                    way.push(next);
                    at = next;
                }
                PortPeer::Switch(_) => return None,
            }
        }
    }

    /// Returns true if members of the groups lead along these switches and to the host.
    pub(in crate::scenario) fn allows(&self, way: &[usize]) -> bool {
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
}

/// Continuation after a member.
enum Rest {
    Known(Result<usize, Stuck>),
    /// A switch to be visited first.
    Through(usize),
}
