//! Chooses the mutant of this process: the only source of the package `weir-mutant`, which every mutated package uses.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::OnceLock;

/// Every mutant is recorded when it is reached, and none is active.
const RECORDING: u32 = u32::MAX;
const MAX: usize = 1 << 14;

static CHOSEN: AtomicU32 = AtomicU32::new(0);
static REACHED: [AtomicBool; MAX] = [const { AtomicBool::new(false) }; MAX];
static RECORD: OnceLock<File> = OnceLock::new();

// Before main, so that no test that counts allocations counts those of reading the environment.
#[used]
#[link_section = ".init_array"]
static CHOOSE: extern "C" fn() = choose;

extern "C" fn choose() {
    let number = std::env::var("WEIR_MUTANT").ok().and_then(|number| number.parse().ok());
    if let Some(number) = number {
        CHOSEN.store(number, Relaxed);
    } else if let Ok(path) = std::env::var("WEIR_MUTANTS_REACHED") {
        if let Ok(file) = OpenOptions::new().create(true).append(true).open(path) {
            let _ = RECORD.set(file);
            CHOSEN.store(RECORDING, Relaxed);
        }
    }
}

/// Returns whether mutant `number` is active.
#[inline]
pub fn is(number: u32) -> bool {
    let chosen = CHOSEN.load(Relaxed);
    chosen == number || chosen == RECORDING && record(number)
}

#[cold]
fn record(number: u32) -> bool {
    if !REACHED[number as usize].swap(true, Relaxed) {
        if let Some(mut file) = RECORD.get() {
            let _ = file.write_all(&number.to_le_bytes());
        }
    }
    false
}
