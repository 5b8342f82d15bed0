//! Data exchanged by the dataplane and the code above it: requests and answers, snapshots with
//! tables and accounts, series, taps.

pub mod accounts;
pub mod audit;
pub(crate) mod express;
pub mod impair;
pub mod link;
pub mod messages;
pub mod mirrors;
pub mod series;
pub mod stations;
pub mod tables;
pub mod tap;
pub(crate) mod vlan_tables;
