//! Compares windows with a slow model that keeps every value of every moment.

use proptest::prelude::*;
use weir_core::switch::PriorityGauges;
use weir_dataplane::messages::PortSnapshot;

use super::*;

const PORTS: usize = 2;
const INTERVAL: Duration = Duration::from_nanos(40);

#[derive(Clone, Debug)]
enum Step {
    /// Some moments pass with these values of a port.
    Pass(Vec<[u64; 2 * PORTS]>),
    /// A snapshot is taken, and then this window is cleared.
    Take(Option<(Reader, Vec<u8>)>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let values = prop::collection::vec(prop::array::uniform4(0..1_000u64), 1..8);
    let reader = prop_oneof![
        Just(Reader::User),
        Just(Reader::Persistent),
        Just(Reader::Telemetry),
    ];
    let ports = prop::collection::vec(0..PORTS as u8, 0..=2);
    let clear = prop::option::weighted(0.3, (reader, ports));
    let step = prop_oneof![
        3 => values.prop_map(Step::Pass),
        2 => clear.prop_map(Step::Take),
    ];
    prop::collection::vec(step, 1..80)
}

/// Values by moment, and the start of each window: by port, then of the frames.
struct Model {
    moments: Vec<[u64; 2 * PORTS]>,
    begins: [[usize; PORTS + 1]; 3],
    last: Option<(usize, usize)>,
}

impl Model {
    fn most(&self, from: usize, to: usize, of: usize) -> u64 {
        let values = self.moments[from..=to].iter();
        values.map(|moment| moment[of]).max().unwrap_or(0)
    }

    /// The frames are the sum of the ingress values.
    fn most_frames(&self, from: usize, to: usize) -> u64 {
        let sums = self.moments[from..=to].iter();
        let sums = sums.map(|moment| moment.iter().step_by(2).sum());
        sums.max().unwrap_or(0)
    }

    fn check(&self, window: &Window, begins: &[usize; PORTS + 1], to: usize) {
        for (port, peaks) in window.ports.iter().enumerate() {
            let from = begins[port];
            assert_eq!(peaks.since.as_nanos(), from as u64);
            let [ingress, egress] = [2 * port, 2 * port + 1].map(|of| self.most(from, to, of));
            let expected = Peaks {
                ingress: Bytes::new(ingress),
                headroom_used: Bytes::new(ingress.saturating_sub(600)),
                egress: Bytes::new(egress),
            };
            assert_eq!(peaks.priorities[3], expected, "port {port}");
            assert_eq!(peaks.priorities[4], Peaks::default());
        }
        assert_eq!(window.since.as_nanos(), begins[PORTS] as u64);
        assert_eq!(window.held_frames, self.most_frames(begins[PORTS], to));
    }
}

fn snapshot(model: &Model, since: usize) -> Snapshot {
    let now = model.moments.len() - 1;
    let port = |port: usize| {
        let (ingress, egress) = (2 * port, 2 * port + 1);
        let bytes = |of: usize| Bytes::new(model.moments[now][of]);
        let most = |of: usize| Bytes::new(model.most(since, now, of));
        let above = |bytes: Bytes| bytes.saturating_sub(Bytes::new(600));
        let mut state = PortSnapshot::default();
        state.gauges[3] = PriorityGauges {
            ingress: bytes(ingress),
            ingress_max: most(ingress),
            headroom_used: above(bytes(ingress)),
            headroom_used_max: above(most(ingress)),
            egress: bytes(egress),
            egress_max: most(egress),
            ..PriorityGauges::default()
        };
        state
    };
    Snapshot {
        at: Instant::from_nanos(now as u64),
        ports: (0..PORTS).map(port).collect(),
        held_frames: model.most_frames(now, now),
        held_frames_max: model.most_frames(since, now),
        ..Snapshot::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn each_reader_has_the_most_of_its_own_window(steps in steps()) {
        let mut marks = Watermarks::new(Instant::ZERO, PORTS, INTERVAL);
        let mut model = Model {
            moments: vec![[0; 2 * PORTS]],
            begins: [[0; PORTS + 1]; 3],
            last: None,
        };
        let mut since = 0;
        for step in steps {
            let cleared = match step {
                Step::Pass(values) => {
                    model.moments.extend(values);
                    continue;
                }
                Step::Take(cleared) => cleared,
            };
            let now = model.moments.len() - 1;
            let mut taken = snapshot(&model, since);
            since = now;
            marks.take(&mut taken);
            if (now - model.begins[1][PORTS]) as u64 >= INTERVAL.as_nanos() {
                model.last = Some((model.begins[1][PORTS], now));
                model.begins[1] = [now; PORTS + 1];
            }
            // The published snapshot has the peaks since the last clearing.
            let persistent = model.most(model.begins[2][0], now, 0);
            prop_assert_eq!(taken.ports[0].gauges[3].ingress_max.get(), persistent);
            if let Some((reader, ports)) = cleared {
                let ids: Vec<PortId> = ports.iter().map(|port| PortId::new(*port)).collect();
                marks.clear(reader, &ids);
                let begins = match reader {
                    Reader::User => Some(&mut model.begins[0]),
                    Reader::Persistent => Some(&mut model.begins[2]),
                    Reader::Telemetry => None,
                };
                if let Some(begins) = begins {
                    match ids.is_empty() {
                        true => *begins = [now; PORTS + 1],
                        false => ids.iter().for_each(|port| begins[port.index()] = now),
                    }
                }
            }
            let mut seen = Vec::new();
            for shown in marks.shown() {
                seen.push(shown.reader);
                match shown.reader {
                    Reader::User => model.check(shown.window, &model.begins[0], now),
                    Reader::Persistent => model.check(shown.window, &model.begins[2], now),
                    Reader::Telemetry => {
                        let (from, to) = model.last.expect("an interval is over");
                        prop_assert_eq!(shown.until, Some(Instant::from_nanos(to as u64)));
                        model.check(shown.window, &[from; PORTS + 1], to);
                    }
                }
            }
            prop_assert_eq!(seen.contains(&Reader::Telemetry), model.last.is_some());
        }
    }
}
