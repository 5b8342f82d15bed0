//! `switchctl trace`.

use clap::Args;

use super::complete;
use crate::show::FrameArgument;

/// Text below the arguments.
pub const TRACE_HELP: &str = "\
FRAME is fields with Open vSwitch's names, separated by commas, or the frame's
bytes in hexadecimal, from the destination address on:
  arp ip ipv6 icmp icmp6 tcp tcp6 udp udp6 roce
  dl_dst dl_src dl_vlan dl_vlan_pcp vlan_tci dl_type
  nw_src nw_dst nw_proto nw_tos ip_dscp nw_ecn tp_src tp_dst length

The answer shows how the switch would treat the frame at this moment: its
classification, its path, its charge, and the frames before it. Nothing is sent,
learnt or counted.

Examples:
  switchctl trace h1 roce,dl_dst=02:00:00:00:00:02,ip_dscp=26
  switchctl trace h1 dl_dst=02:00:00:00:00:02,dl_vlan_pcp=3,length=1500
  switchctl --json trace h1 0180c2000001025700000001880801010008 | jq .dropped";

/// A port, and a frame.
#[derive(Debug, Args)]
pub struct TraceArguments {
    /// Ingress port of the frame.
    #[arg(add = complete::ports())]
    pub port: String,
    /// Its fields, or its bytes in hexadecimal.
    pub frame: FrameArgument,
}
