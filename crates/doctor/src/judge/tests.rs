//! Each finding from hand-written facts: a NIC in order, with one fault.

use std::path::Path;

use super::*;
use crate::ask::ethtool::{Channels, DriverInfo, PauseSettings, ReceiveRing};
use crate::ask::nature::Nature;
use crate::ask::netdev::XdpFeatures;
use crate::facts::{Cpu, Host, HugePages, Interrupt, Memory, Peer, Place, Program, Read, Unread};
use crate::finding::Check;

fn host() -> Host {
    let cpu = |number| Cpu {
        number,
        numa_node: Some(number / 2),
        isolated: true,
        governor: Some("performance".into()),
    };
    Host {
        kernel: "6.18.44-fc".into(),
        root: true,
        missing_capabilities: Vec::new(),
        missing_for_user: Vec::new(),
        memory: Some(Memory {
            machine: 64 << 30,
            control_group: Some(32 << 30),
        }),
        lockable: None,
        bpf_file_system: true,
        btf: true,
        clock_synchronised: Ok(true),
        huge_pages: Ok(HugePages {
            total: 512,
            free: 512,
        }),
        cpus: (0..4).map(cpu).collect(),
        programs: None,
    }
}

/// An ice, whose driver's sources the table covers.
pub(super) fn nic() -> Found {
    Found {
        nature: Nature {
            device: "eth0".into(),
            hardware: 1,
            ..Nature::default()
        },
        up: true,
        link: Some(true),
        mtu: 1500,
        driver: DriverInfo {
            name: "ice".into(),
            bus: "0000:01:00.0".into(),
            ..DriverInfo::default()
        },
        programs: Vec::new(),
        xdp: Ok(XdpFeatures {
            native: true,
            zero_copy: true,
            several_buffers: true,
        }),
        channels: Ok(Channels {
            combined: 4,
            combined_max: 8,
            ..Channels::default()
        }),
        rss: Some((0..4).collect()),
        ring: Ok(ReceiveRing {
            entries: 2048,
            most: 8160,
        }),
        pause: Ok(PauseSettings::default()),
        features: ["tx-vlan-hw-insert".to_owned()].into(),
        receivers: Vec::new(),
        below: Vec::new(),
        peer: None,
        place: Some(Place {
            numa_node: Some(0),
            interrupts: vec![Interrupt {
                number: 40,
                cpus: [0].into(),
            }],
            iommu: Some("identity".into()),
        }),
    }
}

/// Like [`nic`], with another driver and its XDP features.
pub(super) fn driven_by(name: &str, xdp: Read<XdpFeatures>) -> Found {
    let mut found = nic();
    found.driver.name = name.into();
    found.xdp = xdp;
    found
}

pub(super) fn veth() -> Found {
    Found {
        driver: DriverInfo {
            name: "veth".into(),
            ..DriverInfo::default()
        },
        channels: Ok(Channels {
            rx: 1,
            rx_max: 4,
            ..Channels::default()
        }),
        rss: None,
        ring: Err(Unread::NotThere),
        pause: Err(Unread::NotThere),
        peer: Some(Peer::Known {
            name: "peer".into(),
            enter: None,
            features: [].into(),
            master: None,
        }),
        place: None,
        ..nic()
    }
}

const PORT: &str = "[[port]]\ndevice = \"eth0\"\nrole = \"edge\"\nrate = \"1Gbit\"\n";

pub(super) fn wanted(dataplane: &str, port: &str) -> Wanted {
    let text = format!("name = \"s1\"\n[dataplane]\n{dataplane}\n{PORT}{port}\n");
    Wanted {
        config: DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap(),
        file: Some("s1.toml".into()),
        running: None,
    }
}

pub(super) fn facts(found: Found) -> Facts {
    Facts {
        host: host(),
        devices: vec![crate::facts::Device {
            name: "eth0".into(),
            found: Some(found),
        }],
        names: vec!["lo".into(), "eth0".into()],
    }
}

