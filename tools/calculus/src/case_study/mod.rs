//! The case study of section V: 31 senders of 100 Gbit/s each send a burst of 10 MB through one port of 100 Gbit/s.
//!
//! All numbers of the paper are defaults and can be changed. The paper leaves open:
//!
//! - X_off = 9.5 kB/port/Gbit/s and X_on = 9.25 kB/port/Gbit/s are counted over the 31 sending ports: 29.45 MB and 28.675 MB.
//! - The model's additive increase, α = R_AI = 5 Mbit/s, takes tens of milliseconds to regain the link's rate. The published
//!   picture, which regains 100 Gbit/s after 7 ms, needs about 50 Mbit/s, which is R_HI. [`Increase`] has both.
//! - RED between K_min and K_max is taken in expectation, see [`Between::Expected`], with packets of 1,000 bytes. (The paper
//!   states neither.)

pub mod dcqcn;

use dcqcn::{Dcqcn, DcqcnParameters};

use crate::algebra::{Curve, Scalar};
use crate::congestion::ecn::Red;
use crate::congestion::pfc::{Resume, Thresholds};
use crate::multiflow::control::{Aimd, FixedRate, RateControl};
use crate::multiflow::scenario::{
    Between, Discipline, Ecn, Marking, PauseScope, Pfc, Scenario, Source,
};

/// One of the paper's three network configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// PFC alone.
    Pfc,
    /// DCQCN and PFC.
    Dcqcn,
    /// DCQCN alone.
    DcqcnWithoutPfc,
}

impl Configuration {
    /// All three, in the paper's order.
    pub const ALL: [Self; 3] = [Self::Pfc, Self::Dcqcn, Self::DcqcnWithoutPfc];

    /// Returns the paper's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pfc => "PFC",
            Self::Dcqcn => "DCQCN",
            Self::DcqcnWithoutPfc => "DCQCN-noPFC",
        }
    }
}

/// The additive increase of the simplified model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Increase {
    /// 5 Mbit/s, as printed.
    #[default]
    AsPrinted,
    /// 50 Mbit/s, which reproduces the printed picture.
    AsPictured,
}

impl Increase {
    /// Returns the rate in Gbit/s.
    pub fn rate<S: Scalar>(self) -> S {
        match self {
            Self::AsPrinted => S::ratio(5, 1_000),
            Self::AsPictured => S::ratio(50, 1_000),
        }
    }
}

/// Reaction of senders to notifications.
#[derive(Clone, Debug, PartialEq)]
pub enum SenderModel<S> {
    /// Section V-B: a constant factor and an additive increase every Δτ_inc.
    Simplified {
        /// α in Gbit/s.
        increase: S,
        /// β.
        decrease: S,
        /// Δτ_inc.
        interval: S,
    },
    /// DCQCN with a variable factor, fast recovery and hyper increase.
    Full(DcqcnParameters<S>),
}

/// Parameters, in µs, kbit and Gbit/s.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseStudy<S> {
    /// Senders.
    pub senders: usize,
    /// Each sender's burst.
    pub burst: S,
    /// Each sender's rate, and the server's.
    pub line_rate: S,
    /// ΔR.
    pub feedback_delay: S,
    /// X_off and X_on.
    pub thresholds: Thresholds<S>,
    /// Interpretation of a pause's end.
    pub resume: Resume,
    /// K_min, K_max and P_max.
    pub red: Red<S>,
    /// Δτ_ecn.
    pub notification_gap: S,
    /// Marking from K_max on.
    pub marking: Marking,
    /// Marking below it.
    pub between: Between<S>,
    /// The senders.
    pub model: SenderModel<S>,
    /// τ_o.
    pub timeout: S,
    /// End of the run.
    pub end: S,
}

impl<S: Scalar> CaseStudy<S> {
    /// Creates the study with the paper's parameters, up to `end` µs.
    pub fn new(end: S) -> Self {
        let ports: i64 = 31;
        // kB/port/Gbit/s, counted over the sending ports at 100 Gbit/s each.
        let threshold =
            |kilobytes_hundredths: i64| S::ratio(kilobytes_hundredths * 8 * ports * 100, 100);
        Self {
            senders: 31,
            burst: megabytes(10),
            line_rate: S::integer(100),
            feedback_delay: S::integer(4),
            thresholds: Thresholds {
                xoff: threshold(950),
                xon: threshold(925),
            },
            resume: Resume::default(),
            red: Red {
                kmin: S::integer(5 * 8),
                kmax: S::integer(200 * 8),
                pmax: S::ratio(1, 100),
            },
            notification_gap: S::integer(50),
            marking: Marking::default(),
            between: Between::Expected {
                packet: S::integer(8),
                quantum: S::ratio(1, 1_000_000),
            },
            model: SenderModel::simplified(Increase::default()),
            timeout: S::integer(3_000),
            end,
        }
    }

    /// Replaces the senders' model.
    pub fn with_model(self, model: SenderModel<S>) -> Self {
        Self { model, ..self }
    }

    /// Returns the scenario of one configuration, for [`predict`](crate::multiflow::prediction::predict).
    pub fn scenario(&self, configuration: Configuration) -> Scenario<S> {
        let source = |port| Source {
            arrivals: Curve::step(self.burst.clone(), S::zero()),
            control: self.control(configuration),
            port,
            class: 0,
        };
        let pfc = Pfc {
            thresholds: self.thresholds.clone(),
            resume: self.resume,
            scope: PauseScope::AllPorts,
            delay: self.feedback_delay.clone(),
        };
        let ecn = Ecn {
            red: self.red.clone(),
            gap: self.notification_gap.clone(),
            marking: self.marking,
            between: self.between.clone(),
        };
        Scenario {
            rate: self.line_rate.clone(),
            feedback_delay: self.feedback_delay.clone(),
            sources: (0..self.senders).map(source).collect(),
            discipline: Discipline::Fifo,
            pfc: (configuration != Configuration::DcqcnWithoutPfc).then_some(pfc),
            ecn: (configuration != Configuration::Pfc).then_some(ecn),
            timeout: Some(self.timeout.clone()),
            end: self.end.clone(),
        }
    }

    fn control(&self, configuration: Configuration) -> Box<dyn RateControl<S>> {
        let line_rate = self.line_rate.clone();
        match &self.model {
            _ if configuration == Configuration::Pfc => Box::new(FixedRate(line_rate)),
            SenderModel::Simplified {
                increase,
                decrease,
                interval,
            } => Box::new(
                Aimd::new(
                    line_rate.clone(),
                    increase.clone(),
                    decrease.clone(),
                    interval.clone(),
                )
                .limited_to(line_rate),
            ),
            SenderModel::Full(parameters) => Box::new(Dcqcn::new(parameters.clone())),
        }
    }
}

impl<S: Scalar> SenderModel<S> {
    /// Returns the simplified model with β = 0.75 and Δτ_inc = 55 µs.
    pub fn simplified(increase: Increase) -> Self {
        Self::Simplified {
            increase: increase.rate(),
            decrease: S::ratio(3, 4),
            interval: S::integer(55),
        }
    }
}

/// Converts megabytes to kbit.
pub fn megabytes<S: Scalar>(megabytes: i64) -> S {
    S::integer(megabytes * 8_000)
}
