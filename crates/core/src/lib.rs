//! `weir-core`: the Weir switch as a pure state machine.
//!
//! Nothing in this crate does I/O, reads a clock, starts a thread or uses the operating system's randomness. The caller
//! owns time (every call that needs it takes an [`Instant`]) and memory (a frame is a [`FrameHandle`] into the caller's
//! pool; its bytes never pass through here). The daemon drives one [`Switch`] from its AF_XDP loop, the simulator
//! drives thousands in virtual time; both run exactly this code.
//!
//! Two state machines share nothing but values:
//!
//! * [`Switch`], the dataplane: charging, pause, forwarding, scheduling, shaping,
//!   deadlock detection. See its documentation for the polling contract.
//! * [`control::ControlPlane`], the slow path: it sees only [`Event`]s and answers
//!   with [`Command`]s, so that a simulator can put latency and loss between the two.
//!
//! Design: docs/src/internals/design/core.md.
#![forbid(unsafe_code)]

/// Declares an enum of named values. The values, their names in JSON, metrics and configurations, and their meanings
/// come from one list. `(default)` after a name marks the default.
#[macro_export]
macro_rules! named {
    ($(
        $(#[$attribute:meta])*
        pub enum $type:ident {
            $($(#[doc = $meaning:literal])+ $value:ident => $name:literal $(($default:ident))?,)*
        }
    )*) => {$(
        $(#[$attribute])*
        pub enum $type {
            $($(#[doc = $meaning])+ $(#[$default])? $value,)*
        }

        impl $type {
            /// Number of values.
            pub const COUNT: usize = [$($name),*].len();

            /// All values, in the order of their declaration.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$value),*];

            /// All values with their names.
            pub const NAMED: [(&'static str, Self); Self::COUNT] = [$(($name, Self::$value)),*];

            /// The name in configurations, metrics, JSON and messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)*
                }
            }

            /// The meaning, from the documentation.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$value => concat!($($meaning),+).trim_ascii(),)*
                }
            }
        }
    )*};
}

pub mod command;
pub mod config;
pub mod control;
pub mod counters;
pub mod credit;
pub mod event;
pub mod frame;
pub mod level;
mod line_clock;
pub mod metric;
pub mod random;
mod sets;
pub mod switch;
#[cfg(feature = "testing")]
pub mod testing;
pub mod units;

pub mod wire;

pub use command::{Command, CommandError, RerouteBy, RerouteSelection};
pub use config::{
    Algorithm, Alpha, CableRoom, ClassConfig, ClassMode, ConfigError, FeedbackCoding, LevelRules,
    LifetimeConfig, MarkAt, ModeKind, Neighbour, PartsPerMillion, PauseRule, PfcThresholds, Police,
    PoolConfig, PoolShare, PortConfig, PortRole, RedConfig, RedError, SchedulerConfig, StormAction,
    SwitchConfig, Threshold, VlanMode, VlanPort, WatchdogConfig, XonNotBelowXoff,
};
pub use counters::{DropCounts, DropReason};
pub use credit::{
    CreditConfig, CreditFallback, CreditHints, CreditState, CreditTerms, CreditTimes,
};
pub use event::{Event, SuspicionReason};
pub use frame::{Admitted, Discarded, Form, Frame, FrameHandle, Tagged};
pub use level::{Budgets, Level};
pub use line_clock::LineClock;
pub use sets::vlans::{VlanId, VlanSet, VlanTag, VLAN_COUNT};
pub use sets::PortSet;
pub use switch::{Switch, Transmission};
pub use units::{
    BitRate, Bytes, Duration, Instant, MacAddress, PortId, Priority, Quanta, Spuid, PORT_COUNT_MAX,
};
