//! Headroom needed for a port's cable, by its length and the reaction times of both ends.

use weir_core::{BitRate, Bytes, CableRoom, Duration, ModeKind};

use super::headroom::{Charging, Feedback, Link};
use super::{Class, ClassTable};
use crate::reader::{FromItem, Table};
use crate::settings::{quoted, Value};
use crate::units::{format_length, format_size, parse_length};

/// Propagation delay per metre. Light in fibre of ITU-T G.652 takes 4.9 ns (group index 1.468), a bit in a twinaxial
/// cable 4.2 to 5.1 ns; SONiC uses 5.05 ns. Twisted pairs may take 5.7 ns.
pub const NANOS_PER_METRE: u64 = 5;
/// Half of the Earth's circumference.
const METRES_MAX: u64 = 20_000_000;
const CENTIMETRES_PER_METRE: u64 = 100;

/// By maximum line rate in Mbit/s: pause quanta within which a station must stop starting frames (IEEE 802.3, 31B.3.7,
/// for PAUSE and PFC; for each rate the slowest PHY, as in SONiC).
const QUANTA_OF_STATION: [(u64, u64); 9] = [
    (100, 1),
    (1_000, 2),
    (10_000, 67),
    (25_000, 80),
    (40_000, 118),
    (50_000, 147),
    (100_000, 394),
    (200_000, 453),
    (u64::MAX, 905),
];
const BITS_PER_QUANTUM: u64 = 512;

/// The length of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cable {
    centimetres: u64,
}

impl Cable {
    /// Creates a cable; `None` above 20,000 km.
    pub const fn from_metres(metres: u64) -> Option<Self> {
        if metres > METRES_MAX {
            return None;
        }
        Some(Self {
            centimetres: metres * CENTIMETRES_PER_METRE,
        })
    }

    /// Propagation delay from one end to the other.
    pub const fn delay(self) -> Duration {
        Duration::from_nanos((self.centimetres * NANOS_PER_METRE).div_ceil(CENTIMETRES_PER_METRE))
    }
}

impl std::fmt::Display for Cable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format_length(self.centimetres))
    }
}

impl FromItem for Cable {
    const EXAMPLE: &'static str = "a length such as \"40m\"";

    fn from_item(item: &crate::document::Item) -> Result<Self, String> {
        let text = String::from_item(item)?;
        let centimetres = parse_length(&text).map_err(|error| error.to_string())?;
        match centimetres <= METRES_MAX * CENTIMETRES_PER_METRE {
            true => Ok(Self { centimetres }),
            false => Err(format!("`{text}` is longer than {} km", METRES_MAX / 1000)),
        }
    }
}

impl Value for Cable {
    const EXAMPLE: &'static str = <Self as FromItem>::EXAMPLE;

    fn read(table: &Table<'_>, key: &str) -> Option<Self> {
        table.get(key)
    }

    fn written(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

/// Maximum time in the standard, for a station of this rate, from the arrival of a PFC frame until it starts its last
/// frame.
pub fn reaction_of_station(rate: BitRate) -> Duration {
    const MBIT: u64 = 1_000_000;
    let mbit = rate.get().div_ceil(MBIT);
    let quanta = QUANTA_OF_STATION.iter().find(|(up_to, _)| mbit <= *up_to);
    let bits = quanta.map_or(0, |(_, quanta)| quanta * BITS_PER_QUANTUM);
    rate.time_for(Bytes::new(bits / 8))
}

/// A line with a known cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CableLine {
    /// In each direction.
    pub rate: BitRate,
    /// Its length.
    pub cable: Cable,
    /// Reaction time of both ends, without the cable and frames in the way.
    pub reaction: Duration,
    /// Bytes that the neighbour was measured to send in addition.
    pub overshoot: Bytes,
}

impl CableLine {
    /// Time that XOFF takes on it.
    pub fn link(&self) -> Link {
        Link {
            rate: self.rate,
            feedback: Feedback::Parts {
                delay: self.cable.delay(),
                reaction: self.reaction,
            },
            overshoot: self.overshoot,
        }
    }

    /// The headroom for frames of any length if XOFF took `round_trip`.
    pub fn needed_for(&self, round_trip: Duration, charging: Charging) -> Bytes {
        let link = Link {
            feedback: Feedback::RoundTrip(round_trip),
            ..self.link()
        };
        link.headroom_needed(charging, Bytes::ZERO, &charging.worst_frames())
    }

