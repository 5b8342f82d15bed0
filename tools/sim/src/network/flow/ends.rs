//! Congestion control of a flow's sender, and answers of its receiver.

use weir_config::scenario::Transport;
use weir_core::{BitRate, Bytes, Instant};

use crate::network::plan::NetworkPlan;
use crate::network::pool::Flags;
use crate::transport::acknowledged::{self, Control, Surroundings};
use crate::transport::custom::{Custom, Start};
use crate::transport::dcqcn::{NotificationPoint, ReactionPoint};
use crate::transport::recovery::Listener;
use crate::transport::window::{Algorithm, WindowSender};
use crate::transport::Reassembly;

/// Congestion control at the sender.
#[derive(Clone, Debug)]
pub(in crate::network) enum Sender {
    Open,
    Dcqcn(Box<ReactionPoint>),
    Window(Box<WindowSender>),
    Acknowledged(Box<acknowledged::Sender>),
}

impl Sender {
    /// True if all its data are acknowledged.
    pub(super) fn is_done(&self) -> bool {
        match self {
            // They get no acknowledgements.
            Self::Open | Self::Dcqcn(_) => false,
            Self::Window(window) => window.is_done(),
            Self::Acknowledged(sender) => sender.is_done(),
        }
    }
}

/// Answers of the receiver.
#[derive(Clone, Debug)]
pub(super) enum Receiver {
    Open,
    Dcqcn(NotificationPoint),
    Window(Box<Reassembly>),
    Acknowledged(Box<Listener>, Option<NotificationPoint>),
}

/// Answer to a frame.
#[derive(Clone, Copy, Debug)]
pub(in crate::network) struct Reply {
    /// In an acknowledgement: the first missing frame.
    pub(in crate::network) number: u32,
    pub(in crate::network) flags: Flags,
}

impl Reply {
    /// A notification of congestion.
    pub(in crate::network) const NOTIFICATION: Self = Self {
        number: 0,
        flags: Flags::NOTIFICATION,
    };
}

/// Result of an arrival.
#[derive(Clone, Copy, Debug)]
pub(in crate::network) struct Reception {
    /// False for repetitions, and for frames that the receiver does not accept.
    pub(in crate::network) is_new: bool,
    /// All data of the flow have arrived.
    pub(in crate::network) completes: bool,
    /// The answer is a notification of congestion.
    pub(in crate::network) notifies: bool,
    /// And this acknowledgement.
    pub(in crate::network) acknowledgement: Option<Reply>,
}

impl Receiver {
    pub(super) fn receive(&mut self, now: Instant, number: u32, marked: bool) -> Reception {
        let (is_new, notifies, acknowledgement) = match self {
            Self::Open => (true, false, None),
            Self::Dcqcn(point) => (true, marked && point.marked(now), None),
            Self::Window(reassembly) => {
                let receipt = reassembly.arrive(number);
                let reply = Reply {
                    number: receipt.acknowledgement,
                    flags: Flags::NONE.with(Flags::ECHO, marked),
                };
                (receipt.is_new, false, Some(reply))
            }
            Self::Acknowledged(listener, point) => {
                let receipt = listener.arrive(number);
                let reply = receipt.reply.map(|reply| Reply {
                    number: reply.before,
                    flags: Flags::NONE
                        .with(Flags::NACK, reply.is_nack)
                        .with(Flags::ECHO, marked),
                });
                let notifies = match point {
                    Some(point) => marked && point.marked(now),
                    None => false,
                };
                (receipt.is_new, notifies, reply)
            }
        };
        Reception {
            is_new,
            completes: false,
            notifies,
            acknowledgement,
        }
    }
}

/// Creates both ends of the flow `index`; `line` is the rate of the sending host's line.
pub(super) fn ends(index: usize, line: BitRate, network: &NetworkPlan) -> (Sender, Receiver) {
    let plan = &network.flows[index];
    let frame = plan.frame.get().max(1);
    let frame_count = plan
        .size
        .map(|size| u32::try_from(size.get().div_ceil(frame)).unwrap_or(u32::MAX));
    let around = Surroundings {
        dcqcn: &network.dcqcn,
        transports: &network.transports,
        line,
        base_round_trip: network.base_round_trip,
    };
    let transport = plan.transport;
    let point = NotificationPoint::new(network.dcqcn.notification_gap);
    let frame = Bytes::new(frame);
    let mut is_notified = transport == Transport::Dcqcn;
    let sender = match (transport, &network.custom) {
        (Transport::Custom(number), Some(controls)) => {
            let control = controls.control(&Start {
                flow: index as u32,
                transport: number,
                line,
                frame,
                size: plan.size,
                base_round_trip: network.base_round_trip,
            });
            let custom = Custom::new(control);
            is_notified = custom.wants_notifications();
            let control = Control::Custom(Box::new(custom));
            acknowledged::Sender::with_control(control, transport, &around, frame, frame_count)
        }
        _ => acknowledged::Sender::new(transport, &around, frame, frame_count),
    };
    if let Some(sender) = sender {
        let recovery = network.transports.recovery.of(transport);
        let listener = Box::new(Listener::new(recovery));
        let point = is_notified.then_some(point);
        return (
            Sender::Acknowledged(Box::new(sender)),
            Receiver::Acknowledged(listener, point),
        );
    }
    let window = |algorithm| {
        let sender = WindowSender::new(algorithm, network.window, frame_count);
        let sender = sender.with_dctcp(network.transports.dctcp);
        (
            Sender::Window(Box::new(sender)),
            Receiver::Window(Box::default()),
        )
    };
    match transport {
        Transport::Dcqcn => (
            Sender::Dcqcn(Box::new(ReactionPoint::new(network.dcqcn, line))),
            Receiver::Dcqcn(point),
        ),
        Transport::Tahoe => window(Algorithm::Tahoe),
        Transport::Reno => window(Algorithm::Reno),
        Transport::Vegas => window(Algorithm::Vegas),
        Transport::Dctcp => window(Algorithm::Dctcp),
        // These are always acknowledged; a file cannot change that, and a caller that names a transport brings it.
        Transport::Open
        | Transport::Timely
        | Transport::Swift
        | Transport::Hpcc
        | Transport::Custom(_) => (Sender::Open, Receiver::Open),
    }
}
