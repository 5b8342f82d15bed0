//! Congestion events of section III-B, derived from admitted arrivals Â and departures D at a path server with feedback delay ΔR.

pub mod acknowledgement;
pub mod ecn;
pub mod pfc;
pub mod retransmission;
pub mod rtt;
pub mod timeout;
