//! Loads to measure.

/// Modes of the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Drops frames.
    Lossy,
    /// Pauses its neighbours.
    Pfc,
    /// Protocol P with D = 4, towards enhanced neighbours.
    Level,
}

/// A switch and its load: bursts of frames from random ports to random destinations, one class, 1500 B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The class's mode.
    pub mode: Mode,
    /// Number of ports, at least 2.
    pub ports: usize,
    /// Destinations, each behind one port.
    pub destinations: usize,
    /// Frames that are always waiting in the switch.
    pub standing: usize,
    /// Concurrent events.
    pub beside: Beside,
}

/// Events that happen while frames come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// The class marks arrivals by RED: some frames wait above kmin.
    Marking,
    /// With each burst every neighbour pauses and resumes, and ingress buffers cross xoff and xon.
    Pauses,
    /// Half of the ports lead to hosts; every second frame finds one from a host before it and lifts its destination. For
    /// mode [`Mode::Level`].
    Lifts,
}

impl Case {
    /// 32 ports and 1,024 destinations, no waiting frames, no other events.
    pub const fn usual(mode: Mode) -> Self {
        Self {
            mode,
            ports: 32,
            destinations: 1024,
            standing: 0,
            beside: Beside::Nothing,
        }
    }

    /// Sets other sizes.
    #[must_use]
    pub const fn sized(self, ports: usize, destinations: usize) -> Self {
        Self {
            ports,
            destinations,
            ..self
        }
    }

    /// Sets the number of waiting frames.
    #[must_use]
    pub const fn with_standing(self, standing: usize) -> Self {
        Self { standing, ..self }
    }

    /// Adds concurrent events.
    #[must_use]
    pub const fn with(self, beside: Beside) -> Self {
        Self { beside, ..self }
    }
}

/// The cases whose instructions are guarded, by name.
pub const GUARDED: [(&str, Case); 10] = [
    ("lossy", Case::usual(Mode::Lossy)),
    ("pfc-few-flows", Case::usual(Mode::Pfc).sized(4, 4)),
    ("pfc", Case::usual(Mode::Pfc)),
    ("level", Case::usual(Mode::Level)),
    ("pfc-256-ports", Case::usual(Mode::Pfc).sized(256, 1024)),
    (
        "pfc-65536-destinations",
        Case::usual(Mode::Pfc).sized(32, 65_536),
    ),
    ("pfc-standing", Case::usual(Mode::Pfc).with_standing(4096)),
    (
        "pfc-marking",
        Case::usual(Mode::Pfc)
            .with_standing(1024)
            .with(Beside::Marking),
    ),
    ("pfc-pauses", Case::usual(Mode::Pfc).with(Beside::Pauses)),
    ("level-lifts", Case::usual(Mode::Level).with(Beside::Lifts)),
];
