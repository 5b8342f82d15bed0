//! The control plane: loops, elections, storms, and a switch that stands again.

mod control;
mod control_net;
mod election;
mod stand_again;
mod watchdog;
