//! `weir-core`: the Weir switch as a pure state machine.
//!
//! Nothing in this crate does I/O, reads a clock, starts a thread or draws from
//! the operating system's randomness. The caller owns time (an [`Instant`] goes
//! into every call that needs one) and memory (a frame is a [`FrameHandle`] into
//! the caller's pool; its bytes never pass through here). The daemon drives one
//! [`Switch`] from its AF_XDP loop, the simulator drives thousands in virtual
//! time, and both run exactly this code.
//!
//! Two state machines live here and share nothing but values:
//!
//! * [`Switch`], the dataplane: charging, pause, forwarding, scheduling, shaping,
//!   deadlock detection. See its documentation for the polling contract.
//! * [`control::ControlPlane`], the slow path: it sees only [`Event`]s and answers
//!   with [`Command`]s, so that a simulator can put latency and loss between the two.
//!
//! Design: docs/src/internals/design/core.md.
#![forbid(unsafe_code)]

/// Declares an enum of a closed set of words: values, names in JSON, metrics and configurations, and meanings come of one
/// list. `(default)` behind a name marks the default.
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
            /// How many there are.
            pub const COUNT: usize = [$($name),*].len();

            /// All of them, in the order of their declaration.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$value),*];

            /// The same with their names.
            pub const NAMED: [(&'static str, Self); Self::COUNT] = [$(($name, Self::$value)),*];

            /// The name in configurations, metrics, JSON and messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)*
                }
            }

            /// What it means.
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
pub use credit::{CreditConfig, CreditFallback, CreditState, CreditTerms, CreditTimes};
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
