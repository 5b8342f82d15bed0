//! Runs containers of the image like a runtime: crun, with least privilege.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde::de::DeserializeOwned;
use serde_json::{json, Value};
use weir_api::daemon::{Port, Status};
use weir_api::words::Stage;
use weir_lab::lab::process::{program, Process};

use weir_tests::{printed, until, PATIENCE};

/// Image set by `cargo xtask image --check`. Without it, one is built from the tests' programs.
const IMAGE_VARIABLE: &str = "WEIR_IMAGE";
/// Capabilities of a switch and its keeper, as a complete list: `docker run --cap-drop ALL --cap-add …`.
pub const CAPABILITIES: [&str; 10] = [
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_BPF",
    "CAP_PERFMON",
    "CAP_SYS_ADMIN",
    "CAP_IPC_LOCK",
    "CAP_SETUID",
    "CAP_SETGID",
    "CAP_CHOWN",
    "CAP_KILL",
];
/// The container's configuration file, if it has one.
pub const CONFIGURATION: &str = "/etc/weir/switchd.toml";

/// crun without control groups, whose layout on this machine it may not support.
const CRUN: [&str; 7] = [
    "unshare",
    "--mount",
    "--propagation=slave",
    "sh",
    "-c",
    "mount -t tmpfs none /sys/fs/cgroup && exec crun --cgroup-manager=disabled \"$@\"",
    "crun",
];

/// Starts a container instead of a daemon of a lab, in the lab's network for it: `weir-switchd --config FILE`.
const START: &str = r#"#!/bin/sh
set -eu
[ "$1" = --config ]
directory=$(dirname "$2")
name=$(basename "$2" .toml)
bundle=@BUNDLES@/$name
mkdir -p "$bundle" "$directory/$name"
sed -e "s|@CONFIG@|$2|g" -e "s|@DIRECTORY@|$directory|g" -e "s|@NAME@|$name|g" @BUNDLES@/template > "$bundle/config.json"
exec @CRUN@ run --bundle "$bundle" "weir-$$-$name"
"#;

fn crun() -> Command {
    let mut command = Command::new(CRUN[0]);
    command.args(&CRUN[1..]);
    command
}

/// An unpacked image; removed on drop.
pub struct Image {
    directory: tempfile::TempDir,
    config: Value,
}

impl Image {
    pub fn unpack() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let archive = match std::env::var_os(IMAGE_VARIABLE) {
            Some(image) => PathBuf::from(image),
            None => of_programs(directory.path()),
        };
        let layout = directory.path().join("layout");
        unpack(&archive, &layout);
        let read = |path: PathBuf| -> Value {
            let text =
                std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            serde_json::from_slice(&text).unwrap()
        };
        let blob = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap();
            layout.join("blobs").join(digest.replace(':', "/"))
        };
        let index = read(layout.join("index.json"));
        let manifest = read(blob(&index["manifests"][0]));
        let config = read(blob(&manifest["config"]));
        unpack(
            &blob(&manifest["layers"][0]),
            &directory.path().join("root"),
        );
        Self { directory, config }
    }

    /// Returns its file system.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    /// Makes labs of this process start containers instead of daemons, as long as the returned directory exists. In `mounts`,
    /// `@CONFIG@` is a daemon's configuration file, `@DIRECTORY@` that file's directory, and `@NAME@` the switch.
    pub fn replace_daemons(&self, mounts: &[Value]) -> tempfile::TempDir {
        let bundles = tempfile::tempdir().unwrap();
        let template = self.bundle("@NAME@", &[], mounts).to_string();
        std::fs::write(bundles.path().join("template"), template).unwrap();
        let start = bundles.path().join("weir-switchd");
        let crun = CRUN.map(|word| format!("'{word}'")).join(" ");
        let script = START
            .replace("@BUNDLES@", &bundles.path().display().to_string())
            .replace("@CRUN@", &crun);
        std::fs::write(&start, script).unwrap();
        std::fs::set_permissions(&start, Permissions::from_mode(0o755)).unwrap();
        std::env::set_var("WEIR_BIN_DIR", bundles.path());
        bundles
    }

    /// Returns the bundle of a container `name` for the runtime: the image's settings, read-only, with the capabilities
    /// needed by the daemon. `variables` are added to its environment, `mounts` to its file system.
    pub fn bundle(&self, name: &str, variables: &[&str], mounts: &[Value]) -> Value {
        let image = &self.config["config"];
        let list = |key: &str| image[key].as_array().cloned().unwrap_or_default();
        let arguments: Vec<Value> = [list("Entrypoint"), list("Cmd")].concat();
        let mut environment = list("Env");
        environment.extend(variables.iter().map(|variable| json!(variable)));
        let mut all = vec![
            json!({"destination": "/proc", "type": "proc", "source": "proc"}),
            json!({"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro", "nosuid", "noexec", "nodev"]}),
            json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]}),
            json!({"destination": "/run", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=755"]}),
            json!({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]}),
        ];
        all.extend_from_slice(mounts);
        let kinds = ["pid", "ipc", "uts", "mount"];
        json!({
            "ociVersion": "1.0.2",
            "hostname": name,
            "process": {
                "user": {"uid": 0, "gid": 0},
                "args": arguments,
                "env": environment,
                "cwd": "/",
                "noNewPrivileges": true,
                "capabilities": {
                    "bounding": CAPABILITIES, "effective": CAPABILITIES, "permitted": CAPABILITIES,
                },
            },
            "root": {"path": self.root(), "readonly": true},
            "mounts": all,
            "linux": {"namespaces": kinds.map(|kind| json!({"type": kind}))},
        })
    }
}

