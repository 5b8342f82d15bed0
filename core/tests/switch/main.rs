//! One switch and what it is asked.

mod assume_paused;
mod copies;
#[path = "../level_node/mod.rs"]
mod level_node;
mod link_back;
mod link_down;
mod marking;
mod pauses;
mod peaks;
mod pools;
mod ready;
mod reconfigure;
mod reroute;
#[path = "reroute/random.rs"]
mod reroute_random;
#[path = "reroute/node.rs"]
mod route_node;
mod schedulers;
#[path = "../support/mod.rs"]
mod support;
mod traffic_release;
mod vlans;
