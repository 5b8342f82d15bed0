//! Changes made at run time, merged into configuration files.

use std::collections::HashMap;

use weir_core::{MacAddress, PortId, RedConfig, VlanId};

use super::{DaemonConfig, EcnProfile, Route};
use crate::switch::PfcwdConfig;

/// VLAN and destination of a route.
type Key = (Option<VlanId>, MacAddress);
/// Positions of routes in their list.
type Places = HashMap<Key, usize>;

/// A route with port names: port numbers belong to one configuration.
#[derive(Debug, PartialEq, Eq)]
struct Named<'a> {
    ports: Vec<&'a str>,
    buckets: u16,
    pins: Vec<(u32, &'a str)>,
}

impl DaemonConfig {
    /// Returns this configuration with the changes made at run time in a switch that was started as `before` and now
    /// runs `now`. These are routes, pins, marking profiles and storm watchdogs that differ between the two, if this
    /// configuration still agrees with `before`. Changes in this configuration are kept, as by a reload; run-time
    /// routes by ports that do not exist here are dropped.
    #[must_use]
    pub fn with_changes_by_hand(&self, before: &Self, now: &Self) -> Self {
        let mut with = self.clone();
        with.routes = self.routes_by_hand(before, now);
        for (index, profile) in self.ecn.iter().enumerate() {
            let marking = |config: &Self| Some(config.profile(&profile.name)?.marking());
            let (before, now) = (marking(before), marking(now));
            if let Some(now) = now.filter(|now| before != Some(*now)) {
                if before == Some(profile.marking()) {
                    with.ecn[index] = profile.with(now);
                }
            }
        }
        with.settle_marking();
        for (index, port) in self.ports.iter().enumerate() {
            let (before, now) = (before.own_pfcwd(&port.name), now.own_pfcwd(&port.name));
            if before != now && Some(port.pfcwd) == before {
                with.ports[index].pfcwd = now.flatten();
            }
        }
        with
    }

    /// The profile with this name.
    pub fn profile(&self, name: &str) -> Option<&EcnProfile> {
        self.ecn.iter().find(|profile| profile.name == name)
    }

    /// Replaces the values of the profile with this name, also in its classes.
    #[must_use]
    pub fn with_profile(mut self, name: &str, marking: RedConfig) -> Self {
        let mut profiles = self.ecn.iter_mut();
        if let Some(profile) = profiles.find(|profile| profile.name == name) {
            *profile = profile.with(marking);
        }
        self.settle_marking();
        self
    }

    /// The routes of [`with_changes_by_hand`](Self::with_changes_by_hand), in one pass over each of the three lists.
    fn routes_by_hand(&self, before: &Self, now: &Self) -> Vec<Route> {
        if before.routes == now.routes && before.port_names().eq(now.port_names()) {
            return self.routes.clone();
        }
        let (ours, theirs, wanted) = (
            self.route_places(),
            before.route_places(),
            now.route_places(),
        );
        let is_unchanged = |key: &Key| self.named_at(&ours, key) == before.named_at(&theirs, key);
        let mut routes: Vec<Option<Route>> = self.routes.iter().cloned().map(Some).collect();
        for route in &before.routes {
            let key = route.key();
            if !wanted.contains_key(&key) && is_unchanged(&key) {
                if let Some(place) = ours.get(&key) {
                    routes[*place] = None;
                }
            }
        }
        for route in &now.routes {
            let key = route.key();
            let changed = Some(now.named(route)) != before.named_at(&theirs, &key);
            if !changed || !is_unchanged(&key) {
                continue;
            }
            if let Some(route) = self.renumbered(now, route) {
                match ours.get(&key) {
                    Some(place) => routes[*place] = Some(route),
                    None => routes.push(Some(route)),
                }
            }
        }
        routes.into_iter().flatten().collect()
    }

    /// Positions of the routes, by VLAN and destination. O(routes).
    pub fn route_places(&self) -> HashMap<(Option<VlanId>, MacAddress), usize> {
        let routes = self.routes.iter().enumerate();
        routes.map(|(place, route)| (route.key(), place)).collect()
    }

