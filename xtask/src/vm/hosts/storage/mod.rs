//! Storage over a switch: FCoE, which needs a lossless class, and also NVMe over TCP and RDMA.

mod counts;
mod rdma;

use anyhow::{ensure, Result};

use super::{churn, Guest, Hosts, Length, Outcome};
use crate::vm::checks::{Wanted, NO_WARNING};
use counts::Counts;

/// Scripts with the steps of the checks, and their names in the guest's /etc.
pub const SCRIPTS: [(&str, &str); 2] = [
    ("san.sh", include_str!("san.sh")),
    ("nvme.sh", include_str!("nvme.sh")),
];
/// Modules for these checks, besides those of all checks of hosts.
pub const MODULES: [&str; 9] = [
    "sd_mod",
    "fcoe",
    "target_core_file",
    "tcm_fc",
    "loop",
    "nvme-tcp",
    "nvme-rdma",
    "nvmet-tcp",
    "nvmet-rdma",
];

/// A check with separate guests: after a lost frame the kernel may wait for its disk forever.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    name: &'static str,
    check: fn(&Hosts<'_>) -> Result<String>,
    /// True if it needs a second guest.
    pub is_pair: bool,
    loses_nothing: bool,
}

pub const CELLS: [Cell; 6] = [
    Cell {
        loses_nothing: false,
        ..alone("FCoE in a lossy class: not one write succeeds", lossy)
    },
    alone("FCoE with PFC and weir-host: nothing lost", lossless),
    alone("the same while another host sends", congested),
    alone("the same over `switchctl restart`", restarted),
    alone("NVMe/TCP beside FCoE", over_tcp),
    Cell {
        name: "NVMe/RDMA between two guests",
        check: rdma::over_rdma,
        is_pair: true,
        loses_nothing: true,
    },
];

const fn alone(name: &'static str, check: fn(&Hosts<'_>) -> Result<String>) -> Cell {
    Cell {
        name,
        check,
        is_pair: false,
        loses_nothing: true,
    }
}

/// Checks one cell. Fails only when the run is interrupted.
pub fn check(
    guest: &Guest,
    peer: Option<&Guest>,
    cell: Cell,
    wanted: &Wanted,
) -> Result<Vec<Outcome>> {
    let mut hosts = Hosts {
        guest,
        peer,
        length: Length::Short,
        wanted,
        outcomes: Vec::new(),
    };
    match cell.is_pair {
        true => hosts.with_rdma(cell.name, cell.check)?,
        false => hosts.check(cell.name, cell.check)?,
    }
    // Linux warns about its own handling of lost frames (libfc), so only a lossless cell is conclusive.
    if cell.loses_nothing {
        hosts.check(NO_WARNING, churn::no_warning)?;
    }
    Ok(hosts.outcomes)
}

/// Rate of every port and limit of every host, which an emulated machine forwards while its CPUs are busy.
const RATE: &str = "20Mbit";
/// A class that pauses. Its headroom holds a whole RX ring, which a delayed switch reads at once.
const PFC: &str = "mode = \"pfc\"\nxoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"6MiB\"";
const LOSSY: &str = "mode = \"lossy\"\nbuffer = \"64KiB\"";
/// Time limit of a cell: 50 MiB written and read back by an emulator on a busy machine.
const CELL_S: u64 = 580;

fn cell(hosts: &Hosts<'_>, class: &str, steps: &str) -> Result<String> {
    hosts.steps(
        CELL_S,
        &format!(
            ". /etc/san.sh
             . /etc/nvme.sh
             rate={RATE} mtu=2500B
             network
             switch '{class}' p1 p2 p3
             log_in
             {steps}"
        ),
    )
}

