//! The bare forwarder as a separate process.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result};
use weir_lab::lab::process::{inside, program, Process};

use super::{device_drops, Switch, LIMIT};
use crate::cpu::Cpus;
use crate::forwarder::ForwarderLosses;
use crate::stage::{Site, PORTS};

pub(super) struct Bare {
    process: Process,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    namespace: String,
}

impl Bare {
    pub(super) fn start(site: &Site, cpus: Cpus) -> Result<Self> {
        let mut command = inside(&site.namespace(), &program("weir-bench")?);
        command
            .arg("forward")
            .args(PORTS)
            .args(["--cpu", &cpus.switch.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process =
            Process::start("the forwarder", command, &site.directory().join("bare.log"))?;
        let to = process
            .child()
            .stdin
            .take()
            .context("a pipe to the forwarder")?;
        let from = process
            .child()
            .stdout
            .take()
            .context("a pipe from the forwarder")?;
        let mut bare = Self {
            process,
            to,
            from: BufReader::new(from),
            namespace: site.namespace(),
        };
        bare.answer()?;
        Ok(bare)
    }

    fn answer(&mut self) -> Result<ForwarderLosses> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        serde_json::from_str(&line)
            .with_context(|| format!("the forwarder says {line:?}:\n{}", self.process.log_end()))
    }
}

impl Switch for Bare {
    fn processes(&self) -> Vec<u32> {
        vec![self.process.id()]
    }

    fn losses(&mut self) -> Result<BTreeMap<String, u64>> {
        self.to.write_all(b"\n")?;
        let losses = self.answer()?;
        let mut all = device_drops(&self.namespace, &PORTS)?;
        all.insert("no room to receive".into(), losses.receive_drops);
        all.insert("device drops on sending".into(), losses.device_drops);
        Ok(all)
    }

    fn check(&mut self) -> Result<()> {
        self.process.check()
    }

    fn end(self: Box<Self>) -> Result<()> {
        self.process.end(LIMIT)
    }
}
