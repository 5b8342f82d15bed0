//! The daemon in a guest.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use serde_json::Value;

use super::guest::Guest;
use super::interrupt::wait_for;
use super::nic::Nic;
use super::wire::host;

pub const PORTS: usize = 2;
pub const LOSSLESS: u8 = 3;
/// Rate of the ports, regardless of the NICs. The longest pause is then 335 ms, so that an emulated machine that stalls for
/// less refreshes its pauses in time.
pub const RATE: &str = "100Mbit";
/// Time for the daemon to report that it is ready.
const READY_LIMIT: Duration = Duration::from_secs(120);
/// Time for links to return after that.
const LINKS_LIMIT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct Settings {
    /// The devices of the two ports.
    pub devices: [String; PORTS],
    /// `dataplane.chunk`; `None` leaves the choice to the daemon.
    pub chunk: Option<&'static str>,
    /// `dataplane.zero-copy`.
    pub zero_copy: &'static str,
    /// `dataplane.xdp-mode`.
    pub xdp_mode: &'static str,
    /// `dataplane.offloads`; `None` leaves it unset.
    pub offloads: Option<&'static str>,
    /// Receive queues of each port.
    pub queues: [u32; PORTS],
    /// `dataplane.workers`.
    pub workers: u32,
    /// `dataplane.mtu` and that of the devices.
    pub mtu: u32,
    /// True if a keeper starts the daemon.
    pub keeper: bool,
    /// True if the device leaves tags in frames; `None` keeps the driver's setting.
    pub keep_tags: bool,
}

impl Settings {
    /// Returns settings with which every check of forwarding has passed on this NIC.
    pub fn proven(nic: Nic) -> Self {
        let zero_copy = if nic.has_zero_copy() {
            "require"
        } else {
            "auto"
        };
        // igb fills buffers of whole KiB: 2 KiB less metadata would hold one (finding A).
        Self {
            chunk: Some("4KiB"),
            zero_copy,
            xdp_mode: nic.xdp_mode(),
            keep_tags: true,
            ..Self::shipped(nic)
        }
    }

    /// Returns the daemon's defaults on a device with its driver's defaults; only the queues are given.
    pub fn shipped(nic: Nic) -> Self {
        Self {
            devices: ["eth0", "eth1"].map(str::to_owned),
            chunk: None,
            zero_copy: "auto",
            xdp_mode: "auto",
            offloads: None,
            queues: [nic.queues(); PORTS],
            workers: 1,
            mtu: 1500,
            keeper: false,
            keep_tags: false,
        }
    }

    /// Returns the commands that prepare the devices for these settings.
    pub fn preparation(&self) -> String {
        let mut commands = String::new();
        for device in &self.devices {
            let tags = if self.keep_tags { "off" } else { "on" };
            let _ = writeln!(
                commands,
                "ip link set {device} mtu {} up; ethtool -K {device} rxvlan {tags} txvlan {tags} 2> /dev/null || true",
                self.mtu
            );
        }
        commands
    }

    /// Writes the daemon's file, `/share/s1.toml` in the guest.
    pub fn write(&self, guest: &Guest) -> Result<()> {
        Ok(std::fs::write(guest.shared("s1.toml"), self.toml())?)
    }

    fn toml(&self) -> String {
        let mut out = format!(
            "name = \"s1\"\n[dataplane]\nzero-copy = \"{}\"\nxdp-mode = \"{}\"\nworkers = {}\nmtu = \"{}B\"\n",
            self.zero_copy, self.xdp_mode, self.workers, self.mtu
        );
        if let Some(offloads) = self.offloads {
            let _ = writeln!(out, "offloads = \"{offloads}\"");
        }
        if let Some(chunk) = self.chunk {
            let _ = writeln!(out, "chunk = \"{chunk}\"");
        }
        // The checks pause a host longer than the storm watchdog permits.
        out.push_str("[pfcwd]\nenabled = false\n");
        // The buffers of a class hold more than a host's frames in flight (`Pace::USUAL`).
        let _ = write!(
            out,
            "[page]\nlisten = \"off\"\n[lldp]\nenabled = false\n[[class]]\nname = \"lossless\"\npriority = {LOSSLESS}\n\
             mode = \"pfc\"\nxoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"256KiB\"\n\
             [[class]]\nname = \"best-effort\"\npriorities = [0, 1, 2, 4, 5, 6, 7]\nmode = \"lossy\"\nbuffer = \"256KiB\"\n"
        );
        for (number, device) in self.devices.iter().enumerate() {
            let _ = write!(
                out,
                "[[port]]\ndevice = \"{device}\"\nrole = \"edge\"\nrate = \"{RATE}\"\nqueues = {}\n\
                 [[route]]\ndestination = \"{}\"\nports = [\"{device}\"]\n",
                self.queues[number],
                text(host(number))
            );
        }
        out
    }
}

