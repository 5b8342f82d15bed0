//! The fat-tree at half load in ns-3: the program under `benches/ns3`, compiled here and run with the same plan.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, ensure, Context, Result};
use serde_json::Value;
use weir_core::units::LINE_OVERHEAD;
use weir_core::Duration;

use crate::pages::Pages;
use crate::plans::fat_tree::{choices, fat_tree, Load, HALF_RATE};
use crate::plans::{DELAY, FRAME_LENGTH, LINE_RATE};

/// The same as in the cases that it is compared with.
pub const K: u32 = 16;
const WARM_UP: Duration = Duration::from_micros(20);
const MEASURED: Duration = Duration::from_micros(20);

/// Path of Debian's ns-3 headers.
const HEADER: &str = "/usr/include/ns3/core-module.h";
/// Instructions for a machine without ns-3.
pub const HOW_TO_INSTALL: &str =
    "ns-3 is not installed, so that its column is left out; on Debian and Ubuntu: \
                                  apt-get install --no-install-recommends libns3-dev g++";

/// How nodes treat frames: see the program.
pub const MODES: [&str; 2] = ["ip", "link"];

/// A compiled program and its plan.
pub struct Ns3 {
    program: PathBuf,
    plan: String,
}

impl Ns3 {
    /// Compiles the program; `None` if ns-3 is not installed.
    pub fn build() -> Result<Option<Self>> {
        if !Path::new(HEADER).is_file() {
            return Ok(None);
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = target_directory()?.join("ns3-fat-tree");
        let modules = ["internet", "point-to-point", "network", "core"];
        let status = Command::new("g++")
            .args(["-std=c++17", "-O3", "-DNDEBUG"])
            .arg(root.join("benches/ns3/fat_tree.cc"))
            .arg("-o")
            .arg(&program)
            .args(modules.map(|module| format!("-lns3-{module}")))
            .status()
            .context("starting g++")?;
        ensure!(status.success(), "g++ failed: see above");
        let plan = plan();
        Ok(Some(Self { program, plan }))
    }

    /// Runs it once; returns its counts.
    pub fn run(&self, mode: &str, pages: Pages) -> Result<Value> {
        let mut child = pages
            .command(&self.program)
            .arg(mode)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", self.program.display()))?;
        let mut input = child.stdin.take().context("its input is a pipe")?;
        input.write_all(self.plan.as_bytes())?;
        drop(input);
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("{} failed ({})", self.program.display(), output.status);
        }
        let mut figures: Value =
            serde_json::from_slice(&output.stdout).context("what ns-3 has counted")?;
        ensure!(figures["dropped"] == 0, "ns-3 dropped frames: {figures}");
        figures["case"] = name(mode, pages).into();
        figures["measured_nanoseconds"] = MEASURED.as_nanos().into();
        Ok(figures)
    }
}

pub fn name(mode: &str, pages: Pages) -> String {
    format!("ns3-{mode}{}", pages.suffix())
}

/// Returns the directory next to this program, in the target directory.
fn target_directory() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let directory = own.parent().context("a program is in a directory")?;
    Ok(directory.to_owned())
}

fn plan() -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    let occupied = LINE_RATE.time_for(FRAME_LENGTH + LINE_OVERHEAD).as_nanos();
    let numbers = [
        u64::from(K),
        FRAME_LENGTH.get(),
        LINE_RATE.get(),
        HALF_RATE.get(),
        DELAY.as_nanos(),
        occupied - LINE_RATE.time_for(FRAME_LENGTH).as_nanos(),
        WARM_UP.as_nanos(),
        MEASURED.as_nanos(),
    ];
    for number in numbers {
        let _ = writeln!(text, "{number}");
    }
    for flow in &fat_tree(K, Load::Half).flows {
        let [aggregation, core] = choices(flow.flow_hash, K / 2);
        let start = flow.start.as_nanos();
        let _ = writeln!(
            text,
            "{} {} {start} {aggregation} {core}",
            flow.from, flow.to
        );
    }
    text
}
