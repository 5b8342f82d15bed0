//! Acknowledgements (III-B a).

use crate::algebra::{Curve, CurveError, Element, Scalar, Tail};

/// D(t − ΔR): the amount that the source knows to have arrived.
pub fn acknowledgements<S: Scalar>(departures: &Curve<S>, feedback_delay: &S) -> Curve<S> {
    departures.delayed(feedback_delay)
}

/// I_max·⌊D(t − ΔR)/I_max⌋: one acknowledgement for each whole packet. Right-continuous where D grows, as the floor is.
pub fn packet_acknowledgements<S: Scalar>(
    departures: &Curve<S>,
    feedback_delay: &S,
    packet: &S,
) -> Result<Curve<S>, CurveError> {
    let whole_packets = Curve::new(
        vec![
            Element::Point {
                at: S::zero(),
                value: S::zero(),
            },
            Element::Segment {
                from: S::zero(),
                to: Some(packet.clone()),
                start: S::zero(),
                slope: S::zero(),
            },
        ],
        Tail::Periodic {
            from: S::zero(),
            period: packet.clone(),
            increment: packet.clone(),
        },
    )?;
    whole_packets.composed_with(&acknowledgements(departures, feedback_delay))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Exact, Extended};

    #[test]
    fn packets_are_acknowledged_when_they_are_whole() {
        let int = Exact::from;
        let departures = Curve::rate_function(int(3));
        let whole = packet_acknowledgements(&departures, &int(10), &int(12)).unwrap();
        for (t, acknowledged) in [
            (0, 0),
            (10, 0),
            (13, 0),
            (14, 12),
            (17, 12),
            (18, 24),
            (410, 1200),
        ] {
            assert_eq!(
                whole.at(&int(t)),
                Extended::Finite(int(acknowledged)),
                "{t}"
            );
        }
    }
}
