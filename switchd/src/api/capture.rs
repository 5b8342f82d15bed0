//! `/v1/captures`. A capture lasts as long as the answer that carries it, and ends when the client disconnects.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::Json;
use http_body::Frame;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use weir_api::capture::{Capture as ApiCapture, CaptureRequest, CAPTURE_HEADER, PCAPNG_TYPE};
use weir_core::PortSet;
use weir_dataplane::tap::{Choice, Tap, TapPlan, TAPS_MAX};

use super::ApiError;
use crate::capture::describe::depths;
use crate::capture::pcapng::{EncodeError, Encoder};
use crate::control::asked::captures::Capture;
use crate::control::{Shared, Stage};
use crate::model::clock;
use crate::model::filter;

/// Maximum number of answer parts that wait for a slow client, and their approximate size in bytes.
pub(super) const PARTS_WAITING: usize = 4;
const PART_BYTES: usize = 64 << 10;
/// Polling intervals of the ring: while frames arrive, and while none do.
const BUSY_WAIT: Duration = Duration::from_millis(1);
const IDLE_WAIT: Duration = Duration::from_millis(10);
/// Interval between statistics blocks. They also reveal a client that has disappeared silently.
const STATISTICS_INTERVAL: Duration = Duration::from_secs(5);
/// Polls of the ring for frames in flight when the capture ended.
const LAST_LOOKS: usize = 100;
/// Attempts to remove a tap from a dataplane whose queue is full.
const REMOVALS: usize = 1_000;
const SNAP_BYTES: std::ops::RangeInclusive<u32> = 64..=16_384;
const RING_FRAMES: std::ops::RangeInclusive<u32> = 16..=65_536;
const RING_BYTES_MAX: u64 = 64 << 20;
const DURATION_SECONDS_MAX: f64 = 86_400.0 * 365.0;

pub(super) async fn list(State(shared): State<Arc<Shared>>) -> Json<Vec<ApiCapture>> {
    let captures = shared.dataplane.captures.list();
    Json(captures.iter().map(|capture| view(capture)).collect())
}

fn view(capture: &Capture) -> ApiCapture {
    let sum = capture.tap.total();
    let running = clock::now().saturating_since(capture.began);
    ApiCapture {
        id: capture.id,
        request: capture.request.clone(),
        running_seconds: running.as_nanos() as f64 / 1e9,
        seen_total: sum.seen,
        matched_total: sum.matched,
        copied_total: sum.copied,
        lost_total: sum.lost,
    }
}

pub(super) async fn end(
    State(shared): State<Arc<Shared>>,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Json<serde_json::Value>, ApiError> {
    let Path(id) = id?;
    if shared.dataplane.captures.stop(id) {
        return Ok(Json(serde_json::Value::Null));
    }
    Err(ApiError {
        status: StatusCode::NOT_FOUND,
        error: format!("no running capture {id}; GET /v1/captures lists them"),
    })
}

pub(super) async fn begin(
    State(shared): State<Arc<Shared>>,
    request: Result<Json<CaptureRequest>, JsonRejection>,
) -> Result<Response, ApiError> {
    let Json(request) = request?;
    let plan = plan(&shared, &request).map_err(ApiError::bad_request)?;
    let tap = Arc::new(Tap::new(plan, shared.info.ports.len()));
    let encoder = Encoder::new(&shared.info, &tap, &request.filter).map_err(|error| ApiError {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        error: error.to_string(),
    })?;
    let deadline = request
        .duration_seconds
        .map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let capture = shared
        .dataplane
        .captures
        .begin(request, tap, clock::now())
        .ok_or_else(|| ApiError {
            status: StatusCode::CONFLICT,
            error: format!(
                "{TAPS_MAX} captures are running already, the maximum; GET /v1/captures lists them"
            ),
        })?;
    let id = capture.id;
    let (parts, receiver) = mpsc::channel(PARTS_WAITING);
    let (started, start) = oneshot::channel();
    // The task removes the tap even if this request is cancelled.
    tokio::spawn(
        Recording {
            shared,
            capture,
            encoder,
            deadline,
            parts,
            written: 0,
        }
        .run(started),
    );
    if start.await != Ok(true) {
        return Err(ApiError::silence());
    }
    let headers = [
        (CONTENT_TYPE.as_str(), PCAPNG_TYPE.to_owned()),
        (CAPTURE_HEADER, id.to_string()),
    ];
    Ok((headers, Body::new(Parts(receiver))).into_response())
}

fn plan(shared: &Shared, request: &CaptureRequest) -> Result<TapPlan, String> {
    let info = &shared.info;
    let ports: PortSet = if request.ports.is_empty() {
        info.numbered_ports().map(|(id, _)| id).collect()
    } else {
        let find = |name: &String| info.find_port(name);
        let found: Result<_, _> = request.ports.iter().map(find).collect();
        found.map_err(|missing| missing.to_string())?
    };
    let within = |name: &str, value: u32, legal: std::ops::RangeInclusive<u32>| {
        if legal.contains(&value) {
            Ok(())
        } else {
            Err(format!(
                "{name} must be {} to {}, not {value}",
                legal.start(),
                legal.end()
            ))
        }
    };
    within("snap_bytes", request.snap_bytes, SNAP_BYTES)?;
    within("ring_frames", request.ring_frames, RING_FRAMES)?;
    let bytes = u64::from(request.snap_bytes) * u64::from(request.ring_frames);
    if bytes > RING_BYTES_MAX {
        return Err(format!(
            "ring_frames × snap_bytes must not exceed {RING_BYTES_MAX} bytes; it is {bytes}"
        ));
    }
    if request.sample == 0 || request.count == Some(0) {
        return Err("sample and count must be 1 or more".to_owned());
    }
    if let Some(seconds) = request.duration_seconds {
        if !(seconds > 0.0 && seconds <= DURATION_SECONDS_MAX) {
            return Err(format!(
                "duration_seconds must be above 0 and at most {DURATION_SECONDS_MAX}, not {seconds}"
            ));
        }
    }
    Ok(TapPlan {
        ports,
        choice: Choice::Matching {
            filter: filter::parse(&request.filter, depths(&shared.info))
                .map_err(|error| error.to_string())?,
            sample: request.sample,
        },
        count: request.count.unwrap_or(u64::MAX),
        snap_bytes: request.snap_bytes as usize,
        ring_frames: request.ring_frames as usize,
    })
}

/// Parts of the answer; ends when the sender is dropped.
pub(super) struct Parts(pub(super) mpsc::Receiver<Vec<u8>>);

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = self.0.poll_recv(context);
        part.map(|part| part.map(|bytes| Ok(Frame::data(bytes.into()))))
    }
}

