//! The kind of a device: whether it can be a port.

use weir_config::drivers::kinds::{Cure, Fit};

use super::{command, Case};
use crate::finding::{Check, Finding, Remedy};

pub(super) fn kind(case: &Case<'_>) -> Finding {
    let nature = case.found.nature.known();
    let what = nature.what();
    // The refusal of a lossless class, also if the file has none.
    let with_lossless = nature.fit(case.config.dataplane.xdp_mode, true).err();
    let lossy_only = with_lossless.map(|it| format!("lossy classes only, since {}", it.because));
    match (case.fit(), lossy_only) {
        (Ok(Fit::Any), None) => Finding::ok(Check::Kind, what),
        (Ok(Fit::Any), Some(only)) => Finding::note(Check::Kind, format!("{what}: {only}")),
        (Ok(Fit::GenericOnly { because }), only) => {
            let only = only.map_or(String::new(), |only| format!("; {only}"));
            let found = format!("{what}: generic XDP only, since {because}{only}");
            Finding::note(Check::Kind, found)
        }
        (Ok(Fit::NotKnown), _) => Finding::note(
            Check::Kind,
            format!("{what}, about which nothing is known: `switchctl ports` counts the frames that it loses"),
        ),
        (Err(refusal), _) => {
            let consequence = match case.running {
                Some(_) => "frames are lost",
                None => "the switch does not start",
            };
            let remedy = match refusal.cure {
                Cure::Command(text) => command(text),
                Cure::Words(words) => Remedy::Other(words),
            };
            let found = format!("{}: {}; {consequence}", refusal.what, refusal.because);
            Finding::problem(Check::Kind, found, remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::judge;
    use super::super::tests::{facts, nic, of, wanted};
    use super::*;
    use crate::ask::nature::{Master, Nature};
    use crate::finding::Grade;

    fn judged(nature: Nature, dataplane: &str, more: &str) -> Finding {
        let mut found = nic();
        found.nature = nature;
        of(&judge(&facts(found), &wanted(dataplane, more)), Check::Kind).clone()
    }

    fn of_kind(kind: &str) -> Nature {
        Nature {
            kind: Some(kind.to_owned()),
            lower: Some("eno1".to_owned()),
            ..nic().nature
        }
    }

    const LOSSLESS: &str = "[[class]]\nname = \"storage\"\npriority = 3\nmode = \"pfc\"\nxoff = \"60KiB\"\nxon = \"52KiB\"\nheadroom = \"64KiB\"";

    #[test]
    fn a_device_that_cannot_be_a_port_is_a_problem_with_a_remedy() {
        let vlan = || of_kind("vlan");
        let lossy = judged(vlan(), "", "");
        assert_eq!(lossy.grade, Grade::Note);
        assert!(
            lossy.found.contains("lossy classes only, since pauses"),
            "{lossy:?}"
        );
        let lossless = judged(vlan(), "", LOSSLESS);
        assert_eq!(lossless.grade, Grade::Problem, "{lossless:?}");
        let remedy = "make `eno1` the port, and set `trunks` or `tag` there";
        assert_eq!(lossless.remedy, Some(Remedy::Other(remedy.to_owned())));

        let enslaved = Nature {
            master: Some(Master {
                name: "br0".to_owned(),
                kind: Some("bridge".to_owned()),
            }),
            ..nic().nature
        };
        let enslaved = judged(enslaved, "", "");
        assert!(
            enslaved.found.starts_with("a port of the bridge `br0`: "),
            "{enslaved:?}"
        );
        assert_eq!(
            enslaved.remedy,
            Some(command("ip link set dev eth0 nomaster"))
        );
    }

    #[test]
    fn a_bond_takes_generic_mode_and_an_unknown_kind_is_noted() {
        let bond = Nature {
            mode: Some(1),
            ..of_kind("bond")
        };
        assert_eq!(judged(bond.clone(), "", LOSSLESS).grade, Grade::Note);
        let balanced = Nature {
            mode: Some(0),
            ..of_kind("bond")
        };
        let balanced = judged(balanced, "", "").found;
        assert!(balanced.contains("generic XDP only") && balanced.contains("lossy classes only"));
        let native = judged(bond, "xdp-mode = \"native\"", "");
        assert_eq!(native.grade, Grade::Problem, "{native:?}");
        assert_eq!(judged(of_kind("macsec"), "", LOSSLESS).grade, Grade::Note);
    }
}
