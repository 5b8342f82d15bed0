//! Findings of `switchctl doctor` about wrong NIC settings, and the effect of its remedies.

use std::fs;

use anyhow::{ensure, Context, Result};
use serde_json::Value;

use super::Bench;
use crate::vm::guest::Guest;
use crate::vm::nic::Nic;
use crate::vm::switch::{Settings, PORTS};

const FILE: &str = "/share/s1.toml";

struct Wrong {
    /// Command that makes a correct setting wrong.
    command: &'static str,
    change: fn(&mut Settings),
    /// The check that detects it.
    check: &'static str,
}

impl Wrong {
    fn command(command: &'static str, check: &'static str) -> Self {
        Self {
            command,
            change: |_| {},
            check,
        }
    }

    fn setting(change: fn(&mut Settings), check: &'static str) -> Self {
        Self {
            command: "true",
            change,
            check,
        }
    }
}

/// Returns the wrong settings that this NIC can have.
fn wrong(nic: Nic) -> Vec<Wrong> {
    let mut wrong = vec![
        Wrong::command("ip link set eth0 down", "link"),
        Wrong::command("ip link set eth0 mtu 1400", "mtu"),
    ];
    if nic.strips_tags() {
        wrong.push(Wrong::command("ethtool -K eth0 rxvlan on", "offloads"));
    }
    if nic == Nic::Igb {
        wrong.extend([
            Wrong::command("ethtool -A eth0 autoneg off rx on tx on", "pause"),
            Wrong::setting(|settings| settings.chunk = Some("2KiB"), "buffers"),
            Wrong::setting(|settings| settings.queues = [1; PORTS], "rss"),
        ]);
    }
    if nic.long_frames_need_lro() {
        wrong.push(Wrong {
            command: "ethtool -K eth0 lro off; ethtool -K eth1 lro on; \
                      ip link set eth0 mtu 9000; ip link set eth1 mtu 9000",
            change: |settings| {
                settings.mtu = 9000;
                settings.xdp_mode = "auto";
            },
            check: "offloads",
        });
    }
    if !nic.has_zero_copy() {
        let require = |settings: &mut Settings| settings.zero_copy = "require";
        wrong.push(Wrong::setting(require, "zero-copy"));
    }
    wrong
}

/// Tests all wrong settings, one after the other.
pub fn check(bench: &mut Bench<'_>) -> Result<()> {
    for wrong in wrong(bench.nic) {
        let name = format!(
            "doctor names {}, and the cure: {}",
            wrong.check, wrong.command
        );
        bench.check(name.trim_end_matches(": true"), |bench| {
            mended(bench, &wrong)
        })?;
    }
    Ok(())
}

fn mended(bench: &Bench<'_>, wrong: &Wrong) -> Result<()> {
    let guest = bench.guest;
    let mut settings = Settings::proven(bench.nic);
    guest.must(&settings.preparation())?;
    (wrong.change)(&mut settings);
    settings.write(guest)?;
    guest.must(wrong.command)?;
    let found = problems(guest, wrong.check)?;
    ensure!(
        !found.is_empty(),
        "doctor finds no problem with {}",
        wrong.check
    );
    for problem in &found {
        mend(guest, &problem["remedy"]).with_context(|| problem.to_string())?;
    }
    let left = problems(guest, wrong.check)?;
    // A driver without RSS refuses.
    guest.must(&format!(
        "{}ethtool -X eth0 default 2> /dev/null || true",
        settings.preparation()
    ))?;
    ensure!(left.is_empty(), "still wrong after the cure: {left:?}");
    Ok(())
}

fn problems(guest: &Guest, check: &str) -> Result<Vec<Value>> {
    let said = guest.sh(&format!(
        "switchctl --json doctor --config {FILE} 2> /tmp/complaint; cat /tmp/complaint >&2"
    ))?;
    let findings: Vec<Value> = serde_json::from_str(&said.text)
        .with_context(|| format!("doctor says: {}", said.text.trim()))?;
    let is_meant = |it: &Value| it["check"] == check && it["grade"] == "problem";
    Ok(findings.into_iter().filter(is_meant).collect())
}

fn mend(guest: &Guest, remedy: &Value) -> Result<()> {
    if let Some(command) = remedy["command"].as_str() {
        return guest.must(command).map(drop);
    }
    let setting = &remedy["setting"];
    ensure!(
        setting["file"] == FILE,
        "neither a command nor a setting of {FILE}"
    );
    let key = setting["key"].as_str().context("a setting without a key")?;
    let key = key.rsplit('.').next().unwrap_or(key);
    let path = guest.shared("s1.toml");
    let lines = fs::read_to_string(&path)?;
    let is_it = |line: &str| line.starts_with(&format!("{key} = "));
    let lines = lines.lines().filter_map(|line| match is_it(line) {
        false => Some(line.to_owned()),
        true => Some(format!("{key} = {}", setting["value"].as_str()?)),
    });
    let text: Vec<String> = lines.collect();
    Ok(fs::write(path, text.join("\n"))?)
}
