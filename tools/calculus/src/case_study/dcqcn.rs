//! DCQCN at the sender (section V, Tables I and II): the variable reduction factor, fast recovery, additive and hyper increase.
//!
//! Deviations from the printed paper:
//!
//! - The cut is printed R_C ← (1 − α)·R_C. With α = 1, as at the start, that is 0. The original (Zhu et al., SIGCOMM 2015) has
//!   (1 − α/2), which is the default here: [`Cut`].
//! - α starts at 1 in the text. The factor 0.75 of section V-B corresponds to an initial α of 0.5; with α = 1 the backlog of
//!   the case study never reaches X_off. The initial α is therefore a parameter.
//! - Implementations differ in lowering the target rate to the current one: NICs do so only after an increase unless "clamp
//!   target rate" is set. The text (R_T = R_C at every notification) is the default.
//! - Table I's hyper increase needs min{i_T, i_B} ≥ 5. With B = 10 MB and bursts of 10 MB, i_B never reaches 5, so the
//!   printed condition never holds in the case study; [`HyperIncrease::TimerAlone`] uses only i_T.

use crate::algebra::Scalar;
use crate::multiflow::control::RateControl;

/// Remainder of the rate after a notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// R_C·(1 − α/2), the original.
    #[default]
    HalfAlpha,
    /// R_C·(1 − α), as printed.
    Alpha,
}

/// Form of the hyper increase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HyperIncrease {
    /// None.
    Off,
    /// From min{i_T, i_B} ≥ 5 on, by (min{i_T, i_B} − 5)·R_HI: Table I.
    #[default]
    BothCounters,
    /// From i_T ≥ 5 on, by (i_T − 5)·R_HI.
    TimerAlone,
}

/// Parameters, in µs, kbit and Gbit/s.
#[derive(Clone, Debug, PartialEq)]
pub struct DcqcnParameters<S> {
    /// The first R_C and R_T, and their limit.
    pub line_rate: S,
    /// α at the start.
    pub initial_alpha: S,
    /// g.
    pub gain: S,
    /// K: α decays after each such interval without a notification.
    pub alpha_interval: S,
    /// T: i_T grows after each such interval without a notification.
    pub timer: S,
    /// B: i_B grows after each such amount sent without a notification.
    pub byte_counter: S,
    /// R_AI.
    pub additive_increase: S,
    /// R_HI.
    pub hyper_increase: S,
    /// Increments of a counter until fast recovery ends; 5 in the paper.
    pub recovery_steps: u32,
    /// The form of the cut.
    pub cut: Cut,
    /// The condition of hyper increase.
    pub hyper: HyperIncrease,
    /// True if every notification lowers R_T to R_C; otherwise only the first one after an increase does.
    pub clamp_target_rate: bool,
}

impl<S: Scalar> DcqcnParameters<S> {
    /// Returns Table II at 100 Gbit/s, with the given initial α.
    pub fn table_2(initial_alpha: S) -> Self {
        Self {
            line_rate: S::integer(100),
            initial_alpha,
            gain: S::ratio(1, 256),
            alpha_interval: S::integer(55),
            timer: S::integer(55),
            byte_counter: S::integer(80_000),
            additive_increase: S::ratio(5, 1_000),
            hyper_increase: S::ratio(50, 1_000),
            recovery_steps: 5,
            cut: Cut::default(),
            hyper: HyperIncrease::default(),
            clamp_target_rate: true,
        }
    }
}

/// A sender's state.
#[derive(Clone, Debug)]
pub struct Dcqcn<S> {
    parameters: DcqcnParameters<S>,
    /// R_C.
    current: S,
    /// R_T.
    target: S,
    alpha: S,
    /// i_T and i_B.
    timer_count: u32,
    byte_count: u32,
    next_alpha: S,
    next_timer: S,
    next_volume: S,
    increased: bool,
}

impl<S: Scalar> Dcqcn<S> {
    /// Creates a sender at line rate.
    pub fn new(parameters: DcqcnParameters<S>) -> Self {
        Self {
            current: parameters.line_rate.clone(),
            target: parameters.line_rate.clone(),
            alpha: parameters.initial_alpha.clone(),
            timer_count: 0,
            byte_count: 0,
            next_alpha: parameters.alpha_interval.clone(),
            next_timer: parameters.timer.clone(),
            next_volume: parameters.byte_counter.clone(),
            increased: true,
            parameters,
        }
    }

    /// Returns α.
    pub fn alpha(&self) -> &S {
        &self.alpha
    }

    /// Returns R_T.
    pub fn target(&self) -> &S {
        &self.target
    }

    /// Handles one increment of either counter.
    fn increase(&mut self) {
        let p = &self.parameters;
        let most = self.timer_count.max(self.byte_count);
        let hyper = match p.hyper {
            HyperIncrease::Off => None,
            HyperIncrease::BothCounters => Some(self.timer_count.min(self.byte_count)),
            HyperIncrease::TimerAlone => Some(self.timer_count),
        };
        let raised = match hyper {
            _ if most < p.recovery_steps => self.target.clone(),
            Some(count) if count >= p.recovery_steps => {
                let steps = S::integer(i64::from(count - p.recovery_steps));
                self.target.clone() + steps * &p.hyper_increase
            }
            _ => self.target.clone() + &p.additive_increase,
        };
        self.target = raised.lesser(p.line_rate.clone());
        self.current = (self.current.clone() + &self.target) / &S::integer(2);
        self.increased = true;
    }

