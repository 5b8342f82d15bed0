//! Devices of a running dataplane that disappear and return, on veth pairs in a network namespace. Needs root, and fails
//! without it.

use crate::support::network::{config, frame, ip, Host, Network, CONFIG, LIMIT};
use weir_core::{Command, DropCounts, PortId};
use weir_dataplane::audit::audit;
use weir_dataplane::link::{DataplaneLink, Programs, RunningDataplane};
use weir_dataplane::messages::{Request, Snapshot};
use weir_dataplane::tables::Tables;
use weir_dataplane::Dataplane;

const MAC_CONTROL: [u8; 2] = [0x88, 0x08];
const TIMES: u32 = 20;

fn port(index: usize) -> PortId {
    PortId::from_index(index).unwrap()
}

/// A dataplane and its queues; only one pair of ends may exist.
struct Running {
    dataplane: Dataplane,
    link: DataplaneLink,
}

impl Running {
    fn start(network: &Network, text: &str) -> Self {
        let dataplane = Dataplane::start(&config(text), &network.pins).unwrap();
        let link = dataplane.link().unwrap();
        Self { dataplane, link }
    }

    fn snapshot(&self) -> Box<Snapshot> {
        let asked = Snapshot {
            tables: Tables {
                accounts: true,
                ..Tables::NONE
            },
            ..Snapshot::default()
        };
        let request = Request::Snapshot(Box::new(asked));
        self.link.requests.try_send(request).unwrap();
        self.link.snapshots.recv_timeout(LIMIT).unwrap()
    }

    fn assert_balanced(&self) {
        let names = ["p0", "p1"].into_iter();
        assert_eq!(audit(names, &self.snapshot()).differences(), []);
    }

    fn release(&mut self, index: usize) {
        self.dataplane.release(port(index)).unwrap();
        assert_eq!(self.dataplane.take(port(index)).unwrap(), None);
        let there = self.dataplane.attached()[index];
        assert!(there.is_absent());
        let rings = self.snapshot().ports[index].rings;
        assert_eq!((rings.fill.size, rings.tx.size), (0, 0));
        self.assert_balanced();
    }

    fn take(&mut self, index: usize) {
        let taken = self.dataplane.take(port(index)).unwrap();
        let taken = taken.expect("the device is there");
        assert_eq!(self.dataplane.attached()[index], taken);
        let up = Command::SetLink {
            port: port(index),
            up: true,
        };
        self.link.requests.try_send(Request::Command(up)).unwrap();
    }

    /// Checks that frames pass from one host to the other without loss.
    fn assert_forwards(&self, first: u32) {
        let (h0, h1) = (Host::new("h0"), Host::new("h1"));
        for number in first..first + 50 {
            let frame = frame(number, 500);
            h0.send(&frame);
            // A host at a new device is first sent its pause state.
            let mut received = h1.receive();
            while received[12..14] == MAC_CONTROL {
                received = h1.receive();
            }
            assert_eq!(received, frame, "frame {number}");
        }
    }
}

fn make(index: usize, queues: u32) {
    let queues = format!("numrxqueues {queues} numtxqueues {queues}");
    ip(&format!(
        "link add p{index} {queues} type veth peer name h{index} {queues}"
    ));
    ip(&format!("link set p{index} up"));
    ip(&format!("link set h{index} up"));
}

