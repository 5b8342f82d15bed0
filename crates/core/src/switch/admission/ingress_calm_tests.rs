//! The fast path through an ingress buffer has the same results as the slow one.

use proptest::prelude::*;

use super::tests::none;
use super::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Admit(u64),
    Discharge(usize),
    Raise(u64, u64),
    Expire(u64),
    Retune(u64),
    Close,
}

fn modes() -> impl Strategy<Value = BufferMode> {
    let bytes = Bytes::new;
    let pausing = move |xoff| {
        BufferMode::Pausing(PfcThresholds::new(bytes(xoff), bytes(xoff / 2), bytes(600)).unwrap())
    };
    prop_oneof![
        (100..2000u64).prop_map(move |buffer| BufferMode::Bounded {
            buffer: bytes(buffer)
        }),
        (100..1500u64).prop_map(pausing),
        (1..1000u64, any::<bool>()).prop_map(move |(from, marks)| BufferMode::Policed {
            mark_from: marks.then_some(bytes(from)),
            drop_from: (!marks).then_some(bytes(from)),
            limit: bytes(from + 400),
        }),
    ]
}

fn retuned(mode: BufferMode, to: u64) -> BufferMode {
    let to = Bytes::new(to);
    match mode {
        BufferMode::Bounded { .. } => BufferMode::Bounded { buffer: to },
        BufferMode::Pausing(thresholds) => {
            let (xon, headroom) = (thresholds.xon(), thresholds.headroom());
            BufferMode::Pausing(
                PfcThresholds::new(to.max(xon + Bytes::new(1)), xon, headroom).unwrap(),
            )
        }
        BufferMode::Policed {
            mark_from,
            drop_from,
            ..
        } => BufferMode::Policed {
            mark_from,
            drop_from,
            limit: to,
        },
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (1..300u64).prop_map(Step::Admit),
        18 => any::<usize>().prop_map(Step::Discharge),
        1 => (1..500u64, 0..50u64).prop_map(|(extra, span)| Step::Raise(extra, span)),
        2 => (0..100u64).prop_map(Step::Expire),
        1 => (100..2000u64).prop_map(Step::Retune),
    ];
    (prop::collection::vec(step, 1..200), any::<bool>()).prop_map(|(mut steps, closes)| {
        if closes {
            steps.insert(steps.len() / 2, Step::Close);
        }
        steps
    })
}

fn state(buffer: &IngressBuffer) -> impl PartialEq + core::fmt::Debug {
    (
        (buffer.occupancy, buffer.limit, buffer.thresholds()),
        (buffer.pausing, buffer.overrun, buffer.draining),
        (buffer.occupancy_max, buffer.headroom_used_max),
        (buffer.raised_until(), buffer.refresh_at),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn calm_arrivals_have_no_consequence(mode in modes(), steps in steps()) {
        let (mut short, mut long) = (IngressBuffer::new(mode, None), IngressBuffer::new(mode, None));
        let (mut charged, mut now) = (Vec::new(), Instant::ZERO);
        for step in steps {
            // Never calm: every frame takes the slow path.
            (long.calm_up_to, long.watched) = (Bytes::ZERO, true);
            match step {
                Step::Admit(cells) => {
                    let cells = Bytes::new(cells);
                    let admission = short.admit(cells, &mut none());
                    prop_assert_eq!(admission, long.admit(cells, &mut none()));
                    if admission.is_ok() {
                        charged.push(cells);
                    }
                }
                Step::Discharge(which) if !charged.is_empty() => {
                    let cells = charged.swap_remove(which % charged.len());
                    prop_assert_eq!(short.discharge(cells, &mut none()), long.discharge(cells, &mut none()));
                }
                Step::Discharge(_) => {}
                Step::Raise(extra, span) => {
                    let (extra, until) = (Bytes::new(extra), now + Duration::from_nanos(span));
                    prop_assert_eq!(short.raise(extra, until, &mut none()), long.raise(extra, until, &mut none()));
                }
                Step::Expire(span) => {
                    now = now + Duration::from_nanos(span);
                    prop_assert_eq!(short.expire_raise(now, &mut none()), long.expire_raise(now, &mut none()));
                }
                Step::Retune(to) if !short.is_raised() => {
                    let mode = retuned(short.mode, to);
                    prop_assert_eq!(short.retune(mode, None, &mut none()), long.retune(mode, None, &mut none()));
                }
                Step::Retune(_) => {}
                Step::Close => prop_assert_eq!(short.close(&mut none()), long.close(&mut none())),
            }
            prop_assert_eq!(state(&short), state(&long));
        }
    }
}
