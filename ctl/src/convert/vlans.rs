//! VLAN and VLAN_MEMBER: `tag`, `trunks` and `vlan-mode` of ports.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::{VlanId, VlanSet, VLAN_COUNT};

use super::database::{Database, Row};
use super::notes::Kind;

/// The first and the last VLAN that frames can have.
const VLANS: (u64, u64) = (1, VLAN_COUNT as u64 - 1);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortVlans {
    /// VLAN of frames without a tag.
    pub untagged: Option<u16>,
    /// VLANs of frames with a tag.
    pub tagged: BTreeSet<u16>,
}

impl PortVlans {
    /// Returns `tag`, `trunks` and `vlan-mode` as written to a file; a port without a VLAN is in none.
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        let vlans = |numbers: &BTreeSet<u16>| -> String {
            let set: VlanSet = numbers.iter().copied().filter_map(VlanId::new).collect();
            let range = |(first, last): (VlanId, VlanId)| match first == last {
                true => first.to_string(),
                false => format!("\"{first}-{last}\""),
            };
            let ranges: Vec<String> = set.ranges().into_iter().map(range).collect();
            format!("[{}]", ranges.join(", "))
        };
        match (self.untagged, self.tagged.is_empty()) {
            (Some(untagged), true) => vec![("tag", untagged.to_string())],
            (Some(untagged), false) => vec![
                ("tag", untagged.to_string()),
                ("trunks", vlans(&self.tagged)),
                ("vlan-mode", "\"native-untagged\"".to_owned()),
            ],
            (None, false) => vec![("trunks", vlans(&self.tagged))],
            (None, true) => vec![("trunks", vlans(&BTreeSet::from([0])))],
        }
    }
}

/// Form in which a member sends the frames of a VLAN.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tagging {
    Tagged,
    Untagged,
}

/// Returns the settings of ports in any VLAN; empty for a switch without members, which ignores tags.
pub fn vlans(database: Database<'_>) -> BTreeMap<String, PortVlans> {
    let mut members: BTreeMap<String, PortVlans> = BTreeMap::new();
    for row in database.rows("VLAN_MEMBER") {
        if let Some((port, vlan, tagging)) = member(&row) {
            add(
                &row,
                members.entry(port.to_owned()).or_default(),
                (vlan, tagging),
            );
        }
    }
    note_strangers(database, &members);
    members
}

/// Returns the port, the VLAN, and the form of sent frames.
fn member<'a>(row: &Row<'a>) -> Option<(&'a str, u16, Tagging)> {
    let (report, database) = (row.report(), row.database());
    let Some((name, port)) = row.key.split_once('|') else {
        report.refuse(
            row.path(),
            "the key has no port; write it as Vlan100|Ethernet0",
        );
        return None;
    };
    let Some(vlan) = database.row("VLAN", name) else {
        report.refuse(row.path(), format!("there is no VLAN|{name}"));
        return None;
    };
    report.name(vlan.path());
    let vlan = number(&vlan)?;
    if database.row("PORTCHANNEL", port).is_some() {
        let message = format!("there are no link aggregates: give the members of {port} this VLAN in `tag` or `trunks`");
        report.note(Kind::NotCarried, row.path(), message);
        return None;
    }
    if database.row("PORT", port).is_none() {
        report.refuse(row.path(), format!("there is no PORT|{port}"));
        return None;
    }
    let path = row.path_of("tagging_mode");
    let tagging = match row.text("tagging_mode").as_deref() {
        Some("tagged") => Tagging::Tagged,
        Some("untagged") => Tagging::Untagged,
        Some("priority_tagged") => {
            let message = "frames leave without a tag; there are no priority tags in front of them";
            report.note(Kind::Changed, path, message);
            Tagging::Untagged
        }
        Some(other) => {
            let message = format!("`{other}` is not tagged, untagged or priority_tagged");
            report.refuse(path, message);
            return None;
        }
        None => {
            report.note(Kind::Assumed, path, "is not given; untagged is assumed");
            Tagging::Untagged
        }
    };
    Some((port, vlan, tagging))
}

fn add(row: &Row<'_>, port: &mut PortVlans, (vlan, tagging): (u16, Tagging)) {
    if tagging == Tagging::Tagged {
        port.tagged.insert(vlan);
        return;
    }
    match port.untagged.replace(vlan) {
        Some(other) if other != vlan => {
            let message = format!("the port is an untagged member of VLAN {other}, too; frames without a tag are in one VLAN");
            row.report().refuse(row.path_of("tagging_mode"), message);
        }
        _ => {}
    }
}

/// Returns the number of a VLAN: `vlanid`, or the end of its name.
fn number(vlan: &Row<'_>) -> Option<u16> {
    let (least, most) = VLANS;
    if let Some(number) = vlan.within("vlanid", least, most) {
        return Some(number as u16);
    }
    if vlan.has("vlanid") && vlan.text("vlanid").is_some() {
        return None;
    }
    let named = vlan.key.strip_prefix("Vlan").and_then(|it| it.parse().ok());
    let found = named.filter(|number| (least..=most).contains(number));
    if found.is_none() {
        let message =
            format!("is missing, and the name does not end in a VLAN from {least} to {most}");
        vlan.report().refuse(vlan.path_of("vlanid"), message);
    }
    found.map(|number| number as u16)
}

fn note_strangers(database: Database<'_>, members: &BTreeMap<String, PortVlans>) {
    if members.is_empty() {
        return;
    }
    for row in database.rows("PORT") {
        if !members.contains_key(row.key) {
            let message = "is in no VLAN: trunks = [0] is written; such ports exchange frames without a tag, only with each other";
            database.report().note(Kind::Assumed, row.path(), message);
        }
    }
}
