//! All integration tests of the package, in one executable: one link, and each test has a process of its own all the same.

mod changes;
mod daemon;
mod dataplane;
mod impairments;
mod multicast;
mod rooms;
mod routing;
mod scenario;
mod sweep;
mod topologies;
mod traffic;
mod workloads;
