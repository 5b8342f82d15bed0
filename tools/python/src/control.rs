//! Congestion control written in Python.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{intern, IntoPyObjectExt};
use weir_config::scenario::Scenario;
use weir_core::{BitRate, Bytes, Duration, Instant};
use weir_sim::transport::custom::{
    Acknowledged, CustomControl, CustomControls, Limits, Signal, Start,
};
use weir_sim::transport::telemetry;

/// No line is faster: larger rates are this one.
const RATE_MAX_BPS: f64 = 1e15;

/// A flow for which a control is made.
#[pyclass(frozen, module = "weir", get_all)]
#[derive(Debug)]
pub struct FlowStart {
    /// Its name.
    name: String,
    /// The sending host.
    sender: String,
    /// The receiving host.
    receiver: String,
    /// Rate of the sender's line.
    line_bits_per_second: u64,
    /// Length of its frames.
    frame_bytes: u64,
    /// Its data; None without an end.
    size_bytes: Option<u64>,
    /// The longest round trip of any flow with such a control in the empty network.
    base_rtt_seconds: f64,
}

/// An acknowledgement that has reached the sender.
#[pyclass(frozen, module = "weir")]
#[derive(Debug)]
pub struct Ack {
    /// Virtual time.
    #[pyo3(get)]
    now_seconds: f64,
    /// From the departure of the frame to the arrival of its acknowledgement.
    #[pyo3(get)]
    rtt_seconds: f64,
    /// Bytes newly known to have arrived.
    #[pyo3(get)]
    acked_bytes: u64,
    /// Bytes in flight after it.
    #[pyo3(get)]
    in_flight_bytes: u64,
    /// True if the frame was marked Congestion Experienced.
    #[pyo3(get)]
    marked: bool,
    hops: Vec<telemetry::Hop>,
}

#[pymethods]
impl Ack {
    /// Telemetry that the switches on the path wrote into the frame as it left, first to last.
    #[getter]
    fn hops(&self) -> Vec<Hop> {
        let hop = |hop: &telemetry::Hop| Hop {
            line: hop.line,
            at_seconds: seconds(hop.at),
            sent_bytes: hop.sent_bytes,
            queue_bytes: hop.queue_bytes,
            bits_per_second: hop.rate.get(),
        };
        self.hops.iter().map(hop).collect()
    }
}

/// Telemetry that a switch wrote into a frame.
#[pyclass(frozen, module = "weir", get_all)]
#[derive(Debug)]
pub struct Hop {
    /// Number of the line by which the frame left.
    line: u32,
    /// When it left.
    at_seconds: f64,
    /// Bytes that the line had carried before, with preamble, gap and FCS.
    sent_bytes: u64,
    /// Bytes that still waited for the line.
    queue_bytes: u64,
    /// Rate of the line.
    bits_per_second: u64,
}

/// The first exception of a callback, which ends the run.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    pub fn is_there(&self) -> bool {
        self.lock().is_some()
    }

    pub fn take(&self) -> Option<PyErr> {
        self.lock().take()
    }

    fn keep(&self, error: PyErr) {
        self.lock().get_or_insert(error);
    }

    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Classes of Python, by number of the transport.
#[derive(Debug)]
pub struct Controls {
    factories: Vec<Py<PyAny>>,
    /// By flow: its name and those of its hosts.
    flows: Vec<[String; 3]>,
    failure: Failure,
}

impl Controls {
    pub fn new(factories: Vec<Py<PyAny>>, scenario: &Scenario, failure: Failure) -> Self {
        let host = |host: usize| scenario.hosts[host].name.clone();
        let flows = scenario.flows.iter();
        let names = flows.map(|flow| [flow.name.clone(), host(flow.from), host(flow.to)]);
        Self {
            factories,
            flows: names.collect(),
            failure,
        }
    }

    fn make(&self, py: Python<'_>, start: &Start) -> PyResult<PythonControl> {
        let [name, sender, receiver] = self.flows[start.flow as usize].clone();
        let flow = FlowStart {
            name,
            sender,
            receiver,
            line_bits_per_second: start.line.get(),
            frame_bytes: start.frame.get(),
            size_bytes: start.size.map(Bytes::get),
            base_rtt_seconds: start.base_round_trip.as_secs_f64(),
        };
        let factory = &self.factories[usize::from(start.transport)];
        let object = factory.bind(py).call1((flow,))?;
        let has = |name| object.hasattr(name);
        Ok(PythonControl {
            hears: Hears {
                ack: has("on_ack")?,
                cnp: has("on_cnp")?,
                loss: has("on_loss")?,
                timeout: has("on_timeout")?,
                timer: has("on_timer")?,
            },
            limits: limits(&object)?,
            object: Arc::new(object.unbind()),
            failure: self.failure.clone(),
        })
    }
}

impl CustomControls for Controls {
    fn control(&self, start: &Start) -> Box<dyn CustomControl> {
        match Python::attach(|py| self.make(py, start)) {
            Ok(control) => Box::new(control),
            Err(error) => {
                self.failure.keep(error);
                Box::new(Nothing)
            }
        }
    }
}

