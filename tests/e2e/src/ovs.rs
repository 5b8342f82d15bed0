//! Open vSwitch's userspace datapath in a namespace, with all its files in one directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_lab::lab::process::{inside, Process};
use weir_tests::{printed, until};

const BRIDGE: &str = "br0";

/// A running instance; killed on drop.
pub struct Ovs {
    namespace: String,
    directory: PathBuf,
    _daemon: Process,
    _database: Process,
}

impl Ovs {
    /// Starts a bridge without ports.
    pub fn start(namespace: &str, directory: &Path) -> Self {
        std::fs::create_dir_all(directory).unwrap();
        let data = std::env::var("OVS_PKGDATADIR").unwrap_or("/usr/share/openvswitch".to_owned());
        let file = directory.join("conf.db");
        printed(
            Command::new("ovsdb-tool")
                .arg("create")
                .arg(&file)
                .arg(Path::new(&data).join("vswitch.ovsschema")),
        );
        let socket = format!("unix:{}", directory.join("db.sock").display());
        let start = |program: &str, arguments: &[&str]| {
            let mut command = inside(namespace, Path::new(program));
            environment(&mut command, directory);
            command
                .args(["--no-chdir", "-vconsole:warn"])
                .args(arguments);
            Process::start(program, command, &directory.join(format!("{program}.log"))).unwrap()
        };
        let remote = format!("--remote=p{socket}");
        let database = start("ovsdb-server", &[&remote, file.to_str().unwrap()]);
        until("ovsdb-server listens", || {
            directory.join("db.sock").exists().then_some(())
        });
        let ovs = Self {
            namespace: namespace.to_owned(),
            directory: directory.to_owned(),
            _daemon: start("ovs-vswitchd", &[&socket]),
            _database: database,
        };
        ovs.vsctl(&[
            "add-br",
            BRIDGE,
            "--",
            "set",
            "bridge",
            BRIDGE,
            "datapath_type=netdev",
        ]);
        ovs
    }

    /// Adds a device as a port, and waits until it is up.
    pub fn add_port(
        &self,
        device: &str,
        mode: &str,
        tag: Option<u16>,
        trunks: Option<&BTreeSet<u16>>,
    ) {
        let mut words = vec!["add-port".to_owned(), BRIDGE.to_owned(), device.to_owned()];
        words.extend(["--", "set", "port", device].map(str::to_owned));
        words.push(format!("vlan_mode={mode}"));
        words.extend(tag.map(|tag| format!("tag={tag}")));
        words.extend(trunks.map(|trunks| {
            let numbers: Vec<String> = trunks.iter().map(u16::to_string).collect();
            format!("trunks={}", numbers.join(","))
        }));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.vsctl(&words);
        assert_eq!(
            self.vsctl(&["get", "interface", device, "error"]).trim(),
            "[]"
        );
    }

    fn vsctl(&self, words: &[&str]) -> String {
        let mut command = inside(&self.namespace, Path::new("ovs-vsctl"));
        environment(&mut command, &self.directory);
        printed(command.args(["--timeout", "60"]).args(words))
    }
}

fn environment(command: &mut Command, directory: &Path) {
    for name in ["OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR", "OVS_SYSCONFDIR"] {
        command.env(name, directory);
    }
}
