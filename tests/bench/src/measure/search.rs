//! Throughput as RFC 2544 defines it (section 26.1): the highest rate at which no frame is lost, by bisection.

/// Result of a trial at a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// Frames sent per second.
    pub offered: f64,
    /// Frames per second that arrived.
    pub goodput: f64,
    /// Frames that did not arrive.
    pub lost: u64,
}

/// The highest rate found without loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lossless {
    /// Frames per second; zero if every trial lost frames.
    pub rate: f64,
    /// True if nothing was lost at the sender's maximum rate: the limit is the sender's, not the switch's.
    pub is_sender_bound: bool,
    /// Number of trials.
    pub trials: u32,
}

/// Number of trials at one rate, one of which must be without loss: the machine may have been busy for a moment.
const ATTEMPTS: u32 = 3;

/// Searches with `steps` bisections below the maximum rate, or twice what arrived of it: a switch may have paused the
/// sender. `attempt` makes a trial at the given rate, or as fast as possible; one that lost frames is repeated, up to
/// `ATTEMPTS` times in all.
///
/// The final interval is 2^`steps` times shorter than the first.
///
/// # Errors
///
/// Those of `attempt`.
pub fn search<E>(
    steps: u32,
    mut attempt: impl FnMut(Option<f64>) -> Result<Tried, E>,
) -> Result<Lossless, E> {
    let mut trials = 0;
    let mut patiently = |rate| -> Result<Tried, E> {
        for _ in 1..ATTEMPTS {
            trials += 1;
            let tried = attempt(rate)?;
            if tried.lost == 0 {
                return Ok(tried);
            }
        }
        trials += 1;
        attempt(rate)
    };
    let fastest = patiently(None)?;
    if fastest.lost == 0 {
        return Ok(Lossless {
            rate: fastest.offered,
            is_sender_bound: true,
            trials,
        });
    }
    let (mut low, mut high) = (0.0, fastest.offered.max(2.0 * fastest.goodput));
    for _ in 0..steps {
        let middle = 0.5 * (low + high);
        let tried = patiently(Some(middle))?;
        if tried.lost == 0 {
            // the rate actually sent, if the sender was slower
            low = f64::max(low, tried.offered.min(middle));
        } else {
            high = middle;
        }
    }
    Ok(Lossless {
        rate: low,
        is_sender_bound: false,
        trials,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    const FASTEST: f64 = 2e6;

    /// Searches with a switch of this `capacity`, and a machine that is busy in every trial for which `noise` is true.
    fn found(capacity: f64, steps: u32, mut noise: impl FnMut() -> bool) -> Lossless {
        let attempt = |rate: Option<f64>| -> Result<Tried, Infallible> {
            let offered = rate.unwrap_or(FASTEST).min(FASTEST);
            let goodput = offered.min(capacity);
            Ok(Tried {
                offered,
                goodput,
                lost: (offered - goodput).ceil() as u64 + u64::from(noise()),
            })
        };
        let Ok(lossless) = search(steps, attempt);
        lossless
    }

    proptest! {
        #[test]
        fn the_rate_is_just_below_what_the_switch_carries(capacity in 1.0..1.9e6f64, steps in 1u32..12) {
            let lossless = found(capacity, steps, || false);
            prop_assert!(!lossless.is_sender_bound);
            prop_assert!(lossless.rate <= capacity);
            let interval = FASTEST.max(2.0 * capacity);
            prop_assert!(capacity - lossless.rate <= interval / f64::from(1 << steps));
        }

        #[test]
        fn two_losses_that_do_not_come_again_change_nothing(capacity in 1.0..1.9e6f64) {
            let mut count = 0;
            let two_of_three = || { count += 1; count % 3 != 0 };
            prop_assert_eq!(found(capacity, 6, two_of_three).rate, found(capacity, 6, || false).rate);
        }
    }

    #[test]
    fn a_switch_that_is_faster_than_the_sender_is_said_to_be() {
        let lossless = found(3e6, 6, || false);
        assert_eq!(
            (lossless.rate, lossless.is_sender_bound, lossless.trials),
            (FASTEST, true, 1)
        );
    }

    #[test]
    fn a_switch_that_always_loses_carries_nothing() {
        assert_eq!(found(3e6, 6, || true).rate, 0.0);
    }
}