pub(super) fn of(findings: &[Finding], check: Check) -> &Finding {
    let found = findings.iter().find(|finding| finding.check == check);
    found.unwrap_or_else(|| panic!("no {}: {findings:#?}", check.name()))
}

/// Fails unless `facts` have exactly this problem, with this remedy.
pub(super) fn one_problem(facts: &Facts, wanted: &Wanted, check: Check, remedy: &str) {
    let findings = judge(facts, wanted);
    let mut problems = findings.iter().filter(|it| it.grade == Grade::Problem);
    let problem = problems.next().unwrap_or_else(|| panic!("{findings:#?}"));
    let mended_by = problem.remedy.as_ref().map(ToString::to_string);
    assert_eq!(
        (problem.check, mended_by.as_deref()),
        (check, Some(remedy)),
        "{problem:#?}"
    );
    assert_eq!(problems.next(), None);
    assert_eq!(worst(&findings), Grade::Problem);
}

#[test]
fn a_tap_that_no_program_has_open_has_no_queue_and_needs_no_command() {
    let mut found = driven_by("tun", nic().xdp);
    found.channels = Ok(Channels {
        combined_max: 1,
        ..Channels::default()
    });
    let findings = judge(&facts(found), &wanted("", ""));
    let queues = of(&findings, Check::Queues);
    let remedy = Remedy::Other("start the program behind it".into());
    assert_eq!((queues.grade, &queues.remedy), (Grade::Note, &Some(remedy)));
}

#[test]
fn a_correct_device_has_no_problem() {
    for found in [nic(), veth()] {
        let findings = judge(&facts(found), &wanted("", ""));
        assert!(worst(&findings) < Grade::Problem, "{findings:#?}");
    }
}