/// Builds an image of the programs built with the tests.
fn of_programs(directory: &Path) -> PathBuf {
    let xtask = program("xtask").unwrap();
    let programs = xtask.parent().unwrap();
    let said = printed(
        Command::new(&xtask)
            .args(["image", "--programs"])
            .arg(programs)
            .arg("--out")
            .arg(directory),
    );
    PathBuf::from(said.trim())
}

fn unpack(archive: &Path, into: &Path) {
    std::fs::create_dir_all(into).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("--extract")
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(into);
    printed(&mut tar);
}

/// A running container; killed on drop.
pub struct Container {
    name: String,
    id: String,
    process: Process,
    directory: tempfile::TempDir,
    pid: u32,
}

impl Container {
    /// Runs one with a new, empty network, as Docker and containerlab start it.
    pub fn start(image: &Image, name: &str, variables: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut bundle = image.bundle(name, variables, &[]);
        let namespaces = bundle["linux"]["namespaces"].as_array_mut().unwrap();
        namespaces.push(json!({"type": "network"}));
        std::fs::write(directory.path().join("config.json"), bundle.to_string()).unwrap();
        let id = format!("weir-{}-{name}", std::process::id());
        let mut command = crun();
        command
            .args(["run", "--bundle"])
            .arg(directory.path())
            .arg(&id)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let log = directory.path().join("log");
        let mut process = Process::start(name, command, &log)
            .unwrap_or_else(|error| panic!("{error:#}: `cargo xtask setup` installs crun"));
        let pid = until("the container runs", || {
            process.check().unwrap_or_else(|error| panic!("{error:#}"));
            let state = crun().args(["state", &id]).output().unwrap();
            let state: Value = serde_json::from_slice(&state.stdout).ok()?;
            let pid = state["pid"].as_u64().filter(|pid| *pid > 0)?;
            (state["status"] == "running").then_some(pid as u32)
        });
        Self {
            name: name.to_owned(),
            id,
            process,
            directory,
            pid,
        }
    }

    /// Returns its first process, in this namespace.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns its switch's answer.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        let socket = format!("/proc/{}/root/run/weir/{}/api.sock", self.pid, self.name);
        weir_api::client::get(Path::new(&socket), path, PATIENCE).ok()
    }

    /// Waits until its switch forwards.
    pub fn ready(&mut self) -> Status {
        until("the switch forwards", || {
            self.process
                .check()
                .unwrap_or_else(|error| panic!("{error:#}"));
            let status: Status = self.get("/v1/status")?;
            (status.state == Stage::Running).then_some(status)
        })
    }

    pub fn port(&self, name: &str) -> Port {
        let ports: Vec<Port> = self.get("/v1/ports").expect("the switch answers");
        ports.into_iter().find(|port| port.name == name).unwrap()
    }

    /// Runs a program inside, with the container's privileges, like `docker exec`.
    pub fn exec(&self, words: &str) -> std::process::Output {
        let mut command = crun();
        command.args(["exec", &self.id]);
        command.args(words.split_whitespace()).output().unwrap()
    }

    /// Runs this machine's ip(8) in its network.
    pub fn ip(&self, words: &str) {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.pid));
        printed(command.arg("ip").args(words.split_whitespace()));
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Stops it like `docker stop`; returns its exit status.
    pub fn stop(&mut self) -> i32 {
        let mut kill = crun();
        printed(kill.args(["kill", &self.id, Signal::SIGTERM.as_str()]));
        let status = self.process.wait(PATIENCE).unwrap();
        status.and_then(|status| status.code()).unwrap_or(-1)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("log of {}:\n{}", self.name, self.log());
        }
        let _ = crun()
            .args(["delete", "--force", &self.id])
            .stderr(Stdio::null())
            .status();
    }
}
