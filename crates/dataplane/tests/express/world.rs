//! State of the words and of all actors, with all possible next steps.

#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) frames: [u8; QUEUES],
    /// Maximum number of frames per poll.
    pub(super) budget: u8,
    /// Capacity of a CPU's bulk queue in frames.
    pub(super) bulk: usize,
    /// Entries of an RX ring.
    pub(super) ring: usize,
    /// Number of MAC control frames from the egress's neighbour: pause, resume, pause, …
    pub(super) pauses: u8,
    /// Number of searches for losses by the control plane.
    pub(super) resyncs: u8,
    /// The core neither closes the egress for admitted frames nor waits for it to be empty before opening it. Both serve
    /// pauses and the shaper, not the order.
    pub(super) careless: bool,
    /// The rule that is broken.
    pub(super) broken: Option<Broken>,
}

/// Rules that the order needs; a variant breaks one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// `entered` is counted by the core.
    CountsOnReceipt,
    /// `finished` is counted when a frame is put into the TX ring.
    FinishesEarly,
    /// The kernel flushes sockets first.
    SocketsFirst,
    /// The core opens the egress regardless of events since its check.
    OpensByStore,
    /// The program clears the bit without counting.
    PauseNotCounted,
    /// The control plane does not wait for polls to end.
    NoGrace,
    /// Breaks no rule: the search reports when a frame has taken the express path after one that had not.
    SaysWhenBothWereTaken,
}

pub(super) const QUEUES: usize = 2;

/// A frame: its queue, and its number within the queue.
type Frame = (u8, u8);

/// Next step of a CPU for its receive queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Poll {
    Idle,
    Take,
    ReadFinished,
    ReadEntered { finished: u8 },
    ReadOpen,
    Count,
    Redirect,
    FlushFirst,
    FlushSecond,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Queue {
    poll: Poll,
    /// Number of finished polls, modulo 4.
    polls: u8,
    /// Number of frames taken in total and in this poll.
    taken: u8,
    in_poll: u8,
    /// Frames for the device, until the bulk queue is flushed.
    bulk: Vec<Frame>,
    /// Frames for the socket, until its ring is flushed.
    pending: Vec<Frame>,
    ring: Vec<Frame>,
}

/// Next step of the egress's own program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Pausing {
    Idle,
    Clear,
    Flush,
}

/// Next step of the control plane.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Resync {
    Idle,
    Wait {
        entered: u8,
        polls: [Option<u8>; QUEUES],
    },
    Drain {
        entered: u8,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    // The words.
    entered: u8,
    finished: u8,
    open: bool,
    seen: u8,
    // Programs and kernel.
    queues: [Queue; QUEUES],
    pausing: Pausing,
    pauses_sent: u8,
    control_ring: Vec<u8>,
    tx: Vec<Frame>,
    with_device: Option<Frame>,
    done: u8,
    // The core.
    received: u8,
    handled: u8,
    paused: bool,
    waiting: Vec<Frame>,
    outstanding: u8,
    /// The value of `seen` with which it decided to open.
    opening: Option<u8>,
    // The control plane.
    resync: Resync,
    resyncs: u8,
    // History for the checks.
    last: [u8; QUEUES],
    overtook: bool,
    arrived: u8,
    lost: u8,
    pause_in_force: bool,
    after_pause: u8,
    slow: bool,
    both: bool,
}

impl World {
    pub(super) fn new(_: &Setup) -> Self {
        let queue = || Queue {
            poll: Poll::Idle,
            polls: 0,
            taken: 0,
            in_poll: 0,
            bulk: Vec::new(),
            pending: Vec::new(),
            ring: Vec::new(),
        };
        Self {
            entered: 0,
            finished: 0,
            open: false,
            seen: 0,
            queues: [queue(), queue()],
            pausing: Pausing::Idle,
            pauses_sent: 0,
            control_ring: Vec::new(),
            tx: Vec::new(),
            with_device: None,
            done: 0,
            received: 0,
            handled: 0,
            paused: false,
            waiting: Vec::new(),
            outstanding: 0,
            opening: None,
            resync: Resync::Idle,
            resyncs: 0,
            last: [0; QUEUES],
            overtook: false,
            arrived: 0,
            lost: 0,
            pause_in_force: false,
            after_pause: 0,
            slow: false,
            both: false,
        }
    }

    pub(super) fn steps(&self, setup: &Setup) -> Vec<Self> {
        let mut next = Vec::new();
        for at in 0..QUEUES {
            self.poll(setup, at, &mut next);
        }
        self.pause(setup, &mut next);
        self.kernel_sends(&mut next);
        self.core(setup, &mut next);
        self.resync(setup, &mut next);
        next
    }

