//! Cost of a scrape for a switch of 64 ports with 8 lossless classes each: bytes, time, and delay of the dataplane. All are
//! printed; the test checks that nothing is left out and that compression is worthwhile.

use std::fmt::Write as _;

use weir_tests::Bench;

const PORTS: usize = 64;
const CLASSES: usize = 8;
const SCRAPES: u32 = 10;
const METRICS: &str = "http://127.0.0.1:9464/metrics";

#[test]
fn a_scrape_of_64_ports_with_8_classes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wide.toml");
    std::fs::write(&file, scenario()).unwrap();
    let bench = Bench::of(file.to_str().unwrap(), &[], |config| {
        config.dataplane.rx_ring = Some(64);
        config.dataplane.tx_ring = 64;
    });
    let text = bench.output("s1", &["curl", "-s", METRICS]);
    let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let paused = samples
        .iter()
        .filter(|line| line.starts_with("weir_paused{"));
    assert_eq!(paused.count(), PORTS * CLASSES);
    let packed = size(&bench, &["-H", "Accept-Encoding: gzip"]);
    assert!(packed * 5 < text.len(), "{packed} of {}", text.len());

    let before = Figures::of(&text);
    for _ in 0..SCRAPES {
        size(&bench, &["-H", "Accept-Encoding: gzip"]);
    }
    let after = Figures::of(&bench.output("s1", &["curl", "-s", METRICS]));
    let scrapes = after.scrapes - before.scrapes;
    // Including the first one and the one before the loop; the last was unfinished when it was written.
    assert_eq!(scrapes, f64::from(SCRAPES) + 2.0);
    let milliseconds = |total: f64| 1_000.0 * total / scrapes;
    println!("samples            {:>9}", samples.len());
    println!("text               {:>9} bytes", text.len());
    println!("compressed         {packed:>9} bytes");
    println!(
        "scrape             {:>9.2} ms",
        milliseconds(after.scraping - before.scraping)
    );
    println!(
        "daemon's CPU       {:>9.2} ms a scrape, its idle work included",
        milliseconds(after.cpu - before.cpu)
    );
    println!(
        "dataplane          {:>9.3} ms a busy round ({} rounds), {:.3} ms a scrape",
        1_000.0 * (after.busy - before.busy) / (after.busy_rounds - before.busy_rounds),
        after.busy_rounds - before.busy_rounds,
        milliseconds(after.busy - before.busy)
    );
    bench.end();
}

/// Returns the bytes of an answer on the line.
fn size(bench: &Bench, options: &[&str]) -> usize {
    let mut words = vec!["curl", "-s", "-o", "/dev/null", "-w", "%{size_download}"];
    words.extend(options);
    words.push(METRICS);
    bench.output("s1", &words).parse().unwrap()
}

/// Sums since the start, in seconds.
struct Figures {
    scrapes: f64,
    scraping: f64,
    cpu: f64,
    busy: f64,
    busy_rounds: f64,
}

impl Figures {
    fn of(text: &str) -> Self {
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| {
                let rest = line.strip_prefix(name)?;
                rest.strip_prefix(' ')
            });
            line.unwrap_or_else(|| panic!("{name}")).parse().unwrap()
        };
        Self {
            scrapes: value("weir_scrape_seconds_count"),
            scraping: value("weir_scrape_seconds_sum"),
            cpu: value("process_cpu_seconds_total"),
            busy: value("weir_dataplane_busy_seconds_total"),
            busy_rounds: value("weir_dataplane_busy_rounds_total"),
        }
    }
}

/// Builds one switch with silent hosts on all ports.
fn scenario() -> String {
    let mut text =
        "name = \"wide\"\ndescription = \"A wide switch\"\nduration = \"1s\"\nseed = 1\n\
         [link-defaults]\nrate = \"100Mbit\"\n[[switch]]\nname = \"s1\"\n"
            .to_owned();
    for class in 0..CLASSES {
        let _ = write!(
            text,
            "[[class]]\nname = \"c{class}\"\npriority = {class}\nmode = \"pfc\"\n\
             xoff = \"8KiB\"\nxon = \"4KiB\"\nheadroom = \"8KiB\"\n"
        );
    }
    for host in 1..=PORTS {
        let _ = write!(text, "[[host]]\nname = \"h{host}\"\nswitch = \"s1\"\n");
    }
    text
}
