//! Meanings of colours in all of Weir's output: one meaning has one colour in pictures, on the live
//! page, in the terminal and in Grafana.
//!
//! The live page's style sheet has these as its first variables, of the same names; a test compares
//! them.

/// A colour with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// Meaning, as the name of a variable of a style sheet.
    pub name: &'static str,
    /// On light paper.
    pub light: &'static str,
    /// On dark paper.
    pub dark: &'static str,
    /// The nearest of a terminal's sixteen colours, by its number (ECMA-48 and its bright half):
    /// the terminal's own theme determines its look.
    pub terminal: u8,
}

/// An egress with frames to send sends none: a deadlock is suspected. Also: what the switch is there for does not hold.
pub const SUSPECTED: Meaning = Meaning {
    name: "suspected",
    light: "#b00000",
    dark: "#ff6b6b",
    terminal: 1,
};
/// The neighbour pauses us.
pub const PAUSED: Meaning = Meaning {
    name: "paused",
    light: "#d55e00",
    dark: "#ff8c42",
    terminal: 3,
};
/// We pause the neighbour.
pub const PAUSING: Meaning = Meaning {
    name: "pausing",
    light: "#0072b2",
    dark: "#56b4e9",
    terminal: 12,
};
/// A release is in force.
pub const RELEASE: Meaning = Meaning {
    name: "release",
    light: "#009e73",
    dark: "#2fd0a0",
    terminal: 2,
};
/// Losses or stalls that are handled.
pub const DEGRADED: Meaning = Meaning {
    name: "degraded",
    light: "#b07900",
    dark: "#f0b429",
    terminal: 11,
};
/// Nothing is wrong.
pub const WELL: Meaning = Meaning {
    name: "well",
    light: "#00704a",
    dark: "#2fd0a0",
    terminal: 10,
};

/// All of them.
pub const MEANINGS: [Meaning; 6] = [SUSPECTED, PAUSED, PAUSING, RELEASE, DEGRADED, WELL];
