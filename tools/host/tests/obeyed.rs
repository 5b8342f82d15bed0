//! The MAC control frames that the program at a device's ingress obeys, by test runs in the kernel.

use libbpf_rs::{MapCore as _, MapFlags, Object, ObjectBuilder, ProgramInput};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/weir_host.bpf.o"));
const PROGRAM: &str = "wh_ingress";
/// Maps of this program; the others need a kernel with queueing disciplines in BPF.
const MAPS: [&str; 3] = ["wh_settings", "wh_priorities", "wh_totals"];
/// enum tcx_action_base
const PASS_ON: u32 = u32::MAX;
const CONSUME: u32 = 2;

/// Loads the program alone, with settings that obey all pauses.
fn load() -> Object {
    let mut open = ObjectBuilder::default().open_memory(OBJECT).unwrap();
    for mut program in open.progs_mut() {
        let is_wanted = program.name() == PROGRAM;
        program.set_autoload(is_wanted);
    }
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let is_wanted =
            MAPS.contains(&&*name) || name.ends_with(".rodata") || name.ends_with(".bss");
        map.set_autocreate(is_wanted).unwrap();
    }
    let object = open.load().unwrap();
    for map in object.maps() {
        if map.name() == "wh_settings" {
            // All bits set: very long quanta, and every priority is obeyed.
            let settings = vec![0xff; map.value_size() as usize];
            map.update(&0u32.to_ne_bytes(), &settings, MapFlags::ANY)
                .unwrap();
        }
    }
    object
}

/// Returns the verdict on a frame, and `pfc_frames` and `bad_frames` after it.
fn run(object: &mut Object, frame: &[u8]) -> (u32, u64, u64) {
    let program = object
        .progs_mut()
        .find(|program| program.name() == PROGRAM)
        .unwrap();
    let input = ProgramInput {
        data_in: Some(frame),
        ..ProgramInput::default()
    };
    let verdict = program.test_run(input).unwrap().return_value;
    let totals = object.maps().find(|map| map.name() == "wh_totals").unwrap();
    let totals = totals
        .lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
        .unwrap()
        .unwrap();
    let word = |at: usize| u64::from_ne_bytes(*totals[8 * at..].first_chunk().unwrap());
    (verdict, word(0), word(2))
}

#[test]
fn only_pauses_to_the_reserved_address_are_obeyed() {
    if OBJECT.is_empty() || std::fs::File::open("/proc/1/mem").is_err() {
        // Built without clang, or not run as root.
        return;
    }
    let mut object = load();
    let to = |address: [u8; 6]| {
        let mut frame = [&address[..], &[2, 0, 0, 0, 0, 9, 0x88, 8, 1, 1, 0, 8]].concat();
        frame.resize(60, 0xff);
        frame
    };
    assert_eq!(
        run(&mut object, &to([0x01, 0x80, 0xc2, 0, 0, 1])),
        (CONSUME, 1, 0)
    );
    let others = [
        [0x02, 0, 0, 0, 0, 1],
        [0xff; 6],
        [0x01, 0x80, 0xc2, 0, 0, 2],
    ];
    for (bad, address) in (1..).zip(others) {
        assert_eq!(
            run(&mut object, &to(address)),
            (PASS_ON, 1, bad),
            "{address:x?}"
        );
    }
    // The tag is in the bytes; the kernel removes it from a received frame, in which case the program queries it.
    let mut tagged = to([0x01, 0x80, 0xc2, 0, 0, 1]);
    tagged.splice(12..12, [0x81, 0, 0, 0]);
    assert_eq!(run(&mut object, &tagged).0, PASS_ON);
}
