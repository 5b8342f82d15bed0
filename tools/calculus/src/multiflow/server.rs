//! A path server of constant rate: FIFO queues that share its rate by a discipline. A queue records the proportions of the
//! sources' traffic, which is Theorem 1 for continuous arrivals: D_i = Â_i(Â↑(D)).

use std::collections::VecDeque;

use super::fair;
use super::scenario::Discipline;
use crate::algebra::Scalar;

/// Traffic that arrived with constant proportions.
struct Slab<S> {
    /// Share of each member; they sum to 1.
    shares: Vec<S>,
    amount: S,
}

struct Queue<S> {
    members: Vec<usize>,
    slabs: VecDeque<Slab<S>>,
    /// Proportions of present arrivals; `None` without any.
    arriving: Option<Vec<S>>,
    rate_in: S,
    rate_out: S,
}

impl<S: Scalar> Queue<S> {
    fn backlogged(&self) -> bool {
        !self.slabs.is_empty()
    }

    fn set_arrivals(&mut self, slopes: &[S]) {
        let rates: Vec<&S> = self.members.iter().map(|member| &slopes[*member]).collect();
        let total = rates.iter().fold(S::zero(), |sum, rate| sum + *rate);
        self.arriving = total
            .is_positive()
            .then(|| rates.iter().map(|rate| (*rate).clone() / &total).collect());
        self.rate_in = total;
    }

    fn head_is_open(&self) -> bool {
        match (&self.arriving, self.slabs.front()) {
            (Some(arriving), Some(head)) => self.slabs.len() == 1 && head.shares == *arriving,
            _ => false,
        }
    }

    fn departures(&self, slopes: &[S], out: &mut [S]) {
        let shares = match self.slabs.front() {
            Some(head) => Some(&head.shares),
            None if self.rate_in > self.rate_out => self.arriving.as_ref(),
            None => None,
        };
        for (index, member) in self.members.iter().enumerate() {
            out[*member] = match shares {
                Some(shares) => shares[index].clone() * &self.rate_out,
                // Nothing waits, so arrivals depart at once.
                None => slopes[*member].clone(),
            };
        }
    }

    fn next_change(&self) -> Option<S> {
        let head = self.slabs.front()?;
        let falling = if self.head_is_open() {
            self.rate_out.clone() - &self.rate_in
        } else {
            self.rate_out.clone()
        };
        falling
            .is_positive()
            .then(|| head.amount.clone() / &falling)
    }

    fn advance(&mut self, duration: &S, head_runs_out: bool) {
        let backlogged = self.backlogged();
        if let Some(arriving) = &self.arriving {
            let net = if backlogged {
                self.rate_in.clone()
            } else {
                self.rate_in.clone() - &self.rate_out
            };
            if net.is_positive() {
                let amount = net * duration;
                match self.slabs.back_mut() {
                    Some(last) if last.shares == *arriving => {
                        last.amount = last.amount.clone() + &amount;
                    }
                    _ => self.slabs.push_back(Slab {
                        shares: arriving.clone(),
                        amount,
                    }),
                }
            }
        }
        if backlogged {
            let served = self.rate_out.clone() * duration;
            if let Some(head) = self.slabs.front_mut() {
                head.amount = head.amount.clone() - &served;
                if head_runs_out || !head.amount.is_positive() {
                    self.slabs.pop_front();
                }
            }
        }
    }

    fn remove(&mut self, source: usize) {
        let Some(index) = self.members.iter().position(|member| *member == source) else {
            return;
        };
        for slab in &mut self.slabs {
            let rest = S::one() - &slab.shares[index];
            slab.amount = slab.amount.clone() * &rest;
            slab.shares[index] = S::zero();
            if rest.is_positive() {
                for share in &mut slab.shares {
                    *share = share.clone() / &rest;
                }
            }
        }
        self.slabs.retain(|slab| slab.amount.is_positive());
    }
}

pub(super) struct Server<S> {
    rate: S,
    discipline: Discipline,
    queues: Vec<Queue<S>>,
    ones: Vec<S>,
}

impl<S: Scalar> Server<S> {
    /// Creates a server; `ports` and `classes` are those of all sources, by index.
    pub fn new(rate: S, discipline: Discipline, ports: &[usize], classes: &[usize]) -> Self {
        let key = |index: usize| match discipline {
            Discipline::Fifo => 0,
            Discipline::FairPorts => ports[index],
            Discipline::Priority => classes[index],
        };
        let mut keys: Vec<usize> = (0..ports.len()).map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        let queues: Vec<Queue<S>> = keys
            .into_iter()
            .map(|wanted| Queue {
                members: (0..ports.len())
                    .filter(|index| key(*index) == wanted)
                    .collect(),
                slabs: VecDeque::new(),
                arriving: None,
                rate_in: S::zero(),
                rate_out: S::zero(),
            })
            .collect();
        Self {
            rate,
            discipline,
            ones: vec![S::one(); queues.len()],
            queues,
        }
    }

    /// Sets the sources' sending rates. Writes the rates at which they are served.
    pub fn set_arrivals(&mut self, slopes: &[S], served: &mut [S]) {
        for queue in &mut self.queues {
            queue.set_arrivals(slopes);
        }
        self.share_rate();
        for queue in &self.queues {
            queue.departures(slopes, served);
        }
    }

    fn share_rate(&mut self) {
        match self.discipline {
            Discipline::Fifo => {
                for queue in &mut self.queues {
                    queue.rate_out = self.rate.clone();
                }
            }
            Discipline::FairPorts => {
                let backlogged: Vec<bool> = self.queues.iter().map(Queue::backlogged).collect();
                let arriving: Vec<S> = self
                    .queues
                    .iter()
                    .map(|queue| queue.rate_in.clone())
                    .collect();
                let rates = fair::service_rates(&self.rate, &self.ones, &backlogged, &arriving);
                for (queue, rate) in self.queues.iter_mut().zip(rates) {
                    queue.rate_out = rate;
                }
            }
            Discipline::Priority => {
                let mut left = self.rate.clone();
                for queue in &mut self.queues {
                    queue.rate_out = if queue.backlogged() {
                        left.clone()
                    } else {
                        queue.rate_in.clone().lesser(left.clone())
                    };
                    left = left - &queue.rate_out;
                }
            }
        }
    }

    /// Returns the time until a queue's head changes first.
    pub fn next_change(&self) -> Option<S> {
        let changes = self.queues.iter().filter_map(Queue::next_change);
        changes.reduce(S::lesser)
    }

    pub fn advance(&mut self, duration: &S) {
        for queue in &mut self.queues {
            let head_runs_out = queue.next_change().as_ref() == Some(duration);
            queue.advance(duration, head_runs_out);
        }
    }

    /// Removes the traffic of `source` from the queue.
    pub fn remove(&mut self, source: usize) {
        for queue in &mut self.queues {
            queue.remove(source);
        }
    }

    /// Returns the sources whose queue is empty.
    pub fn idle_members(&self) -> impl Iterator<Item = usize> + '_ {
        self.queues
            .iter()
            .filter(|queue| !queue.backlogged())
            .flat_map(|queue| queue.members.iter().copied())
    }
}
