//! Copies for mirrors.

use std::path::Path;

use weir_config::daemon::DaemonConfig;

use super::*;
use crate::dataplane::exchange::mirrors::Mirrors;

/// The last port looks.
const MONITOR: usize = PORT_COUNT - 1;

/// Ports by the names 0, 1, 2; a switch is told what to copy.
fn mirror(bench: &mut Bench, mirrors: &str) {
    let mut text = "name = \"s1\"\n".to_owned();
    for port in 0..PORT_COUNT {
        text += &format!(
            "[[port]]\nname = \"{port}\"\ndevice = \"eth{port}\"\nrole = \"edge\"\nrate = \"1Gbit\"\n"
        );
    }
    for mirror in mirrors.split(';').filter(|it| !it.is_empty()) {
        text += &format!("[[mirror]]\noutput-port = \"{MONITOR}\"\n{mirror}\n");
    }
    let config = DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap();
    bench.request(Request::Command(Command::Reserve {
        port: id(MONITOR),
        reserved: !config.mirrors.is_empty(),
    }));
    bench.request(Request::Mirrors(Arc::new(Mirrors::new(&config))));
    bench.round();
    assert_eq!(bench.worker.stats.counters.commands_refused, 0);
}

/// No route leads to the monitor.
fn bench() -> Bench {
    let mut bench = Bench::new(&Setup::default());
    bench.request(Request::Command(Command::RemoveRoute {
        destination: host(MONITOR),
    }));
    bench.round();
    bench
}

fn copies(bench: &Bench) -> Vec<Vec<u8>> {
    sent_by(&bench.sent(), MONITOR)
}

fn counted(bench: &Bench) -> [(u64, u64); 2] {
    let counters = &bench.worker.mirroring.counters;
    [0, 1].map(|place| (counters[place].sent, counters[place].lost))
}

#[test]
fn what_comes_in_is_copied_as_it_came_and_what_leaves_as_it_left() {
    let mut bench = bench();
    mirror(&mut bench, "name = \"in\"\nselect-src-port = [\"0\"]");
    bench.arrive_data(0, 1, LOSSLESS, 1);
    bench.arrive_data(1, 0, LOSSLESS, 2);
    // Nobody knows the way, and whoever looks sees it all the same.
    let lost = frame_between(host(0), MacAddress([2, 9, 9, 9, 9, 9]));
    bench.arrive(0, Some(meta(FrameClass::Data, LOSSY)), &lost);
    bench.settle();
    assert_eq!(copies(&bench), [data(0, 1, 1, 500), lost]);
    assert_eq!(sent_by(&bench.sent(), 1), [data(0, 1, 1, 500)]);
    assert_eq!(counted(&bench)[0], (2, 0));
    bench.assert_conserved();

    // A second one, behind the first one's name; those of the first are counted on.
    let both = "name = \"out\"\nselect-dst-port = [\"0\"]\nsnaplen = 20;name = \"in\"\nselect-src-port = [\"0\"]";
    mirror(&mut bench, both);
    bench.arrive_data(1, 0, LOSSY, 3);
    bench.settle();
    let last = copies(&bench).pop().unwrap();
    assert_eq!(last, data(1, 0, 3, 500)[..20]);
    assert_eq!(counted(&bench), [(1, 0), (2, 0)]);
    mirror(&mut bench, "");
    bench.arrive_data(0, 1, LOSSY, 4);
    bench.settle();
    assert_eq!(copies(&bench).len(), 3);
    bench.assert_conserved();
}

#[test]
fn no_mirror_copies_a_frame_twice_nor_a_copy_nor_a_control_frame() {
    let mut bench = bench();
    mirror(
        &mut bench,
        "name = \"all\"\nselect-all = true\nselect-dst-port = [\"0\", \"1\"];name = \"out\"\nselect-dst-port = [\"1\"]",
    );
    bench.arrive_data(0, 1, LOSSLESS, 1);
    bench.arrive_pfc(1, LOSSLESS, Quanta::ZERO);
    bench.settle();
    assert_eq!(copies(&bench), vec![data(0, 1, 1, 500); 2]);
    assert_eq!(counted(&bench), [(1, 0), (1, 0)]);
    // What comes in where copies go out is nobody's.
    bench.arrive_data(MONITOR, 1, LOSSY, 2);
    bench.settle();
    assert_eq!(counted(&bench), [(1, 0), (1, 0)]);
    let drops = bench.worker.switch.counters(id(MONITOR)).drops;
    assert_eq!(drops[DropReason::MirrorPort.index()], 1);
    bench.assert_conserved();
}

#[test]
fn a_monitor_that_is_too_slow_loses_copies_and_nothing_else() {
    let mut bench = bench();
    mirror(&mut bench, "name = \"m\"\nselect-all = true");
    // The monitor's transmitter does not go on.
    bench.worker.io.set_budget(MONITOR, 0);
    let mut delivered = 0;
    for number in 0..2_000 {
        bench.arrive_data(0, 1, LOSSLESS, number);
        bench.settle();
        delivered += 1;
        assert!(
            !bench
                .worker
                .switch
                .gauges(bench.now, id(0), Priority::from_low_bits(LOSSLESS))
                .pausing
        );
    }
    assert_eq!(sent_by(&bench.sent(), 1).len(), delivered);
    let (sent, lost) = counted(&bench)[0];
    assert_eq!(sent + lost, 2_000);
    assert!(lost > 0 && sent > 0, "{sent} sent, {lost} lost");
    bench.assert_conserved();
    bench.worker.io.set_budget(MONITOR, usize::MAX);
    bench.settle();
    assert_eq!(copies(&bench).len() as u64, sent);
    assert_eq!(bench.worker.switch.held_frames(), 0);
    bench.assert_conserved();
}
