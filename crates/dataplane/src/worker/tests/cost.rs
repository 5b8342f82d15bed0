//! The cost of a frame in the loop, with each export.

use super::series::series;
use super::taps::tap_at;
use super::*;
use crate::exchange::series::{Series, IPFIX_PLACE};
use crate::exchange::tap::{Choice, Tap, DROPS_PLACE, SAMPLES_PLACE};

const FRAMES: u32 = 100_000;
const BURST: u32 = 32;
const SAMPLED_ONE_IN: u32 = 1_000;
const DROPS_PER_SECOND: u32 = 100;

/// Stands in for the exporters: takes copies and readings, so that there is room for more.
#[derive(Default)]
struct Exports {
    taps: Vec<Arc<Tap>>,
    series: Vec<Arc<Series>>,
}

impl Exports {
    /// `which` is empty, or names exports, separated by commas.
    fn begin(bench: &mut Bench, which: &str) -> Self {
        let mut exports = Self::default();
        for which in which.split(',').filter(|it| !it.is_empty()) {
            match which {
                "sflow" => {
                    let sampled = Choice::Sampled {
                        one_in: SAMPLED_ONE_IN,
                        seed: 1,
                    };
                    let dropped = Choice::Dropped {
                        per_second: DROPS_PER_SECOND,
                    };
                    exports
                        .taps
                        .push(tap_at(bench, SAMPLES_PLACE, sampled, 128, 256));
                    exports
                        .taps
                        .push(tap_at(bench, DROPS_PLACE, dropped, 128, 256));
                }
                "ipfix" => exports.series.push(series(bench, IPFIX_PLACE)),
                "record" => exports.series.push(series(bench, 0)),
                other => panic!("`{other}` is none of sflow, ipfix, record"),
            }
        }
        exports
    }

    fn take(&self) -> usize {
        let copies = self.taps.iter();
        let copies = copies.map(|tap| std::iter::from_fn(|| tap.take()).count());
        let readings = self.series.iter().map(|series| {
            let readings = std::iter::from_fn(|| series.take());
            readings.map(|reading| series.recycle(reading)).count()
        });
        copies.chain(readings).sum()
    }
}

/// Not a test: passes `FRAMES` frames through the loop, with the `EXPORTS`, for callgrind to measure the cost of one.
#[test]
#[ignore = "a measurement"]
fn many_frames() {
    let mut bench = Bench::new(&Setup::default());
    let exports = std::env::var("EXPORTS").unwrap_or_default();
    let exports = Exports::begin(&mut bench, &exports);
    let bytes = data(0, 1, 1, 60);
    let frames = std::env::var("FRAMES").map_or(FRAMES, |text| text.parse().unwrap());
    let mut taken = 0;
    for _ in 0..frames / BURST {
        for _ in 0..BURST {
            bench.arrive(0, Some(meta(FrameClass::Data, LOSSLESS)), &bytes);
        }
        bench.round();
        bench.worker.io.sent.borrow_mut().clear();
        taken += exports.take();
    }
    println!("{taken} copies and readings");
}
