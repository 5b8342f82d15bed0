//! Frame cost in the switch core alone: by mode, ports, destinations, queued frames and concurrent
//! events. `cargo xtask bench --core` runs it; `cargo bench -p weir-core-bench -- NAME` runs the
//! cases whose name contains NAME.

#![allow(missing_docs)] // of the function that criterion makes

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use weir_core_bench::case::{Beside, Case, Mode};
use weir_core_bench::pipeline::BURST;
use weir_core_bench::Pipeline;

const MODES: [(&str, Mode); 3] = [
    ("lossy", Mode::Lossy),
    ("pfc", Mode::Pfc),
    ("level", Mode::Level),
];

fn by_destinations(criterion: &mut Criterion) {
    for (name, mode) in MODES {
        for destinations in [16, 256, 1024, 4096, 65_536] {
            let case = Case::usual(mode).sized(32, destinations);
            measure(
                criterion,
                &format!("destinations/{name}/{destinations}"),
                case,
            );
        }
    }
}

fn by_ports(criterion: &mut Criterion) {
    for (name, mode) in MODES {
        for ports in [4, 16, 64, 256] {
            let case = Case::usual(mode).sized(ports, 1024);
            measure(criterion, &format!("ports/{name}/{ports}"), case);
        }
    }
}

fn by_standing(criterion: &mut Criterion) {
    for (name, mode) in MODES {
        for standing in [32, 1024, 16_384] {
            let case = Case::usual(mode).with_standing(standing);
            measure(criterion, &format!("standing/{name}/{standing}"), case);
        }
    }
}

fn by_what_is_beside(criterion: &mut Criterion) {
    let standing = Case::usual(Mode::Pfc).with_standing(1024);
    let marking = standing.with(Beside::Marking);
    let pauses = Case::usual(Mode::Pfc).with(Beside::Pauses);
    let lifts = Case::usual(Mode::Level).with(Beside::Lifts);
    measure(criterion, "beside/pfc/marking", marking);
    measure(criterion, "beside/pfc/pauses", pauses);
    measure(criterion, "beside/level/lifts", lifts);
}

fn measure(criterion: &mut Criterion, name: &str, case: Case) {
    let mut group = criterion.benchmark_group("frame");
    group.throughput(Throughput::Elements(BURST as u64));
    group.warm_up_time(std::time::Duration::from_millis(300));
    group.measurement_time(std::time::Duration::from_secs(1));
    group.sample_size(50);
    // Built when the case runs, not when another is requested.
    let mut pipeline = None;
    group.bench_function(name, |bencher| {
        let pipeline = pipeline.get_or_insert_with(|| Pipeline::new(case));
        bencher.iter(|| pipeline.burst());
    });
    group.finish();
}

criterion_group!(
    all,
    by_destinations,
    by_ports,
    by_standing,
    by_what_is_beside
);
criterion_main!(all);
