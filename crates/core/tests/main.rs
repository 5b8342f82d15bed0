//! All integration tests of the package, in one executable: one link, and each test has a process of its own all the same.

mod adversary;
mod authentication;
mod control;
mod level_node;
mod levels;
mod lldp;
mod neighbours;
mod networks;
mod support;
mod switch;
mod wire;
