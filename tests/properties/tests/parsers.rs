//! The properties of the fuzz targets on stable Rust: with the committed corpora, with damaged ones, and with random bytes.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use weir_properties::corpus::inputs;
use weir_properties::{Property, PROPERTIES};

/// Length limit of generated inputs, in bytes.
const LENGTH_MAX: usize = 700;

#[derive(Clone, Debug)]
enum Damage {
    Set(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Cut(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        1 => (at(), prop::collection::vec(any::<u8>(), 1..8)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        1 => (at(), 1..8usize).prop_map(|(at, count)| Damage::Remove(at, count)),
        1 => at().prop_map(Damage::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    let end = bytes.len();
    match damage {
        Damage::Set(at, byte) if end > 0 => bytes[at.index(end)] = *byte,
        Damage::Set(..) => {}
        Damage::Insert(at, more) => {
            let at = at.index(end + 1);
            bytes.splice(at..at, more.iter().copied());
        }
        Damage::Remove(at, count) => {
            let at = at.index(end + 1);
            bytes.drain(at..(at + count).min(end));
        }
        Damage::Cut(at) => bytes.truncate(at.index(end + 1)),
    }
}

fn check(target: &str, cases: u32) {
    let property: Property = PROPERTIES
        .iter()
        .find_map(|(name, property)| (*name == target).then_some(*property))
        .expect("a property for each target");
    let inputs = inputs(target, Path::new(env!("CARGO_TARGET_TMPDIR")));
    for input in &inputs {
        property(input);
    }
    let damaged = (
        prop::sample::select(inputs),
        prop::collection::vec(damage(), 0..8),
    )
        .prop_map(|(mut bytes, damages)| {
            for damage in &damages {
                apply(&mut bytes, damage);
            }
            bytes
        });
    let any_bytes = prop::collection::vec(any::<u8>(), 0..LENGTH_MAX);
    let input = prop_oneof![4 => damaged, 1 => any_bytes];
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
        .run(&input, |bytes| {
            property(&bytes);
            Ok(())
        })
        .unwrap();
}

macro_rules! properties {
    ($($target:ident: $cases:literal),* $(,)?) => {
        $(
            #[test]
            fn $target() {
                check(stringify!($target), $cases);
            }
        )*

        #[test]
        fn every_property_is_checked() {
            let checked = [$(stringify!($target)),*];
            assert_eq!(checked, PROPERTIES.map(|(name, _)| name));
        }
    };
}

properties! {
    frame: 4000,
    mac_control: 4000,
    clcm: 4000,
    echo: 4000,
    reflection: 4000,
    seal: 4000,
    lldp: 4000,
    config: 1000,
    scenario: 300,
    api: 1000,
    switch: 300,
}
