//! The command line of `switchctl capture`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::complete;

/// Text below the options.
pub const CAPTURE_HELP: &str = "\
Without -w, each frame is one line: time, port, direction, addresses, EtherType,
length, fate. Captures contain users' data: only root and the API socket's group
may use the socket, and only 128 bytes of each frame are kept unless --snap sets
more. A capture ends when this command ends, and missed frames are reported
then. At most four run at a time. Without a capture there is no cost.

Filters use tcpdump's syntax, with these additional words:
  priority 3, pfc, pause, xoff, xon, feedback, clcm, echo, lldp, data, control,
  in, out
  admitted, sent, dropped, `dropped no_route`, marked, held, pausing
and support these of tcpdump's:
  vlan, `vlan 7`, ether proto 0x8808, ether host MAC, host, net, port, src …,
  dst …, ip, tcp, ecn ce, dscp 26, greater 1000, less 64; and, or, not, ( )

Examples:
  switchctl capture s2 --filter 'priority 3 and (pfc or dropped)'
  switchctl capture s2 -w - | wireshark -k -i - -X lua_script:weir.lua
  switchctl capture s2 s4 --filter clcm -w clcm.pcapng --duration 10s
  switchctl capture all --sample 1000 --snap 64 --count 5000 -w - |
    tshark -r - -T fields -e frame.comment
  ssh leaf1 switchctl capture s2 -w - | wireshark -k -i -";

/// `switchctl capture`.
#[derive(Debug, Args)]
pub struct CaptureArguments {
    /// Ports, or `all`.
    #[arg(value_name = "PORT", required = true, add = complete::ports_or_all())]
    pub ports: Vec<String>,
    /// Only frames that match this expression.
    #[arg(long, value_name = "EXPR", default_value = "")]
    pub filter: String,
    /// Write pcapng into this file, or to standard output.
    #[arg(long, short, value_name = "FILE|-")]
    pub write: Option<PathBuf>,
    /// Bytes to keep of each frame, 64 to 16384.
    #[arg(long, value_name = "BYTES", default_value_t = 128)]
    pub snap: u32,
    /// Capture one in N of the frames that match the filter.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub sample: u64,
    /// Stop after this many frames.
    #[arg(long, short, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Stop after this time, such as 10s or 500ms.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub duration: Option<f64>,
    /// Size of the ring between the switch and this command, in frames, 16 to 65536.
    #[arg(long, value_name = "FRAMES", default_value_t = 4096)]
    pub ring: u32,
}

fn seconds(text: &str) -> Result<f64, String> {
    let duration = weir_config::units::parse_duration(text).map_err(|error| error.to_string())?;
    Ok(duration.as_nanos() as f64 / 1e9)
}
