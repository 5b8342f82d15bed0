//! The control plane: loops, elections, storms, and a switch that rejoins an election.

mod among_planes;
mod control_net;
mod election;
mod stand_again;
mod watchdog;
