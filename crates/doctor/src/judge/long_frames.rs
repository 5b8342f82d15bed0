//! Multi-buffer frames, on devices that accept them only if `lro` was on when they were brought up.

use weir_config::daemon::Offloads;
use weir_config::drivers::{up_with_lro, LRO};
use weir_core::Bytes;

use super::{command, Case};
use crate::finding::{Check, Finding};

/// Returns true if its switch has not started yet, and uses frames that the device supports only with `lro`.
pub(super) fn waits_for_lro(case: &Case<'_>) -> bool {
    case.running.is_none() && case.driver.needs_lro(&case.config.dataplane)
}

/// Reports the settings that the device needs to accept multi-buffer frames.
pub(super) fn lro(case: &Case<'_>) -> Option<Finding> {
    if !waits_for_lro(case) {
        return None;
    }
    if case.found.features.contains(LRO) {
        let found = "lro is on, as long frames need: attaching the program switches it off";
        return Some(Finding::ok(Check::Offloads, found));
    }
    let longest = case.driver.lro_above.map_or(0, Bytes::get);
    let found = format!(
        "lro is off: frames above {longest} B are received only if it was on when the device was brought up"
    );
    let remedy = command(up_with_lro(case.device()));
    Some(match case.config.dataplane.offloads {
        Offloads::Manage => Finding::ok(
            Check::Offloads,
            "lro is off: the switch brings the device up with it, as long frames need",
        ),
        Offloads::Ignore => Finding::note(Check::Offloads, found).mended_by(remedy),
        Offloads::Check => Finding::problem(Check::Offloads, found, remedy),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{driven_by, facts, of, one_problem, wanted};
    use super::super::{judge, Running, RunningPort};
    use super::*;
    use crate::facts::{Found, Unread};
    use crate::finding::Grade;

    fn vmxnet3(lro: bool) -> Found {
        let mut found = driven_by("vmxnet3", Err(Unread::NotThere));
        found.mtu = 9000;
        found.features = lro.then(|| LRO.to_owned()).into_iter().collect();
        found
    }

    #[test]
    fn long_frames_of_vmxnet3_need_lro_until_the_switch_runs() {
        let long = |more: &str| wanted(&format!("mtu = \"9000B\"\n{more}"), "");
        let command = "ip link set eth0 down && ethtool -K eth0 lro on && ip link set eth0 up";
        one_problem(&facts(vmxnet3(false)), &long(""), Check::Offloads, command);
        let mut runs = long("");
        runs.running = Some(Running {
            pid: 1,
            ports: vec![RunningPort {
                device: "eth0".into(),
                mode: "generic".into(),
                ..RunningPort::default()
            }],
        });
        for (has, wanted) in [
            (true, long("")),
            (false, long("offloads = \"manage\"")),
            (false, long("offloads = \"ignore\"")),
            (false, runs),
            (false, wanted("mtu = \"3050B\"", "")),
        ] {
            let findings = judge(&facts(vmxnet3(has)), &wanted);
            let grade = of(&findings, Check::Offloads).grade;
            assert!(grade < Grade::Problem, "{findings:#?}");
        }
        // Where it is not needed, it merges frames.
        let command = "ethtool -K eth0 lro off";
        one_problem(
            &facts(vmxnet3(true)),
            &wanted("", ""),
            Check::Offloads,
            command,
        );
    }
}
