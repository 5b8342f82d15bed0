//! Figure 5 as a text table.

use std::fmt::Write as _;

use weir_core::{Duration, Instant};
use weir_results::quantity::{amount, rate, setting as span};
use weir_results::table::grid;

use super::laws::LOCK_FACTOR_DERIVED;
use super::{Figure5, RingRun};
use crate::reproduce::picture::seconds;

pub(super) fn text(figure: &Figure5) -> String {
    let mut out =
        String::from("CLCM paper, Figure 5: the ring of Figure 4 locks and is rerouted\n\n");
    out.push_str(&parameters(figure));
    out.push('\n');
    out.push_str(&moments(figure));
    out.push('\n');
    out.push_str(&locks(figure));
    out.push('\n');
    out.push_str(&reroutes(figure));
    out.push('\n');
    out.push_str(&seeds(figure));
    out.push('\n');
    out.push_str(&first_steps(figure));
    out
}

fn parameters(figure: &Figure5) -> String {
    let setting = &figure.breaker.setting;
    format!(
        "Chosen, since the paper does not state them: links {}, {} each way; X_off {}, X_on 7/8 of it, headroom {};\n\
         detection time {}, CLCM every {}, control CPU {} away each way; {} forced out first; frames of 1500 B.\n",
        rate(setting.rate.get() as f64),
        span(setting.delay.as_secs_f64()),
        amount(setting.xoff.get() as f64),
        amount(setting.headroom().get() as f64),
        span(setting.detect.as_secs_f64()),
        span(setting.clcm_interval.as_secs_f64()),
        span(setting.control_latency.as_secs_f64()),
        amount(setting.traffic_release.get() as f64),
    )
}

fn micros(at: Option<Instant>) -> String {
    at.map_or_else(
        || "–".to_owned(),
        |at| format!("{:.1} µs", seconds(at) * 1e6),
    )
}

fn moments(figure: &Figure5) -> String {
    let of = |what: &str, paper: &str, value: &dyn Fn(&RingRun) -> String| {
        vec![
            what.to_owned(),
            paper.to_owned(),
            value(&figure.plain),
            value(&figure.breaker),
        ]
    };
    let total = |run: &RingRun, count: fn(&weir_api::run::FlowResult) -> u64| {
        run.seen
            .result
            .flows
            .iter()
            .map(count)
            .sum::<u64>()
            .to_string()
    };
    let rows = vec![
        of("loop locks", "80 µs", &|run| micros(run.moments().locked)),
        of("first port suspected", "–", &|run| {
            micros(run.moments().first_suspected)
        }),
        of("last port suspected", "–", &|run| {
            micros(run.moments().all_suspected)
        }),
        of("master elected", "–", &|run| {
            micros(run.moments().elected.map(|(_, at)| at))
        }),
        of("flows rerouted", "120 µs", &|run| {
            micros(run.moments().rerouted)
        }),
        of("loop moves again", "after that", &|run| {
            micros(run.moments().moved_again)
        }),
        of(
            "masters",
            "one (switch 23)",
            &|run| match run.seen.result.masters.as_slice() {
                [] => "none".to_owned(),
                masters => masters.join(", "),
            },
        ),
        of("standstills", "one", &|run| {
            run.seen.standstills.len().to_string()
        }),
        of("flows moved", "–", &|run| {
            run.seen.result.flows_moved.to_string()
        }),
        of("frames forced out", "some", &|run| {
            run.seen.forced_frames.to_string()
        }),
        of("frames delivered", "–", &|run| {
            total(run, |flow| flow.received)
        }),
        of("frames lost", "–", &|run| total(run, |flow| flow.lost)),
        of("frames reordered", "–", &|run| {
            total(run, |flow| flow.reordered)
        }),
        of("all flows, last third", "recovers", &|run| {
            rate(run.sum(|flow| flow.bits_per_second_last_third))
        }),
    ];
    grid(&["", "paper", "plain PFC", "Loop Breaker"], &rows)
}

