//! The lab's host: sends and receives numbered frames at one device through AF_XDP, obeys PFC and
//! 802.3x PAUSE, and reports loss, order, duplication, content and delay of each flow.
//!
//! [`config::EndpointConfig`] configures it, [`report`] is its result, and [`commands`] are its input lines. The logic is
//! pure and takes the time as an argument ([`station`] and its parts); [`socket`] is the only module with `unsafe`.

pub mod commands;
pub mod config;
pub mod device;
pub mod frame;
pub mod pacer;
pub mod pause;
pub mod receiver;
pub mod report;
pub mod run;
pub mod sender;
pub mod sequence;
pub mod series;
pub mod socket;
pub mod station;
