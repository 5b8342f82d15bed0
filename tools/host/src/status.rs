//! Status of attached devices as text, as JSON and for Prometheus.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use weir_output::{bytes, facts, rate, seconds, table, NONE};

use crate::attach::Present;
use crate::device::Device;
use crate::error::Error;
use crate::plug;
use crate::settings::PRIORITIES;
use crate::state::{InForce, PriorityState, Totals};

/// Status of one device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Name of the device.
    pub device: String,
    /// The queueing discipline at its root.
    pub qdisc: String,
    /// Process of `weir-host plug` that obeys pauses; `None` for an attached device, whose pauses the kernel obeys.
    pub process: Option<u32>,
    /// False if a part is missing, because the queueing discipline was replaced or an attach was killed. Attach again.
    pub whole: bool,
    /// Settings in force.
    pub settings: InForce,
    /// Its counters.
    pub totals: Totals,
    /// State of each priority, from 0 on.
    pub priorities: [PriorityState; PRIORITIES],
}

impl Status {
    /// Returns the status of a device.
    ///
    /// # Errors
    ///
    /// When it is not attached, or the kernel refuses.
    pub fn of(device: &Device) -> Result<Self, Error> {
        let present = Present::at(device)?;
        let whole = present.is_whole();
        if present.root.as_ref().is_some_and(plug::is_ours) {
            let of_worker = plug::status_of(device)?;
            return of_worker.ok_or_else(|| Error::PlugLeft {
                device: device.name.clone(),
            });
        }
        let Some(maps) = present.maps else {
            return Err(Error::NotAttached {
                device: device.name.clone(),
            });
        };
        Ok(Self {
            device: device.name.clone(),
            qdisc: present.root.map(|root| root.kind).unwrap_or_default(),
            process: None,
            whole,
            settings: maps.in_force(&device.name)?,
            totals: maps.totals(&device.name)?,
            priorities: maps.priorities(&device.name)?,
        })
    }

    /// Returns the statuses of all attached devices of this namespace, and the errors of partly attached ones.
    ///
    /// # Errors
    ///
    /// When devices cannot be listed.
    pub fn all() -> Result<(Vec<Self>, Vec<Error>), Error> {
        let devices =
            Device::all().map_err(|error| Error::system("all", "listing devices", error))?;
        let (mut all, mut failed) = (Vec::new(), Vec::new());
        for device in devices {
            match Self::of(&device) {
                Ok(status) => all.push(status),
                Err(Error::NotAttached { .. }) => {}
                Err(error) => failed.push(error),
            }
        }
        Ok((all, failed))
    }

    /// Returns the number of dropped frames.
    pub fn dropped(&self) -> u64 {
        self.priorities.iter().map(PriorityState::dropped).sum()
    }
}

/// Formats the settings in force, and the waiting frames.
pub fn status_text(all: &[Status]) -> String {
    if all.is_empty() {
        return "no device of this namespace is attached: `weir-host attach DEVICE`".to_owned();
    }
    let blocks = all.iter().map(|status| {
        let in_force = &status.settings;
        let list = |numbers: &[u8]| match numbers.len() {
            PRIORITIES => "all".to_owned(),
            0 => NONE.to_owned(),
            _ => {
                let words: Vec<String> = numbers.iter().map(u8::to_string).collect();
                words.join(" ")
            }
        };
        let state = match status.whole {
            true if status.process.is_some() => "held by `weir-host plug`",
            true => "attached",
            false => "INCOMPLETE: the queue was replaced, or an attach was killed: attach again",
        };
        let pause = match in_force.obeys_global_pause {
            true => "obeyed",
            false => "ignored",
        };
        let process = status
            .process
            .map(|process| ("process", process.to_string()));
        let rows: Vec<(&str, String)> = [(status.device.as_str(), state.to_owned())]
            .into_iter()
            .chain(process)
            .chain([
                ("qdisc", status.qdisc.clone()),
                ("rate", rate(in_force.rate_bits_per_second)),
                (
                    "max rate",
                    in_force
                        .max_rate_bits_per_second
                        .map_or_else(|| NONE.to_owned(), rate),
                ),
                ("priorities by", in_force.source.to_owned()),
                ("obeys PFC for", list(&in_force.obeyed)),
                ("PAUSE", pause.to_owned()),
                (
                    "limit",
                    format!("{} for each priority", bytes(in_force.limit_bytes)),
                ),
                ("dropped", status.dropped().to_string()),
            ])
            .collect();
        let head = facts(&rows);
        let rows = (0usize..).zip(&status.priorities).map(|(number, one)| {
            let paused = one.paused_for_ns.map_or_else(
                || NONE.to_owned(),
                |left| format!("for {}", seconds(left as f64 / 1e9)),
            );
            let share = in_force.shares.get(number);
            vec![
                number.to_string(),
                share.map_or_else(|| NONE.to_owned(), u64::to_string),
                paused,
                one.queued_frames.to_string(),
                bytes(one.queued_bytes),
                one.peak_bytes.map_or_else(|| NONE.to_owned(), bytes),
            ]
        });
        let headings = [
            ">priority",
            ">share",
            ">paused",
            ">queued",
            ">bytes",
            ">most",
        ];
        format!("{head}{}", table(&headings, rows))
    });
    blocks.collect::<Vec<String>>().join("\n")
}

