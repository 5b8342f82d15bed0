//! What the dataplane and those above it give each other: requests and answers, snapshots with tables and books, taps.

pub mod accounts;
pub mod express;
pub mod impair;
pub mod link;
pub mod messages;
pub mod mirrors;
pub mod stations;
pub mod tables;
pub mod tap;
pub mod vlan_tables;
