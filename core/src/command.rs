//! What the control plane asks of the dataplane.

use crate::config::Neighbour;
use crate::units::{Bytes, Duration, PortId, Priority};
use crate::wire::clcm::Clcm;

/// One request to [`Switch::apply`](crate::Switch::apply).
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // commands are few and live in bounded queues
pub enum Command {
    /// Send `message` through `port`, outside the data priorities.
    SendClcm {
        /// Where to.
        port: PortId,
        /// What.
        message: Clcm,
    },
    /// The release of the CLCM paper's section 3.3: for `period` only frames that came in by `ingress`
    /// leave by `egress` at `priority`, and the ingress buffer of `ingress` is larger by `extra`.
    ///
    /// Repeating it while it is active prolongs it. A second `ingress` for the same egress is refused
    /// until the first one's time is over.
    Release {
        /// The loop's ingress port.
        ingress: PortId,
        /// The loop's egress port.
        egress: PortId,
        /// The loop's priority.
        priority: Priority,
        /// How long the rule holds.
        period: Duration,
        /// Additional buffer, at least one full frame.
        extra: Bytes,
    },
    /// Tell the dataplane that `port`'s link went up or down. A port that is down admits nothing and
    /// sends nothing; what waits for it waits on.
    SetLink {
        /// The port.
        port: PortId,
        /// Whether the link is up.
        up: bool,
    },
    /// Speak to the switch on the other side of `port` as `neighbour` from now on. The Feedback in force
    /// is told again at once, in the new manner; the neighbour's own counts until it expires. The same
    /// neighbour again changes nothing.
    SetNeighbour {
        /// The port.
        port: PortId,
        /// What is on the other side.
        neighbour: Neighbour,
    },
    /// Admit no more data frames; what is buffered still leaves. There is no way back.
    Drain,
}

/// Why a [`Command`] was refused. The switch is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The command names a port that the configuration does not have.
    #[error("port {0} does not exist")]
    NoSuchPort(PortId),
    /// The port's control queue has no room.
    #[error("the control queue of port {0} is full")]
    ControlQueueFull(PortId),
    /// Another loop holds this egress until its release ends.
    #[error(
        "egress {egress} priority {priority} is held for ingress {holder} until its release ends"
    )]
    ReleaseConflict {
        /// The contested egress port.
        egress: PortId,
        /// The contested priority.
        priority: Priority,
        /// The ingress port that the rule in force favours.
        holder: PortId,
    },
    /// Only lossless classes have an ingress buffer that can be enlarged.
    #[error("priority {0} is not a lossless class")]
    NotLossless(Priority),
    /// A class with Levels does not deadlock and has no thresholds to raise.
    #[error("priority {0} is a class with Levels: there is nothing to release")]
    HasLevels(Priority),
}
