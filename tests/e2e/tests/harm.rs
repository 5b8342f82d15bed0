//! Random misfortunes of one host or its port under the traffic of all others, with real frames: nobody else loses a
//! frame or stops.
//!
//! `WEIR_HARM` is the number of networks, each with [`ROUNDS`] misfortunes, and `WEIR_SEED` the seed. The search in
//! virtual time judges waits exactly; here the machine's own stalls count as well.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use weir_config::scenario::Scenario;
use weir_lab::lab::process::{inside, Process};
use weir_sim::random::Random;
use weir_tests::faults::Scene;
use weir_tests::switches::switchctl;
use weir_tests::{inline_scenario, printed, until, variable, LOSSLESS};

/// Networks in a run of all tests.
const NETWORKS: u64 = 3;
/// Misfortunes of each network.
const ROUNDS: u64 = 4;
const SEED: u64 = 7;
/// Longest time without a frame of a flow that has nothing to do with the misfortune.
const WAIT_MAX: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Misfortune {
    LinkDownAtSwitch,
    LinkDownAtHost,
    Flaps,
    PortRemoved,
    DeviceDeleted,
    HostStopped,
    PfcStorm,
    PauseStorm,
    MtuLowered,
    Deaf,
    WrongAddress,
    ManyAddresses,
}

impl Misfortune {
    const ALL: [Self; 12] = [
        Self::LinkDownAtSwitch,
        Self::LinkDownAtHost,
        Self::Flaps,
        Self::PortRemoved,
        Self::HostStopped,
        Self::PfcStorm,
        Self::PauseStorm,
        Self::MtuLowered,
        Self::Deaf,
        Self::WrongAddress,
        Self::ManyAddresses,
        // Its host is gone for good: the last of a network.
        Self::DeviceDeleted,
    ];

    /// Draws one; only the last of a network deletes a device.
    fn draw(random: &mut Random, is_last: bool) -> Self {
        let kinds = Self::ALL.len() - usize::from(!is_last);
        Self::ALL[random.below(kinds as u64) as usize]
    }
}

/// Frames with addresses of others. Arguments: device, `wrong` or `many`, and the MAC addresses of two other hosts.
const ADVERSARY: &str = "
import os, random, socket, sys, time
device, kind, mine, to = sys.argv[1:]
address = lambda text: bytes.fromhex(text.replace(':', ''))
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((device, 0))
draw = random.Random(1)
for number in range(20000):
    source = address(mine) if kind == 'wrong' else b'\\x06' + draw.randbytes(5)
    try:
        out.send(address(to) + source + b'\\x88\\xb6' + bytes(60))
    except OSError:
        pass
    time.sleep(0.001)
";

struct Victim {
    name: String,
    device: String,
    switch: usize,
    namespace: String,
}

/// One network with a victim.
struct Network {
    scene: Scene,
    victim: Victim,
    /// Names of the flows from and to others.
    others: Vec<String>,
    /// By such a flow: frames that have arrived, and when the last one was seen.
    arrived: BTreeMap<String, (u64, Instant)>,
    worst: Duration,
}

/// A line of one to three switches on which all hosts send to the victim and to one other.
fn draw_scenario(random: &mut Random) -> (Scenario, String, Vec<String>) {
    let switches = random.between(1, 3);
    let hosts = if switches == 1 {
        4
    } else {
        random.between(2, 3)
    };
    let all: Vec<String> = (1..=switches * hosts).map(|it| format!("h{it}")).collect();
    let victim = all[random.below(all.len() as u64) as usize].clone();
    let mut flows = String::new();
    let mut others = Vec::new();
    let mut add = |from: &str, to: &str| {
        let name = format!("{from}-{to}");
        let flow = format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nclass = \"lossless\"\nrate = \"2Mbit\"\n"
        );
        flows.push_str(&flow);
        name
    };
    for from in &all {
        let to: Vec<&String> = all
            .iter()
            .filter(|it| *it != from && **it != victim)
            .collect();
        let other = add(from, to[random.below(to.len() as u64) as usize]);
        if *from != victim {
            others.push(other);
            add(from, &victim);
        }
    }
    let xoff = random.between(20, 100);
    let text = format!(
        r#"
name = "harm"
description = "A line whose hosts send to one victim and to each other"
duration = "600s"
seed = 1
[link-defaults]
rate = "25Mbit"
[[class]]
name = "lossless"
priority = {LOSSLESS}
mode = "pfc"
xoff = "{xoff}KiB"
xon = "{}KiB"
headroom = "3MiB"
[deadlock]
detect = "2s"
[topology]
kind = "line"
switches = {switches}
hosts = {hosts}
{flows}
[expect]
lost = 0
"#,
        xoff - 10
    );
    (inline_scenario("harm.toml", &text), victim, others)
}

