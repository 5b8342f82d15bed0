//! The receiver of a flow whose frames are acknowledged.

use weir_config::scenario::Recovery;

use crate::transport::reassembly::Reassembly;

/// Received frames and their answers.
#[derive(Clone, Debug)]
pub struct Listener {
    order: Order,
}

#[derive(Clone, Debug)]
enum Order {
    /// Frames are accepted only in order.
    Strict {
        expected: u32,
        /// The sender was notified of a gap: once for each missing frame.
        is_told: bool,
    },
    Any(Reassembly),
}

/// Content of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Everything before this frame has arrived.
    pub before: u32,
    /// The frame is out of order: something before it is missing.
    pub is_nack: bool,
}

/// Result of a frame's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// False for one that was there, or that is not accepted.
    pub is_new: bool,
    /// Answer to the sender, if any.
    pub reply: Option<Reply>,
}

impl Listener {
    /// Creates the receiver for this kind of recovery.
    pub fn new(recovery: Recovery) -> Self {
        let order = match recovery {
            Recovery::Selective => Order::Any(Reassembly::default()),
            Recovery::GoBackN | Recovery::None => Order::Strict {
                expected: 0,
                is_told: false,
            },
        };
        Self { order }
    }

    /// Frame `number` has arrived.
    pub fn arrive(&mut self, number: u32) -> Receipt {
        match &mut self.order {
            Order::Strict { expected, is_told } => {
                let is_new = number == *expected;
                let is_early = number > *expected;
                if is_new {
                    *expected += 1;
                    *is_told = false;
                }
                let is_known = is_early && std::mem::replace(is_told, true);
                let reply = Reply {
                    before: *expected,
                    is_nack: is_early,
                };
                Receipt {
                    is_new,
                    reply: (!is_known).then_some(reply),
                }
            }
            Order::Any(reassembly) => {
                let receipt = reassembly.arrive(number);
                let before = receipt.acknowledgement;
                Receipt {
                    is_new: receipt.is_new,
                    reply: Some(Reply {
                        before,
                        is_nack: number > before,
                    }),
                }
            }
        }
    }
}
