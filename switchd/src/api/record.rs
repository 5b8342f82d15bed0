//! `/v1/recordings`. A recording lasts as long as the answer that carries it, and ends when the client disconnects.

use std::sync::Arc;
use std::time::Duration as StdDuration;

use axum::body::Body;
use axum::extract::rejection::JsonRejection;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::Json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use weir_api::record::{
    RecordCredits, RecordDrops, RecordLine, RecordPauses, RecordQueue, RecordRequest, RECORD_TYPE,
};
use weir_core::counters::DropReason;
use weir_core::switch::PauseGauges;
use weir_core::{Duration, Priority};
use weir_dataplane::series::{
    PortReading, QueueReading, Reading, Series, INTERVAL_MAX, INTERVAL_MIN, SERIES_MAX,
};

use super::capture::{Parts, PARTS_WAITING};
use super::ApiError;
use crate::control::{Shared, Stage};

/// Time between two attempts to end a series.
const WAIT: StdDuration = StdDuration::from_millis(10);
const DURATION_SECONDS_MAX: f64 = 3_600.0;
/// Attempts to end a series of a dataplane whose queue is full.
const REMOVALS: usize = 1_000;

pub(super) async fn begin(
    State(shared): State<Arc<Shared>>,
    request: Result<Json<RecordRequest>, JsonRejection>,
) -> Result<Response, ApiError> {
    let Json(request) = request?;
    let (interval, duration) = check(&request).map_err(ApiError::bad_request)?;
    let place = shared.dataplane.series.take().ok_or_else(|| ApiError {
        status: StatusCode::CONFLICT,
        error: format!("{SERIES_MAX} recordings are running already, the most allowed"),
    })?;
    let (parts, receiver) = mpsc::channel(PARTS_WAITING);
    let (started, start) = oneshot::channel();
    let series = Arc::new(Series::new(interval, shared.info.ports.len()));
    // The task ends the series even if this request is cancelled.
    tokio::spawn(
        Recording {
            writer: Writer::new(&shared),
            shared,
            series,
            place,
            deadline: Instant::now() + duration,
            parts,
        }
        .run(started),
    );
    if start.await != Ok(true) {
        return Err(ApiError::silence());
    }
    Ok(([(CONTENT_TYPE, RECORD_TYPE)], Body::new(Parts(receiver))).into_response())
}

fn check(request: &RecordRequest) -> Result<(Duration, StdDuration), String> {
    let [least, most] = [INTERVAL_MIN, INTERVAL_MAX].map(|interval| interval.as_secs_f64());
    let every = request.every_seconds;
    if !(least..=most).contains(&every) {
        return Err(format!(
            "every_seconds must be {least} to {most}, not {every}"
        ));
    }
    let seconds = request.duration_seconds;
    if !(seconds > 0.0 && seconds <= DURATION_SECONDS_MAX) {
        return Err(format!(
            "duration_seconds must be above 0 and at most {DURATION_SECONDS_MAX}, not {seconds}"
        ));
    }
    let interval = Duration::from_nanos((every * 1e9).round() as u64);
    Ok((interval, StdDuration::from_secs_f64(seconds)))
}

struct Recording {
    shared: Arc<Shared>,
    series: Arc<Series>,
    place: usize,
    deadline: Instant,
    parts: mpsc::Sender<Vec<u8>>,
    writer: Writer,
}

impl Recording {
    async fn run(mut self, started: oneshot::Sender<bool>) {
        let series = Arc::clone(&self.series);
        let dataplane = &self.shared.dataplane;
        let taken = dataplane.set_series(self.place, Some(series)).await;
        let goes_on = taken && started.send(true).is_ok() && self.record().await;
        self.end_series().await;
        self.shared.dataplane.series.give_back(self.place);
        if goes_on {
            // Readings taken before the series ended. The client may disconnect meanwhile.
            self.send().await;
        }
    }

