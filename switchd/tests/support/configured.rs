//! Configuration of the tests, and a dataplane with changed settings.

use std::path::Path;
use std::sync::Mutex;

use weir_config::daemon::{DaemonConfig, Mirror};
use weir_core::Command;
use weir_dataplane::messages::Snapshot;
use weir_switchd::control::info::MarkingInfo;

use super::{priority, LOSSLESS};

/// File that describes [`info`](super::info).
pub const FILE: &str = r#"
name = "s1"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "64KiB"
[[port]]
name = "p0"
device = "dev0"
role = "fabric"
rate = "100Mbit"
[[port]]
name = "p1"
device = "dev1"
role = "fabric"
rate = "100Mbit"
[[port]]
name = "p2"
device = "dev2"
role = "edge"
pfcwd = { enabled = false }
rate = "100Mbit"
"#;

/// Returns `text` for a switch whose run directory, including its history, is in `directory`, so that no file is left on the
/// host.
pub fn based(directory: &Path, text: &str) -> String {
    format!("run-dir = \"{}/run\"{text}", directory.display())
}

/// The profile in [`marking`].
pub const PROFILE: &str =
    "[[ecn]]\nname = \"AZURE_LOSSLESS\"\nkmin = \"10KiB\"\nkmax = \"40KiB\"\npmax = \"5%\"\n";

/// Three ports, a mirror and a profile.
fn config() -> DaemonConfig {
    let mut text = "name = \"s1\"\n".to_owned();
    for port in 0..3 {
        text += &format!(
            "[[port]]\nname = \"p{port}\"\ndevice = \"d{port}\"\nrole = \"edge\"\nrate = \"1Gbit\"\n"
        );
    }
    text += "[[mirror]]\nname = \"m\"\noutput-port = \"p2\"\nselect-src-port = [\"p0\"]\n";
    text += PROFILE;
    DaemonConfig::parse(&text, Path::new("s1.toml")).unwrap()
}

/// Returns one mirror: port 2 gets copies of frames received on port 0.
pub fn mirrors() -> Vec<Mirror> {
    config().mirrors
}

/// Returns one profile, used by the lossless class.
pub fn marking() -> Vec<MarkingInfo> {
    let profile = &config().ecn[0];
    vec![MarkingInfo {
        profile: Some(profile.name.clone()),
        classes: vec![("lossless".to_owned(), vec![priority(LOSSLESS)])],
        configured: profile.marking(),
    }]
}

/// Applies changes that later snapshots show.
pub fn keep(template: &Mutex<Snapshot>, command: Command) {
    match command {
        Command::SetWatchdog { port, watchdog } => {
            template.lock().unwrap().ports[port.index()].watchdog = watchdog;
        }
        Command::SetMarking { priority, marking } => {
            template.lock().unwrap().markings[priority.index()] = marking;
        }
        _ => {}
    }
}
