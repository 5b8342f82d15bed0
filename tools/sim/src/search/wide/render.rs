//! Writes a case as a scenario file, which is then run.

use std::fmt::{Display, Write};

use weir_core::Duration;

use super::case::{reserve, Case, Class, Fault, Flow, GAMMA_MAX};
use super::Protocol;

struct File(String);

impl File {
    fn table(&mut self, name: &str) {
        let _ = writeln!(self.0, "[{name}]");
    }

    fn key(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn text(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.0, "{key} = \"{value}\"");
    }

    fn time(&mut self, key: &str, value: Duration) {
        let _ = writeln!(self.0, "{key} = \"{}ns\"", value.as_nanos());
    }

    fn names(&mut self, key: &str, letter: char, values: &[usize]) {
        let names: Vec<String> = values
            .iter()
            .map(|at| format!("\"{letter}{at}\""))
            .collect();
        let _ = writeln!(self.0, "{key} = [{}]", names.join(", "));
    }
}

impl Case {
    /// Returns the scenario file, with classes of `protocol`. `told` describes its fault.
    pub fn to_toml(&self, protocol: Protocol, told: &str) -> String {
        let mut file = File(String::new());
        file.text("name", format_args!("wide-{}", self.seed));
        if !told.is_empty() {
            file.text("description", told.replace('"', "'"));
        }
        file.time("duration", self.duration);
        file.key("seed", self.seed);
        file.table("link-defaults");
        file.text("rate", format_args!("{}bit", self.host_line.rate.get()));
        file.time("delay", self.host_line.delay);
        file.time("round-trip", self.host_line.round_trip());
        file.table("control");
        file.time("latency", self.latency);
        file.time("feedback-refresh", self.refresh);
        file.table("deadlock");
        let needs_breaker = match protocol {
            Protocol::Level => self.is_mixed(),
            Protocol::PfcBreaker | Protocol::PfcLikeLevel => true,
            Protocol::Pfc => false,
        };
        file.text("policy", if needs_breaker { "breaker" } else { "off" });
        file.time("detect", self.breaker.detect);
        file.time("clcm-interval", self.breaker.interval);
        file.time("release", self.breaker.release);
        file.table("routing");
        file.text("mode", "explicit");
        if !told.is_empty() {
            file.table("expect");
            file.key("deadlock", false);
            if self.flows.iter().all(Flow::is_steady) {
                file.key("progress", true);
            }
            file.key("reordered", u64::from(self.changes_routes()) * 1_000_000);
            if !self.loses_links() && !self.has_short_round_trip() {
                file.key("lost", 0);
            }
        }
        for class in &self.classes {
            self.class(class, protocol, &mut file);
        }
        self.network(protocol, &mut file);
        for (index, flow) in self.flows.iter().enumerate() {
            self.flow(index, flow, &mut file);
        }
        for fault in &self.faults {
            self.fault(fault, &mut file);
        }
        file.0
    }

    fn class(&self, class: &Class, protocol: Protocol, file: &mut File) {
        let budgets = self.budgets(class);
        file.table("[class]");
        file.text("name", format_args!("c{}", class.priority));
        file.key("priority", class.priority);
        let (mode, xoff, xon, headroom) = match protocol {
            Protocol::Level => {
                // Regular switches also pause each other at these thresholds.
                let under_way = if self.is_mixed() {
                    self.true_reserve()
                } else {
                    reserve(self.host_line.rate, self.host_line.round_trip())
                };
                let headroom = under_way + 2 * GAMMA_MAX;
                let xoff = class.edge_xoff * GAMMA_MAX;
                ("level", xoff, xoff - GAMMA_MAX, headroom)
            }
            Protocol::PfcBreaker | Protocol::Pfc => {
                let headroom = self.true_reserve() + 2 * GAMMA_MAX;
                let xoff = class.edge_xoff * GAMMA_MAX;
                ("pfc", xoff, xoff - GAMMA_MAX, headroom)
            }
            Protocol::PfcLikeLevel => {
                let headroom = self.true_reserve() + 2 * GAMMA_MAX;
                let total: u64 = budgets.iter().sum();
                let xoff = total.saturating_sub(headroom).max(2 * GAMMA_MAX);
                ("pfc", xoff, xoff - GAMMA_MAX, headroom)
            }
        };
        file.text("mode", mode);
        for (key, bytes) in [("xoff", xoff), ("xon", xon), ("headroom", headroom)] {
            file.text(key, format_args!("{bytes}B"));
        }
        if protocol == Protocol::Level {
            let list: Vec<String> = budgets
                .iter()
                .map(|bytes| format!("\"{bytes}B\""))
                .collect();
            file.key("budgets", format_args!("[{}]", list.join(", ")));
        }
    }

    fn network(&self, protocol: Protocol, file: &mut File) {
        for (index, switch) in self.switches.iter().enumerate() {
            file.table("[switch]");
            file.text("name", format_args!("s{index}"));
            if !switch.levels && protocol == Protocol::Level {
                file.key("levels", false);
            }
        }
        for (index, at) in self.hosts.iter().enumerate() {
            file.table("[host]");
            file.text("name", format_args!("h{index}"));
            file.text("switch", format_args!("s{at}"));
        }
        for link in &self.links {
            file.table("[link]");
            file.names("ends", 's', &link.ends);
            file.text("rate", format_args!("{}bit", link.line.rate.get()));
            file.time("delay", link.line.delay);
            if protocol == Protocol::Level {
                file.time("round-trip", link.round_trip);
                file.text("feedback", link.coding.name());
                if !link.known {
                    file.key("known", false);
                }
            }
        }
        for ((to, at), next) in &self.routes {
            file.table("[route]");
            file.text("to", format_args!("h{to}"));
            file.text("at", format_args!("s{at}"));
            file.names("ports", 's', next);
        }
    }

    fn fault(&self, fault: &Fault, file: &mut File) {
        file.table("[fault]");
        match fault {
            Fault::LinkDown { link, at, length } => {
                file.text("kind", "link-down");
                file.names("link", 's', &self.links[*link].ends);
                file.time("at", *at);
                file.time("for", *length);
            }
            Fault::Route {
                switch,
                to,
                next,
                at,
            } => {
                file.text("kind", "route-change");
                file.text("switch", format_args!("s{switch}"));
                file.text("to", format_args!("h{to}"));
                file.names("ports", 's', next);
                file.time("at", *at);
            }
            Fault::SlowControl {
                switch,
                latency,
                at,
                length,
            } => {
                file.text("kind", "slow-control");
                file.text("switch", format_args!("s{switch}"));
                file.time("latency", *latency);
                file.time("at", *at);
                file.time("for", *length);
            }
        }
    }
}

impl Case {
    fn flow(&self, index: usize, flow: &Flow, file: &mut File) {
        file.table("[flow]");
        file.text("name", format_args!("f{index}"));
        file.text("from", format_args!("h{}", flow.from));
        file.text("to", format_args!("h{}", flow.to));
        file.text(
            "class",
            format_args!("c{}", self.classes[flow.class].priority),
        );
        file.text("frame", format_args!("{}B", flow.frame));
        file.time("start", flow.start);
        if let Some(rate) = flow.rate {
            file.text("rate", format_args!("{}bit", rate.get()));
        }
        if let Some(size) = flow.size {
            file.text("size", format_args!("{size}B"));
        }
        if let Some([on, off]) = flow.on_off {
            file.time("on", on);
            file.time("off", off);
        }
    }
}
