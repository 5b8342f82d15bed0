//! Compares the whole switch with a slow model written directly from its rules: after every operation the incremental state
//! must equal what the model recomputes from the list of all frames. At the end everything is released, and each admitted
//! frame must have left.

mod model;
mod outage;
mod run;
pub mod setup;

use arbitrary::{Arbitrary, Unstructured};

pub use run::Run;

/// Maximum number of operations of one run.
pub const OPERATIONS_MAX: usize = 400;
/// Bytes of a generated control frame.
pub const CONTROL_LENGTH: usize = 24;

/// An event of the switch. Every value is valid: numbers of ports, destinations, priorities and lengths are taken modulo the
/// available ones.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Operation {
    /// A data frame arrives.
    Receive {
        /// Ingress port.
        port: u8,
        /// Index into [`setup::PRIORITIES`].
        priority: u8,
        /// Destination.
        destination: u8,
        /// Length above the minimum, in bytes.
        length: u16,
    },
    /// A port may send.
    Transmit {
        /// The port.
        port: u8,
    },
    /// A transmitter completes a frame.
    Complete {
        /// Index into the frames being sent.
        index: u8,
    },
    /// A neighbour pauses one priority or all.
    PauseReceived {
        /// The port.
        port: u8,
        /// Index into [`setup::PRIORITIES`]; `None` for 802.3x PAUSE.
        priority: Option<u8>,
        /// Duration in quanta.
        quanta: u16,
    },
    /// A MAC control frame with any parameters arrives.
    MacControl {
        /// Ingress port.
        port: u8,
        /// Content from the opcode on.
        parameters: [u8; CONTROL_LENGTH],
    },
    /// A frame of CLCM's EtherType with any content arrives.
    Clcm {
        /// Ingress port.
        port: u8,
        /// Content from the subtype on.
        body: [u8; CONTROL_LENGTH],
    },
    /// The control plane sends a CLCM.
    SendClcm {
        /// Egress port.
        port: u8,
        /// Its SPUID.
        spuid: u32,
    },
    /// A release of the Deadlock Breaker.
    Release {
        /// The loop's ingress.
        ingress: u8,
        /// The loop's egress.
        egress: u8,
        /// Index into [`setup::PRIORITIES`].
        priority: u8,
    },
    /// A link goes up or down.
    SetLink {
        /// The port.
        port: u8,
        /// True for up.
        up: bool,
    },
    /// A route changes or is removed.
    SetRoute {
        /// The destination.
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
