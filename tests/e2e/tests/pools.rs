//! Buffers that share a pool, with real frames.

use weir_api::daemon::{Buffers, PooledBuffer, Watermarks};
use weir_api::words::Reader;
use weir_core::Alpha;
use weir_tests::scapy::Scapy;
use weir_tests::switches::switchctl;
use weir_tests::{printed, run_as_expected, scenario, until, Bench, LOSSLESS};

const SCENARIO: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scenarios/shared-buffers.toml"
);
/// At this rate a pause of 65535 quanta lasts 3.4 s: no test machine is too slow to refresh it.
const RATE: &str = "link-defaults.rate=10Mbit";
/// Charge of a frame: 1018 B in cells.
const FRAME: u64 = 1024;
const POOL: u64 = 120 * 1024;

/// Returns a PFC of the lossless priority from h4.
fn pause(quanta: u16) -> String {
    format!("bytes.fromhex('0180c2000001025700000004' '8808' '0101' '0008' '000000000000' '{quanta:04x}') + bytes(34)")
}

fn burst(from: u8) -> String {
    format!("Ether(src='02:57:00:00:00:0{from}', dst='02:57:00:00:00:04') / Dot1Q(vlan=0, prio=3) / Raw(bytes(1000))")
}

fn buffers(bench: &Bench) -> Buffers {
    bench.switch.get("/v1/buffers").unwrap()
}

fn of(all: &Buffers, port: &str) -> PooledBuffer {
    let mut buffers = all.buffers.iter();
    let found = buffers.find(|buffer| buffer.port == port && buffer.priority == LOSSLESS);
    found.unwrap().clone()
}

/// Pauses h4, and waits until `count` frames from a host have arrived and wait for it.
fn fill(bench: &Bench, h4: &mut Scapy, from: u8, count: u64) -> Buffers {
    let name = format!("h{from}");
    let mut host = Scapy::start(bench, &name);
    host.send(count as u32, &burst(from));
    until("all wait", || {
        h4.send(1, &pause(u16::MAX));
        let all = buffers(bench);
        (of(&all, &name).used_bytes == count * FRAME).then_some(all)
    })
}

#[test]
fn two_hosts_find_what_the_pool_has_left_and_lose_nothing() {
    let bench = Bench::of(SCENARIO, &[RATE], |_| ());
    let mut h4 = Scapy::start(&bench, "h4");
    h4.send(1, &pause(u16::MAX));
    until("h4 pauses", || {
        h4.send(1, &pause(u16::MAX));
        bench.pfc("h4").paused.then_some(())
    });

    // α = 1: the first one stops at half of the pool; scapy ignores pauses, so the rest is in the headroom.
    let all = fill(&bench, &mut h4, 1, 100);
    let first = of(&all, "h1");
    assert!(first.pausing && !of(&all, "h3").pausing);
    assert_eq!(first.alpha.as_deref(), Some("1"));
    assert_eq!(all.pools[0].used_bytes, POOL / 2);
    assert_eq!(first.threshold_bytes, POOL / 2);
    assert_eq!(first.headroom_used_bytes, 100 * FRAME - POOL / 2);
    assert_eq!(bench.pfc("h1").xoff_bytes, POOL / 2);

    // The second one stops at half of what is left.
    let all = fill(&bench, &mut h4, 3, 50);
    let (second, pool) = (of(&all, "h3"), &all.pools[0]);
    assert!(second.pausing);
    assert_eq!(pool.used_bytes, POOL / 2 + POOL / 4);
    assert_eq!(second.headroom_used_bytes, 50 * FRAME - POOL / 4);
    let used = first.headroom_used_bytes + second.headroom_used_bytes;
    assert_eq!((pool.headroom_used_bytes, pool.paused_buffers), (used, 2));
    // For all four ports, since the file does not set it.
    assert_eq!(pool.headroom_bytes, 4 * 3 * 1024 * 1024);
    for (metric, value) in [
        ("weir_pool_used_bytes{pool=\"lossless\"}", pool.used_bytes),
        ("weir_pool_bytes{pool=\"lossless\"}", POOL),
        ("weir_pool_headroom_used_bytes{pool=\"lossless\"}", used),
        ("weir_pool_pausing_buffers{pool=\"lossless\"}", 2),
        (
            "weir_pool_threshold_bytes{pool=\"lossless\",priority=\"3\"}",
            POOL / 4,
        ),
    ] {
        assert_eq!(bench.metric(metric), value, "{metric}");
    }

    h4.send(1, &pause(0));
    let peak = pool.used_bytes;
    until("all have left", || {
        let all = buffers(&bench);
        let pool = &all.pools[0];
        (pool.used_bytes + pool.headroom_used_bytes + pool.paused_buffers == 0).then_some(())
    });
    let all = buffers(&bench);
    assert!(all.buffers.iter().all(|buffer| !buffer.pausing));
    assert_eq!(all.pools[0].used_bytes_max, peak);
    let marks: Watermarks = bench.switch.get("/v1/watermarks").unwrap();
    let user = marks
        .readers
        .iter()
        .find(|marks| marks.reader == Reader::User);
    assert_eq!(user.unwrap().pools[0].headroom_used_bytes_max, used);
    let counters: Vec<weir_api::counters::Counters> = bench.switch.get("/v1/counters").unwrap();
    let dropped = counters
        .iter()
        .filter_map(|of| of.counters.get("headroom_dropped_total"));
    assert_eq!(dropped.sum::<u64>(), 0);
    let socket = &bench.switch.config.api_socket;
    let shown = printed(switchctl(socket).args(["buffers", "h1"]));
    assert!(
        shown.contains("lossless") && shown.contains("120.0 KiB"),
        "{shown}"
    );
}

/// One port has a smaller share of the pool than its class gives the others.
#[test]
fn a_port_has_an_alpha_of_its_own() {
    let bench = Bench::of(SCENARIO, &[RATE], |config| {
        let mut ports = config.ports.iter_mut();
        let h3 = ports.find(|port| port.name == "h3").unwrap();
        h3.alpha
            .insert("lossless".to_owned(), Alpha::new(-2).unwrap());
    });
    let mut h4 = Scapy::start(&bench, "h4");
    until("h4 pauses", || {
        h4.send(1, &pause(u16::MAX));
        bench.pfc("h4").paused.then_some(())
    });
    let all = fill(&bench, &mut h4, 1, 100);
    assert_eq!(all.pools[0].used_bytes, POOL / 2);
    // α = 1/4: a fifth of what is left.
    let all = fill(&bench, &mut h4, 3, 50);
    let second = of(&all, "h3");
    assert_eq!(second.alpha.as_deref(), Some("1/4"));
    assert!(second.pausing);
    assert_eq!(all.pools[0].used_bytes, POOL / 2 + POOL / 10);
    assert_eq!(second.headroom_used_bytes, 50 * FRAME - POOL / 10);
    assert_eq!(second.threshold_bytes, POOL / 10);
    h4.send(1, &pause(0));
    until("all have left", || {
        let pool = &buffers(&bench).pools[0];
        (pool.used_bytes + pool.headroom_used_bytes == 0).then_some(())
    });
}

#[test]
fn hosts_that_obey_lose_nothing_in_an_incast() {
    run_as_expected(&scenario("shared-buffers.toml", &[]));
}
