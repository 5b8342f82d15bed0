//! `switchctl exports`.

use std::fmt::Write;

use weir_api::daemon::{Exports, Ipfix, Sflow};

use weir_output::{table, NONE};

/// Formats a paragraph for each stream.
pub fn exports(exports: &Exports) -> String {
    let streams = [
        exports.sflow.as_ref().map(sflow),
        exports.ipfix.as_ref().map(ipfix),
    ];
    let streams: Vec<String> = streams.into_iter().flatten().collect();
    if streams.is_empty() {
        return "nothing is exported: set [sflow] collector or [ipfix] collector in the configuration\n"
            .to_owned();
    }
    streams.join("\n")
}

fn ipfix(state: &Ipfix) -> String {
    let mut text = format!(
        "IPFIX to {}, observation domain {}, a reading every {} ms\n",
        state.collector,
        state.observation_domain,
        1_000.0 * state.interval_seconds
    );
    if let Some(error) = &state.error {
        // Writing to a string does not fail.
        let _ = writeln!(text, "last error: {error}");
    }
    let rows = [
        (
            "messages",
            vec![
                ("sent", state.messages_sent_total),
                ("refused", state.messages_refused_total),
                ("lost", state.messages_lost_total),
            ],
        ),
        (
            "records",
            vec![
                ("sent", state.records_sent_total),
                ("unchanged", state.records_unchanged_total),
                ("lost", state.records_lost_total),
            ],
        ),
        (
            "readings",
            vec![
                ("exported", state.readings_exported_total),
                ("late", state.readings_late_total),
                ("no memory", state.readings_no_memory_total),
            ],
        ),
    ];
    let rows = rows.into_iter().flat_map(|(what, outcomes)| {
        outcomes.into_iter().map(move |(outcome, count)| {
            vec![what.to_owned(), outcome.to_owned(), count.to_string()]
        })
    });
    text += &table(&["what", "outcome", ">count"], rows);
    text
}

fn sflow(state: &Sflow) -> String {
    let agent = state.agent.as_deref().unwrap_or(NONE);
    let mut text = format!(
        "sFlow to {}, agent {agent}: {} datagrams sent, {} refused, {} lost\n",
        state.collector,
        state.datagrams_sent_total,
        state.datagrams_refused_total,
        state.datagrams_lost_total
    );
    if let Some(error) = &state.error {
        // Writing to a string does not fail.
        let _ = writeln!(text, "last error: {error}");
    }
    let or_off = |setting: Option<String>| setting.unwrap_or_else(|| "off".to_owned());
    let rows = [
        (
            "counters",
            format!("every {} s", state.interval_seconds),
            None,
            state.counters_sent_total,
            None,
            state.counters_lost_total,
        ),
        (
            "packets",
            or_off(state.sampling.map(|one_in| format!("1 in {one_in}"))),
            Some(state.packets_seen_total),
            state.packets_sent_total,
            None,
            state.packets_lost_total,
        ),
        (
            "drops",
            or_off(
                state
                    .drops_per_second
                    .map(|limit| format!("{limit} a second")),
            ),
            Some(state.drops_seen_total),
            state.drops_sent_total,
            Some(state.drops_withheld_total),
            state.drops_lost_total,
        ),
    ];
    let count = |count: Option<u64>| count.map_or_else(|| NONE.to_owned(), |it| it.to_string());
    text += &table(
        &[
            "samples",
            "setting",
            ">frames",
            ">sent",
            ">withheld",
            ">lost",
        ],
        rows.into_iter()
            .map(|(kind, setting, seen, sent, withheld, lost)| {
                vec![
                    kind.to_owned(),
                    setting,
                    count(seen),
                    sent.to_string(),
                    count(withheld),
                    lost.to_string(),
                ]
            }),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sflow_shows_what_was_sent_withheld_and_lost() {
        assert!(exports(&Exports::default()).contains("[sflow] collector"));
        let state = Sflow {
            collector: "192.0.2.9:6343".to_owned(),
            interval_seconds: 20.0,
            sampling: Some(400),
            error: Some("no route to host".to_owned()),
            drops_seen_total: 17,
            drops_sent_total: 11,
            drops_withheld_total: 5,
            drops_lost_total: 1,
            ..Sflow::default()
        };
        let text = exports(&Exports {
            sflow: Some(state),
            ipfix: None,
        });
        for part in ["192.0.2.9:6343", "no route to host", "1 in 400", "off"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let drops = text.lines().find(|line| line.starts_with("drops"));
        let words: Vec<&str> = drops.unwrap().split_whitespace().collect();
        assert_eq!(words, ["drops", "off", "17", "11", "5", "1"]);
    }

    #[test]
    fn ipfix_shows_what_was_sent_withheld_and_lost_by_reason() {
        let state = Ipfix {
            collector: "192.0.2.9:4739".to_owned(),
            interval_seconds: 0.001,
            observation_domain: 7,
            error: Some("no route to host".to_owned()),
            records_unchanged_total: 23,
            readings_no_memory_total: 5,
            ..Ipfix::default()
        };
        let text = exports(&Exports {
            sflow: Some(Sflow::default()),
            ipfix: Some(state),
        });
        for part in [
            "sFlow to",
            "IPFIX to 192.0.2.9:4739, observation domain 7, a reading every 1 ms",
            "no route to host",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let row = |words: &[&str]| {
            let mut lines = text.lines();
            lines.any(|line| line.split_whitespace().eq(words.iter().copied()))
        };
        assert!(row(&["records", "unchanged", "23"]), "{text}");
        assert!(row(&["readings", "no", "memory", "5"]), "{text}");
    }
}