/// Fault of a device, the check that finds it, and its remedy.
type Wrong = (fn(&mut Found), Check, &'static str);

#[test]
fn each_wrong_nic_has_one_problem_and_its_command() {
    let wrong: [Wrong; 8] = [
        (|nic| nic.up = false, Check::Link, "ip link set dev eth0 up"),
        (
            |nic| nic.mtu = 1400,
            Check::Mtu,
            "ip link set dev eth0 mtu 1500",
        ),
        (
            |nic| nic.features = ["rx-vlan-hw-parse".to_owned()].into(),
            Check::Offloads,
            "ethtool -K eth0 rxvlan off",
        ),
        (
            |nic| nic.features = ["rx-gro-hw".to_owned()].into(),
            Check::Offloads,
            "ethtool -K eth0 rx-gro-hw off",
        ),
        (
            |nic| {
                nic.pause = Ok(PauseSettings {
                    receives: true,
                    ..PauseSettings::default()
                });
            },
            Check::Pause,
            "ethtool -A eth0 autoneg off rx off tx off",
        ),
        (
            |nic| nic.programs = vec![program("other", "native", None)],
            Check::Xdp,
            "ip link set dev eth0 xdpdrv off",
        ),
        (
            |nic| nic.programs = vec![program("other", "generic", Some(17))],
            Check::Xdp,
            "bpftool link detach id 17",
        ),
        (
            |nic| {
                let place = nic.place.as_mut().unwrap();
                place.interrupts[0].cpus = [1].into();
            },
            Check::Interrupts,
            "for irq in 40; do echo 0,2,3 > /proc/irq/$irq/smp_affinity_list; done",
        ),
    ];
    for (make_wrong, check, command) in wrong {
        let mut found = nic();
        make_wrong(&mut found);
        one_problem(&facts(found), &wanted("cpu = 1", ""), check, command);
    }
}

fn program(name: &str, mode: &'static str, link: Option<u32>) -> Program {
    Program {
        id: 7,
        mode,
        name: Some(name.into()),
        link,
    }
}

#[test]
fn each_setting_that_does_not_fit_the_nic_is_named_with_its_file() {
    let none = XdpFeatures {
        native: false,
        zero_copy: false,
        several_buffers: false,
    };
    let of_igb = || driven_by("igb", nic().xdp);
    let of_vmxnet3 = || driven_by("vmxnet3", Err(Unread::NotThere));
    let of_e1000e = || driven_by("e1000e", Ok(none));
    for (found, dataplane, port, check, remedy) in [
        (
            nic(),
            "",
            "queues = 2",
            Check::Rss,
            "ethtool -X eth0 equal 2",
        ),
        (
            nic(),
            "",
            "queues = 6",
            Check::Queues,
            "ethtool -L eth0 combined 6",
        ),
        (
            nic(),
            "",
            "queues = 9",
            Check::Queues,
            "in s1.toml: remove port.eth0.queues",
        ),
        (
            of_igb(),
            "chunk = \"2KiB\"",
            "",
            Check::Buffers,
            "in s1.toml: remove dataplane.chunk",
        ),
        (
            of_vmxnet3(),
            "xdp-mode = \"native\"",
            "",
            Check::Metadata,
            "in s1.toml: dataplane.xdp-mode = \"auto\"",
        ),
        (
            of_e1000e(),
            "xdp-mode = \"native\"",
            "",
            Check::Xdp,
            "in s1.toml: dataplane.xdp-mode = \"auto\"",
        ),
        (
            of_e1000e(),
            "zero-copy = \"require\"",
            "",
            Check::ZeroCopy,
            "in s1.toml: dataplane.zero-copy = \"auto\"",
        ),
        (
            nic(),
            "cpu = 2",
            "",
            Check::Numa,
            "in s1.toml: dataplane.cpu = 0",
        ),
        (
            nic(),
            "cpu = 9",
            "",
            Check::Cpus,
            "in s1.toml: remove dataplane.cpu",
        ),
    ] {
        one_problem(&facts(found), &wanted(dataplane, port), check, remedy);
    }
}

#[test]
fn a_missing_device_gets_a_suggestion() {
    let mut facts = facts(nic());
    facts.devices[0].found = None;
    facts.names = vec!["lo".into(), "eth9".into()];
    let remedy = "in s1.toml: port.eth0.device = \"eth9\"";
    one_problem(&facts, &wanted("", ""), Check::Device, remedy);
    // Reported where the switch is.
    let mut wanted = wanted("", "");
    wanted.running = Some(Running {
        pid: 17,
        ports: vec![RunningPort {
            device: "eth0".into(),
            ..RunningPort::default()
        }],
    });
    let findings = judge(&facts, &wanted);
    let missing = of(&findings, Check::Device);
    assert_eq!(missing.grade, Grade::Note);
    let remedy = missing.remedy.as_ref().unwrap().to_string();
    assert!(remedy.contains("nsenter --net=/proc/17/ns/net"), "{remedy}");
}

/// Fault of a host, the settings, the check that finds it, and its remedy.
type WrongHost = (fn(&mut Host), &'static str, Check, &'static str);

#[test]
fn each_wrong_host_has_one_problem() {
    let wrong: [WrongHost; 5] = [
        (
            |host| host.cpus[1].governor = Some("powersave".into()),
            "cpu = 1",
            Check::Cpus,
            "echo performance > /sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
        ),
        (
            |host| host.kernel = "6.1.0-amd64".into(),
            "mtu = \"9000B\"\ncell = \"256B\"",
            Check::Kernel,
            "in s1.toml: dataplane.mtu = \"1500B\"",
        ),
        (
            |host| host.missing_capabilities = vec!["CAP_BPF".into()],
            "",
            Check::Capabilities,
            "give the container or the unit these: CAP_BPF",
        ),
        (
            |host| host.bpf_file_system = false,
            "",
            Check::BpfFileSystem,
            "use a kernel with CONFIG_BPF_SYSCALL",
        ),
        (
            |host| host.huge_pages = Ok(HugePages { total: 8, free: 4 }),
            "huge-pages = \"require\"",
            Check::HugePages,
            "",
        ),
    ];
    for (make_wrong, dataplane, check, remedy) in wrong {
        let mut found = nic();
        found.mtu = 9000;
        let mut facts = facts(found);
        make_wrong(&mut facts.host);
        let wanted = wanted(dataplane, "");
        let pages = wanted.config.settled(&[Some(4)], &[drivers::driver("ice")]);
        let pages = pages.umem_size().get().div_ceil(2 << 20) + 4;
        let remedy = match check {
            Check::HugePages => format!("sysctl -w vm.nr_hugepages={pages}"),
            _ => remedy.to_owned(),
        };
        one_problem(&facts, &wanted, check, &remedy);
    }
}

#[test]
fn a_switch_that_will_stay_root_is_noted() {
    let mut facts = facts(nic());
    facts.host.root = true;
    facts.host.missing_for_user = vec!["CAP_SETUID".into()];
    let findings = judge(&facts, &wanted("", ""));
    let finding = of(&findings, Check::Capabilities);
    assert_eq!(finding.grade, Grade::Note);
    assert!(
        finding.found.contains("without CAP_SETUID"),
        "{}",
        finding.found
    );
}

#[test]
fn unreadable_facts_are_notes() {
    let mut found = nic();
    found.pause = Err(Unread::NotPermitted);
    found.channels = Err(Unread::NotPermitted);
    found.ring = Err(Unread::NotPermitted);
    let mut facts = facts(found);
    facts.host.root = false;
    facts.host.missing_capabilities = vec!["CAP_NET_ADMIN".into()];
    facts.host.clock_synchronised = Err(Unread::NotPermitted);
    let findings = judge(&facts, &wanted("", ""));
    for check in [
        Check::Pause,
        Check::Queues,
        Check::Ring,
        Check::Capabilities,
        Check::Clock,
    ] {
        assert_eq!(of(&findings, check).grade, Grade::Note, "{}", check.name());
    }
}

#[test]
fn a_nic_that_keeps_pfc_to_itself_is_noted() {
    let pause_of = |found: Found| {
        let findings = judge(&facts(found), &wanted("", ""));
        let pause = of(&findings, Check::Pause);
        (pause.grade, pause.remedy.clone())
    };
    for (driver, grade) in [
        ("igb", Grade::Note),
        ("igc", Grade::Note),
        ("e1000e", Grade::Note),
        ("ixgbe", Grade::Ok),
        ("ice", Grade::Ok),
        ("other", Grade::Ok),
    ] {
        let mut found = driven_by(driver, nic().xdp);
        let remedy =
            (grade == Grade::Note).then(|| Remedy::Command("ethtool -K eth0 rx-all on".to_owned()));
        assert_eq!(pause_of(found.clone()), (grade, remedy), "{driver}");
        found.features.insert("rx-all".to_owned());
        assert_eq!(pause_of(found), (Grade::Ok, None), "{driver}");
    }
}

#[test]
fn a_running_switch_is_judged_by_its_counters() {
    let running = |change: fn(&mut RunningPort)| {
        let mut port = RunningPort {
            device: "eth0".into(),
            mode: "native".into(),
            zero_copy: true,
            ..RunningPort::default()
        };
        change(&mut port);
        let mut wanted = wanted("", "");
        wanted.running = Some(Running {
            pid: 17,
            ports: vec![port],
        });
        wanted
    };
    let mut attached = nic();
    attached.programs = vec![program("weir_xdp", "native", Some(3))];
    let attached = facts(attached);
    let findings = judge(&attached, &running(|_| ()));
    assert!(worst(&findings) < Grade::Problem, "{findings:#?}");
    assert_eq!(of(&findings, Check::ZeroCopy).grade, Grade::Ok);
    one_problem(
        &attached,
        &running(|port| port.without_socket = 9),
        Check::Queues,
        "switchctl restart",
    );
    one_problem(
        &attached,
        &running(|port| port.without_metadata = 9),
        Check::Metadata,
        "in s1.toml: dataplane.xdp-mode = \"generic\"",
    );
    let detached = facts(nic());
    one_problem(&detached, &running(|_| ()), Check::Xdp, "switchctl restart");
    // No switch was queried: left-over state is no problem.
    let left = judge(&attached, &wanted("", ""));
    assert_eq!(of(&left, Check::Xdp).grade, Grade::Note);
}
