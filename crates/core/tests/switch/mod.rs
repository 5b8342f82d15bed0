//! Tests of a single switch.

mod assume_paused;
mod cable;
mod copies;
mod credit_fallback;
mod credit_hints;
mod express;
mod link_back;
mod link_down;
mod marking;
mod pauses;
mod peaks;
mod pools;
mod port_shares;
mod ready;
mod reconfigure;
mod reroute;
#[path = "reroute/random.rs"]
mod reroute_random;
mod room;
#[path = "reroute/node.rs"]
mod route_node;
mod schedulers;
mod traffic_release;
mod vlans;
