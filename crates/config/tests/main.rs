//! All integration tests of the package, in one executable: linked once, while each test still runs in a separate
//! process.

mod additions;
mod changes;
mod daemon;
mod dataplane;
mod impairments;
mod multicast;
mod multihomed;
mod rooms;
mod routing;
mod scenario;
mod sweep;
mod topologies;
mod traffic;
mod workloads;
