//! Differences between a port and the announcements of its neighbors, as a running switch reports them.

use super::Case;
use crate::finding::{Check, Finding, Remedy};

/// Returns a note for each difference: frames may be lost, or a class uses its fallback.
pub(super) fn neighbor<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Finding> + 'a {
    let mismatches = case.running.into_iter().flat_map(|port| &port.mismatches);
    mismatches.map(|mismatch| {
        let found = format!("port {}: {mismatch}", case.port.name);
        let remedy = "configure both ends alike (`switchctl neighbors`)";
        Finding::note(Check::Neighbor, found).mended_by(Remedy::Other(remedy.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{driven_by, facts, wanted};
    use super::super::{judge, Running, RunningPort};
    use super::*;
    use crate::facts::Unread;
    use crate::finding::Grade;

    #[test]
    fn each_difference_that_the_switch_reports_is_a_note() {
        let mut wanted = wanted("", "");
        let facts = facts(driven_by("ice", Err(Unread::NotThere)));
        let about = |wanted: &_| -> Vec<Finding> {
            let findings = judge(&facts, wanted).into_iter();
            findings
                .filter(|finding| finding.check == Check::Neighbor)
                .collect()
        };
        assert!(about(&wanted).is_empty(), "no switch runs");
        let mismatches = ["credits are on here", "PFC is on there"].map(str::to_owned);
        wanted.running = Some(Running {
            pid: 17,
            ports: vec![RunningPort {
                device: "eth0".into(),
                mode: "generic".into(),
                mismatches: mismatches.to_vec(),
                ..RunningPort::default()
            }],
        });
        let findings = about(&wanted);
        assert_eq!(findings.len(), 2, "{findings:#?}");
        assert!(findings.iter().all(|finding| finding.grade == Grade::Note));
        assert_eq!(findings[0].found, "port eth0: credits are on here");
    }
}
