//! Writes the daemon's configuration as text, with the source of each value.

use std::collections::BTreeMap;
use std::fmt::Write;

use weir_config::daemon::{default_dscp_map, PfcwdConfig, Trust};
use weir_config::units::{format_probability, format_rate, format_size};
use weir_core::{Algorithm, Bytes, Threshold};

use super::classes::{Buffers, Class};
use super::pools::{Pool, Share};
use super::ports::Port;
use super::qos::PortQos;
use super::queues::{Ecn, Served};
use super::vlans::PortVlans;

/// Everything that is written.
pub struct Converted {
    /// The input file.
    pub file: String,
    /// Name of the switch and its source.
    pub name: (String, String),
    /// Longest payload and its source.
    pub mtu: (u64, String),
    /// UMEM chunk, if it is to be set.
    pub chunk: Option<Bytes>,
    /// `[[class]]`.
    pub classes: Vec<Class>,
    /// `[[pool]]`, each with its index in BUFFER_POOL.
    pub pools: Vec<(usize, Pool)>,
    /// `[[port]]`.
    pub ports: Vec<(Port, PortQos)>,
    /// By port in a VLAN; empty if the switch ignores tags.
    pub vlans: BTreeMap<String, PortVlans>,
}

impl Converted {
    /// TOML.
    pub fn to_toml(&self) -> String {
        let mut out = format!(
            "# Generated from {} by `switchctl config convert`.\n",
            plain(&self.file)
        );
        out += "# Add [[route]], or forwarding.learning in a network without loops: without either no frame is forwarded.\n\n";
        line(&mut out, "name", &text(&self.name.0), &self.name.1);
        out += "\n[dataplane]\n";
        line(&mut out, "mtu", &size(self.mtu.0), &self.mtu.1);
        if let Some(chunk) = self.chunk {
            let why = "so that a frame needs few chunks";
            line(&mut out, "chunk", &text(&format_size(chunk)), why);
        }
        let common = self.common_watchdog();
        if let Some(config) = &common {
            out += "\n[pfcwd] # PFC_WD, the same for all ports\n";
            for (key, value) in config.pairs() {
                line(&mut out, key, &value, "");
            }
        }
        for (_, each) in &self.pools {
            pool(&mut out, each);
        }
        // In the order of the classes, without duplicates.
        let mut profiles: Vec<&(Ecn, String)> = Vec::new();
        for profile in self.classes.iter().filter_map(|class| class.ecn.as_ref()) {
            if !profiles.contains(&profile) {
                profiles.push(profile);
            }
        }
        for (profile, source) in profiles {
            ecn(&mut out, profile, source);
        }
        for each in &self.classes {
            class(&mut out, each, &self.pools);
        }
        for (each, qos) in &self.ports {
            port(&mut out, each, qos, common.is_none());
            self.thresholds_of(&mut out, each);
            self.vlans_of(&mut out, each);
        }
        out
    }

    /// Writes the port's shares of pools that differ from the classes' shares.
    fn thresholds_of(&self, out: &mut String, port: &Port) {
        let own = self.classes.iter().filter_map(|class| {
            let threshold = class.own.get(&port.name)?;
            Some((&class.name, threshold))
        });
        let (mut alphas, mut fixed) = (Vec::new(), Vec::new());
        for (class, threshold) in own {
            match threshold {
                Threshold::Dynamic(alpha) => {
                    alphas.push(format!("{class} = {}", text(&alpha.to_string())));
                }
                Threshold::Static(bytes) => fixed.push(format!("{class} = {}", size(bytes.get()))),
            }
        }
        for (key, values, source) in [
            ("alpha", alphas, "BUFFER_PG, dynamic_th"),
            ("static-threshold", fixed, "BUFFER_PG, static_th"),
        ] {
            if !values.is_empty() {
                line(out, key, &format!("{{ {} }}", values.join(", ")), source);
            }
        }
    }

    fn vlans_of(&self, out: &mut String, port: &Port) {
        if self.vlans.is_empty() {
            return;
        }
        let own = self.vlans.get(&port.name);
        let source = own.map_or("in no VLAN", |_| "VLAN_MEMBER");
        for (key, value) in own.cloned().unwrap_or_default().keys() {
            line(out, key, &value, source);
        }
    }

    fn common_watchdog(&self) -> Option<PfcwdConfig> {
        let first = self.ports.first()?.0.watchdog?;
        let same = |(port, _): &(Port, PortQos)| port.watchdog == Some(first);
        self.ports.iter().all(same).then_some(first)
    }
}

fn pool(out: &mut String, pool: &Pool) {
    let row = format!("BUFFER_POOL|{}", pool.name);
    *out += "\n[[pool]]\n";
    line(out, "name", &text(&pool.name), "");
    line(out, "size", &size(pool.size), &row);
    if let Some(headroom) = pool.headroom {
        line(out, "headroom", &size(headroom), "xoff");
    }
    if pool.oversubscription > 1 {
        let times = pool.oversubscription.to_string();
        let why = "the groups' headrooms divided by it";
        line(out, "headroom-oversubscription", &times, why);
    }
}

fn ecn(out: &mut String, profile: &Ecn, source: &str) {
    *out += "\n[[ecn]]\n";
    line(out, "name", &text(&profile.name), source);
    line(
        out,
        "kmin",
        &size(profile.kmin.get()),
        "green_min_threshold",
    );
    line(
        out,
        "kmax",
        &size(profile.kmax.get()),
        "green_max_threshold",
    );
    let pmax = text(&format_probability(profile.pmax));
    line(out, "pmax", &pmax, "green_drop_probability");
}