/// Formats all counters.
pub fn counters_text(status: &Status) -> String {
    let rows = (0usize..).zip(&status.priorities).map(|(number, one)| {
        let mut row = vec![number.to_string()];
        let words = COUNTERS.iter().map(|(_, _, of)| of(one));
        row.extend(
            words.map(|count| count.map_or_else(|| NONE.to_owned(), |count| count.to_string())),
        );
        row
    });
    let mut headings = vec![">priority".to_owned()];
    headings.extend(COUNTERS.iter().map(|(name, ..)| format!(">{name}")));
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let totals = &status.totals;
    let head = facts(&[
        ("pfc_frames", totals.pfc_frames.to_string()),
        ("pause_frames", totals.pause_frames.to_string()),
        ("bad_frames", totals.bad_frames.to_string()),
        ("wakes", totals.wakes.to_string()),
        ("freed", totals.freed.to_string()),
        ("rate_waits", totals.rate_waits.to_string()),
    ]);
    format!("{head}{}", table(&headings, rows))
}

type Counter = (
    &'static str,
    &'static str,
    fn(&PriorityState) -> Option<u64>,
);

/// Counters of a priority: name, meaning, value; `None` if it is not counted.
const COUNTERS: [Counter; 12] = [
    (
        "sent_frames",
        "Frames handed to the driver; with segmentation offload each may be several on the wire",
        |one| Some(one.sent_frames),
    ),
    ("sent_bytes", "Bytes handed to the driver", |one| {
        Some(one.sent_bytes)
    }),
    ("pauses", "Pauses that began", |one| Some(one.counts.pauses)),
    ("refreshes", "XOFFs that came during a pause", |one| {
        Some(one.counts.refreshes)
    }),
    ("resumes", "Pauses that an XON ended", |one| {
        Some(one.counts.resumes)
    }),
    ("expiries", "Pauses that ended by their time", |one| {
        Some(one.counts.expiries)
    }),
    (
        "paused_ns",
        "Nanoseconds of all pauses that have ended",
        |one| Some(one.counts.paused_ns),
    ),
    ("ignored", "Pauses that were not obeyed, by --obey", |one| {
        Some(one.counts.ignored)
    }),
    (
        "dropped_limit",
        "Frames dropped because the queue was at --limit",
        |one| Some(one.dropped_limit),
    ),
    (
        "dropped_memory",
        "Frames dropped because the kernel had no memory for the queue",
        |one| Some(one.dropped_memory),
    ),
    (
        "dropped_draining",
        "Frames refused while a detach drained the queue",
        |one| Some(one.dropped_draining),
    ),
    ("peak_bytes", "Most bytes that were ever queued", |one| {
        one.peak_bytes
    }),
];

/// Formats all counters in Prometheus' text format.
pub fn metrics_text(all: &[Status]) -> String {
    let mut text = String::new();
    let mut family =
        |name: &str, kind: &str, help: &str, lines: &mut dyn FnMut(&mut String, &str)| {
            let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} {kind}");
            lines(&mut text, name);
        };
    let of_priorities =
        |text: &mut String, name: &str, of: &dyn Fn(&PriorityState) -> Option<f64>| {
            for status in all {
                for (number, one) in status.priorities.iter().enumerate() {
                    let device = escape(&status.device);
                    let Some(value) = of(one) else { continue };
                    let _ = writeln!(
                        text,
                        "{name}{{device=\"{device}\",priority=\"{number}\"}} {value}"
                    );
                }
            }
        };
    for (name, help, of) in COUNTERS {
        let (name, kind, scale) = match name {
            "peak_bytes" => ("weir_host_queue_peak_bytes".to_owned(), "gauge", 1.0),
            "paused_ns" => ("weir_host_paused_seconds_total".to_owned(), "counter", 1e-9),
            name => (format!("weir_host_{name}_total"), "counter", 1.0),
        };
        let help = help.replace("Nanoseconds", "Seconds");
        family(&name, kind, &help, &mut |text, name| {
            of_priorities(text, name, &|one| Some(of(one)? as f64 * scale));
        });
    }
    family(
        "weir_host_queue_bytes",
        "gauge",
        "Bytes that wait",
        &mut |text, name| {
            of_priorities(text, name, &|one| Some(one.queued_bytes as f64));
        },
    );
    family(
        "weir_host_paused",
        "gauge",
        "1 while the priority is paused",
        &mut |text, name| {
            of_priorities(text, name, &|one| {
                Some(f64::from(u8::from(one.paused_for_ns.is_some())))
            });
        },
    );
    type OfDevice = (&'static str, &'static str, &'static str, fn(&Status) -> u64);
    let of_devices: [OfDevice; 7] = [
        (
            "weir_host_attached",
            "gauge",
            "1 when the queue and both programs are there, 0 when a part is missing",
            |one| u64::from(one.whole),
        ),
        (
            "weir_host_pfc_frames_total",
            "counter",
            "PFC frames received",
            |one| one.totals.pfc_frames,
        ),
        (
            "weir_host_pause_frames_total",
            "counter",
            "PAUSE frames received",
            |one| one.totals.pause_frames,
        ),
        (
            "weir_host_bad_frames_total",
            "counter",
            "MAC control frames of another kind, too short, tagged, or to another address",
            |one| one.totals.bad_frames,
        ),
        (
            "weir_host_wakes_total",
            "counter",
            "Times that an XON woke the queue",
            |one| one.totals.wakes,
        ),
        (
            "weir_host_freed_frames_total",
            "counter",
            "Frames freed unsent because the device went down",
            |one| one.totals.freed,
        ),
        (
            "weir_host_rate_waits_total",
            "counter",
            "Times that a frame waited for --max-rate",
            |one| one.totals.rate_waits,
        ),
    ];
    for (name, kind, help, of) in of_devices {
        family(name, kind, help, &mut |text, name| {
            for status in all {
                let device = escape(&status.device);
                let _ = writeln!(text, "{name}{{device=\"{device}\"}} {}", of(status));
            }
        });
    }
    text
}

/// Escapes a label's value.
pub(crate) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