    fn but(&self, next: &mut Vec<Self>, change: impl FnOnce(&mut Self)) {
        let mut world = self.clone();
        change(&mut world);
        next.push(world);
    }

    /// Executes one step of the CPU that serves a receive queue.
    fn poll(&self, setup: &Setup, at: usize, next: &mut Vec<Self>) {
        let queue = &self.queues[at];
        let goes_on = |poll| move |world: &mut Self| world.queues[at].poll = poll;
        let has_more = queue.taken < setup.frames[at];
        match queue.poll {
            Poll::Idle if has_more => self.but(next, goes_on(Poll::Take)),
            Poll::Idle => {}
            Poll::Take => {
                if has_more && queue.in_poll < setup.budget {
                    self.but(next, |world| {
                        let queue = &mut world.queues[at];
                        (queue.taken, queue.in_poll) = (queue.taken + 1, queue.in_poll + 1);
                        queue.poll = Poll::ReadFinished;
                    });
                }
                if queue.in_poll > 0 {
                    self.but(next, goes_on(Poll::FlushFirst));
                }
            }
            Poll::ReadFinished => {
                let finished = self.finished;
                self.but(next, goes_on(Poll::ReadEntered { finished }));
            }
            Poll::ReadEntered { finished } if finished == self.entered => {
                self.but(next, goes_on(Poll::ReadOpen));
            }
            Poll::ReadOpen if self.open => self.but(next, |world| world.go_express(setup, at)),
            Poll::ReadEntered { .. } | Poll::ReadOpen => self.but(next, goes_on(Poll::Count)),
            Poll::Count => self.but(next, |world| {
                if setup.broken != Some(Broken::CountsOnReceipt) {
                    world.entered += 1;
                }
                world.queues[at].poll = Poll::Redirect;
            }),
            Poll::Redirect => self.but(next, |world| {
                let queue = &mut world.queues[at];
                queue.pending.push((at as u8, queue.taken));
                queue.poll = Poll::Take;
                world.slow = true;
            }),
            Poll::FlushFirst => self.but(next, |world| world.flush(setup, at, true)),
            Poll::FlushSecond => self.but(next, |world| world.flush(setup, at, false)),
        }
    }

    fn go_express(&mut self, setup: &Setup, at: usize) {
        if self.queues[at].bulk.len() == setup.bulk {
            self.flush_bulk(at);
        }
        let queue = &mut self.queues[at];
        queue.bulk.push((at as u8, queue.taken));
        queue.poll = Poll::Take;
        self.both |= self.slow;
    }

    fn flush(&mut self, setup: &Setup, at: usize, is_first: bool) {
        if is_first == (setup.broken == Some(Broken::SocketsFirst)) {
            let queue = &mut self.queues[at];
            for frame in std::mem::take(&mut queue.pending) {
                if queue.ring.len() < setup.ring {
                    queue.ring.push(frame);
                } else {
                    self.lost += 1;
                }
            }
        } else {
            self.flush_bulk(at);
        }
        let queue = &mut self.queues[at];
        if is_first {
            queue.poll = Poll::FlushSecond;
        } else {
            queue.poll = Poll::Idle;
            queue.in_poll = 0;
            queue.polls = (queue.polls + 1) % 4;
        }
    }

    fn flush_bulk(&mut self, at: usize) {
        for frame in std::mem::take(&mut self.queues[at].bulk) {
            self.after_pause += u8::from(self.pause_in_force);
            self.leave(frame);
        }
    }

    /// Passes a frame to the device.
    fn leave(&mut self, (queue, number): Frame) {
        let last = &mut self.last[usize::from(queue)];
        self.overtook |= number <= *last;
        *last = number;
        self.arrived += 1;
    }

    /// Executes one step of the egress's own program for a MAC control frame: pauses and resumes alternate.
    fn pause(&self, setup: &Setup, next: &mut Vec<Self>) {
        match self.pausing {
            Pausing::Idle if self.pauses_sent < setup.pauses => self.but(next, |world| {
                if setup.broken != Some(Broken::PauseNotCounted) {
                    world.seen += 1;
                }
                world.pausing = Pausing::Clear;
            }),
            Pausing::Idle => {}
            Pausing::Clear => self.but(next, |world| {
                world.open = false;
                world.pause_in_force = world.pauses_sent % 2 == 0;
                world.after_pause = 0;
                world.pausing = Pausing::Flush;
            }),
            Pausing::Flush => self.but(next, |world| {
                world.control_ring.push(world.pauses_sent);
                world.pauses_sent += 1;
                world.pausing = Pausing::Idle;
            }),
        }
    }