fn text(address: [u8; 6]) -> String {
    let bytes: Vec<String> = address.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(":")
}

/// A daemon in a guest.
#[derive(Debug)]
pub struct Switch<'a> {
    guest: &'a Guest,
    settings: Settings,
}

impl<'a> Switch<'a> {
    /// Sets the devices up and starts the daemon; returns once it is ready and all its links are up.
    ///
    /// # Errors
    ///
    /// When it refuses, with its message, or a link does not come up.
    pub fn start(guest: &'a Guest, settings: Settings) -> Result<Self> {
        // A failed check may have left a daemon running.
        let mut prepare = "if killall -9 weir-switchd 2> /dev/null; then
                 sleep 1; switchctl --name s1 xdp detach --all
             fi\n"
            .to_owned();
        prepare.push_str(&settings.preparation());
        let said = guest.sh(&prepare)?;
        if said.status != 0 {
            bail!("the device: {}", said.text.trim());
        }
        let switch = Self { guest, settings };
        switch.start_process()?;
        Ok(switch)
    }

    /// Starts the daemon (again); returns once it is ready and all its links are up.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start).
    pub fn start_process(&self) -> Result<()> {
        self.settings.write(self.guest)?;
        let keeper = if self.settings.keeper { "--keeper" } else { "" };
        let said = self.guest.sh_within(
            2 * READY_LIMIT,
            &format!(
                // Emptied here rather than by the daemon's shell, which may run after the first check: the log of an earlier
                // daemon would report that this one is ready.
                "[ ! -e /tmp/s1.log ] || cat /tmp/s1.log >> /tmp/before.log
                 : > /tmp/s1.log
                 weir-switchd {keeper} --config /share/s1.toml > /tmp/s1.log 2>&1 &
                 daemon=$!; echo $daemon > /tmp/s1.pid; waited=0
                 until grep -q ' ready' /tmp/s1.log; do
                     waited=$((waited + 1))
                     if ! kill -0 $daemon 2> /dev/null || [ $waited -gt {} ]; then
                         cat /tmp/s1.log; kill $daemon 2> /dev/null; exit 1
                     fi
                     sleep 0.1
                 done",
                // Each check takes a little longer than its interval.
                READY_LIMIT.as_secs() * 5
            ),
        )?;
        if said.status != 0 {
            bail!("the daemon does not start: {}", said.text.trim());
        }
        self.wait_for_links()
    }

    /// Waits until all links are up; fails otherwise.
    pub fn wait_for_links(&self) -> Result<()> {
        let up = wait_for(LINKS_LIMIT, || {
            let ports = self.ports()?;
            Ok(ports
                .iter()
                .all(|port| port["link_up"] == true)
                .then_some(()))
        })?;
        up.with_context(|| format!("a link is down {} s after", LINKS_LIMIT.as_secs()))
    }

    /// Ends the daemon normally; it must leave nothing behind.
    pub fn stop(self) -> Result<()> {
        self.guest.must(
            "kill $(cat /tmp/s1.pid); waited=0
             while kill -0 $(cat /tmp/s1.pid) 2> /dev/null; do
                 waited=$((waited + 1)); [ $waited -lt 300 ] || exit 1; sleep 0.1
             done",
        )?;
        Ok(())
    }

    /// Returns the number of carrier changes of port `number`'s device.
    pub fn carrier_changes(&self, number: usize) -> Result<u64> {
        carrier_changes(self.guest, self.device(number))
    }

