//! Compares the calculus paper's model with the simulator: the burst of section V, computed and run packet by packet.
//!
//! The model begins when the first frame is at the switch, and its lines have the rate left for bytes of frames. Its
//! notifications come every 52.4 µs, as in the simulation: the first marked frame after T_gap is up to a round of 31 late.

use weir_calculus::algebra::Extended;
use weir_calculus::case_study::dcqcn::{Cut, DcqcnParameters, HyperIncrease};
use weir_calculus::case_study::{CaseStudy, Configuration as Model, SenderModel};
use weir_calculus::multiflow::prediction::predict;
use weir_core::Duration;
use weir_sim::reproduce::calculus::{trace, Configuration, Setting};

const END_MICROS: u64 = 1_000;
/// Propagation delay plus the first frame's time on its line.
const FIRST_FRAME_MICROS: f64 = 1.084;
const NOTIFICATION_GAP_MICROS: f64 = 52.4;

/// Returns by microsecond the backlog of the simulation divided by that of the model, minus one.
fn errors(index: usize, model: Model) -> Vec<(u64, f64)> {
    let configuration = Configuration::of_figure(Setting::NEAREST)[index];
    let run = trace(configuration, Duration::from_micros(END_MICROS)).expect("a run");
    let line_rate = run.capacity_bps / 1e9;
    let mut study = CaseStudy::<f64>::new(END_MICROS as f64);
    study.line_rate = line_rate;
    study.notification_gap = NOTIFICATION_GAP_MICROS;
    let study = study.with_model(SenderModel::Full(DcqcnParameters {
        line_rate,
        clamp_target_rate: false,
        cut: Cut::default(),
        hyper: HyperIncrease::default(),
        ..DcqcnParameters::table_2(0.5)
    }));
    let prediction = predict(study.scenario(model)).expect("a prediction");
    (2..END_MICROS - 1)
        .map(|micros| {
            let Extended::Finite(kbit) =
                prediction.backlog.at(&(micros as f64 - FIRST_FRAME_MICROS))
            else {
                panic!("a backlog without bound at {micros} µs");
            };
            let predicted = kbit * 125.0;
            let seen = run.backlog[micros as usize - 1] as f64;
            (micros, seen / predicted - 1.0)
        })
        .collect()
}

fn assert_within(errors: &[(u64, f64)], from: u64, to: u64, limit: f64) {
    let worst = errors
        .iter()
        .filter(|(micros, _)| (from..to).contains(micros))
        .max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    let (at, error) = worst.expect("some samples");
    println!("{from} to {to} µs: at most {error:+.4}, at {at} µs");
    assert!(
        error.abs() <= limit,
        "{error:+.4} at {at} µs, more than {limit}"
    );
}

#[test]
fn backlog_under_pfc_is_what_the_model_says() {
    let errors = errors(0, Model::Pfc);
    // Until the first pause.
    assert_within(&errors, 2, 78, 0.01);
    // Then the sawtooth curves drift apart: X_on and X_off are 2.6 % apart, and the model pauses all ports at once.
    assert_within(&errors, 78, END_MICROS, 0.055);
}

#[test]
fn backlog_under_dcqcn_is_what_the_model_says() {
    for (index, model) in [(1, Model::Dcqcn), (2, Model::DcqcnWithoutPfc)] {
        let errors = errors(index, model);
        // Until the first cut.
        assert_within(&errors, 2, 5, 0.01);
        // The model's senders all cut at once, those of the simulation one after another, from 5 to 8 µs.
        assert_within(&errors, 5, 20, 0.07);
        assert_within(&errors, 20, END_MICROS, 0.05);
    }
}
