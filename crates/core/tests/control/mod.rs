//! The control plane: loops, elections, storms, and a switch that takes part again.

mod among_planes;
mod control_net;
mod election;
mod stand_again;
mod watchdog;