    fn named_at(&self, places: &Places, key: &Key) -> Option<Named<'_>> {
        let route = self.routes.get(*places.get(key)?)?;
        Some(self.named(route))
    }

    fn named(&self, route: &Route) -> Named<'_> {
        let name = |port: &PortId| Some(self.ports.get(port.index())?.name.as_str());
        let mut ports: Vec<&str> = route.ports.iter().filter_map(name).collect();
        ports.sort_unstable();
        let pins = route.pins.iter();
        Named {
            // Unused for a single port.
            buckets: if ports.len() > 1 { route.buckets } else { 0 },
            ports,
            pins: pins
                .filter_map(|(hash, port)| Some((*hash, name(port)?)))
                .collect(),
        }
    }

    /// Converts a route of `other` to this configuration's port numbers; `None` if a port does not exist here.
    fn renumbered(&self, other: &Self, route: &Route) -> Option<Route> {
        let number = |port: &PortId| {
            let name = &other.ports.get(port.index())?.name;
            let index = self.ports.iter().position(|port| port.name == *name)?;
            PortId::from_index(index)
        };
        let pins = route.pins.iter();
        Some(Route {
            destination: route.destination,
            vlan: route.vlan,
            ports: route.ports.iter().map(number).collect::<Option<_>>()?,
            buckets: route.buckets,
            pins: pins
                .map(|(hash, port)| Some((*hash, number(port)?)))
                .collect::<Option<_>>()?,
        })
    }

    /// The watchdog setting of the port with this name; `None` if there is no such port.
    fn own_pfcwd(&self, name: &str) -> Option<Option<PfcwdConfig>> {
        let port = self.ports.iter().find(|port| port.name == name)?;
        Some(port.pfcwd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A switch of three ports, with ports and routes in TOML.
    fn config(more: &str) -> DaemonConfig {
        let mut text = "name = \"s1\"\n".to_owned();
        for port in ["a", "b", "c"] {
            text += &format!(
                "[[port]]\nname = \"{port}\"\ndevice = \"{port}\"\nrole = \"edge\"\nrate = \"1Gbit\"\n"
            );
        }
        DaemonConfig::parse(&(text + more), Path::new("s1.toml")).unwrap_or_else(|e| panic!("{e}"))
    }

    fn route(last: u8, rest: &str) -> String {
        format!("[[route]]\ndestination = \"02:00:00:00:00:0{last}\"\n{rest}\n")
    }

    #[test]
    fn settings_the_file_has_not_changed_stay_as_set_by_hand() {
        let kept = route(1, "ports = [\"a\"]");
        let by_file = route(2, "ports = [\"a\", \"b\"]");
        let gone = route(3, "ports = [\"b\"]");
        let before = config(&format!("{kept}{by_file}{gone}"));
        // Moved, pinned, removed, added.
        let now = config(&format!(
            "{}{}{}",
            route(1, "ports = [\"b\"]"),
            route(2, "ports = [\"a\", \"b\"]\npins = { 0000000a = \"b\" }"),
            route(4, "ports = [\"c\"]"),
        ));
        assert_eq!(before.with_changes_by_hand(&before, &now), now);
        assert_eq!(now.with_changes_by_hand(&before, &now), now, "twice");
        assert_eq!(now.with_changes_by_hand(&now, &now), now);

        // Meanwhile the file has other ports for 1 and 2; 3 and 4 are unchanged there.
        let file = config(&format!(
            "{}{}{gone}",
            route(1, "ports = [\"c\"]"),
            route(2, "ports = [\"b\", \"c\"]"),
        ));
        let with = file.with_changes_by_hand(&before, &now);
        let expected = config(&format!(
            "{}{}{}",
            route(1, "ports = [\"c\"]"),
            route(2, "ports = [\"b\", \"c\"]"),
            route(4, "ports = [\"c\"]"),
        ));
        assert_eq!(with, expected);
    }

    #[test]
    fn a_route_of_one_vlan_differs_from_that_for_all() {
        let aware = |more: &str| config(&format!("tag = 20\n{more}"));
        let in_vlan = |ports: &str| route(1, &format!("vlan = 20\nports = [\"{ports}\"]"));
        let all = route(1, "ports = [\"c\"]");
        let before = aware(&format!("{all}{}", in_vlan("b")));
        for (now, file) in [
            // Moved, removed, and added beside the route for all VLANs, which the file itself has changed.
            (aware(&format!("{all}{}", in_vlan("a"))), before.clone()),
            (aware(&all), before.clone()),
        ] {
            assert_eq!(file.with_changes_by_hand(&before, &now), now);
            assert_eq!(file.with_changes_by_hand(&now, &now), file);
        }
        let before = aware(&all);
        let now = aware(&format!("{all}{}", in_vlan("b")));
        let with = aware("").with_changes_by_hand(&before, &now);
        assert_eq!(with, aware(&in_vlan("b")));
        let keys = before.changes_to(&now).into_iter().map(|change| change.key);
        let expected = ["buckets", "destination", "ports", "vlan"]
            .map(|key| format!("route.02:00:00:00:00:01@20.{key}"));
        assert_eq!(keys.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn ports_are_matched_by_name() {
        let before = config("");
        let now = config(&route(1, "ports = [\"c\", \"a\"]\npins = { ff = \"c\" }"));
        let mut turned = before.clone();
        turned.ports.reverse();
        let with = turned.with_changes_by_hand(&before, &now);
        let port = |index| PortId::from_index(index).unwrap();
        assert_eq!(with.routes[0].ports, [port(0), port(2)]);
        assert_eq!(with.routes[0].pins, [(0xff, port(0))]);
        // Routes by a removed port are dropped.
        turned.ports.truncate(2);
        assert_eq!(turned.with_changes_by_hand(&before, &now).routes, []);
    }

    #[test]
    fn a_watchdog_that_was_switched_on_stays_on() {
        let before = config("");
        let mut now = before.clone();
        now.ports[1].pfcwd = Some(PfcwdConfig {
            enabled: Some(true),
            ..PfcwdConfig::default()
        });
        let mut file = config(&route(1, "ports = [\"a\"]"));
        let with = file.with_changes_by_hand(&before, &now);
        assert_eq!(with.ports, now.ports);
        assert_eq!(with.routes.len(), 1);
        file.ports[1].pfcwd = Some(PfcwdConfig::default());
        assert_eq!(file.with_changes_by_hand(&before, &now), file);
    }

    #[test]
    fn a_profile_has_the_values_set_by_hand_unless_the_file_has_others() {
        let with = |ecn: &str| {
            config(&format!(
                "{ecn}\n[[class]]\nname = \"bulk\"\npriority = 1\nmode = \"lossy\"\necn = \"A\"\n"
            ))
        };
        let profile = |name: &str, kmin: &str| {
            format!("[[ecn]]\nname = \"{name}\"\nkmin = \"{kmin}\"\nkmax = \"1MiB\"\n")
        };
        let before = with(&profile("A", "10KiB"));
        let wanted = with(&profile("A", "20KiB"));
        let marking = wanted.ecn[0].marking();
        let now = before.clone().with_profile("A", marking);
        assert_eq!(now, wanted);
        assert_eq!(now.classes[0].ecn, Some(marking));
        assert_eq!(before.with_changes_by_hand(&before, &now), now);
        // A new profile in the file is taken from the file, and the change stays.
        let more = with(&(profile("B", "1KiB") + &profile("A", "10KiB")));
        let expected = with(&(profile("B", "1KiB") + &profile("A", "20KiB")));
        assert_eq!(more.with_changes_by_hand(&before, &now), expected);
        // Meanwhile the file has other values, or no longer has the profile.
        let file = with(&profile("A", "30KiB"));
        assert_eq!(file.with_changes_by_hand(&before, &now), file);
        let without = config("");
        assert_eq!(without.with_changes_by_hand(&before, &now), without);
    }

    #[test]
    fn pins_are_read_written_and_refused_by_name() {
        let text = route(
            1,
            "ports = [\"a\", \"b\"]\npins = { DEADBEEF = \"b\", 7 = \"a\" }",
        );
        let read = config(&text);
        let port = |index| PortId::from_index(index).unwrap();
        assert_eq!(read.routes[0].pins, [(7, port(0)), (0xdead_beef, port(1))]);
        let again = DaemonConfig::parse(&read.to_toml(), Path::new("again.toml")).unwrap();
        assert_eq!(again, read);
        for (pins, expected) in [
            ("{ 0x1 = \"a\" }", "is not a flow hash"),
            ("{ 123456789 = \"a\" }", "is not a flow hash"),
            ("{ a = \"a\", 0A = \"b\" }", "flow 0000000a is pinned twice"),
            (
                "{ a = \"c\" }",
                "unknown port of the route `c` (valid: a, b)",
            ),
            ("{ a = 3 }", "route.0.pins.a: expected text in quotes"),
        ] {
            let mut text = config("").to_toml();
            text += &route(1, &format!("ports = [\"a\", \"b\"]\npins = {pins}"));
            let error = DaemonConfig::parse(&text, Path::new("f")).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
        let mut alone = config("").to_toml();
        alone += &route(1, "ports = [\"a\"]\npins = { a = \"a\" }");
        let error = DaemonConfig::parse(&alone, Path::new("f")).unwrap_err();
        assert!(error.to_string().contains("remove `pins`"), "{error}");
        let few = text + "[forwarding]\npins = 1\n";
        let full = format!("{}{few}", {
            let own = config("").to_toml();
            own.split("[forwarding]").next().unwrap().to_owned()
        });
        let error = DaemonConfig::parse(&full, Path::new("f")).unwrap_err();
        assert!(error.to_string().contains("more than 1 flows"), "{error}");
    }
}
