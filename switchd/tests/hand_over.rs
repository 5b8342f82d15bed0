//! An event is passed to the control plane before it is recorded.

use std::time::Instant;

use crate::support::{info, settings, FakeDataplane, FakeXdp, LIMIT};
use weir_core::Command;
use weir_switchd::control;
use weir_switchd::daemon::RunningDataplane;

/// While a reader holds the lock of the suspicions' records, the CLCM for a suspicion is still sent.
#[test]
fn a_reader_of_the_records_does_not_hold_up_a_clcm() {
    let fake = FakeDataplane::start();
    let control =
        control::start(info(), &settings(), fake.link().unwrap(), Box::new(FakeXdp)).unwrap();
    let reader = control.shared.records.deadlocks();
    let remote = fake.remote();
    remote.suspect(0);
    let began = Instant::now();
    while !remote
        .commands()
        .iter()
        .any(|command| matches!(command, Command::SendClcm { .. }))
    {
        assert!(began.elapsed() < LIMIT, "{:?}", remote.commands());
        std::thread::yield_now();
    }
    drop(reader);
    control.stop();
}
