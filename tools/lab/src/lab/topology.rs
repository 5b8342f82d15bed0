//! Converts a scenario into a plan of namespaces and links, which the scripts in `netns-scripts/` build and remove.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{bail, Context, Result};
use weir_config::scenario::{PortPeer, Scenario};

use super::names::Names;

/// Returns the plan of a scenario, in the format of `netns-scripts/lab-up.sh`.
pub fn plan(scenario: &Scenario, names: &Names) -> String {
    let mtu = scenario.frames().mtu.get();
    let mut out = format!("# {}: {}\n", scenario.name, scenario.description);
    let nodes = scenario
        .switches
        .iter()
        .chain(scenario.hosts.iter().map(|host| &host.name));
    for node in nodes {
        let _ = writeln!(out, "ns {}", names.namespace(node));
    }
    for link in scenario.links.iter().filter(|link| !link.failed) {
        let [a, b] = link.ends.map(|end| &scenario.switches[end]);
        let _ = writeln!(
            out,
            "veth {} {b} - {} {a} - {mtu}",
            names.namespace(a),
            names.namespace(b)
        );
    }
    for host in &scenario.hosts {
        let (namespace, device) = (names.namespace(&host.name), names.host_device());
        let _ = writeln!(
            out,
            "veth {} {} - {namespace} {device} {} {mtu}",
            names.namespace(&scenario.switches[host.switch]),
            host.name,
            host.address,
        );
    }
    out
}

/// Returns the device of a switch's port, as named by [`plan`].
pub fn device(scenario: &Scenario, peer: PortPeer) -> String {
    scenario.peer_name(peer).to_owned()
}

/// A built topology; dropping it removes it.
#[derive(Debug)]
pub struct Topology {
    prefix: String,
}

impl Topology {
    /// Builds the namespaces of `plan`. After a failure everything is removed.
    ///
    /// # Errors
    ///
    /// The script's error; it requires root.
    pub fn build(plan: &str, names: &Names) -> Result<Self> {
        if !nix::unistd::geteuid().is_root() {
            bail!("network namespaces need root; try `sudo -E env \"PATH=$PATH\" …`");
        }
        std::fs::create_dir_all(names.directory())
            .with_context(|| names.directory().display().to_string())?;
        let file = names.directory().join("plan");
        std::fs::write(&file, plan).with_context(|| file.display().to_string())?;
        let topology = Self {
            prefix: names.prefix().to_owned(),
        };
        run_script("lab-up.sh", &[file.as_os_str().to_owned()])?;
        Ok(topology)
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        if let Err(error) = run_script("lab-down.sh", &[self.prefix.clone().into()]) {
            eprintln!("{error:#}; `cargo xtask clean-net` removes what is left");
        }
    }
}

fn run_script(name: &str, arguments: &[std::ffi::OsString]) -> Result<()> {
    let path = script(name)?;
    let output = Command::new("sh")
        .arg(&path)
        .args(arguments)
        .output()
        .with_context(|| path.display().to_string())?;
    if !output.status.success() {
        bail!(
            "{}: {}",
            path.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

/// Finds the scripts in `WEIR_SCRIPTS`, above the running program (in a source tree, or its installed share/weir), or above
/// the package whose test cargo runs. No path of the build machine is used, so that the program is reproducible.
fn script(name: &str) -> Result<PathBuf> {
    const DIRECTORY: &str = "netns-scripts";
    let here = std::env::current_exe().context("the running program has no path")?;
    let named = std::env::var_os("WEIR_SCRIPTS").map(PathBuf::from);
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let starts = [Some(here), package];
    let above = starts
        .iter()
        .flatten()
        .flat_map(|it| it.ancestors().skip(1));
    let above =
        above.flat_map(|it| ["share/weir", ""].map(|between| it.join(between).join(DIRECTORY)));
    let mut candidates = named.into_iter().chain(above);
    candidates
        .find_map(|directory| Some(directory.join(name)).filter(|path| path.is_file()))
        .with_context(|| {
            format!("{name} is not found; set WEIR_SCRIPTS to the directory of {DIRECTORY}")
        })
}
