//! All integration tests of the package, in one executable: linked once, while each test still runs in a separate
//! process.

mod adversary;
mod authentication;
mod calls;
mod control;
mod level_node;
mod levels;
mod lldp;
mod neighbours;
mod networks;
mod reflection;
mod support;
mod switch;
mod wire;