/// In a lossy class no write succeeds, although no other host sends.
fn lossy(hosts: &Hosts<'_>) -> Result<String> {
    const WRITES: u64 = 16;
    // One command each. The disk fails five seconds after its port is gone.
    let said = cell(
        hosts,
        LOSSY,
        &format!(
            "dd if=/dev/urandom of=/tmp/data bs=512k count={WRITES} 2> /dev/null
             device=$(disk) BLOCKS={WRITES} WRITERS={WRITES} each=1
             for port in /sys/class/fc_remote_ports/*/dev_loss_tmo; do echo 5 > $port; done
             echo \"unwritten $(all_at_once write_part)\"
             counted lossy"
        ),
    )?;
    let counts = Counts::read(&said, hosts, &["lossy"])?;
    let (unwritten, dropped) = (counts.said("unwritten")?, counts.dropped());
    let text = format!(
        "lossy class: {unwritten} of {WRITES} writes of 512 KiB failed, {dropped} frames dropped"
    );
    ensure!(unwritten == WRITES && dropped > 0, "{text}");
    Ok(text)
}

/// A lossless class and hosts that obey: all written data reads back unchanged.
fn lossless(hosts: &Hosts<'_>) -> Result<String> {
    let (counts, text) = obeyed(hosts, "", "")?;
    ensure!(counts.pauses() > 0, "{text}");
    Ok(text)
}

/// Like [`lossless`], while a third host sends TCP of the same class to the target.
fn congested(hosts: &Hosts<'_>) -> Result<String> {
    let (counts, text) = obeyed(
        hosts,
        "iperf3 -s -B 10.9.0.2 > /dev/null 2>&1 &
         wait_until 30 sh -c 'netstat -ltn | grep -q 10.9.0.2:5201'
         nsenter --net=/run/netns/h3 iperf3 -c 10.9.0.2 -t 560 > /tmp/iperf 2>&1 & sending=$!
         wait_until 60 is_paused p3",
        "kill -0 $sending
         kill $sending",
    )?;
    let disturber = counts.sum("after", "weir_port_bytes_total", &["p3", "\"3\"", "rx"])?;
    let text = format!("{text}; the third host sent {:.1} MB", disturber / 1e6);
    ensure!(
        counts.pauses_at("p1") > 0 && counts.pauses_at("p3") > 0,
        "{text}"
    );
    Ok(text)
}

/// Like [`lossless`], with `switchctl restart` in the middle of the writes. It is refused while the target keeps a command's
/// frame; it must succeed once the hosts are idle, and the disk is read again.
fn restarted(hosts: &Hosts<'_>) -> Result<String> {
    let (counts, text) = obeyed(
        hosts,
        "restart() {
             wait_until 120 is_written 5 || return 1
             counted before
             if ! switchctl --name san restart > /share/restart 2>&1; then
                 grep -q 'is still kept' /share/restart || return 1
                 : > /tmp/refused
             fi
             is_written $BLOCKS || : > /tmp/in-the-middle
         }
         restart & restarting=$!",
        "wait $restarting || { cat /share/restart; tail -n 30 /tmp/san.log; false; }
         [ -e /tmp/in-the-middle ]
         if [ -e /tmp/refused ]; then
             counted before
             switchctl --name san restart >> /share/restart 2>&1 || { cat /share/restart; false; }
         fi
         [ \"$(all_at_once compare_part)\" = 0 ]
         cat /share/restart
         grep -i 'storm\\|warn\\|error' /tmp/san.log || :",
    )?;
    let said = std::fs::read_to_string(hosts.guest.shared("restart"))?;
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    ensure!(counts.has("before"), "{text}");
    Ok(format!("{text}; {}", lines.join("; ")))
}

/// Runs a cell with a lossless class. `before` and `after` are steps around the writes.
fn obeyed(hosts: &Hosts<'_>, before: &str, after: &str) -> Result<(Counts, String)> {
    let said = cell(
        hosts,
        PFC,
        &format!(
            "for device in e1 e2; do obey $device --priorities vlan; done
             in_h3 obey eth0 --priorities vlan
             fill
             rm -f /tmp/in-the-middle /share/before
             {before}
             write_and_compare $(disk)
             fc_counts
             {after}
             counted after
             echo \"waits $(weir-host metrics | rate_waits)\"
             echo \"refused $(weir-host metrics | refused)\"
             echo \"$how\""
        ),
    )?;
    let counts = Counts::read(&said, hosts, &["before", "after"])?;
    let bad = [
        "unwritten",
        "different",
        "error_frames",
        "invalid_crc_count",
        "fcp_packet_aborts",
    ];
    let bad: u64 = bad
        .iter()
        .map(|name| counts.said(name))
        .sum::<Result<u64>>()?;
    let (dropped, refused) = (counts.dropped(), counts.said("refused")?);
    let how = said.lines().last().unwrap_or_default();
    let text = format!(
        "PFC, `weir-host {how}`: 50 MiB written and read back, {bad} errors; {dropped} frames dropped by the switch, {refused} by hosts; {} pauses sent; frames waited {} times for --max-rate",
        counts.pauses(),
        counts.said("waits")?
    );
    ensure!(
        bad == 0 && dropped == 0 && refused == 0,
        "{text}\n{said}\n{}",
        counts.losses()
    );
    ensure!(counts.said("waits")? > 0, "{text}");
    Ok((counts, text))
}

/// NVMe over TCP in an ordinary class, while FCoE uses the lossless one.
fn over_tcp(hosts: &Hosts<'_>) -> Result<String> {
    let said = cell(
        hosts,
        PFC,
        "for device in e1 e2; do obey $device --priorities vlan; done
         in_h3 obey eth0 --priorities vlan
         ip addr add 10.8.0.2/24 dev e2
         in_ns h3 ip addr add 10.8.0.3/24 dev eth0
         subsystem
         offer 1 tcp 10.8.0.2
         in_h3 '. /etc/nvme.sh; reach tcp 10.8.0.2'
         wait_until 60 has_namespace
         BLOCKS=40 each=4
         fill
         write_and_compare $(disk) > /tmp/fcoe & beside=$!
         write_and_compare $(namespace)
         wait $beside
         sed 's/^/fcoe_/' /tmp/fcoe
         fc_counts
         counted after",
    )?;
    let counts = Counts::read(&said, hosts, &["after"])?;
    let names = [
        "unwritten",
        "different",
        "fcoe_unwritten",
        "fcoe_different",
        "fcp_packet_aborts",
    ];
    let bad: u64 = names
        .iter()
        .map(|name| counts.said(name))
        .sum::<Result<u64>>()?;
    let frames = counts.sum("after", "weir_port_frames_total", &["p3", "\"0\"", "rx"])?;
    let text = format!(
        "20 MiB by NVMe/TCP in {frames} frames of priority 0, and 20 MiB by FCoE meanwhile: {bad} errors; {} frames dropped",
        counts.dropped()
    );
    ensure!(bad == 0 && frames > 0.0, "{text}\n{}", counts.losses());
    Ok(text)
}
