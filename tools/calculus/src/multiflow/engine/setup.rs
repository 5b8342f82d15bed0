//! Initial state of a computation: checked parameters, groups of sources that pause together, and arrivals as changes.

use crate::algebra::{Curve, CurveError, Element, Scalar};
use crate::multiflow::monitor::{Backlog, Level};
use crate::multiflow::prediction::PredictionError;
use crate::multiflow::scenario::{Between, PauseScope, Pfc, Scenario};
use crate::multiflow::trace::Trace;

/// Sources that pause together.
pub(super) struct Group<S> {
    pub port: usize,
    pub members: Vec<usize>,
    pub backlog: Backlog<S>,
    pub trace: Trace<S>,
    /// True if the receiver has sent them a pause.
    pub told: bool,
    /// True if B(t − ΔR) > X_off, for the formula.
    pub delayed_above: bool,
    pub paused: bool,
}

pub(super) fn check<S: Scalar>(scenario: &Scenario<S>) -> Result<(), PredictionError> {
    let wrong = |text| Err(PredictionError::Parameter(text));
    if !scenario.rate.is_positive() || !scenario.end.is_positive() {
        return wrong("the server's rate and the end must be positive");
    }
    if scenario.sources.is_empty() {
        return wrong("there must be a source");
    }
    if !scenario.feedback_delay.is_positive() {
        return wrong("the feedback delay must be positive");
    }
    if scenario
        .timeout
        .as_ref()
        .is_some_and(|timeout| *timeout <= scenario.feedback_delay)
    {
        return wrong("the timeout must be longer than the feedback delay");
    }
    if let Some(pfc) = &scenario.pfc {
        if !pfc.delay.is_positive() {
            return wrong("the delay of pauses must be positive");
        }
        if pfc.thresholds.xon >= pfc.thresholds.xoff || pfc.thresholds.xon.is_negative() {
            return wrong("X_on must be less than X_off and not negative");
        }
    }
    if let Some(ecn) = &scenario.ecn {
        if !ecn.gap.is_positive() {
            return wrong("the gap between notifications must be positive");
        }
        if ecn.red.kmin >= ecn.red.kmax || ecn.red.kmin.is_negative() {
            return wrong("K_min must be less than K_max and not negative");
        }
        if let Between::Expected { packet, quantum } = &ecn.between {
            if !packet.is_positive() || !quantum.is_positive() {
                return wrong("packet length and quantum of RED must be positive");
            }
        }
    }
    for source in &scenario.sources {
        source.arrivals.check_non_decreasing()?;
    }
    Ok(())
}

/// Returns the groups of sources that pause together, and the group of each source.
pub(super) fn groups<S: Scalar>(
    pfc: Option<&Pfc<S>>,
    ports: &[usize],
) -> (Vec<Group<S>>, Vec<usize>) {
    let port_of = |index: usize| match pfc.map(|pfc| pfc.scope) {
        Some(PauseScope::EachPort) => ports[index],
        _ => 0,
    };
    let mut keys: Vec<usize> = (0..ports.len()).map(port_of).collect();
    keys.sort_unstable();
    keys.dedup();
    let groups = keys.iter().map(|port| Group {
        port: *port,
        members: (0..ports.len())
            .filter(|index| port_of(*index) == *port)
            .collect(),
        backlog: match pfc {
            Some(pfc) => Backlog::new(
                Level::above(pfc.thresholds.xon.clone()),
                Level::above(pfc.thresholds.xoff.clone()),
            ),
            None => unwatched(),
        },
        trace: Trace::new(S::zero()),
        told: false,
        delayed_above: false,
        paused: false,
    });
    let index_of = |port: usize| keys.partition_point(|key| *key < port);
    let group_of = (0..ports.len())
        .map(|index| index_of(port_of(index)))
        .collect();
    (groups.collect(), group_of)
}

pub(super) fn unwatched<S: Scalar>() -> Backlog<S> {
    Backlog::new(Level::above(S::zero()), Level::above(S::zero()))
}

/// Returns the changes of a cumulative function: time, jump and slope from then on.
pub(super) fn changes<S: Scalar>(
    arrivals: &Curve<S>,
    end: &S,
) -> Result<Vec<(S, S, S)>, CurveError> {
    let mut out = Vec::new();
    let mut value = S::zero();
    for element in arrivals.graph(end)? {
        if let Element::Segment {
            from, start, slope, ..
        } = &element
        {
            out.push((from.clone(), start.clone() - &value, slope.clone()));
        }
        value = element.end().ok_or(CurveError::Infinite)?;
    }
    Ok(out)
}
