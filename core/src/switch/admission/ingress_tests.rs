//! Thresholds of an ingress buffer, crossed one by one.

use super::*;

/// xoff and twice the headroom.
const BOUND: Bytes = Bytes::new(1000 + 2 * 500);
const MODE: BufferMode = BufferMode::Pausing(
    match PfcThresholds::new(Bytes::new(1000), Bytes::new(600), Bytes::new(500)) {
        Ok(thresholds) => thresholds,
        Err(_) => panic!(),
    },
);

fn admitted(change: PauseChange) -> Admission {
    Admission {
        change,
        mark: false,
    }
}

#[test]
fn pauses_at_xoff_and_resumes_at_xon() {
    let mut buffer = IngressBuffer::new(MODE);
    assert_eq!(
        buffer.admit(Bytes::new(999)),
        Ok(admitted(PauseChange::None))
    );
    assert_eq!(buffer.admit(Bytes::new(1)), Ok(admitted(PauseChange::Xoff)));
    assert_eq!(buffer.discharge(Bytes::new(399)), PauseChange::None);
    assert_eq!(buffer.discharge(Bytes::new(1)), PauseChange::Xon);
    assert!(!buffer.is_pausing());
}

#[test]
fn headroom_is_the_end_and_is_reported_once() {
    let mut buffer = IngressBuffer::new(MODE);
    buffer.admit(Bytes::new(1500)).unwrap();
    let refusal = |first| Refusal {
        reason: DropReason::HeadroomExceeded,
        first,
    };
    assert_eq!(buffer.admit(Bytes::new(1)), Err(refusal(true)));
    assert_eq!(buffer.admit(Bytes::new(1)), Err(refusal(false)));
    assert_eq!(buffer.headroom_used_max(), Bytes::new(500));
    assert_eq!(buffer.discharge(Bytes::new(900)), PauseChange::Xon);
    buffer.admit(Bytes::new(900)).unwrap();
    assert_eq!(buffer.admit(Bytes::new(1)), Err(refusal(true)));
}

#[test]
fn a_raise_resumes_a_full_buffer_by_the_extra_and_falls_back() {
    let mut buffer = IngressBuffer::new(MODE);
    buffer.admit(Bytes::new(1100)).unwrap();
    let until = Instant::from_nanos(50);
    assert_eq!(buffer.raise(Bytes::new(200), until), PauseChange::Xon);
    assert_eq!(buffer.thresholds(), (Bytes::new(1300), Bytes::new(1100)));
    assert_eq!(
        buffer.admit(Bytes::new(200)),
        Ok(admitted(PauseChange::Xoff))
    );
    assert_eq!(buffer.limit(), Bytes::new(1800));
    assert_eq!(
        buffer.expire_raise(Instant::from_nanos(49)),
        PauseChange::None
    );
    assert_eq!(buffer.raised_until(), Some(until));
    buffer.expire_raise(until);
    assert_eq!(buffer.thresholds(), (Bytes::new(1000), Bytes::new(600)));
    assert_eq!(buffer.limit(), Bytes::new(1800), "until it has drained");
    buffer.discharge(Bytes::new(300));
    assert_eq!(buffer.limit(), Bytes::new(1500));
}

#[test]
fn the_end_of_a_raise_pauses_what_it_let_in() {
    let mut buffer = IngressBuffer::new(MODE);
    buffer.admit(Bytes::new(1100)).unwrap();
    buffer.raise(Bytes::new(200), Instant::from_nanos(50));
    assert_eq!(
        buffer.expire_raise(Instant::from_nanos(50)),
        PauseChange::Xoff
    );
}

#[test]
fn lower_thresholds_lose_nothing_that_is_under_way() {
    let mut buffer = IngressBuffer::new(MODE);
    buffer.admit(Bytes::new(900)).unwrap();
    let lower = BufferMode::Pausing(
        PfcThresholds::new(Bytes::new(400), Bytes::new(300), Bytes::new(200)).unwrap(),
    );
    assert_eq!(buffer.retune(lower), PauseChange::Xoff);
    assert_eq!(buffer.limit(), Bytes::new(1500), "until it has drained");
    buffer.admit(Bytes::new(600)).unwrap();
    buffer.discharge(Bytes::new(1100));
    assert_eq!(buffer.limit(), Bytes::new(600));
    assert!(!buffer.is_raised());
    assert_eq!(buffer.discharge(Bytes::new(100)), PauseChange::Xon);
}

