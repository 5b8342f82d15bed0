//! `switchctl plan buffers`: the buffer that a link needs for full rate, with credits and with PFC.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use weir_calculus::figures::{Axis, Curves, Panel, Series};
use weir_config::switch::headroom::{Charging, Feedback, Link};
use weir_config::switch::reaction_of_station;
use weir_config::units::format_duration;
use weir_core::units::LINE_OVERHEAD;
use weir_core::{BitRate, Bytes, CreditTerms, Duration};
use weir_output::{table, Output};

use crate::reproduce::write_file;

const GBIT: [u64; 4] = [1, 10, 100, 400];
const DELAYS: [Duration; 4] = [
    Duration::from_micros(10),
    Duration::from_micros(100),
    Duration::from_millis(1),
    Duration::from_millis(10),
];
/// The defaults of a switch.
const CHARGING: Charging = Charging {
    cell: Bytes::new(256),
    frame_length_max: Bytes::new(1522),
};
const CREDIT_SIZE: u16 = 2_048;
/// Frames that must have the full rate. Frames of any length must not be lost.
const FRAME: Bytes = Bytes::new(1_500);
const FILE: &str = "credits-buffers.svg";

#[derive(Debug, Serialize)]
struct Buffers {
    svg: PathBuf,
    links: Vec<Needs>,
}

/// Buffer needed by one class of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Needs {
    /// Rate of the link.
    gbps: u64,
    /// Propagation delay, one way.
    delay_seconds: f64,
    /// `credit-limit`.
    pub(crate) credit_limit_bytes: u64,
    /// `xoff` and `headroom`, for frames of any length.
    pub(crate) pfc_bytes: u64,
    /// The same, if all frames are as long as those that must have the full rate.
    pub(crate) pfc_known_frames_bytes: u64,
}

impl Needs {
    /// Computes the needs of a link whose stations react as slowly as the standard permits.
    pub(crate) fn of(gbit: u64, delay: Duration) -> Result<Self> {
        let rate = BitRate::from_mbit(gbit * 1_000);
        let link = Link {
            rate,
            feedback: Feedback::Parts {
                delay,
                reaction: reaction_of_station(rate),
            },
            overshoot: Bytes::ZERO,
        };
        let xoff = xoff(link);
        let pfc = |lengths: &[Bytes]| (xoff + link.headroom_needed(CHARGING, xoff, lengths)).get();
        Ok(Self {
            gbps: gbit,
            delay_seconds: delay.as_secs_f64(),
            credit_limit_bytes: credit_limit(link)?.get(),
            pfc_bytes: pfc(&CHARGING.worst_frames()),
            pfc_known_frames_bytes: pfc(&[FRAME]),
        })
    }
}

/// Returns the lowest xoff at which the buffer does not run dry after XON: the bytes that leave until frames arrive
/// again, and the frame that reaches it.
fn xoff(link: Link) -> Bytes {
    let drained = link.rate.bytes_in(link.feedback_delay(FRAME)).get();
    let frames = drained.div_ceil((FRAME + LINE_OVERHEAD).get());
    Bytes::new((frames + 1) * CHARGING.charged(FRAME).get())
}

/// Returns the lowest limit that never stops the sender. It covers the credits of frames sent until those of the first
/// one have returned, of a frame that waits for them, and those that the receiver collects for one message.
fn credit_limit(link: Link) -> Result<Bytes> {
    let on_line = FRAME + LINE_OVERHEAD;
    // As for XOFF, and the frame leaves the buffer before its credits return.
    let round_trip = link.on_line_after_xoff(CHARGING, FRAME) + on_line;
    let frames = round_trip.get().div_ceil(on_line.get()) + 1;
    let terms = |limit: u32| {
        let terms = CreditTerms::new(CREDIT_SIZE, 0, limit);
        terms.context("the link needs more credits than the maximum")
    };
    let cost = terms(1)?.cost(FRAME);
    let used = u32::try_from(frames)?.saturating_mul(cost);
    let mut limit = used;
    loop {
        let needed = used.saturating_add(terms(limit)?.spacing(None));
        if needed <= limit {
            return Ok(Bytes::new(u64::from(limit) * u64::from(CREDIT_SIZE)));
        }
        limit = needed;
    }
}

/// Prints the table and writes the picture.
pub fn run(folder: &Path, output: &Output) -> Result<()> {
    let mut links = Vec::new();
    for gbit in GBIT {
        for delay in DELAYS {
            links.push(Needs::of(gbit, delay)?);
        }
    }
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let svg = folder.join(FILE);
    let curves = curves()?;
    write_file(&svg, |out| curves.write_svg(out))?;
    output.print(&Buffers { svg, links }, text)
}

fn text(buffers: &Buffers) -> String {
    let size = |bytes: u64| match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    };
    let rows = buffers.links.iter().map(|needs| {
        let nanos = (needs.delay_seconds * 1e9).round() as u64;
        vec![
            format!("{} Gbit/s", needs.gbps),
            format_duration(Duration::from_nanos(nanos)),
            size(needs.credit_limit_bytes),
            size(needs.pfc_bytes),
            size(needs.pfc_known_frames_bytes),
        ]
    });
    format!(
        "{}\n{}\n",
        table(
            &[
                "rate",
                "delay",
                ">credits",
                ">PFC, any frames",
                ">PFC, 1500 B"
            ],
            rows
        ),
        buffers.svg.display()
    )
}