    /// The kernel takes a frame from the TX ring, and completes it later.
    fn kernel_sends(&self, next: &mut Vec<Self>) {
        match self.with_device {
            None if !self.tx.is_empty() => self.but(next, |world| {
                let frame = world.tx.remove(0);
                world.leave(frame);
                world.with_device = Some(frame);
            }),
            None => {}
            Some(_) => self.but(next, |world| {
                world.with_device = None;
                world.done += 1;
            }),
        }
    }

    fn core(&self, setup: &Setup, next: &mut Vec<Self>) {
        if let Some(seen) = self.opening {
            self.but(next, |world| {
                world.opening = None;
                if setup.broken == Some(Broken::OpensByStore) || world.seen == seen {
                    world.open = true;
                }
            });
            return;
        }
        for at in 0..QUEUES {
            if !self.queues[at].ring.is_empty() {
                self.but(next, |world| {
                    let frame = world.queues[at].ring.remove(0);
                    world.received += 1;
                    if setup.broken == Some(Broken::CountsOnReceipt) {
                        world.entered += 1;
                    }
                    world.open &= setup.careless;
                    world.waiting.push(frame);
                });
            }
        }
        if !self.control_ring.is_empty() {
            self.but(next, |world| {
                world.paused = world.control_ring.remove(0) % 2 == 0;
                world.open &= !world.paused;
                if setup.broken != Some(Broken::PauseNotCounted) {
                    world.handled += 1;
                }
            });
        }
        if !self.waiting.is_empty() && !self.paused {
            self.but(next, |world| {
                let frame = world.waiting.remove(0);
                world.tx.push(frame);
                world.outstanding += 1;
                world.finished += u8::from(setup.broken == Some(Broken::FinishesEarly));
            });
        }
        if self.done > 0 {
            self.but(next, |world| {
                world.done -= 1;
                world.outstanding -= 1;
                world.finished += u8::from(setup.broken != Some(Broken::FinishesEarly));
            });
        }
        let is_empty = self.waiting.is_empty() && self.outstanding == 0;
        let may_open = (is_empty || setup.careless) && !self.paused;
        if !self.open && may_open && self.seen == self.handled {
            self.but(next, |world| world.opening = Some(world.seen));
        }
    }

    /// Executes one step of the control plane, which finds losses between program and core.
    fn resync(&self, setup: &Setup, next: &mut Vec<Self>) {
        match &self.resync {
            Resync::Idle if self.resyncs < setup.resyncs => self.but(next, |world| {
                let running = |queue: &Queue| (queue.poll != Poll::Idle).then_some(queue.polls);
                world.resyncs += 1;
                world.resync = Resync::Wait {
                    entered: world.entered,
                    polls: [running(&world.queues[0]), running(&world.queues[1])],
                };
            }),
            Resync::Idle => {}
            Resync::Wait { entered, polls } => {
                let mut queues = self.queues.iter().zip(polls);
                let has_ended = queues.all(|(queue, running)| *running != Some(queue.polls));
                if has_ended || setup.broken == Some(Broken::NoGrace) {
                    let entered = *entered;
                    self.but(next, |world| world.resync = Resync::Drain { entered });
                }
            }
            // The core's part, in one of its rounds.
            Resync::Drain { entered } => {
                let is_drained = self.queues.iter().all(|queue| queue.ring.is_empty());
                if is_drained && self.opening.is_none() {
                    let lost = entered.saturating_sub(self.received);
                    self.but(next, |world| {
                        world.received += lost;
                        world.finished += lost;
                        world.resync = Resync::Idle;
                    });
                }
            }
        }
    }

    pub(super) fn check(&self, setup: &Setup) -> Result<(), String> {
        if self.overtook {
            return Err(format!("a frame overtook another: {self:?}"));
        }
        if setup.broken == Some(Broken::SaysWhenBothWereTaken) && self.both {
            return Err("both paths".into());
        }
        if self.after_pause > setup.budget * QUEUES as u8
            || (setup.frames[1] == 0 && self.after_pause > setup.budget)
        {
            return Err(format!("frames pass a pause: {self:?}"));
        }
        let is_told = self.control_ring.is_empty() && self.pausing == Pausing::Idle;
        if is_told && self.open && self.paused {
            return Err(format!("a pause is forgotten: {self:?}"));
        }
        if self.finished > self.entered && setup.broken.is_none() {
            return Err(format!("more have left than have come: {self:?}"));
        }
        Ok(())
    }

    pub(super) fn check_end(&self, setup: &Setup) -> Result<(), String> {
        let sent: u8 = setup.frames.iter().sum();
        let held = self.waiting.len() as u8;
        if self.arrived + self.lost + held != sent {
            return Err(format!("frames are missing: {self:?}"));
        }
        if held > 0 && !self.paused {
            return Err(format!("frames are stuck: {self:?}"));
        }
        Ok(())
    }
}