    pub fn device(&self, number: usize) -> &str {
        &self.settings.devices[number]
    }

    /// Kills the daemon.
    pub fn kill(&self) -> Result<()> {
        self.guest.must("kill -9 $(cat /tmp/s1.pid)").map(drop)
    }

    /// Returns the daemon's log since its last start.
    pub fn log(&self) -> Result<String> {
        self.guest.must("cat /tmp/s1.log")
    }

    /// Returns `switchctl`'s answer in JSON.
    pub fn ask(&self, command: &str) -> Result<Value> {
        let said = self
            .guest
            .sh(&format!("switchctl --name s1 --json {command} 2> /tmp/complaint; status=$?; cat /tmp/complaint >&2; exit $status"))?;
        serde_json::from_str(&said.text)
            .with_context(|| format!("switchctl {command} failed: {}", said.text.trim()))
    }

    pub fn ports(&self) -> Result<Vec<Value>> {
        let ports = self.ask("ports")?;
        ports.as_array().cloned().context("ports are no list")
    }

    /// Returns the lost frames shown by `switchctl ports`.
    pub fn losses_shown(&self) -> Result<u64> {
        Ok(self.ports()?.iter().map(losses_of).sum())
    }

    /// Returns the data and control frames sent by port `number`.
    pub fn frames_sent(&self, number: usize) -> Result<u64> {
        let ports = self.ports()?;
        ports
            .get(number)
            .and_then(|port| port["tx_frames_total"].as_u64())
            .with_context(|| format!("no port {number}"))
    }

    /// Returns the MAC control frames received at all ports.
    pub fn control_frames_received(&self) -> Result<u64> {
        let ports = self.ports()?;
        let of_port = |port: &Value| port["xdp_frames_total"]["mac_control"].as_u64();
        Ok(ports.iter().filter_map(of_port).sum())
    }

    /// Checks that every frame is accounted for; the error has the audit's differences.
    pub fn audit(&self) -> Result<()> {
        let audit = self.ask("audit")?;
        match audit["differences"].as_array() {
            Some(differences) if differences.is_empty() => Ok(()),
            _ => bail!("the audit: {}", audit["differences"]),
        }
    }
}

pub fn carrier_changes(guest: &Guest, device: &str) -> Result<u64> {
    let text = guest.must(&format!("cat /sys/class/net/{device}/carrier_changes"))?;
    Ok(text.trim().parse()?)
}

/// Sums all numbers of a port below a name that contains `drop` or `loss`, and the XDP program's verdicts outside `ARRIVED`.
/// The count of an empty fill ring is not a number of frames.
fn losses_of(port: &Value) -> u64 {
    const NO_FRAMES: &str = "rx_fill_ring_empty";
    const VERDICTS: &str = "xdp_verdicts_total";
    const ARRIVED: [&str; 2] = ["redirected", "passed"];
    let Some(fields) = port.as_object() else {
        return 0;
    };
    let lost = fields
        .iter()
        .filter(|(name, _)| name.contains("drop") || name.contains("loss") || *name == VERDICTS);
    let count = |(_, value): (&String, &Value)| match value {
        Value::Object(reasons) => reasons
            .iter()
            .filter(|(reason, _)| {
                !reason.contains(NO_FRAMES) && !ARRIVED.contains(&reason.as_str())
            })
            .filter_map(|(_, frames)| frames.as_u64())
            .sum(),
        value => value.as_u64().unwrap_or(0),
    };
    lost.map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_dropped_frames_of_all_reasons_the_kernels_and_the_programs() {
        let port: Value = serde_json::from_str(
            r#"{"name": "eth0", "rx_frames_total": 9, "drops_total": {"no_route": 2, "hairpin": 1},
                "kernel_losses": {"rx_ring_full_total": 4, "rx_fill_ring_empty_total": 100},
                "xdp_frames_total": {"data": 40}, "xdp_verdicts_total": {"redirected": 9, "passed": 1, "no_meta": 5}}"#,
        )
        .unwrap();
        assert_eq!(losses_of(&port), 12);
    }
}