impl Network {
    fn set_up(random: &mut Random) -> Self {
        let (scenario, name, others) = draw_scenario(random);
        let learns = random.below(2) == 0;
        let host = scenario
            .hosts
            .iter()
            .position(|it| it.name == name)
            .unwrap();
        let switch = scenario.hosts[host].switch;
        let scene = Scene::of(scenario, |config| {
            config.pfcwd.enabled = Some(true);
            if learns {
                config.forwarding.learning = true;
                config.routes.clear();
            }
        });
        let namespace = scene.stage.names().namespace(&name);
        let device = scene.stage.names().host_device().to_owned();
        let victim = Victim {
            name,
            device,
            switch,
            namespace,
        };
        let now = Instant::now();
        let arrived = others.iter().map(|it| (it.clone(), (0, now))).collect();
        let mut network = Self {
            scene,
            victim,
            others,
            arrived,
            worst: Duration::ZERO,
        };
        network.others_receive(50);
        // Set-up is no wait.
        network.worst = Duration::ZERO;
        network
    }

    /// Waits until each flow of others has brought `more` frames.
    fn others_receive(&mut self, more: u64) {
        let wanted: BTreeMap<String, u64> = self
            .arrived
            .iter()
            .map(|(name, (frames, _))| (name.clone(), frames + more))
            .collect();
        until("others receive", || {
            self.look();
            let has = |name: &String| self.arrived[name].0 >= wanted[name];
            self.others.iter().all(has).then_some(())
        });
    }

    fn look(&mut self) {
        for host in &mut self.scene.stage.hosts {
            if host.name() == self.victim.name {
                continue;
            }
            let snapshot = host.snapshot().unwrap_or_else(|error| panic!("{error:#}"));
            let now = Instant::now();
            for flow in snapshot.received {
                let Some((frames, seen)) = self.arrived.get_mut(&flow.name) else {
                    continue;
                };
                self.worst = self.worst.max(now - *seen);
                if flow.frames > *frames {
                    (*frames, *seen) = (flow.frames, now);
                }
            }
        }
    }

    fn tell_victim(&mut self, line: &str) {
        let mut hosts = self.scene.stage.hosts.iter_mut();
        let victim = hosts.find(|host| host.name() == self.victim.name).unwrap();
        victim
            .tell(line)
            .unwrap_or_else(|error| panic!("{error:#}"));
    }

    fn signal_victim(&self, signal: Signal) {
        let processes = printed(Command::new("ip").args(["netns", "pids", &self.victim.namespace]));
        for process in processes.split_whitespace() {
            kill(Pid::from_raw(process.parse().unwrap()), signal).unwrap();
        }
    }

    fn switch_ip(&self, words: &str) {
        let switch = &self.scene.scenario().switches[self.victim.switch];
        self.scene.ip(switch, words);
    }

    fn port(&self, verb: &str) {
        let socket = &self.scene.stage.switches[self.victim.switch]
            .config
            .api_socket;
        let mut command = switchctl(socket);
        printed(command.args(["port", verb, &self.victim.name]));
    }

    fn adversary(&self, kind: &str) -> Process {
        let hosts = self.scene.scenario().hosts.iter();
        let others: Vec<String> = hosts
            .filter(|host| host.name != self.victim.name)
            .map(|host| host.address.to_string())
            .collect();
        let mut command = inside(&self.victim.namespace, Path::new("python3"));
        command
            .args(["-c", ADVERSARY, &self.victim.device, kind])
            .args([&others[0], others.last().unwrap()]);
        let log = self.scene.stage.directory().join("adversary.log");
        Process::start("adversary", command, &log).unwrap()
    }