fn share(
    out: &mut String,
    share: &Share,
    (source, by_cable): (&str, bool),
    pools: &[(usize, Pool)],
) {
    let pool = pools.iter().find(|(index, _)| *index == share.pool);
    let name = pool.map_or("", |(_, pool)| &pool.name);
    line(out, "pool", &text(name), source);
    if share.reserved > 0 {
        line(out, "reserved", &size(share.reserved), "size");
    }
    match share.threshold {
        Threshold::Dynamic(alpha) => line(out, "alpha", &text(&alpha.to_string()), "dynamic_th"),
        Threshold::Static(threshold) => {
            line(out, "static-threshold", &size(threshold.get()), "static_th");
        }
    }
    if let Some(headroom) = share.headroom {
        if share.xon_offset > 0 {
            line(
                out,
                "xon-offset",
                &size(share.xon_offset),
                "xon, xon_offset",
            );
        }
        if !by_cable {
            line(out, "headroom", &size(headroom), "xoff");
        }
    }
}

fn class(out: &mut String, class: &Class, pools: &[(usize, Pool)]) {
    let priorities: Vec<String> = class.priorities.iter().map(ToString::to_string).collect();
    *out += "\n[[class]]\n";
    line(out, "name", &text(&class.name), "");
    line(
        out,
        "priorities",
        &format!("[{}]", priorities.join(", ")),
        "",
    );
    let source = &class.buffers.1;
    match class.buffers.0 {
        Buffers::Pfc(thresholds) => {
            line(out, "mode", "\"pfc\"", "PORT_QOS_MAP pfc_enable");
            line(out, "xoff", &size(thresholds.xoff), source);
            line(out, "xon", &size(thresholds.xon), "xon, xon_offset");
            if !class.headroom_by_cable {
                line(out, "headroom", &size(thresholds.headroom), "xoff");
            }
        }
        Buffers::Pooled(of_pool) => {
            let mode = match of_pool.headroom {
                Some(_) => ("\"pfc\"", "PORT_QOS_MAP pfc_enable"),
                None => ("\"lossy\"", ""),
            };
            line(out, "mode", mode.0, mode.1);
            share(out, &of_pool, (source, class.headroom_by_cable), pools);
        }
        Buffers::Lossy(buffer) => {
            line(out, "mode", "\"lossy\"", "");
            if let Some(buffer) = buffer {
                line(out, "buffer", &size(buffer), source);
            }
        }
    }
    if let Some((ecn, _)) = &class.ecn {
        line(out, "ecn", &text(&ecn.name), "QUEUE, wred_profile");
    }
    if let Some((served, source)) = &class.served {
        let Served { weight, scheduler } = served;
        // Also 1: without a weight, the class would share the line by ingress port.
        match scheduler.algorithm {
            Algorithm::Ets => line(out, "weight", &weight.to_string(), source),
            other => line(out, "scheduler", &text(other.name()), source),
        }
        for (key, rate) in [
            ("min-rate", scheduler.rate_min),
            ("max-rate", scheduler.rate_max),
        ] {
            if let Some(rate) = rate {
                line(out, key, &text(&format_rate(rate)), source);
            }
        }
    }
}

fn port(out: &mut String, port: &Port, qos: &PortQos, own_watchdog: bool) {
    *out += "\n[[port]]\n";
    let alias = port.alias.as_deref().map(|alias| format!("alias {alias}"));
    line(out, "device", &text(&port.name), &alias.unwrap_or_default());
    line(out, "role", &text(port.role.name()), &port.role_source);
    line(out, "rate", &text(&format_rate(port.rate)), "speed");
    if let Some(cable) = port.cable {
        line(out, "cable", &text(&cable.to_string()), "CABLE_LENGTH");
    }
    let trust = match qos.trust() {
        Trust::Port => "\"port\"",
        Trust::Pcp => "\"pcp\"",
        Trust::Dscp => "\"dscp\"",
        Trust::PcpDscp => "\"pcp-dscp\"",
    };
    line(out, "trust", trust, "the maps of PORT_QOS_MAP");
    if let Some(map) = &qos.pcp {
        line(out, "pcp-map", &format!("{map:?}"), &qos.pcp_source);
    }
    if let Some(map) = &qos.dscp {
        let usual = default_dscp_map();
        let changes: Vec<String> = (0..64)
            .filter(|dscp| map[*dscp] != usual[*dscp].get())
            .map(|dscp| format!("{dscp} = {}", map[dscp]))
            .collect();
        if !changes.is_empty() {
            let table = format!("{{ {} }}", changes.join(", "));
            line(out, "dscp-map", &table, &qos.dscp_source);
        }
    }
    if let Some(config) = port.watchdog.filter(|_| own_watchdog) {
        let pairs = config.pairs().into_iter();
        let pairs: Vec<String> = pairs
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        let source = format!("PFC_WD|{}", port.name);
        line(
            out,
            "pfcwd",
            &format!("{{ {} }}", pairs.join(", ")),
            &source,
        );
    }
}

fn line(out: &mut String, key: &str, value: &str, source: &str) {
    let _ = match source.is_empty() {
        true => writeln!(out, "{key} = {value}"),
        false => writeln!(out, "{key} = {value} # {}", plain(source)),
    };
}

fn size(bytes: u64) -> String {
    text(&format_size(Bytes::new(bytes)))
}

fn text(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

/// Returns one line without control characters, for comments and terminals.
pub fn plain(text: &str) -> String {
    let legal = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(legal).collect()
}
