//! Figures of other simulators: committed values are reproduced, and support the book's statements.

use weir_sim::reproduce::others::hpcc::{self, Compared, Figure11};
use weir_sim::reproduce::others::ndp::{self, Figure14, Ranks};
use weir_sim::reproduce::Reproduction;

const PAGE: &str = include_str!("../../../docs/src/simulator/others.md");

/// Flows up to this size count as short, in bytes.
const SHORT: u64 = 2000;

/// A committed file of a figure.
macro_rules! committed {
    ($name:literal) => {
        include_str!(concat!("../../../docs/src/simulator/others/", $name))
    };
}

fn column(table: &str, name: &str) -> Vec<f64> {
    let mut lines = table.lines();
    let headings = lines.next().unwrap();
    let place = headings.split(',').position(|heading| heading == name);
    let place = place.unwrap_or_else(|| panic!("{name} is not in {headings}"));
    let cells = lines.map(|line| line.split(',').nth(place).unwrap());
    cells
        .filter(|cell| !cell.is_empty())
        .map(|cell| cell.parse().unwrap())
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn utilization(figure: &Figure14, name: &str) -> f64 {
    figure.of(name).map(Ranks::utilization).unwrap()
}

#[test]
fn the_small_tree_of_htsim_comes_out_again_and_lies_near_its_numbers() {
    let figure = Figure14::run(ndp::Setting::SMALL, &ndp::Way::ALL, 1).unwrap();
    assert_eq!(figure.report(), committed!("ndp-fig14-k8.txt"));
    let of = |name| utilization(&figure, name);
    let [here, there] = [of("DCTCP, by flow"), of("DCTCP, htsim")];
    assert!((here - there).abs() < 0.06, "{here}, {there}");
    for ranks in &figure.ranks {
        assert_eq!(ranks.rates.len(), 128, "{}", ranks.name);
        assert!(ranks.rates.is_sorted(), "{}", ranks.name);
        assert!(ranks.rates.iter().all(|rate| *rate <= 10e9));
        let lost = ranks.costs.map_or(0, |[lost, _]| lost);
        assert!(lost == 0 || ranks.name.starts_with("DCTCP"), "{lost}");
    }
    // A transport that uses all paths fills the network better than one that uses a single path.
    assert!(of("DCQCN, by frame") > of("DCQCN, by flow") + 0.25);
    assert!(of("PFC alone, by frame") > of("DCQCN, by flow") + 0.25);
}

#[test]
fn the_figure_of_ndp_has_the_shape_of_htsims() {
    let table = committed!("ndp-fig14.csv");
    let rates = |name| column(table, name);
    let [here, there] = ["dctcp_by_flow_gbit", "dctcp_htsim_gbit"].map(rates);
    assert_eq!((here.len(), there.len()), (432, 432));
    assert!((mean(&here) - mean(&there)).abs() < 0.5);
    // By rank, the two are never further apart than the width of the steps at whole shares of a line.
    let apart = here.iter().zip(&there).map(|(a, b)| (a - b).abs());
    let worst = apart.fold(0.0, f64::max);
    assert!(worst < 2.5, "{worst}");
    let alone = |rates: &[f64]| rates.iter().filter(|rate| **rate > 9.0).count();
    assert!(alone(&here).abs_diff(alone(&there)) < 15);
    let [dcqcn, by_frame, pfc, ndp] = [
        "dcqcn_by_flow_gbit",
        "dcqcn_by_frame_gbit",
        "pfc_alone_by_frame_gbit",
        "ndp_htsim_gbit",
    ]
    .map(rates);
    assert!((mean(&dcqcn) - mean(&here)).abs() < 0.5);
    assert!(mean(&by_frame) > 7.0 && mean(&ndp) > mean(&by_frame));
    assert!((mean(&pfc) - mean(&ndp)).abs() < 1.5);
}

#[test]
fn a_shorter_run_of_hpccs_figure_comes_out_again() {
    let figure = Figure11::run(hpcc::Setting::SHORT, &hpcc::Way::ALL, 1).unwrap();
    assert_eq!(figure.report(), committed!("hpcc-fig11c-short.txt"));
    for compared in &figure.compared {
        assert_eq!(compared.unfinished, 0, "{:?}", compared.way);
        assert_eq!(compared.here.len(), hpcc::ROWS);
    }
    let of = |way| figure.of(way).map(short_flows).unwrap();
    let [hpcc, window, dcqcn] = hpcc::Way::ALL.map(of);
    assert!(hpcc < window && window < dcqcn, "{hpcc} {window} {dcqcn}");
}

/// Mean of the 99th percentiles of the rows up to 2 kB.
fn short_flows(compared: &Compared) -> f64 {
    let rows = compared.here.iter().filter(|row| row.size_bytes <= SHORT);
    mean(&rows.map(|row| row.p99).collect::<Vec<_>>())
}

#[test]
fn the_figure_of_hpcc_lies_near_its_simulators() {
    let table = committed!("hpcc-fig11c.csv");
    let sizes = column(table, "size_here_bytes");
    assert_eq!(sizes.len(), hpcc::ROWS);
    let short = sizes.iter().filter(|size| **size <= SHORT as f64).count();
    assert!(short >= 12);
    let near = |key: &str, rows: std::ops::Range<usize>, most: f64| {
        let both = ["here", "there"].map(|place| column(table, &format!("{key}_{place}_p95")));
        for (here, there) in both[0][rows.clone()].iter().zip(&both[1][rows]) {
            assert!((here / there - 1.0).abs() < most, "{key}: {here}, {there}");
        }
    };
    // From 30 kB on, HPCC's percentiles agree with those of its simulator within a twentieth; short flows wait a fifth less.
    near("hpcc", 14..20, 0.05);
    near("hpcc", 0..14, 0.23);
    // With a window, DCQCN's agree within a sixth.
    near("dcqcn_window", 0..20, 0.167);
    let tail = |place: &str| {
        ["hpcc", "dcqcn_window", "dcqcn"].map(|key| {
            let rows = column(table, &format!("{key}_{place}_p99"));
            mean(&rows[..short])
        })
    };
    // The paper's result: HPCC has the shortest tail, and a window helps DCQCN.
    for [hpcc, window, dcqcn] in ["here", "there"].map(tail) {
        assert!(
            hpcc < window / 2.0 && window < dcqcn,
            "{hpcc} {window} {dcqcn}"
        );
    }
}

/// Takes minutes. Run it after changes of the simulator's results: `cargo nextest run -p weir-sim --ignore-default-filter
/// --run-ignored all -E "test(both_figures_come_out_again)"`.
#[test]
#[ignore = "takes minutes"]
fn both_figures_come_out_again() {
    let same = |made: Reproduction, name: &str, committed: &str| {
        let file = made.files.iter().find(|file| file.name == name).unwrap();
        assert!(file.text == committed, "{name}: run weir-sim reproduce");
    };
    same(
        ndp::reproduce(2).unwrap(),
        "ndp-fig14.csv",
        committed!("ndp-fig14.csv"),
    );
    same(
        hpcc::reproduce(2).unwrap(),
        "hpcc-fig11c.csv",
        committed!("hpcc-fig11c.csv"),
    );
}

#[test]
fn the_page_shows_the_committed_tables() {
    let rows = committed!("ndp-fig14.txt")
        .lines()
        .filter(|line| line.contains(" %  "));
    let missing: Vec<&str> = rows.filter(|row| !PAGE.contains(row)).collect();
    assert_eq!(missing, [] as [&str; 0], "the page has other rows");
}
