//! The whole switch against a slow model written straight from its rules: after every operation the
//! incremental state must equal what the model recomputes from the list of all frames. At the end
//! everything is released, and each admitted frame must have left.

mod model;
mod outage;
mod run;
pub mod setup;

use arbitrary::{Arbitrary, Unstructured};

pub use run::Run;

/// Operations that one run has at most.
pub const OPERATIONS_MAX: usize = 400;
/// Bytes of a control frame that an operation makes up.
pub const CONTROL_LENGTH: usize = 24;

/// Something that happens to the switch. Every value means something: numbers of ports, destinations, priorities and
/// lengths count modulo what there is.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Operation {
    /// A data frame comes in.
    Receive {
        /// By this port.
        port: u8,
        /// Which of [`setup::PRIORITIES`].
        priority: u8,
        /// To whom.
        destination: u8,
        /// Above the shortest, in bytes.
        length: u16,
    },
    /// A port may send.
    Transmit {
        /// Which.
        port: u8,
    },
    /// A transmitter is done with a frame.
    Complete {
        /// Which of those that are out.
        index: u8,
    },
    /// A neighbour holds a priority or everything.
    PauseReceived {
        /// At this port.
        port: u8,
        /// Which of [`setup::PRIORITIES`]; none for 802.3x PAUSE.
        priority: Option<u8>,
        /// For how long.
        quanta: u16,
    },
    /// A MAC control frame with any parameters comes in.
    MacControl {
        /// By this port.
        port: u8,
        /// From the opcode on.
        parameters: [u8; CONTROL_LENGTH],
    },
    /// A frame of CLCM's EtherType with any content comes in.
    Clcm {
        /// By this port.
        port: u8,
        /// From the subtype on.
        body: [u8; CONTROL_LENGTH],
    },
    /// The control plane has a CLCM sent.
    SendClcm {
        /// By this port.
        port: u8,
        /// With this SPUID.
        spuid: u32,
    },
    /// A release of the Deadlock Breaker.
    Release {
        /// The loop's ingress.
        ingress: u8,
        /// The loop's egress.
        egress: u8,
        /// Which of [`setup::PRIORITIES`].
        priority: u8,
    },
    /// A link goes up or down.
    SetLink {
        /// Port.
        port: u8,
        /// Which of the two.
        up: bool,
    },
    /// A destination is reached by another port, or by none.
    SetRoute {
        /// Which destination.
        destination: u8,
        /// The port; `None` removes the route.
        port: Option<u8>,
    },
    /// Time passes.
    Wait {
        /// In microseconds.
        micros: u16,
    },
}

/// Runs the operations that `bytes` encode.
pub fn any_operations(bytes: &[u8]) {
    let mut source = Unstructured::new(bytes);
    let mut run = Run::new();
    for _ in 0..OPERATIONS_MAX {
        if source.is_empty() {
            break;
        }
        let Ok(operation) = Operation::arbitrary(&mut source) else {
            break;
        };
        run.apply(operation);
    }
    run.finish();
}
