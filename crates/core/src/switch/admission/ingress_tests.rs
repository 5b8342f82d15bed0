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

pub(super) fn none() -> Pools {
    let address = crate::units::MacAddress::default();
    let rate = crate::units::BitRate::from_mbit(1);
    let port = crate::config::PortConfig::new(crate::config::PortRole::Edge, rate, address);
    let lossy = crate::config::ClassMode::Lossy {
        buffer: Bytes::ZERO,
    };
    let classes = [crate::config::ClassConfig::new(lossy); 8];
    Pools::new(&crate::config::SwitchConfig::new(
        vec![port],
        classes,
        Vec::new(),
    ))
}

fn admitted(change: PauseChange) -> Admission {
    Admission {
        change,
        mark: false,
    }
}

#[test]
fn pauses_at_xoff_and_resumes_at_xon() {
    let mut buffer = IngressBuffer::new(MODE, None);
    assert_eq!(
        buffer.admit(Bytes::new(999), &mut none()),
        Ok(admitted(PauseChange::None))
    );
    assert_eq!(
        buffer.admit(Bytes::new(1), &mut none()),
        Ok(admitted(PauseChange::Xoff))
    );
    assert_eq!(
        buffer.discharge(Bytes::new(399), &mut none()),
        PauseChange::None
    );
    assert_eq!(
        buffer.discharge(Bytes::new(1), &mut none()),
        PauseChange::Xon
    );
    assert!(!buffer.is_pausing());
}

#[test]
fn headroom_is_the_end_and_is_reported_once() {
    let mut buffer = IngressBuffer::new(MODE, None);
    buffer.admit(Bytes::new(1500), &mut none()).unwrap();
    let refusal = |first| Refusal {
        change: PauseChange::None,
        reason: DropReason::HeadroomExceeded,
        first,
    };
    assert_eq!(buffer.admit(Bytes::new(1), &mut none()), Err(refusal(true)));
    assert_eq!(
        buffer.admit(Bytes::new(1), &mut none()),
        Err(refusal(false))
    );
    assert_eq!(buffer.headroom_used_max(), Bytes::new(500));
    assert_eq!(
        buffer.discharge(Bytes::new(900), &mut none()),
        PauseChange::Xon
    );
    buffer.admit(Bytes::new(900), &mut none()).unwrap();
    assert_eq!(buffer.admit(Bytes::new(1), &mut none()), Err(refusal(true)));
}

#[test]
fn a_raise_resumes_a_full_buffer_by_the_extra_and_falls_back() {
    let mut buffer = IngressBuffer::new(MODE, None);
    buffer.admit(Bytes::new(1100), &mut none()).unwrap();
    let until = Instant::from_nanos(50);
    assert_eq!(
        buffer.raise(Bytes::new(200), until, &mut none()),
        PauseChange::Xon
    );
    assert_eq!(buffer.thresholds(), (Bytes::new(1300), Bytes::new(1100)));
    assert_eq!(
        buffer.admit(Bytes::new(200), &mut none()),
        Ok(admitted(PauseChange::Xoff))
    );
    assert_eq!(buffer.limit(), Bytes::new(1800));
    assert_eq!(
        buffer.expire_raise(Instant::from_nanos(49), &mut none()),
        PauseChange::None
    );
    assert_eq!(buffer.raised_until(), Some(until));
    buffer.expire_raise(until, &mut none());
    assert_eq!(buffer.thresholds(), (Bytes::new(1000), Bytes::new(600)));
    assert_eq!(buffer.limit(), Bytes::new(1800), "until it has drained");
    buffer.discharge(Bytes::new(300), &mut none());
    assert_eq!(buffer.limit(), Bytes::new(1500));
}

#[test]
fn a_neighbour_above_xoff_is_paused_when_a_raise_ends() {
    let mut buffer = IngressBuffer::new(MODE, None);
    buffer.admit(Bytes::new(1100), &mut none()).unwrap();
    buffer.raise(Bytes::new(200), Instant::from_nanos(50), &mut none());
    assert_eq!(
        buffer.expire_raise(Instant::from_nanos(50), &mut none()),
        PauseChange::Xoff
    );
}

#[test]
fn lower_thresholds_lose_no_frame_on_the_line() {
    let mut buffer = IngressBuffer::new(MODE, None);
    buffer.admit(Bytes::new(900), &mut none()).unwrap();
    let lower = BufferMode::Pausing(
        PfcThresholds::new(Bytes::new(400), Bytes::new(300), Bytes::new(200)).unwrap(),
    );
    assert_eq!(buffer.retune(lower, None, &mut none()), PauseChange::Xoff);
    assert_eq!(buffer.limit(), Bytes::new(1500), "until it has drained");
    buffer.admit(Bytes::new(600), &mut none()).unwrap();
    buffer.discharge(Bytes::new(1100), &mut none());
    assert_eq!(buffer.limit(), Bytes::new(600));
    assert!(!buffer.is_raised());
    assert_eq!(
        buffer.discharge(Bytes::new(100), &mut none()),
        PauseChange::Xon
    );
}

