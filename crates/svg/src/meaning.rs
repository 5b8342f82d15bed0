//! Meanings of colours in all of Weir's output: one meaning has one colour in pictures, on the live page, in the
//! terminal and in Grafana.
//!
//! The live page's style sheet starts with variables of the same names and values; a test compares them.

/// A colour with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// Its name, which is that of a style sheet's variable.
    pub name: &'static str,
    /// On light paper.
    pub light: &'static str,
    /// On dark paper.
    pub dark: &'static str,
    /// The nearest of a terminal's sixteen colours, by its number (ECMA-48 and its bright half): the terminal's own
    /// theme determines its look.
    pub terminal: u8,
}

/// An egress with waiting frames sends none: a deadlock is suspected. Also: the switch does not fulfil its purpose.
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

/// All meanings.
pub const MEANINGS: [Meaning; 6] = [SUSPECTED, PAUSED, PAUSING, RELEASE, DEGRADED, WELL];
