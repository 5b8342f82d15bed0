//! NVMe over RDMA. The kernel's target and initiator support the first network namespace only, so it needs two guests.

use anyhow::{ensure, Result};

use super::super::Hosts;
use super::{Counts, PFC, RATE};

/// Byte 96 in the IP header is DSCP 24: priority 3.
const TRAFFIC_CLASS: u32 = 96;

/// The target's guest also runs the switch, with a port on the cable to the initiator's guest.
pub(super) fn over_rdma(hosts: &Hosts<'_>) -> Result<String> {
    const OPTIONS: &str = "--priorities dscp";
    hosts.steps(
        200,
        &format!(
            ". /etc/san.sh
             . /etc/nvme.sh
             rate={RATE} mtu=1500B
             ip netns add sw
             in_ns sw ip link set lo up
             ip link set eth0 netns sw name p1
             in_ns sw ip link set p1 up
             end 2
             ip addr add 10.8.0.2/24 dev e2
             switch '{PFC}' p1 p2
             obey e2 {OPTIONS}
             rdma link add rxe2 type rxe netdev e2
             subsystem
             offer 1 rdma 10.8.0.2"
        ),
    )?;
    let said = hosts.peer_steps(
        300,
        &format!(
            ". /etc/san.sh
             . /etc/nvme.sh
             rate={RATE}
             ip link set eth0 up
             ip addr add 10.8.0.1/24 dev eth0
             obey eth0 {OPTIONS}
             rdma link add rxe1 type rxe netdev eth0
             reach rdma 10.8.0.2 tos={TRAFFIC_CLASS}
             wait_until 60 has_namespace
             BLOCKS=20 each=2
             fill
             write_and_compare $(namespace)
             for name in rcvd_seq_err completer_retry_err; do
                 echo \"$name $(cat /sys/class/infiniband/rxe1/ports/1/hw_counters/$name)\"
             done
             echo \"refused $(weir-host metrics | refused)\""
        ),
    )?;
    hosts.steps(30, ". /etc/san.sh; counted after")?;
    // A guest that waits for a CPU answers late, so that its peer retransmits without any loss.
    let counts = Counts::read(&said, hosts, &["after"])?;
    let frames = |port: &str, priority: &str| {
        let labels = [
            &*format!("\"{port}\""),
            &*format!("\"{priority}\""),
            "\"rx\"",
        ];
        counts.sum("after", "weir_port_frames_total", &labels)
    };
    let names = ["unwritten", "different", "refused"];
    let bad: u64 = names
        .iter()
        .map(|name| counts.said(name))
        .sum::<Result<u64>>()?;
    let text = format!(
        "10 MiB written and read back: {bad} errors, {} frames dropped, {} packets missed, {} answers not in time; frames of priority 3 and of priority 0: {} and {} from the initiator, {} and {} from the target",
        counts.dropped(),
        counts.said("rcvd_seq_err")?,
        counts.said("completer_retry_err")?,
        frames("p1", "3")?,
        frames("p1", "0")?,
        frames("p2", "3")?,
        frames("p2", "0")?
    );
    ensure!(
        bad == 0 && counts.dropped() == 0 && frames("p1", "3")? > 0.0,
        "{text}\n{}",
        counts.losses()
    );
    Ok(text)
}