    /// Returns false when the client is gone.
    async fn record(&mut self) -> bool {
        let shared = Arc::clone(&self.shared);
        let ending = shared.life.ending();
        let over = tokio::time::sleep_until(self.deadline);
        tokio::pin!(ending, over);
        let wait = StdDuration::from_nanos(self.series.poll_interval().as_nanos());
        loop {
            tokio::select! {
                sent = self.send() => if !sent {
                    return false;
                },
                () = &mut ending => return true,
                () = &mut over => return true,
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.parts.closed() => return false,
                () = &mut ending => return true,
                () = &mut over => return true,
            }
        }
    }

    /// Sends the waiting readings; returns false when the client is gone. Readings for which the client is too slow stay in
    /// the series, which then loses new ones.
    async fn send(&mut self) -> bool {
        let Ok(permit) = self.parts.reserve().await else {
            return false;
        };
        let mut part = Vec::new();
        while let Some(reading) = self.series.take() {
            self.writer.write(&mut part, &reading, &self.series);
            self.series.recycle(reading);
        }
        if !part.is_empty() {
            permit.send(part);
        }
        true
    }

    async fn end_series(&self) {
        for _ in 0..REMOVALS {
            if self.shared.dataplane.set_series(self.place, None).await
                || self.shared.life.stage() == Stage::Ending
            {
                return;
            }
            tokio::time::sleep(WAIT).await;
        }
    }
}

/// Writes readings as lines and omits unchanged values.
struct Writer {
    names: Vec<String>,
    /// By port; empty before the first line.
    last: Vec<PortReading>,
}

impl Writer {
    fn new(shared: &Shared) -> Self {
        let ports = shared.info.numbered_ports();
        Self {
            names: ports.map(|(port, _)| shared.info.port_name(port)).collect(),
            last: Vec::new(),
        }
    }

    fn write(&mut self, part: &mut Vec<u8>, reading: &Reading, series: &Series) {
        let mut line = self.line(reading, series.lost());
        for _ in 0..=reading.repeats {
            // Cannot fail for this type.
            if serde_json::to_writer(&mut *part, &line).is_ok() {
                part.push(b'\n');
            }
            line.monotonic_nanos += series.interval().as_nanos();
            line.queues.clear();
            line.drops.clear();
        }
    }

    fn line(&mut self, reading: &Reading, lost_total: u64) -> RecordLine {
        let mut line = RecordLine {
            monotonic_nanos: reading.at.as_nanos(),
            lost_total,
            ..RecordLine::default()
        };
        for (index, (name, port)) in self.names.iter().zip(&reading.ports).enumerate() {
            let last = self.last.get(index);
            for priority in Priority::ALL {
                let now = &port.priorities[priority.index()];
                let last = last.map(|last| &last.priorities[priority.index()]);
                // Lines have drops by reason.
                let dropped = now.dropped;
                if last.is_some_and(|last| QueueReading { dropped, ..*last } == *now) {
                    continue;
                }
                line.queues.push(RecordQueue {
                    port: name.clone(),
                    priority: priority.get(),
                    ingress_bytes: now.ingress.get(),
                    egress_bytes: now.egress.get(),
                    received: changed(last.map(|last| &last.received), &now.received),
                    sent: changed(last.map(|last| &last.sent), &now.sent),
                    credits: now.credits.map(|credits| RecordCredits {
                        used: credits.used,
                        limit: credits.limit,
                        outstanding: credits.outstanding,
                    }),
                });
            }
            if last.map(|last| &last.drops) != Some(&port.drops) {
                let counts = DropReason::ALL.into_iter().map(|reason| {
                    let count = port.drops[reason.index()];
                    (reason.into(), count)
                });
                line.drops.push(RecordDrops {
                    port: name.clone(),
                    frames_total: counts.filter(|(_, count)| *count > 0).collect(),
                });
            }
        }
        self.last.clone_from(&reading.ports);
        line
    }
}

fn changed(last: Option<&PauseGauges>, now: &PauseGauges) -> Option<RecordPauses> {
    (last != Some(now)).then(|| RecordPauses {
        transitions_total: now.begun,
        paused: now.active,
        last_began_monotonic_nanos: now.last_began.map(|at| at.as_nanos()),
        last_ended_monotonic_nanos: now.last_ended.map(|at| at.as_nanos()),
        paused_nanos_total: now.total.as_nanos(),
    })
}