fn curves() -> Result<Curves> {
    let panels = [
        panel(
            "10 Gbit/s, short",
            10,
            Duration::from_micros(100),
            ("µs", 1e6),
            ("kB", 1e3),
        ),
        panel(
            "400 Gbit/s, long",
            400,
            Duration::from_millis(10),
            ("ms", 1e3),
            ("MB", 1e6),
        ),
    ];
    Ok(Curves {
        name: "credits-buffers".into(),
        title: "Buffer for full rate with frames of 1,500 B".into(),
        rows: vec![panels.into_iter().collect::<Result<_>>()?],
    })
}

fn panel(
    title: &str,
    gbit: u64,
    longest: Duration,
    (time, per_second): (&'static str, f64),
    (amount, bytes): (&'static str, f64),
) -> Result<Panel> {
    const POINTS: u64 = 50;
    let needs: Vec<Needs> = (1..=POINTS)
        .map(|point| {
            Needs::of(
                gbit,
                Duration::from_nanos(longest.as_nanos() * point / POINTS),
            )
        })
        .collect::<Result<_>>()?;
    let series = |name: &str, value: fn(&Needs) -> u64| Series {
        name: name.into(),
        points: needs
            .iter()
            .map(|needs| {
                (
                    needs.delay_seconds * per_second,
                    value(needs) as f64 / bytes,
                )
            })
            .collect(),
    };
    Ok(Panel {
        title: title.into(),
        x: Axis {
            label: "delay, one way",
            unit: time,
        },
        y: Axis {
            label: "buffer",
            unit: amount,
        },
        series: vec![
            series("PFC, frames of any length", |needs| needs.pfc_bytes),
            series("PFC, frames of 1,500 B only", |needs| {
                needs.pfc_known_frames_bytes
            }),
            series("credits", |needs| needs.credit_limit_bytes),
        ],
        levels: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use weir_config::scenario::Scenario;
    use weir_core::Instant;
    use weir_sim::network::Network;

    use super::*;

    #[test]
    fn credits_never_need_more_than_pfc_with_its_headroom() {
        for gbit in [1, 2, 5, 10, 25, 40, 50, 100, 200, 400] {
            for step in 0..=60 {
                // 10 µs to 10 ms.
                let nanos = 10_000.0 * 10f64.powf(f64::from(step) / 20.0);
                let needs = Needs::of(gbit, Duration::from_nanos(nanos as u64)).unwrap();
                assert!(needs.credit_limit_bytes <= needs.pfc_bytes, "{needs:?}");
                let is_long = gbit as f64 * nanos >= 1e6;
                let known = needs.pfc_known_frames_bytes;
                assert!(!is_long || needs.credit_limit_bytes <= known, "{needs:?}");
            }
        }
    }

    #[test]
    fn the_books_picture_is_what_the_command_draws() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/internals/design");
        let drawn = std::fs::read_to_string(path.join(FILE)).unwrap();
        let mut svg = Vec::new();
        curves().unwrap().write_svg(&mut svg).unwrap();
        assert!(
            drawn.as_bytes() == svg,
            "run `switchctl plan buffers` in {path:?}"
        );
    }

    /// Frames that arrive over a link with credits for `limit`.
    fn arrived(gbit: u64, delay: Duration, limit: u64) -> u64 {
        let text = format!(
            r#"
name = "link"
duration = "1s"
[link-defaults]
rate = "{gbit}Gbit"
delay = "0s"
[[class]]
name = "lossless"
priority = 3
mode = "credit"
credit-limit = "{limit}B"
[[switch]]
name = "s1"
[[switch]]
name = "s2"
[[link]]
ends = ["s1", "s2"]
delay = "{}ns"
[[host]]
name = "h1"
switch = "s1"
[[host]]
name = "h2"
switch = "s2"
[[flow]]
name = "there"
from = "h1"
to = "h2"
class = "lossless"
frame = "{}B"
[[flow]]
name = "back"
from = "h2"
to = "h1"
class = "lossless"
frame = "{}B"
"#,
            delay.as_nanos(),
            FRAME.get(),
            FRAME.get()
        );
        let scenario = Scenario::parse(&text, Path::new("link.toml"), &[]).unwrap();
        let plan = weir_sim::scenario::plan(&scenario).unwrap();
        let mut network = Network::new(plan).unwrap();
        // Without the time in which both ends find each other.
        let begin = Instant::ZERO + Duration::from_millis(30);
        network.run_until(begin);
        let before = network.flows()[0].received;
        network.run_until(begin + Duration::from_millis(40));
        assert_eq!(network.counters().drops.iter().sum::<u64>(), 0);
        network.flows()[0].received - before
    }

    /// In virtual time, with frames in both directions.
    #[test]
    fn the_limit_suffices_for_the_full_rate_and_half_of_it_does_not() {
        for (gbit, delay) in [(1, 10), (1, 1_000), (10, 10), (10, 100), (10, 1_000)] {
            let delay = Duration::from_micros(delay);
            let limit = Needs::of(gbit, delay).unwrap().credit_limit_bytes;
            let line = gbit * 40_000_000 / 8 / (FRAME + LINE_OVERHEAD).get();
            let [whole, half] = [limit, limit / 2].map(|limit| arrived(gbit, delay, limit));
            println!("{gbit} Gbit/s, {delay:?}, {limit} B: {whole} of {line}, {half} with half");
            assert!(whole * 100 >= line * 98, "{whole} of {line}");
            assert!(half * 100 < line * 90, "{half} of {line}");
        }
    }
}
