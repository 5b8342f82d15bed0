//! Every declared counter is exposed: as a sample of its metric, and in `GET /v1/counters`.

use std::sync::Arc;

use crate::support::{info, settings, until, FakeDataplane, FakeXdp, LOSSLESS};
use weir_api::counters::{Counters, DataplaneCounters, KernelLosses};
use weir_api::counters::{DeviceLosses, DATAPLANE_COUNTERS, DEVICE_LOSSES, KERNEL_LOSSES};
use weir_core::control::counters::{ControlCounters, LldpCounters};
use weir_core::control::counters::{CONTROL_COUNTERS, LLDP_COUNTERS};
use weir_core::counters::{Counter, PortCounters, PriorityCounters};
use weir_core::counters::{PORT_COUNTERS, PRIORITY_COUNTERS};
use weir_core::level::LEVEL_MAX;
use weir_core::switch::LevelGauges;
use weir_core::{Bytes, Duration, Level};
use weir_dataplane::histogram::Histogram;
use weir_switchd::api::views;
use weir_switchd::control;
use weir_switchd::daemon::RunningDataplane;
use weir_switchd::metrics::{render, Format};

fn number<T>(declared: &[Counter<T>], counters: &mut T, last: &mut u64) {
    for counter in declared {
        *last += 1;
        *(counter.field)(counters) = *last;
    }
}

fn levels() -> LevelGauges {
    LevelGauges {
        depth: Level::new(1).unwrap(),
        m: [Bytes::ZERO; LEVEL_MAX],
        reserve: Bytes::ZERO,
        round_trip: Duration::ZERO,
        round_trip_measured: None,
        feedback_sent: Level::ZERO,
        feedback_received: Level::ZERO,
        eligible: Bytes::ZERO,
        eligible_frames: 0,
        held: Bytes::ZERO,
        held_frames: 0,
    }
}

struct Told {
    metrics: String,
    places: Vec<Counters>,
}

impl Told {
    /// Checks that each of `declared` has its value from `counters`, at `port` or for the whole switch. Returns their
    /// number.
    fn check<T>(
        &self,
        declared: &[Counter<T>],
        counters: &T,
        port: Option<&str>,
        priority: Option<u8>,
    ) -> usize {
        let is_here =
            |place: &&Counters| (place.port.as_deref(), place.priority) == (port, priority);
        let place = self.places.iter().find(is_here).unwrap();
        let number = priority.map(|priority| priority.to_string());
        for counter in declared {
            let key = counter.key();
            assert_eq!(
                place.counters.get(&key),
                Some(&counter.get(counters)),
                "{key}"
            );
            assert_eq!(place.meaning(&key), Some(counter.help), "{key}");
            let values = port.into_iter().chain(number.as_deref());
            let values = values.chain(counter.labels.iter().copied());
            let labels: Vec<String> = counter
                .metric
                .labels
                .iter()
                .zip(values)
                .map(|(label, value)| format!("{label}=\"{value}\""))
                .collect();
            let labels = match labels.is_empty() {
                true => String::new(),
                false => format!("{{{}}}", labels.join(",")),
            };
            let (name, value) = (counter.metric.name, counter.sample(counters));
            let line = format!("{name}{labels} {value}");
            assert!(self.metrics.lines().any(|told| told == line), "{line}");
        }
        declared.len()
    }

    fn count(&self, port: Option<&str>) -> usize {
        let is_here = |place: &&Counters| (place.port.as_deref(), place.priority) == (port, None);
        self.places.iter().find(is_here).unwrap().counters.len()
    }
}

#[tokio::test]
async fn every_counter_reaches_the_metrics_and_the_api() {
    let (mut port, mut queue) = (PortCounters::default(), PriorityCounters::default());
    let (mut kernel, mut dataplane) = (KernelLosses::default(), DataplaneCounters::default());
    let mut last = 1_000;
    number(PORT_COUNTERS, &mut port, &mut last);
    number(PRIORITY_COUNTERS, &mut queue, &mut last);
    number(KERNEL_LOSSES, &mut kernel, &mut last);
    // The control plane computes the missing frames.
    (kernel.rx_missing_total, kernel.tx_missing_total) = (0, 0);
    number(DATAPLANE_COUNTERS, &mut dataplane, &mut last);
    let fake = FakeDataplane::start();
    {
        let mut state = fake.template.lock().unwrap();
        state.rounds.counters = dataplane;
        let state = &mut state.ports[1];
        state.counters = port;
        state.counters.priority[usize::from(LOSSLESS)] = queue;
        state.gauges[usize::from(LOSSLESS)].levels = Some(levels());
        state.kernel = kernel;
    }
    let link = fake.link().unwrap();
    let control = control::start(info(), &settings(), link, Box::new(FakeXdp)).unwrap();
    let shared = Arc::clone(&control.shared);
    let snapshot = until(async || {
        let snapshot = shared.dataplane.fresh_snapshot().await;
        (snapshot.at > shared.life.began).then_some(snapshot)
    })
    .await;
    let places = views::counters(&shared, &snapshot);
    let scrapes = Histogram::new(&[1_000_000]);
    let metrics = render(shared, snapshot, scrapes, Format::Text).unwrap();
    control.stop();
    let told = Told { metrics, places };

    told.check(PRIORITY_COUNTERS, &queue, Some("p1"), Some(LOSSLESS));
    let of_port = told.check(PORT_COUNTERS, &port, Some("p1"), None)
        + told.check(KERNEL_LOSSES, &kernel, Some("p1"), None)
        // No device has the index of this port's.
        + told.check(DEVICE_LOSSES, &DeviceLosses::default(), Some("p1"), None)
        + told.check(LLDP_COUNTERS, &LldpCounters::default(), Some("p1"), None);
    let of_switch = told.check(DATAPLANE_COUNTERS, &dataplane, None, None)
        + told.check(CONTROL_COUNTERS, &ControlCounters::default(), None, None);
    // Names are unique within a place.
    assert_eq!(
        (told.count(Some("p1")), told.count(None)),
        (of_port, of_switch)
    );
}