enum Cut {
    ClientGone,
    /// Cannot happen; see [`EncodeError`].
    Encode(EncodeError),
}

impl From<EncodeError> for Cut {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

struct Recording {
    shared: Arc<Shared>,
    capture: Arc<Capture>,
    encoder: Encoder,
    deadline: Option<Instant>,
    parts: mpsc::Sender<Vec<u8>>,
    written: u64,
}

impl Recording {
    async fn run(mut self, started: oneshot::Sender<bool>) {
        let tap = Arc::clone(&self.capture.tap);
        let place = self.capture.place;
        let taken = self
            .shared
            .dataplane
            .set_tap(place, Some(Arc::clone(&tap)))
            .await;
        let request = &self.capture.request;
        tracing::info!(
            capture = self.capture.id,
            ports = ?request.ports,
            filter = request.filter,
            snap_bytes = request.snap_bytes,
            "capture started"
        );
        let outcome = if taken && started.send(true).is_ok() {
            self.record().await
        } else {
            Err(Cut::ClientGone)
        };
        tap.end();
        self.remove_tap().await;
        // First, since a client may never read the rest.
        self.shared.dataplane.captures.remove(&self.capture);
        let outcome = match outcome {
            Ok(()) => self.finish().await,
            cut => cut,
        };
        if let Err(Cut::Encode(error)) = outcome {
            tracing::error!(%error, "cannot write a capture");
        }
        tracing::info!(
            capture = self.capture.id,
            frames = self.written,
            "capture ended"
        );
    }

    async fn record(&mut self) -> Result<(), Cut> {
        let shared = Arc::clone(&self.shared);
        let capture = Arc::clone(&self.capture);
        let parts = self.parts.clone();
        let ending = shared.life.ending();
        let stopped = capture.stop.notified();
        let deadline = self.deadline;
        let over = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(ending, stopped, over);
        let mut statistics_due = Instant::now() + STATISTICS_INTERVAL;
        while !capture.tap.is_over() {
            let any = self.write_waiting()?;
            if Instant::now() >= statistics_due {
                self.encoder.statistics(&capture.tap)?;
                statistics_due = Instant::now() + STATISTICS_INTERVAL;
            }
            tokio::select! {
                sent = self.send() => sent?,
                () = &mut stopped => return Ok(()),
                () = &mut ending => return Ok(()),
                () = &mut over => return Ok(()),
            }
            let wait = if any { BUSY_WAIT } else { IDLE_WAIT };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = parts.closed() => return Err(Cut::ClientGone),
                () = &mut stopped => return Ok(()),
                () = &mut ending => return Ok(()),
                () = &mut over => return Ok(()),
            }
        }
        Ok(())
    }

    /// Sends the frames still in the ring, and the statistics.
    async fn finish(&mut self) -> Result<(), Cut> {
        let tap = Arc::clone(&self.capture.tap);
        // No room is left while parts wait for a slow client.
        self.send().await?;
        for _ in 0..LAST_LOOKS {
            while self.write_waiting()? {
                self.send().await?;
            }
            if self.written >= tap.copied() {
                break;
            }
            tokio::time::sleep(BUSY_WAIT).await;
        }
        self.encoder.statistics(&tap)?;
        self.send().await
    }

    fn write_waiting(&mut self) -> Result<bool, Cut> {
        let before = self.written;
        while self.encoder.len() < PART_BYTES {
            let Some(record) = self.capture.tap.take() else {
                break;
            };
            let encoded = self.encoder.frame(&record);
            self.capture.tap.recycle(record);
            encoded?;
            self.written += 1;
        }
        Ok(self.written > before)
    }

    async fn send(&mut self) -> Result<(), Cut> {
        if self.encoder.is_empty() {
            return Ok(());
        }
        let permit = self.parts.reserve().await.map_err(|_| Cut::ClientGone)?;
        permit.send(self.encoder.take());
        Ok(())
    }

    async fn remove_tap(&self) {
        for _ in 0..REMOVALS {
            if self
                .shared
                .dataplane
                .set_tap(self.capture.place, None)
                .await
                || self.shared.life.stage() == Stage::Ending
            {
                return;
            }
            tokio::time::sleep(IDLE_WAIT).await;
        }
    }
}
