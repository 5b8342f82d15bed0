//! `switchctl vlans`.

use anyhow::Result;
use weir_api::daemon::{LearntAddress, PortVlans, VlanTraffic, Vlans};
use weir_output::{bytes, seconds, table, Output, NONE};

use crate::target::Target;

/// `switchctl vlans`.
pub fn vlans(target: &Target, output: &Output) -> Result<()> {
    output.print(&target.get::<Vlans>("/v1/vlans")?, text)
}

fn text(vlans: &Vlans) -> String {
    let mut parts = match vlans.vlan_aware {
        true => vec![ports(&vlans.ports), traffic(&vlans.vlans)],
        false => vec!["no port has VLANs: tags pass through\n".to_owned()],
    };
    if !vlans.learnt.is_empty() {
        parts.push(learnt(&vlans.learnt));
    }
    let mut text = parts.join("\n");
    if vlans.learnt_left_out {
        text += "more addresses may be known than are shown\n";
    }
    text
}

fn ports(ports: &[PortVlans]) -> String {
    table(
        &["port", "mode", ">without a tag", "carries"],
        ports.iter().map(|port| {
            vec![
                port.port.clone(),
                port.mode.clone(),
                port.untagged.to_string(),
                port.carries.join(", "),
            ]
        }),
    )
}

fn names(ports: &[String]) -> String {
    match ports.is_empty() {
        true => NONE.to_owned(),
        false => ports.join(", "),
    }
}

fn traffic(vlans: &[VlanTraffic]) -> String {
    // Most switches have an entry for every VLAN; show only used ones.
    let shown = |row: &&VlanTraffic| row.vlan.is_some() || row.rx_frames_total > 0;
    table(
        &[
            ">VLAN",
            "with a tag",
            "without",
            ">rx",
            ">rx bytes",
            ">tx",
            ">tx bytes",
            ">copies dropped",
        ],
        vlans.iter().filter(shown).map(|row| {
            vec![
                row.vlan.map_or("other".to_owned(), |vlan| vlan.to_string()),
                names(&row.tagged),
                names(&row.untagged),
                row.rx_frames_total.to_string(),
                bytes(row.rx_bytes_total),
                row.tx_frames_total.to_string(),
                bytes(row.tx_bytes_total),
                row.copies_dropped_total.to_string(),
            ]
        }),
    )
}

pub fn learnt(learnt: &[LearntAddress]) -> String {
    table(
        &[">VLAN", "address", "port", ">idle"],
        learnt.iter().map(|entry| {
            vec![
                entry.vlan.to_string(),
                entry.address.clone(),
                entry.port.clone(),
                seconds(entry.idle_seconds),
            ]
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_without_vlans_says_so_and_one_with_them_has_no_row_for_nothing() {
        assert_eq!(
            text(&Vlans::default()),
            "no port has VLANs: tags pass through\n"
        );
        let vlans = Vlans {
            vlan_aware: true,
            vlans: vec![
                VlanTraffic {
                    vlan: Some(7),
                    tagged: vec!["t1".to_owned()],
                    ..VlanTraffic::default()
                },
                VlanTraffic::default(),
            ],
            ..Vlans::default()
        };
        let text = text(&vlans);
        assert!(text.contains(" 7 ") && !text.contains("other"), "{text}");
    }
}
