//! The networks that are compared, as scenario files.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use weir_config::scenario::generate::TopologyKind;
use weir_config::scenario::Scenario;
use weir_config::FileError;
use weir_core::{Bytes, ClassMode, Duration, FeedbackCoding};

/// Topology with a name: `torus-5x5`, `torus-4x4x4`, `ring-8`, `regular-20x4` (switches × degree), `fat-tree-4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology(TopologyKind);

impl FromStr for Topology {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{name}`: write torus-ROWSxCOLUMNS, torus-LAYERSxROWSxCOLUMNS, ring-SWITCHES, regular-SWITCHESxDEGREE or fat-tree-K")
        };
        let (kind, numbers) = name.rsplit_once('-').ok_or_else(wrong)?;
        let numbers: Result<Vec<usize>, _> = numbers.split('x').map(str::parse).collect();
        let numbers = numbers.map_err(|_| wrong())?;
        Ok(Self(match (kind, &numbers[..]) {
            ("torus", &[rows, columns]) => TopologyKind::Torus { rows, columns },
            ("torus", &[layers, rows, columns]) => TopologyKind::Torus3d {
                layers,
                rows,
                columns,
            },
            ("ring", &[switches]) => TopologyKind::Ring { switches },
            ("regular", &[switches, degree]) => TopologyKind::RandomRegular { switches, degree },
            ("fat-tree", &[k]) => TopologyKind::FatTree { k },
            _ => return Err(wrong()),
        }))
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TopologyKind::Torus { rows, columns } => write!(formatter, "torus-{rows}x{columns}"),
            TopologyKind::Torus3d {
                layers,
                rows,
                columns,
            } => write!(formatter, "torus-{layers}x{rows}x{columns}"),
            TopologyKind::Ring { switches } => write!(formatter, "ring-{switches}"),
            TopologyKind::RandomRegular { switches, degree } => {
                write!(formatter, "regular-{switches}x{degree}")
            }
            TopologyKind::FatTree { k } => write!(formatter, "fat-tree-{k}"),
            // No other topology can be named.
            other => write!(formatter, "{other:?}"),
        }
    }
}

impl Topology {
    /// All topologies of the book's tables.
    pub fn all() -> Vec<Self> {
        let squares = (4..=8).map(|side| TopologyKind::Torus {
            rows: side,
            columns: side,
        });
        let cube = TopologyKind::Torus3d {
            layers: 4,
            rows: 4,
            columns: 4,
        };
        let rings = (4..=12).map(|switches| TopologyKind::Ring { switches });
        let regular = [(16, 3), (20, 4), (32, 5)]
            .map(|(switches, degree)| TopologyKind::RandomRegular { switches, degree });
        let trees = [4, 6].map(|k| TopologyKind::FatTree { k });
        let kinds = squares.chain([cube]).chain(rings);
        kinds.chain(regular).chain(trees).map(Self).collect()
    }

    fn table(&self) -> String {
        match self.0 {
            TopologyKind::Torus { rows, columns } => {
                format!("kind = \"torus\"\nrows = {rows}\ncolumns = {columns}")
            }
            TopologyKind::Torus3d {
                layers,
                rows,
                columns,
            } => format!(
                "kind = \"torus-3d\"\nlayers = {layers}\nrows = {rows}\ncolumns = {columns}"
            ),
            TopologyKind::Ring { switches } => format!("kind = \"ring\"\nswitches = {switches}"),
            TopologyKind::RandomRegular { switches, degree } => {
                format!("kind = \"random-regular\"\nswitches = {switches}\ndegree = {degree}")
            }
            TopologyKind::FatTree { k } => format!("kind = \"fat-tree\"\nk = {k}"),
            other => format!("kind = \"{other:?}\""),
        }
    }

    fn hosts(&self) -> (usize, &'static str) {
        let switches = match self.0 {
            TopologyKind::Torus { rows, columns } => rows * columns,
            TopologyKind::Torus3d {
                layers,
                rows,
                columns,
            } => layers * rows * columns,
            TopologyKind::Ring { switches } | TopologyKind::RandomRegular { switches, .. } => {
                switches
            }
            // Number of hosts that the generator itself adds to the lowest switches.
            TopologyKind::FatTree { k } => return (k * k * k / 4, ""),
            _ => 0,
        };
        (2 * switches, "\nhosts = 2")
    }
}

/// Lengths of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// 1 µs, regardless of T: T is then the operator's setting, or a switch's reaction time.
    Short,
    /// As long as T permits after two of the longest frames: T is exact.
    Long,
}

/// Protocol of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Plain PFC with the Deadlock Breaker, on lines for this T.
    Pfc(Duration),
    /// Levels.
    Level {
        /// T.
        round_trip: Duration,
        /// Coding of Feedback.
        coding: FeedbackCoding,
    },
}

const RATE_BITS_PER_NANOSECOND: u64 = 1;
/// Longest frame with the line's overhead.
const FRAME_ON_LINE: u64 = 1522 + 20;

impl Lines {
    fn delay(self, round_trip: Duration) -> Duration {
        const SHORT: Duration = Duration::from_micros(1);
        let frames = 2 * FRAME_ON_LINE * 8 / RATE_BITS_PER_NANOSECOND;
        match self {
            Self::Short => SHORT,
            Self::Long => {
                let left = round_trip.as_nanos().saturating_sub(frames);
                Duration::from_nanos(left / 2).max(SHORT)
            }
        }
    }

    /// Returns the room for frames in flight when a pause is sent: plenty on short lines, rT more on long ones.
    fn headroom(self, round_trip: Duration) -> Bytes {
        let on_line = round_trip.as_nanos() * RATE_BITS_PER_NANOSECOND / 8;
        // A frame of 60 bytes counts 84 on the line and takes a cell of 256: frames in flight may need three times as much
        // room. The flows here have frames of 1500 bytes, which need 2 % more.
        let more = match self {
            Self::Short => 0,
            Self::Long => on_line + on_line / 16,
        };
        Bytes::new(16 * 1024 + more)
    }
}

/// Network to run.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Its graph.
    pub topology: Topology,
    /// Seed of its flows, and of a random graph.
    pub seed: u64,
    /// Lengths of its lines.
    pub lines: Lines,
    /// Protocol of its class.
    pub protocol: Protocol,
    /// Duration of traffic.
    pub duration: Duration,
}

impl Network {
    /// Returns it as a scenario: a permutation and two more random flows for each host, all endless, on lines of 1 Gbit/s.
    ///
    /// # Errors
    ///
    /// Errors of the reader: numbers of a topology that are out of range.
    pub fn scenario(&self) -> Result<Scenario, FileError> {
        let Protocol::Level {
            round_trip,
            coding: FeedbackCoding::Grants,
        } = self.protocol
        else {
            return parse(&self.text(Bytes::ZERO));
        };
        // Grants need no room for frames in flight, but without it no line would be full: use the same headroom.
        let coding = FeedbackCoding::Pfc;
        let like = Self {
            protocol: Protocol::Level { round_trip, coding },
            ..*self
        };
        let total = |mode: &ClassMode| match mode {
            ClassMode::Level { budgets, .. } => budgets.total(),
            _ => Bytes::ZERO,
        };
        let like = parse(&like.text(Bytes::ZERO))?;
        let totals = like.classes.iter().map(|class| total(&class.mode));
        parse(&self.text(totals.max().unwrap_or(Bytes::ZERO)))
    }

    /// Returns the scenario file. If `buffer` is zero, the reader sets budgets: γmax + rT each, plus xoff.
    pub fn text(&self, buffer: Bytes) -> String {
        let (hosts, hosts_key) = self.topology.hosts();
        let (round_trip, coding, mode, policy) = match self.protocol {
            Protocol::Pfc(round_trip) => (round_trip, FeedbackCoding::Pfc, "pfc", "breaker"),
            Protocol::Level { round_trip, coding } => (round_trip, coding, "level", "off"),
        };
        let buffer = match buffer {
            Bytes::ZERO => String::new(),
            buffer => format!("\nbuffer = \"{}B\"", buffer.get()),
        };
        format!(
            r#"name = "{topology}"
duration = "{duration}ns"
seed = {seed}
[link-defaults]
rate = "1Gbit"
delay = "{delay}ns"
round-trip = "{round_trip}ns"
feedback = "{coding}"
[topology]
{table}{hosts_key}
[[class]]
name = "lossless"
priority = 3
mode = "{mode}"
xoff = "24KiB"
xon = "20KiB"
headroom = "{headroom}B"{buffer}
[deadlock]
policy = "{policy}"
detect = "5ms"
clcm-interval = "1ms"
release = "5ms"
[[traffic]]
kind = "permutation"
class = "lossless"
[[traffic]]
kind = "random"
flows = {flows}
class = "lossless"
[routing]
mode = "shortest"
"#,
            topology = self.topology,
            seed = self.seed,
            duration = self.duration.as_nanos(),
            delay = self.lines.delay(round_trip).as_nanos(),
            round_trip = round_trip.as_nanos(),
            coding = coding.name(),
            table = self.topology.table(),
            headroom = self.lines.headroom(round_trip).get(),
            flows = 2 * hosts,
        )
    }
}

fn parse(text: &str) -> Result<Scenario, FileError> {
    Scenario::parse(text, Path::new("fairness.toml"), &[])
}