    /// One misfortune, for as long as others take to receive `frames` each.
    fn suffer(&mut self, misfortune: Misfortune, frames: u64) {
        let (name, device) = (self.victim.name.clone(), self.victim.device.clone());
        match misfortune {
            Misfortune::LinkDownAtSwitch => {
                self.switch_ip(&format!("link set {name} down"));
                self.others_receive(frames);
                self.switch_ip(&format!("link set {name} up"));
            }
            Misfortune::LinkDownAtHost => {
                self.scene.ip(&name, &format!("link set {device} down"));
                self.others_receive(frames);
                self.scene.ip(&name, &format!("link set {device} up"));
            }
            Misfortune::Flaps => {
                for _ in 0..5 {
                    self.scene.ip(&name, &format!("link set {device} down"));
                    self.others_receive(frames / 20);
                    self.scene.ip(&name, &format!("link set {device} up"));
                    self.others_receive(frames / 20);
                }
            }
            Misfortune::PortRemoved => {
                self.port("remove");
                self.others_receive(frames);
                self.port("add");
            }
            Misfortune::DeviceDeleted => {
                self.switch_ip(&format!("link delete {name}"));
                self.scene.stage.hosts.retain(|host| host.name() != name);
                self.others_receive(frames);
            }
            Misfortune::HostStopped => {
                self.signal_victim(Signal::SIGSTOP);
                self.others_receive(frames);
                self.signal_victim(Signal::SIGCONT);
            }
            Misfortune::PfcStorm | Misfortune::PauseStorm => {
                let pause = |quanta| match misfortune {
                    Misfortune::PfcStorm => format!("pfc {LOSSLESS} {quanta}"),
                    _ => format!("pause {quanta}"),
                };
                // At 25 Mbit/s each holds for 1.3 s.
                for _ in 0..10 {
                    self.tell_victim(&pause(u16::MAX));
                    self.others_receive(frames / 10);
                }
                self.tell_victim(&pause(0));
            }
            Misfortune::MtuLowered => {
                self.switch_ip(&format!("link set {name} mtu 600"));
                self.others_receive(frames);
                self.switch_ip(&format!("link set {name} mtu 1500"));
            }
            Misfortune::Deaf => {
                self.tell_victim("ignore-pfc");
                self.others_receive(frames);
                self.tell_victim("obey-pfc");
            }
            Misfortune::WrongAddress | Misfortune::ManyAddresses => {
                let is_wrong = misfortune == Misfortune::WrongAddress;
                let adversary = self.adversary(if is_wrong { "wrong" } else { "many" });
                self.others_receive(frames);
                adversary.kill_all();
            }
        }
        self.others_receive(20);
    }

    /// Nothing of others was lost or reordered.
    fn judge(mut self, case: &str) {
        self.scene.settle();
        let reports = self.scene.reports();
        let sent = reports.iter().flat_map(|report| &report.sent);
        let sent: BTreeMap<&str, u64> = sent.map(|flow| (&*flow.name, flow.frames)).collect();
        let received = reports.iter().flat_map(|report| &report.received);
        let others = received.filter(|flow| self.others.contains(&flow.name));
        let mut count = 0;
        for flow in others {
            let wrong = (flow.reordered, flow.duplicated, flow.corrupted);
            assert_eq!(wrong, (0, 0, 0), "{case}: {flow:?}");
            assert_eq!(flow.frames, sent[&*flow.name], "{case}: {}", flow.name);
            count += 1;
        }
        assert_eq!(count, self.others.len(), "{case}");
        self.scene.end();
    }
}

#[test]
fn nobody_else_is_harmed_by_random_misfortunes() {
    let (networks, seed) = (variable("WEIR_HARM", NETWORKS), variable("WEIR_SEED", SEED));
    let mut worst: BTreeMap<Misfortune, (u64, Duration)> = BTreeMap::new();
    for number in 0..networks {
        let mut random = Random::for_purpose(seed, number);
        let mut network = Network::set_up(&mut random);
        let mut case = format!("seed {seed}, network {number}, {}", network.victim.name);
        for round in 1..=ROUNDS {
            let misfortune = Misfortune::draw(&mut random, round == ROUNDS);
            case.push_str(&format!(", {misfortune:?}"));
            eprintln!("{case}");
            network.worst = Duration::ZERO;
            network.suffer(misfortune, random.between(40, 600));
            assert!(network.worst < WAIT_MAX, "{case}: {:?}", network.worst);
            let (count, longest) = worst.entry(misfortune).or_default();
            *count += 1;
            *longest = network.worst.max(*longest);
        }
        network.judge(&case);
    }
    for (misfortune, (count, longest)) in worst {
        eprintln!("{misfortune:?}: {count}, longest wait {longest:?}");
    }
}