    fn cut(&mut self, now: &S, admitted: &S) {
        let p = &self.parameters;
        if p.clamp_target_rate || self.increased {
            self.target = self.current.clone();
        }
        let factor = match p.cut {
            Cut::HalfAlpha => S::one() - self.alpha.clone() / &S::integer(2),
            Cut::Alpha => S::one() - &self.alpha,
        };
        self.current = self.current.clone() * &factor;
        self.alpha = self.alpha.clone() + p.gain.clone() * &(S::one() - &self.alpha);
        self.increased = false;
        (self.timer_count, self.byte_count) = (0, 0);
        self.next_alpha = now.clone() + &p.alpha_interval;
        self.next_timer = now.clone() + &p.timer;
        self.next_volume = admitted.clone() + &p.byte_counter;
    }
}

impl<S: Scalar> RateControl<S> for Dcqcn<S> {
    fn rate(&self) -> &S {
        &self.current
    }

    fn next_timer(&self) -> Option<S> {
        Some(self.next_alpha.clone().lesser(self.next_timer.clone()))
    }

    fn next_volume(&self) -> Option<S> {
        Some(self.next_volume.clone())
    }

    fn on_timer(&mut self, now: &S) {
        if self.next_alpha <= *now {
            self.alpha = (S::one() - &self.parameters.gain) * &self.alpha;
            self.next_alpha = self.next_alpha.clone() + &self.parameters.alpha_interval;
        }
        if self.next_timer <= *now {
            self.timer_count = self.timer_count.saturating_add(1);
            self.next_timer = self.next_timer.clone() + &self.parameters.timer;
            self.increase();
        }
    }

    fn on_volume(&mut self) {
        self.byte_count = self.byte_count.saturating_add(1);
        self.next_volume = self.next_volume.clone() + &self.parameters.byte_counter;
        self.increase();
    }

    fn on_notification(&mut self, now: &S, admitted: &S) {
        self.cut(now, admitted);
    }

    /// Go-Back-N slows down as after a notification.
    fn on_timeout(&mut self, now: &S, admitted: &S) {
        self.cut(now, admitted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Exact;

    fn sender(change: impl Fn(&mut DcqcnParameters<Exact>)) -> Dcqcn<Exact> {
        let mut parameters = DcqcnParameters::table_2(Exact::new(1, 2));
        change(&mut parameters);
        Dcqcn::new(parameters)
    }

    fn int(value: i64) -> Exact {
        Exact::from(value)
    }

    #[test]
    fn a_cut_is_three_quarters_for_alpha_one_half() {
        let mut dcqcn = sender(|_| {});
        dcqcn.on_notification(&int(10), &int(0));
        assert_eq!(*dcqcn.rate(), int(75));
        assert_eq!(*dcqcn.target(), int(100));
        assert_eq!(*dcqcn.alpha(), Exact::new(1, 2) + &Exact::new(1, 512));
        let mut printed = sender(|p| {
            p.cut = Cut::Alpha;
            p.initial_alpha = int(1);
        });
        printed.on_notification(&int(10), &int(0));
        assert!(printed.rate().is_zero(), "as printed nothing is left");
    }

    #[test]
    fn fast_recovery_halves_the_way_five_times_and_then_the_target_grows() {
        let mut dcqcn = sender(|p| p.hyper = HyperIncrease::Off);
        dcqcn.on_notification(&int(0), &int(0));
        let mut rates = Vec::new();
        for step in 1..=5 {
            dcqcn.on_timer(&int(55 * step));
            rates.push(dcqcn.rate().to_f64());
        }
        assert_eq!(rates, [87.5, 93.75, 96.875, 98.4375, 99.21875]);
        assert_eq!(*dcqcn.target(), int(100), "not above the line rate");
        let mut twice = sender(|p| p.hyper = HyperIncrease::Off);
        twice.on_notification(&int(0), &int(0));
        twice.on_notification(&int(50), &int(0));
        assert_eq!(*twice.target(), int(75));
        (1..=5).for_each(|step| twice.on_timer(&int(50 + 55 * step)));
        assert_eq!(*twice.target(), int(75) + &Exact::new(5, 1000));
    }

    #[test]
    fn without_clamping_the_target_stays_until_an_increase() {
        let mut dcqcn = sender(|p| p.clamp_target_rate = false);
        dcqcn.on_notification(&int(0), &int(0));
        dcqcn.on_notification(&int(50), &int(0));
        assert_eq!(*dcqcn.target(), int(100));
        dcqcn.on_timer(&int(105));
        let recovered = dcqcn.rate().clone();
        dcqcn.on_notification(&int(110), &int(0));
        assert_eq!(*dcqcn.target(), recovered);
    }

    #[test]
    fn hyper_increase_needs_both_counters_as_printed() {
        for (hyper, expected) in [
            (HyperIncrease::Off, 3 * 5),
            (HyperIncrease::BothCounters, 3 * 5),
            (HyperIncrease::TimerAlone, (1 + 2) * 50),
        ] {
            let mut dcqcn = sender(|p| p.hyper = hyper);
            dcqcn.on_notification(&int(0), &int(0));
            dcqcn.on_notification(&int(50), &int(0));
            (1..=7).for_each(|step| dcqcn.on_timer(&int(50 + 55 * step)));
            assert_eq!(
                *dcqcn.target(),
                int(75) + &Exact::new(expected, 1000),
                "{hyper:?}"
            );
        }
        let mut both = sender(|_| {});
        both.on_notification(&int(0), &int(0));
        both.on_notification(&int(50), &int(0));
        (1..=6).for_each(|_| both.on_volume());
        (1..=6).for_each(|step| both.on_timer(&int(50 + 55 * step)));
        // Two additive steps by bytes, four by time, one of 0 and one of 1 times R_HI.
        assert_eq!(
            *both.target(),
            int(75) + &Exact::new((2 + 4) * 5 + 50, 1000)
        );
    }
}
