use proptest::prelude::*;

use super::*;

const PLACES: u32 = 5;
const LOOKAHEAD: u64 = 20;

/// Effect of an event, from a list shared by all events: it pushes others.
#[derive(Clone, Copy, Debug)]
struct Deed {
    /// Distance from its own place, cyclic.
    places_on: u32,
    delay: u64,
}

/// (place, time, deed) in order of handling, by place.
type History = Vec<Vec<(u64, usize)>>;

/// Time, true if at one place only, time of pushing, source, number.
type Order = (u64, bool, u64, u32, u64);

#[derive(Clone, Copy, Debug)]
struct Happening {
    /// `None`: everywhere.
    place: Option<u32>,
    deed: usize,
}

/// Returns the events pushed at `now`: (place, time, deed).
fn consequences(deeds: &[Deed], happening: Happening, now: u64) -> Vec<(u32, u64, usize)> {
    let from = happening.place.unwrap_or(0);
    [1, 2]
        .into_iter()
        .filter(|step| happening.deed + step < deeds.len())
        .map(|step| {
            let deed = deeds[happening.deed + step];
            let place = (from + deed.places_on) % PLACES;
            let is_elsewhere = happening.place != Some(place);
            let delay = deed.delay + if is_elsewhere { LOOKAHEAD } else { 0 };
            (place, now + delay, happening.deed + step)
        })
        .collect()
}

fn run(deeds: &[Deed], starts: &[(u32, u64)], lookahead: u64, stops: &[u64]) -> History {
    let mut schedule = Schedule::new(PLACES as usize, Duration::from_nanos(lookahead));
    for (place, at) in starts {
        let place = (*place < PLACES).then_some(*place);
        let happening = Happening { place, deed: 0 };
        match place {
            Some(place) => schedule.push(place, Instant::from_nanos(*at), happening),
            None => schedule.push_everywhere(Instant::from_nanos(*at), happening),
        }
    }
    let mut history = vec![Vec::new(); PLACES as usize + 1];
    for stop in stops.iter().copied().chain([u64::MAX - 1]) {
        while let Some(at) = schedule.pop_until(Instant::from_nanos(stop)) {
            let (now, happening) = (at.as_nanos(), *schedule.taken());
            assert!(now <= stop);
            note(&mut history, happening, now);
            for (place, at, deed) in consequences(deeds, happening, now) {
                let place_of = Some(place);
                let happening = Happening {
                    place: place_of,
                    deed,
                };
                schedule.push(place, Instant::from_nanos(at), happening);
            }
        }
    }
    history
}

/// Events for all places enter every place's history.
fn note(history: &mut History, happening: Happening, now: u64) {
    match happening.place {
        Some(place) => history[place as usize].push((now, happening.deed)),
        None => {
            for list in history {
                list.push((now, happening.deed));
            }
        }
    }
}

/// Runs the events from one sorted list.
fn model(deeds: &[Deed], starts: &[(u32, u64)]) -> History {
    let mut list: Vec<(Order, Happening)> = Vec::new();
    let mut number = 0;
    for (place, at) in starts {
        let place = (*place < PLACES).then_some(*place);
        list.push((
            (*at, place.is_some(), 0, 0, number),
            Happening { place, deed: 0 },
        ));
        number += 1;
    }
    let mut history = vec![Vec::new(); PLACES as usize + 1];
    while let Some(first) = (0..list.len()).min_by_key(|index| list[*index].0) {
        let ((now, ..), happening) = list.remove(first);
        note(&mut history, happening, now);
        let source = happening.place.map_or(0, |place| place + 1);
        for (place, at, deed) in consequences(deeds, happening, now) {
            let place = Some(place);
            list.push(((at, true, now, source, number), Happening { place, deed }));
            number += 1;
        }
    }
    history
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let delay = prop_oneof![3 => 0..4u64, 3 => 0..60u64, 1 => 0..400u64];
    (0..PLACES, delay).prop_map(|(places_on, delay)| Deed { places_on, delay })
}

proptest! {
    /// Whatever the windows are, every place sees the same as if one sorted list were processed.
    #[test]
    fn each_place_sees_the_order_of_time(
        deeds in prop::collection::vec(any_deed(), 1..10),
        starts in prop::collection::vec((0..=PLACES, 0..50u64), 1..12),
        lookahead in 1..=LOOKAHEAD,
        mut stops in prop::collection::vec(0..600u64, 0..8),
    ) {
        stops.sort_unstable();
        let wanted = model(&deeds, &starts);
        prop_assert_eq!(run(&deeds, &starts, lookahead, &stops), wanted);
    }
}

#[test]
#[should_panic(expected = "overtakes the lookahead")]
fn nothing_overtakes_the_lookahead() {
    let mut schedule = Schedule::new(2, Duration::from_nanos(10));
    schedule.push(0, Instant::ZERO, ());
    schedule.pop_until(Instant::FAR_FUTURE);
    schedule.push(1, Instant::from_nanos(9), ());
}