fn locks(figure: &Figure5) -> String {
    let rows: Vec<Vec<String>> = figure
        .locks
        .iter()
        .map(|point| {
            let micros = |time: Duration| format!("{:.2} µs", time.as_secs_f64() * 1e6);
            vec![
                rate(point.setting.rate.get() as f64),
                amount(point.setting.xoff.get() as f64),
                micros(point.setting.xoff_time()),
                micros(point.setting.round_trip()),
                micros(point.locked),
                if point.is_in_range() {
                    format!("{:.1}", point.factor())
                } else {
                    format!("({:.1})", point.factor())
                },
            ]
        })
        .collect();
    let law = &figure.lock_law;
    let mut out = String::from("Time to lock T, by rate and X_off\n\n");
    out.push_str(&grid(
        &["rate", "X_off", "X = X_off ÷ rate", "R", "T", "T ÷ X"],
        &rows,
    ));
    let _ = writeln!(
        out,
        "\nLaw: T = {LOCK_FACTOR_DERIVED} X where X is at least 2 R, with R the round trip of a pause (two delays, two frames).\n\
         Runs: {:.1} X on the mean, {:.1} to {:.1}. In brackets: out of the law's range.",
        law.factor, law.least, law.most
    );
    out
}

fn reroutes(figure: &Figure5) -> String {
    let time = |time: Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
    let rows: Vec<Vec<String>> = figure
        .reroutes
        .iter()
        .map(|point| {
            let [earliest, latest] = point.bounds();
            vec![
                span(point.setting.detect.as_secs_f64()),
                match point.setting.control_latency.as_nanos() {
                    0 => "0".to_owned(),
                    nanos => span(nanos as f64 * 1e-9),
                },
                time(point.suspected),
                time(point.rerouted),
                format!("{} to {}", time(earliest), time(latest)),
            ]
        })
        .collect();
    let mut out =
        String::from("From the lock to the reroute, by detection time t and control latency L\n\n");
    out.push_str(&grid(
        &["t", "L", "last port suspected", "flows rerouted", "law"],
        &rows,
    ));
    out.push_str(
        "\nLaw: t + 12 L + 4 d at the earliest (d: propagation delay), t/8 and one CLCM interval later at the latest.\n",
    );
    out
}

fn seeds(figure: &Figure5) -> String {
    let rows: Vec<Vec<String>> = figure
        .seeds
        .iter()
        .map(|run| {
            let result = &run.seen.result;
            vec![
                run.seed.to_string(),
                result.masters.join(", "),
                micros(run.moments().locked),
                micros(run.moments().rerouted),
                result.flows_moved.to_string(),
                run.seen.standstills.len().to_string(),
                result
                    .flows
                    .iter()
                    .map(|flow| flow.lost)
                    .sum::<u64>()
                    .to_string(),
                rate(run.sum(|flow| flow.bits_per_second_last_third)),
            ]
        })
        .collect();
    let mut out = String::from("The same ring with other seeds: SPUIDs decide who is elected\n\n");
    out.push_str(&grid(
        &[
            "seed",
            "masters",
            "locked",
            "rerouted",
            "flows moved",
            "standstills",
            "lost",
            "last third",
        ],
        &rows,
    ));
    out
}

fn first_steps(figure: &Figure5) -> String {
    let rows: Vec<Vec<String>> = figure
        .first_steps
        .chunk_by(|a, b| a.setting.traffic_release == b.setting.traffic_release)
        .map(|runs| {
            let again = runs.iter().filter(|run| run.seen.standstills.len() > 1);
            let lost = runs.iter().flat_map(|run| &run.seen.result.flows);
            let step = runs
                .first()
                .map_or(0, |run| run.setting.traffic_release.get());
            vec![
                format!("{step} B"),
                runs.len().to_string(),
                again.count().to_string(),
                lost.map(|flow| flow.lost).sum::<u64>().to_string(),
            ]
        })
        .collect();
    let mut out = String::from("What is forced out first, with the same seeds\n\n");
    out.push_str(&grid(
        &["first step", "runs", "locked again", "frames lost"],
        &rows,
    ));
    out
}