    /// The headroom for any xoff and any frames, and the longest T for which it suffices.
    pub fn room(&self, charging: Charging) -> CableRoom {
        let headroom = self
            .link()
            .headroom_needed(charging, Bytes::ZERO, &charging.worst_frames());
        let is_enough =
            |nanos: u64| self.needed_for(Duration::from_nanos(nanos), charging) <= headroom;
        // The required headroom grows with T.
        let mut too_long: u64 = 1 << 10;
        while is_enough(too_long) && too_long < 1 << 60 {
            too_long <<= 1;
        }
        let mut enough = 0;
        while too_long - enough > 1 {
            let middle = enough + (too_long - enough) / 2;
            match is_enough(middle) {
                true => enough = middle,
                false => too_long = middle,
            }
        }
        CableRoom {
            headroom,
            round_trip_max: Duration::from_nanos(enough),
        }
    }
}

/// Cable settings of one port in a file.
#[derive(Clone, Debug)]
pub(crate) struct PortCable {
    /// Name in messages: "port `eth0`".
    pub(crate) name: String,
    /// Its line in the file.
    pub(crate) line_number: Option<usize>,
    /// Only here do classes with Levels pause by thresholds.
    pub(crate) is_edge: bool,
    /// Its cable, if the file sets one.
    pub(crate) line: Option<CableLine>,
}

/// The cables of all ports, which determine the headroom of classes without `headroom`.
#[derive(Debug)]
pub(crate) struct Cables {
    pub(crate) charging: Charging,
    pub(crate) ports: Vec<PortCable>,
}

impl Cables {
    /// The largest headroom required by the cables, for a class that sets none; `None` if they are invalid, which is
    /// reported.
    pub(super) fn headroom(&self, table: &Table<'_>, entry: &ClassTable) -> Option<Bytes> {
        let mut ports = self.of_mode(entry.mode);
        // Invalid cables have been reported.
        let says_nothing = |port: &PortCable| port.line.is_none() && port.line_number.is_none();
        if ports.clone().all(says_nothing) {
            table.miss("headroom", <Bytes as FromItem>::EXAMPLE);
            return None;
        }
        if let Some(bare) = ports.find(|port| says_nothing(port)) {
            let message = format!(
                "class `{}` has none, and {} no `cable` to give it: set `cable` there, or `headroom` here",
                entry.name, bare.name
            );
            table.complain("headroom", message);
            return None;
        }
        let rooms = self.of_mode(entry.mode).filter_map(|port| port.line);
        rooms.map(|line| line.room(self.charging).headroom).max()
    }

    /// The smallest headroom of any cable.
    pub(super) fn least(&self, mode: ModeKind) -> Option<Bytes> {
        let lines = self.of_mode(mode).filter_map(|port| port.line);
        lines.map(|line| line.room(self.charging).headroom).min()
    }

    /// Reports a class whose headroom is too small for a cable.
    pub(super) fn check(&self, table: &Table<'_>, class: &Class) {
        let Some(thresholds) = class.mode.thresholds().filter(|_| table.has("headroom")) else {
            return;
        };
        let needs = self.of_mode(class.mode.kind()).filter_map(|port| {
            let line = port.line?;
            let needed = line.room(self.charging).headroom;
            Some((needed, port, line.cable))
        });
        let Some((needed, port, cable)) = needs.max_by_key(|(needed, ..)| *needed) else {
            return;
        };
        let headroom = thresholds.headroom();
        if needed > headroom {
            let at = port
                .line_number
                .map_or(String::new(), |line| format!(", line {line}"));
            let needed = format_size(needed.round_up_to(Bytes::new(1024)));
            let message = format!(
                "class `{}`: {} contradicts the cable of {}{at}: {cable} need {needed} of headroom. Raise it to \"{needed}\", or leave `headroom` out: the cables give it where every port has one",
                class.name,
                format_size(headroom),
                port.name
            );
            table.complain("headroom", message);
        }
    }

    /// The ports at which a class of this mode pauses by thresholds.
    fn of_mode(&self, mode: ModeKind) -> impl Iterator<Item = &PortCable> + Clone {
        let ports = self.ports.iter();
        ports.filter(move |port| mode != ModeKind::Level || port.is_edge)
    }
}
