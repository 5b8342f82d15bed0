//! `switchctl mirrors`.

use weir_api::daemon::MirrorState;

use weir_output::{table, NONE};

/// Formats one line per mirror.
pub fn mirrors(mirrors: &[MirrorState]) -> String {
    if mirrors.is_empty() {
        return "there is no [[mirror]] in the configuration\n".to_owned();
    }
    table(
        &[
            "mirror",
            "output",
            ">priority",
            "selects",
            ">bytes",
            ">sent",
            ">lost",
        ],
        mirrors.iter().map(|mirror| {
            vec![
                mirror.name.clone(),
                mirror.output_port.clone(),
                mirror.priority.to_string(),
                selects(mirror),
                mirror
                    .snaplen
                    .map_or_else(|| NONE.to_owned(), |bytes| format!("{bytes} B")),
                mirror.sent_frames_total.to_string(),
                mirror.lost_frames_total.to_string(),
            ]
        }),
    )
}

fn selects(mirror: &MirrorState) -> String {
    let ports = |what: &str, ports: &[String]| {
        (!ports.is_empty()).then(|| format!("{what} {}", ports.join(",")))
    };
    let all = mirror.select_all.then(|| "all".to_owned());
    let sources = ports("in", &mirror.select_src_port).filter(|_| !mirror.select_all);
    let vlans = ports("vlan", &mirror.select_vlan);
    let parts = [all, sources, ports("out", &mirror.select_dst_port), vlans];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_is_a_line() {
        assert!(mirrors(&[]).contains("[[mirror]]"));
        let mut mirror = MirrorState {
            name: "m".to_owned(),
            output_port: "mon".to_owned(),
            select_src_port: vec!["a".to_owned(), "b".to_owned()],
            select_dst_port: vec!["c".to_owned()],
            snaplen: Some(64),
            ..MirrorState::default()
        };
        assert!(mirrors(std::slice::from_ref(&mirror)).contains("in a,b out c"));
        mirror.select_all = true;
        assert_eq!(selects(&mirror), "all out c");
        mirror.select_vlan = vec!["10".to_owned(), "20-29".to_owned()];
        assert_eq!(selects(&mirror), "all out c vlan 10,20-29");
    }
}