#[test]
fn higher_thresholds_let_a_held_neighbour_go_on() {
    let mut buffer = IngressBuffer::new(MODE);
    buffer.admit(Bytes::new(1200)).unwrap();
    let higher = BufferMode::Pausing(
        PfcThresholds::new(Bytes::new(2000), Bytes::new(1600), Bytes::new(500)).unwrap(),
    );
    assert_eq!(buffer.retune(higher), PauseChange::Xon);
    assert_eq!(buffer.limit(), Bytes::new(2500));
}

#[test]
fn a_raise_that_the_headroom_cuts_short_lets_the_neighbour_go_on_all_the_same() {
    for extra in [100, 300, 301, 800, 5000] {
        let mut buffer = IngressBuffer::new(MODE);
        buffer.admit(Bytes::new(1200)).unwrap();
        let change = buffer.raise(Bytes::new(extra), Instant::from_nanos(1));
        assert_eq!(change, PauseChange::Xon, "{extra}");
        assert!(buffer.thresholds().0 > Bytes::new(1200));
        assert!(buffer.limit() <= BOUND);
    }
    // Where all the headroom is used there is nothing to lend until a frame leaves.
    let mut buffer = IngressBuffer::new(MODE);
    buffer.admit(Bytes::new(1500)).unwrap();
    let change = buffer.raise(Bytes::new(5000), Instant::from_nanos(1));
    assert_eq!(change, PauseChange::None);
    assert_eq!(buffer.discharge(Bytes::new(1)), PauseChange::Xon);
    assert_eq!(buffer.limit(), BOUND);
}

#[test]
fn no_raise_passes_the_memory_bound() {
    let mut buffer = IngressBuffer::new(MODE);
    for _ in 0..10 {
        buffer.raise(Bytes::new(300), Instant::from_nanos(1));
        while buffer.admit(Bytes::new(100)).is_ok() {}
        assert!(buffer.occupancy() <= BOUND);
    }
    assert_eq!(buffer.limit(), Bytes::new(2000));
}

#[test]
fn closing_holds_the_neighbour_but_still_takes_what_is_under_way() {
    let mut buffer = IngressBuffer::new(MODE);
    assert_eq!(buffer.close(), PauseChange::Xoff);
    assert!(buffer.admit(Bytes::new(400)).is_ok());
    assert_eq!(buffer.discharge(Bytes::new(400)), PauseChange::None);
    assert!(buffer.is_pausing());
}

#[test]
fn lossy_buffers_drop_and_never_pause() {
    let mut buffer = IngressBuffer::new(BufferMode::Bounded {
        buffer: Bytes::new(100),
    });
    assert_eq!(
        buffer.admit(Bytes::new(100)),
        Ok(admitted(PauseChange::None))
    );
    let refusal = buffer.admit(Bytes::new(1)).unwrap_err();
    assert_eq!(refusal.reason, DropReason::BufferFull);
    assert_eq!(buffer.discharge(Bytes::new(100)), PauseChange::None);
}

#[test]
fn a_policed_buffer_marks_then_drops_and_never_pauses() {
    let mut buffer = IngressBuffer::new(BufferMode::Policed {
        mark_from: Some(Bytes::new(1000)),
        drop_from: None,
        limit: Bytes::new(1500),
    });
    assert_eq!(
        buffer.admit(Bytes::new(1000)),
        Ok(admitted(PauseChange::None))
    );
    let marked = buffer.admit(Bytes::new(500)).unwrap();
    assert!(marked.mark);
    assert_eq!(marked.change, PauseChange::None);
    let refusal = buffer.admit(Bytes::new(1)).unwrap_err();
    assert_eq!(refusal.reason, DropReason::Policed);
    buffer.discharge(Bytes::new(1500));
    assert!(!buffer.admit(Bytes::new(1)).unwrap().mark);
    assert_eq!(buffer.close(), PauseChange::None);
    let refusal = buffer.admit(Bytes::new(1)).unwrap_err();
    assert_eq!(refusal.reason, DropReason::Policed, "nothing more comes in");
}
