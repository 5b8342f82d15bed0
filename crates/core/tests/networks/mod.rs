//! Networks of several switches in lock step.

mod flooding;
mod loops;
mod loops_in_vlans;
mod loops_joined;
mod microloop;
mod release_buffer;
mod rerouting;
mod ring;
mod storms;