fn come_and_go(text: &str, queues: u32) {
    let network = Network::new();
    for index in 0..2 {
        ip(&format!("link del p{index}"));
        make(index, queues);
    }
    let mut running = Running::start(&network, text);
    running.assert_forwards(0);
    for time in 1..=TIMES {
        // Either device, or both at once: the packet memory is shared through a socket of one of them.
        let gone: &[usize] = [&[0][..], &[1], &[0, 1], &[1, 0]][time as usize % 4];
        for index in gone {
            ip(&format!("link del p{index}"));
        }
        gone.iter().for_each(|index| running.release(*index));
        for index in gone {
            make(*index, queues);
            running.take(*index);
        }
        running.assert_forwards(time * 1_000);
        running.assert_balanced();
    }
    let seen = running.snapshot();
    for (index, port) in seen.ports.iter().enumerate() {
        assert_eq!(port.counters.drops, DropCounts::default(), "p{index}");
    }
    let data = ("data", u64::from(TIMES + 1) * 50);
    assert!(running.dataplane.xdp_frames(port(0)).contains(&data));
    let stopped = running.dataplane.stop(LIMIT, Programs::Detach).unwrap();
    assert_eq!(stopped.held_frames(), 0);
    network.assert_nothing_attached();
}

#[test]
#[ignore = "needs root"]
fn devices_come_and_go() {
    come_and_go(CONFIG, 1);
}

#[test]
#[ignore = "needs root"]
fn devices_with_several_queues_come_and_go() {
    come_and_go(CONFIG, 3);
}

#[test]
#[ignore = "needs root"]
fn devices_of_threads_beside_the_core_come_and_go() {
    let text = CONFIG.replacen("[dataplane]", "[dataplane]\nworkers = 2", 1);
    come_and_go(&text, 2);
}

/// A present device is free for others as soon as it is released, and can be attached again.
#[test]
#[ignore = "needs root"]
fn a_device_that_is_released_is_free() {
    let network = Network::new();
    let mut running = Running::start(&network, CONFIG);
    for index in [0, 1, 0] {
        running.dataplane.release(port(index)).unwrap();
        assert!(running.dataplane.attached()[index].is_absent());
        let output = std::process::Command::new("ip")
            .args(["link", "show", &format!("p{index}")])
            .output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(!text.contains("xdp"), "{text}");
        running.assert_balanced();
        running.take(index);
        running.assert_forwards(index as u32 * 1_000);
    }
    running.dataplane.stop(LIMIT, Programs::Detach).unwrap();
    network.assert_nothing_attached();
}

/// A switch starts without devices that its ports wait for, even without any.
#[test]
#[ignore = "needs root"]
fn a_port_waits_for_its_device() {
    let network = Network::new();
    let text = CONFIG.replace("role = \"edge\"", "role = \"edge\"\nwait = true");
    for gone in [&[0][..], &[1], &[0, 1]] {
        gone.iter()
            .for_each(|index| ip(&format!("link del p{index}")));
        let mut running = Running::start(&network, &text);
        running.assert_balanced();
        for index in gone {
            assert_eq!(running.dataplane.take(port(*index)).unwrap(), None);
            assert!(running.dataplane.attached()[*index].is_absent());
            make(*index, 1);
            running.take(*index);
        }
        running.assert_forwards(0);
        running.assert_balanced();
        running.dataplane.stop(LIMIT, Programs::Detach).unwrap();
        network.assert_nothing_attached();
    }
    ip("link del p1");
    let error = Dataplane::start(&config(CONFIG), &network.pins).unwrap_err();
    assert!(error.to_string().contains("no device `p1`"), "{error}");
}

/// An unusable device is refused with the reason and leaves nothing behind; the next one is attached.
#[test]
#[ignore = "needs root"]
fn a_device_that_cannot_be_used_is_refused() {
    let network = Network::new();
    let mut running = Running::start(&network, CONFIG);
    for (queues, mtu, reason) in [
        (2, 1500, "receives on 2 queues"),
        (1, 1000, "an MTU of 1000"),
    ] {
        ip("link del p0");
        running.release(0);
        make(0, queues);
        ip(&format!("link set p0 mtu {mtu}"));
        let error = running.dataplane.take(port(0)).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        running.assert_balanced();
        ip("link del p0");
        make(0, 1);
        running.take(0);
        running.assert_forwards(0);
    }
    running.dataplane.stop(LIMIT, Programs::Detach).unwrap();
    network.assert_nothing_attached();
}