#[test]
fn higher_thresholds_resume_a_paused_neighbour() {
    let mut buffer = IngressBuffer::new(MODE, None);
    buffer.admit(Bytes::new(1200), &mut none()).unwrap();
    let higher = BufferMode::Pausing(
        PfcThresholds::new(Bytes::new(2000), Bytes::new(1600), Bytes::new(500)).unwrap(),
    );
    assert_eq!(buffer.retune(higher, None, &mut none()), PauseChange::Xon);
    assert_eq!(buffer.limit(), Bytes::new(2500));
}

#[test]
fn a_raise_bounded_by_the_headroom_still_resumes_the_neighbour() {
    for extra in [100, 300, 301, 800, 5000] {
        let mut buffer = IngressBuffer::new(MODE, None);
        buffer.admit(Bytes::new(1200), &mut none()).unwrap();
        let change = buffer.raise(Bytes::new(extra), Instant::from_nanos(1), &mut none());
        assert_eq!(change, PauseChange::Xon, "{extra}");
        assert!(buffer.thresholds().0 > Bytes::new(1200));
        assert!(buffer.limit() <= BOUND);
    }
    // With all the headroom used there is nothing to lend until a frame leaves.
    let mut buffer = IngressBuffer::new(MODE, None);
    buffer.admit(Bytes::new(1500), &mut none()).unwrap();
    let change = buffer.raise(Bytes::new(5000), Instant::from_nanos(1), &mut none());
    assert_eq!(change, PauseChange::None);
    assert_eq!(
        buffer.discharge(Bytes::new(1), &mut none()),
        PauseChange::Xon
    );
    assert_eq!(buffer.limit(), BOUND);
}

#[test]
fn no_raise_passes_the_memory_bound() {
    let mut buffer = IngressBuffer::new(MODE, None);
    for _ in 0..10 {
        buffer.raise(Bytes::new(300), Instant::from_nanos(1), &mut none());
        while buffer.admit(Bytes::new(100), &mut none()).is_ok() {}
        assert!(buffer.occupancy() <= BOUND);
    }
    assert_eq!(buffer.limit(), Bytes::new(2000));
}

#[test]
fn closing_pauses_the_neighbour_but_still_admits_frames_on_the_line() {
    let mut buffer = IngressBuffer::new(MODE, None);
    assert_eq!(buffer.close(&mut none()), PauseChange::Xoff);
    assert!(buffer.admit(Bytes::new(400), &mut none()).is_ok());
    assert_eq!(
        buffer.discharge(Bytes::new(400), &mut none()),
        PauseChange::None
    );
    assert!(buffer.is_pausing());
}

#[test]
fn lossy_buffers_drop_and_never_pause() {
    let mut buffer = IngressBuffer::new(
        BufferMode::Bounded {
            buffer: Bytes::new(100),
        },
        None,
    );
    assert_eq!(
        buffer.admit(Bytes::new(100), &mut none()),
        Ok(admitted(PauseChange::None))
    );
    let refusal = buffer.admit(Bytes::new(1), &mut none()).unwrap_err();
    assert_eq!(refusal.reason, DropReason::BufferFull);
    assert_eq!(
        buffer.discharge(Bytes::new(100), &mut none()),
        PauseChange::None
    );
}

#[test]
fn a_policed_buffer_marks_then_drops_and_never_pauses() {
    let mut buffer = IngressBuffer::new(
        BufferMode::Policed {
            mark_from: Some(Bytes::new(1000)),
            drop_from: None,
            limit: Bytes::new(1500),
        },
        None,
    );
    assert_eq!(
        buffer.admit(Bytes::new(1000), &mut none()),
        Ok(admitted(PauseChange::None))
    );
    let marked = buffer.admit(Bytes::new(500), &mut none()).unwrap();
    assert!(marked.mark);
    assert_eq!(marked.change, PauseChange::None);
    let refusal = buffer.admit(Bytes::new(1), &mut none()).unwrap_err();
    assert_eq!(refusal.reason, DropReason::Policed);
    buffer.discharge(Bytes::new(1500), &mut none());
    assert!(!buffer.admit(Bytes::new(1), &mut none()).unwrap().mark);
    assert_eq!(buffer.close(&mut none()), PauseChange::None);
    let refusal = buffer.admit(Bytes::new(1), &mut none()).unwrap_err();
    assert_eq!(refusal.reason, DropReason::Policed, "nothing more comes in");
}