/// The control of a flow in a run that is about to fail.
#[derive(Debug)]
struct Nothing;

impl CustomControl for Nothing {
    fn begin(&self) -> Limits {
        Limits::default()
    }

    fn wants_notifications(&self) -> bool {
        false
    }

    fn handle(&mut self, _: Instant, _: Signal<'_>) -> Limits {
        Limits::default()
    }

    fn copy(&self) -> Box<dyn CustomControl> {
        Box::new(Self)
    }
}

/// Callbacks that an object has.
#[derive(Clone, Copy, Debug)]
struct Hears {
    ack: bool,
    cnp: bool,
    loss: bool,
    timeout: bool,
    timer: bool,
}

/// An object of Python, and the limits that it had after the last call.
#[derive(Clone, Debug)]
struct PythonControl {
    object: Arc<Py<PyAny>>,
    hears: Hears,
    limits: Limits,
    failure: Failure,
}

impl CustomControl for PythonControl {
    fn begin(&self) -> Limits {
        self.limits
    }

    fn wants_notifications(&self) -> bool {
        self.hears.cnp
    }

    fn handle(&mut self, now: Instant, signal: Signal<'_>) -> Limits {
        if matches!(signal, Signal::Timer) {
            self.limits.timer = None;
        }
        if !self.failure.is_there() {
            match Python::attach(|py| self.call(py, now, signal)) {
                Ok(limits) => self.limits = limits,
                Err(error) => {
                    self.failure.keep(error);
                    self.limits.timer = None;
                }
            }
        }
        self.limits
    }

    fn copy(&self) -> Box<dyn CustomControl> {
        Box::new(self.clone())
    }
}

impl PythonControl {
    fn call(&self, py: Python<'_>, now: Instant, signal: Signal<'_>) -> PyResult<Limits> {
        let object = self.object.bind(py);
        let hears = self.hears;
        let (name, argument) = match signal {
            Signal::Acknowledged(it) if hears.ack => {
                (intern!(py, "on_ack"), ack(now, &it).into_bound_py_any(py)?)
            }
            Signal::Notified if hears.cnp => {
                (intern!(py, "on_cnp"), seconds(now).into_bound_py_any(py)?)
            }
            Signal::Lost if hears.loss => {
                (intern!(py, "on_loss"), seconds(now).into_bound_py_any(py)?)
            }
            Signal::TimedOut if hears.timeout => (
                intern!(py, "on_timeout"),
                seconds(now).into_bound_py_any(py)?,
            ),
            Signal::Timer if hears.timer => {
                // It is over; the callback may set the next.
                object.setattr(intern!(py, "timer_seconds"), py.None())?;
                (intern!(py, "on_timer"), seconds(now).into_bound_py_any(py)?)
            }
            _ => return Ok(self.limits),
        };
        object.call_method1(name, (argument,))?;
        limits(object)
    }
}

fn ack(now: Instant, it: &Acknowledged<'_>) -> Ack {
    Ack {
        now_seconds: seconds(now),
        rtt_seconds: it.round_trip.as_secs_f64(),
        acked_bytes: it.bytes.get(),
        in_flight_bytes: it.in_flight.get(),
        marked: it.is_marked,
        hops: it.hops.to_vec(),
    }
}

/// Reads the attributes of an object.
fn limits(object: &Bound<'_, PyAny>) -> PyResult<Limits> {
    let py = object.py();
    let rate: Option<f64> = object.getattr(intern!(py, "rate_bps"))?.extract()?;
    let window: Option<f64> = object.getattr(intern!(py, "window_bytes"))?.extract()?;
    let timer: Option<f64> = object.getattr(intern!(py, "timer_seconds"))?.extract()?;
    // Not a number is not above one, either.
    let rate = rate.map(
        |bps| match BitRate::new(bps.clamp(0.0, RATE_MAX_BPS) as u64) {
            Some(rate) if bps >= 1.0 => Ok(rate),
            _ => Err(wrong("rate_bps", bps, "must be at least 1")),
        },
    );
    if let Some(bytes) = window.filter(|bytes| bytes.is_nan() || *bytes < 0.0) {
        return Err(wrong("window_bytes", bytes, "must not be below zero"));
    }
    if let Some(at) = timer.filter(|at| at.is_nan() || *at < 0.0) {
        return Err(wrong("timer_seconds", at, "must not be below zero"));
    }
    let timer = timer.map(|at| Instant::ZERO + Duration::from_nanos((at * 1e9).round() as u64));
    Ok(Limits {
        rate: rate.transpose()?,
        window_bytes: window,
        timer: timer.map(|at| at.min(Instant::FAR_FUTURE)),
    })
}

fn wrong(name: &str, value: f64, rule: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{name} is {value}: it {rule}, or None for no limit"
    ))
}

fn seconds(at: Instant) -> f64 {
    at.saturating_since(Instant::ZERO).as_secs_f64()
}
