//! Memory of a switch, counted by a separate allocator, compared with the tables of the book.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::size_of;

use weir_core::config::{LevelRules, RouteConfig};
use weir_core::{
    Algorithm, BitRate, Budgets, Bytes, ClassConfig, ClassMode, MacAddress, PfcThresholds,
    PortConfig, PortId, PortRole, Switch, SwitchConfig,
};

struct Counting;

thread_local! {
    static HELD_BYTES: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    // Threads may free memory at exit, when the counter is already gone.
    let _ = HELD_BYTES.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: every call is passed to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Enough for the largest buffers in the tables.
const FRAMES: usize = 1 << 17;
const PORTS: [usize; 5] = [4, 16, 32, 64, 256];
const DESTINATIONS: [usize; 5] = [16, 256, 1024, 4096, 65_536];
/// Tolerance for the book's figures: another compiler lays structures out differently.
const TOLERANCE: f64 = 0.02;

#[derive(Clone, Copy)]
struct Size {
    with_levels: bool,
    ports: usize,
    destinations: usize,
    frames: usize,
}

/// Bytes of a switch with one lossless class (D = 4 with Levels) and seven lossy ones, including its configuration.
fn occupied(size: Size) -> f64 {
    let before = HELD_BYTES.with(Cell::get);
    let mut switch = Switch::new(config(size)).unwrap();
    switch.touch_memory();
    let held = HELD_BYTES.with(Cell::get) - before;
    drop(switch);
    assert_eq!(
        HELD_BYTES.with(Cell::get),
        before,
        "all of it was given back"
    );
    (held as usize + size_of::<Switch>()) as f64
}

fn config(size: Size) -> SwitchConfig {
    let kibi = |count: u64| Bytes::new(count * 1024);
    let (xoff, xon, headroom) = (kibi(16), kibi(12), kibi(16));
    let lossy = ClassMode::Lossy { buffer: kibi(4) };
    let mut classes = [ClassConfig::new(lossy); 8];
    for class in &mut classes {
        class.scheduler.algorithm = Algorithm::Ports;
    }
    classes[3].mode = if size.with_levels {
        ClassMode::Level {
            rules: LevelRules::default(),
            budgets: Budgets::derived(4, kibi(64), kibi(16)).unwrap(),
            edge: PfcThresholds::new(xoff, xon, headroom).unwrap(),
        }
    } else {
        ClassMode::Pfc(PfcThresholds::new(xoff, xon, headroom).unwrap())
    };
    let address = |number: usize| MacAddress::from_u64(0x0200_0000_0000 + number as u64);
    let rate = BitRate::from_mbit(1000);
    let ports = (0..size.ports).map(|_| PortConfig::new(PortRole::Fabric, rate, address(1 << 30)));
    let route = |number: usize| {
        let port = PortId::new((number % size.ports) as u8);
        RouteConfig::new(address(number), vec![port])
    };
    let routes = (0..size.destinations).map(route).collect();
    SwitchConfig {
        frame_count: size.frames,
        ..SwitchConfig::new(ports.collect(), classes, routes)
    }
}

fn tables() -> Vec<Vec<String>> {
    let base = |with_levels| Size {
        with_levels,
        ports: 32,
        destinations: 1024,
        frames: FRAMES,
    };
    let kibibytes = |bytes: f64| format!("{:.1}", bytes / 1024.0);
    let per = |one: Size, other: Size, units: usize| {
        format!("{:.0}", (occupied(other) - occupied(one)) / units as f64)
    };
    let mut rows = Vec::new();
    for ports in PORTS {
        let mut row = vec![format!("{ports} ports")];
        for with_levels in [false, true] {
            let with = Size {
                ports,
                ..base(with_levels)
            };
            let none = Size { ports: 2, ..with };
            let more = occupied(with) - occupied(none);
            row.push(kibibytes(more / (ports - 2) as f64));
        }
        rows.push(row);
    }
    for destinations in DESTINATIONS {
        let mut row = vec![format!("{destinations} destinations")];
        for with_levels in [false, true] {
            let with = Size {
                destinations,
                ..base(with_levels)
            };
            let none = Size {
                destinations: 1,
                ..with
            };
            row.push(per(none, with, destinations - 1));
        }
        rows.push(row);
    }
    let mut row = vec!["a frame".to_owned()];
    for with_levels in [false, true] {
        let few = base(with_levels);
        let many = Size {
            frames: 2 * FRAMES,
            ..few
        };
        row.push(per(few, many, FRAMES));
    }
    rows.push(row);
    rows
}

#[test]
fn the_book_says_what_a_switch_occupies() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/src/experiments/speed/core-speed.md"
    );
    let page = std::fs::read_to_string(page).unwrap();
    let rows = tables();
    for row in &rows {
        println!("| {} |", row.join(" | "));
    }
    for row in &rows {
        let found = page.lines().find_map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            (cells.next() == Some(&row[0])).then(|| cells.map(str::to_owned).collect::<Vec<_>>())
        });
        let found = found.unwrap_or_else(|| panic!("the page has no row for {}", row[0]));
        for (said, counted) in found.iter().zip(&row[1..]) {
            let figure = |text: &str| text.parse::<f64>().expect("a figure");
            let off = (figure(said) - figure(counted)).abs();
            assert!(
                off <= (figure(counted) * TOLERANCE).max(0.1),
                "the page says {found:?}, counted: {row:?}"
            );
        }
    }
}
