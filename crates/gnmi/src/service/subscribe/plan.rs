//! Checked subscriptions of a client.

use std::time::Duration;

use crate::encode::Encoding;
use crate::limits::{INTERVAL_DEFAULT, INTERVAL_MAX, INTERVAL_MIN, PATHS_MAX};
use crate::models;
use crate::path::{self, Pattern};
use crate::refusal::Refusal;
use crate::service::get::{answered_prefix, check_in_a_module};
use crate::tree::Kind;
use crate::wire::{ListMode, Path, Subscription, SubscriptionList, SubscriptionMode};

/// All subscriptions of a call.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Common prefix of all answers.
    pub prefix: Path,
    /// Encoding of values.
    pub encoding: Encoding,
    /// Once, on request, or continuously.
    pub mode: ListMode,
    /// True if the initial state is not sent.
    pub updates_only: bool,
    /// All paths; a path whose counters are sent differently from the rest has two entries.
    pub parts: Vec<Part>,
}

/// One path, and the times of its updates.
#[derive(Clone, Debug)]
pub struct Part {
    /// The nodes.
    pub pattern: Pattern,
    /// The kinds of leaves.
    pub of: Of,
    /// True if only values that differ from the last ones are sent.
    pub changes_only: bool,
    /// True if the removal of a node is reported.
    pub tells_ends: bool,
    /// Time between two checks.
    pub interval: Duration,
    /// Time after which unchanged values are also sent.
    pub heartbeat: Option<Duration>,
}

/// Kinds of leaves of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// All.
    All,
    /// Leaves that change all the time.
    Counters,
    /// All others.
    Others,
}

impl Of {
    /// Returns true if leaves of this kind are selected.
    pub fn has(self, kind: Kind) -> bool {
        match self {
            Self::All => true,
            Self::Counters => kind == Kind::Counter,
            Self::Others => kind != Kind::Counter,
        }
    }
}

impl Plan {
    /// Parses a client's subscription.
    ///
    /// # Errors
    ///
    /// The subscription is invalid, or exceeds the limits.
    pub fn new(list: &SubscriptionList) -> Result<Self, Refusal> {
        models::check_used(&list.use_models)?;
        let encoding = Encoding::asked(list.encoding)?;
        let mode = ListMode::try_from(list.mode).map_err(|_| {
            Refusal::bad_request(format!(
                "no mode of subscriptions has the number {}; use STREAM, ONCE or POLL",
                list.mode
            ))
        })?;
        let count = list.subscription.len();
        if count == 0 {
            return Err(Refusal::bad_request("no subscription is in the list"));
        }
        if count > PATHS_MAX {
            return Err(Refusal::bad_request(format!(
                "{count} subscriptions; at most {PATHS_MAX} are accepted in one call"
            )));
        }
        let mut parts = Vec::new();
        for subscription in &list.subscription {
            add(&mut parts, mode, list.prefix.as_ref(), subscription)?;
        }
        Ok(Self {
            prefix: answered_prefix(list.prefix.as_ref()),
            encoding,
            mode,
            updates_only: list.updates_only,
            parts,
        })
    }
}

fn add(
    parts: &mut Vec<Part>,
    mode: ListMode,
    prefix: Option<&Path>,
    subscription: &Subscription,
) -> Result<(), Refusal> {
    let none = Path::default();
    let path = subscription.path.as_ref().unwrap_or(&none);
    let pattern = Pattern::new(prefix, path)?;
    let written = path::written(path).to_string();
    check_in_a_module(&pattern, &written)?;
    if mode != ListMode::Stream {
        parts.push(Part {
            pattern,
            of: Of::All,
            changes_only: false,
            tells_ends: false,
            interval: INTERVAL_MIN,
            heartbeat: None,
        });
        return Ok(());
    }
    let heartbeat = match subscription.heartbeat_interval {
        0 => None,
        nanos => Some(interval("heartbeat_interval", nanos, &written)?),
    };
    let sampled = |of, nanos: u64, default| {
        let interval = match nanos {
            0 => default,
            nanos => interval("sample_interval", nanos, &written)?,
        };
        Ok::<_, Refusal>(Part {
            pattern: pattern.clone(),
            of,
            changes_only: subscription.suppress_redundant,
            tells_ends: false,
            interval,
            heartbeat,
        })
    };
    let on_change = |of| Part {
        pattern: pattern.clone(),
        of,
        changes_only: true,
        tells_ends: true,
        interval: INTERVAL_MIN,
        heartbeat,
    };
    let nanos = subscription.sample_interval;
    match SubscriptionMode::try_from(subscription.mode) {
        Ok(SubscriptionMode::Sample) => parts.push(sampled(Of::All, nanos, INTERVAL_MIN)?),
        Ok(SubscriptionMode::OnChange) => parts.push(on_change(Of::All)),
        Ok(SubscriptionMode::TargetDefined) => {
            parts.push(on_change(Of::Others));
            parts.push(sampled(Of::Counters, nanos, INTERVAL_DEFAULT)?);
        }
        Err(_) => {
            return Err(Refusal::bad_request(format!(
                "{written}: no mode of a subscription has the number {}; use SAMPLE, ON_CHANGE or TARGET_DEFINED",
                subscription.mode
            )))
        }
    }
    Ok(())
}

fn interval(what: &str, nanos: u64, path: &str) -> Result<Duration, Refusal> {
    let interval = Duration::from_nanos(nanos);
    if (INTERVAL_MIN..=INTERVAL_MAX).contains(&interval) {
        return Ok(interval);
    }
    Err(Refusal::bad_request(format!(
        "{path}: {what} is {interval:?} ({nanos} ns); valid: {INTERVAL_MIN:?} to {INTERVAL_MAX:?}, and 0 for the default"
    )))
}
