use proptest::prelude::*;
use weir_core::wire::mac_control::MacControl;
use weir_core::{Instant, PortId};

use super::*;

const DEPTHS: [u8; 8] = [0, 0, 0, 0, 4, 0, 0, 0];

fn frame(ethertype: u16, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    bytes.extend(ethertype.to_be_bytes());
    bytes.extend(rest);
    bytes
}

/// A tagged UDP datagram from 10.0.0.1:7 to 10.0.0.2:9 with ECT(0) and DSCP 26.
fn datagram() -> Vec<u8> {
    let mut rest = vec![
        0x60,
        7,
        8,
        0,
        0x45,
        26 << 2 | 2,
        0,
        28,
        0,
        0,
        0,
        0,
        64,
        17,
        0,
        0,
    ];
    rest.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 9, 0, 8, 0, 0]);
    frame(0x8100, &rest)
}

fn pfc(priority: usize, quanta: u16) -> Vec<u8> {
    let mut times = [None; 8];
    times[priority] = Some(Quanta(quanta));
    let mut buffer = vec![0; 64];
    let length = MacControl::Pfc { times }.emit(MacAddress::default(), &mut buffer);
    buffer.truncate(length.unwrap());
    buffer
}

fn sight(bytes: &[u8], verdict: Verdict, priority: Option<u8>) -> Sight<'_> {
    Sight {
        at: Instant::ZERO,
        port: PortId::new(0),
        direction: Direction::In,
        verdict,
        priority: priority.map(Priority::from_low_bits),
        hardware_nanos: None,
        bytes,
    }
}

fn holds(expression: &str, sight: &Sight<'_>) -> bool {
    let filter = parse(expression, DEPTHS).unwrap_or_else(|error| panic!("{error}"));
    filter.matches(sight, &Headers::of(sight.bytes))
}

const ADMITTED: Verdict = Verdict::Admitted {
    marked: true,
    pausing: false,
    held: true,
};

#[test]
fn every_primitive_matches_its_frames_alone() {
    let bytes = datagram();
    let data = sight(&bytes, ADMITTED, Some(3));
    for expression in [
        "",
        "in",
        "inbound",
        "data",
        "priority 3",
        "admitted",
        "marked",
        "held",
        "vlan",
        "vlan 7",
        "ether proto ip",
        "ether proto 0x0800",
        "ether host 02:00:00:00:00:01",
        "ip",
        "udp",
        "ether src 02:00:00:00:00:02",
        "ether dst host 02:00:00:00:00:01",
        "host 10.0.0.1",
        "src host 10.0.0.1",
        "dst 10.0.0.2",
        "net 10.0.0.0/8",
        "dst net 10.0.0.2/32",
        "port 9",
        "src port 7",
        "ecn ect0",
        "dscp 26",
        "greater 46",
        "less 46",
        "net 0.0.0.0/0",
    ] {
        assert!(holds(expression, &data), "{expression}");
        if !expression.is_empty() {
            assert!(
                !holds(&format!("not ({expression})"), &data),
                "{expression}"
            );
        }
    }
    for expression in [
        "out",
        "control",
        "priority 4",
        "sent",
        "dropped",
        "pausing",
        "vlan 8",
        "arp",
        "ip6",
        "tcp",
        "dst host 10.0.0.1",
        "src port 9",
        "ecn ce",
        "greater 47",
        "less 45",
        "broadcast",
        "multicast",
        "pfc",
        "xoff",
        "clcm",
        "echo",
        "lldp",
        "net 11.0.0.0/8",
        "host fd00::1",
    ] {
        assert!(!holds(expression, &data), "{expression}");
    }
    let dropped = sight(&bytes, Verdict::Dropped(DropReason::NoRoute), Some(0));
    assert!(holds("dropped", &dropped) && holds("dropped no_route", &dropped));
    assert!(!holds("dropped buffer_full", &dropped));
}

#[test]
fn pauses_are_matched_by_time_and_priority() {
    for (priority, quanta, expressions, others) in [
        (3, 65_535, "control and priority 3 and xoff", "feedback"),
        (3, 0, "pfc and xon", "xoff"),
        // D is 4 for priority 4: 5 quanta are Feedback 4, 6 are a pause.
        (4, 5, "feedback and priority 4", "priority 3"),
        (4, 6, "xoff", "feedback"),
        (3, 2, "xoff", "feedback"),
    ] {
        let bytes = pfc(priority, quanta);
        let read = sight(&bytes, Verdict::Read, None);
        assert!(holds(expressions, &read), "{expressions}");
        assert!(!holds(others, &read), "{others}");
        assert!(holds("ether proto 0x8808 and multicast", &read));
    }
}

#[test]
fn a_wrong_word_is_named_with_the_legal_ones() {
    for (expression, said) in [
        (
            "pfcc",
            "`pfcc` (word 1) is not valid here; expected: not, (, admitted",
        ),
        (
            "priority 3 pfc",
            "`pfc` (word 3) is not valid here; expected: and, or, )",
        ),
        (
            "priority 9",
            "`9` (word 2) is not valid here; expected: a priority from 0 to 7",
        ),
        ("priority", "incomplete; expected: a priority"),
        ("pfc and", "incomplete; expected: not, ("),
        ("(pfc", "incomplete; expected: and, or, )"),
        ("pfc)", "`)` (word 2)"),
        (
            "dropped because",
            "expected: and, or, headroom_exceeded, buffer_full",
        ),
        (
            "host h1",
            "`h1` (word 2) is not valid here; expected: an IPv4 or IPv6 address",
        ),
        ("ether proto x", "expected: an EtherType"),
        ("net 10.0.0.0/33", "expected: a network"),
        ("src 7", "expected: host A, net A/N"),
        ("vlan 5000", "a VLAN ID from 0 to 4095"),
        ("ecn maybe", "not-ect, ect0, ect1, ce"),
    ] {
        let error = parse(expression, DEPTHS).unwrap_err().to_string();
        assert!(error.contains(said), "{expression}: {error}");
    }
    let many = vec!["pfc"; TESTS_MAX + 1].join(" or ");
    assert!(matches!(parse(&many, DEPTHS), Err(FilterError::Bound(_))));
    let deep = format!("{}pfc{}", "(".repeat(100), ")".repeat(100));
    assert!(matches!(parse(&deep, DEPTHS), Err(FilterError::Bound(_))));
}

/// A formula over three primitives.
#[derive(Clone, Debug)]
enum Formula {
    Leaf(usize),
    Not(Box<Formula>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
}

const LEAVES: [&str; 3] = ["marked", "priority 3", "vlan"];

impl Formula {
    fn text(&self) -> String {
        match self {
            Self::Leaf(leaf) => LEAVES[*leaf].to_owned(),
            Self::Not(inner) => format!("not ({})", inner.text()),
            Self::And(left, right) => format!("({}) and ({})", left.text(), right.text()),
            Self::Or(left, right) => format!("({}) or {}", left.text(), right.text()),
        }
    }

    fn value(&self, leaves: [bool; 3]) -> bool {
        match self {
            Self::Leaf(leaf) => leaves[*leaf],
            Self::Not(inner) => !inner.value(leaves),
            Self::And(left, right) => left.value(leaves) && right.value(leaves),
            Self::Or(left, right) => left.value(leaves) || right.value(leaves),
        }
    }
}

fn formulas() -> impl Strategy<Value = Formula> {
    let leaf = (0..LEAVES.len()).prop_map(Formula::Leaf);
    leaf.prop_recursive(4, 24, 2, |inner| {
        let pair = || {
            (
                inner.clone().prop_map(Box::new),
                inner.clone().prop_map(Box::new),
            )
        };
        prop_oneof![
            inner
                .clone()
                .prop_map(|inner| Formula::Not(Box::new(inner))),
            pair().prop_map(|(left, right)| Formula::And(left, right)),
            pair().prop_map(|(left, right)| Formula::Or(left, right)),
        ]
    })
}

proptest! {
    /// Compares the compiled list with the formula's own value.
    #[test]
    fn logic_is_that_of_the_formula(formula in formulas(), leaves in any::<[bool; 3]>()) {
        let bytes = if leaves[2] { datagram() } else { frame(0x0800, &[]) };
        let verdict = Verdict::Admitted { marked: leaves[0], pausing: false, held: false };
        let sight = sight(&bytes, verdict, Some(if leaves[1] { 3 } else { 2 }));
        prop_assert_eq!(holds(&formula.text(), &sight), formula.value(leaves));
    }

    /// Neither words nor bytes cause a panic.
    #[test]
    fn any_words_and_bytes_do_no_harm(
        words in "[a-z0-9 ()!./:x-]{0,80}",
        bytes in proptest::collection::vec(any::<u8>(), 0..160),
        ethertype in prop_oneof![Just(0x8808u16), Just(0x88b5), Just(0x8100), Just(0x86dd), Just(0x0800)],
    ) {
        let whole = frame(ethertype, &bytes);
        for bytes in [&bytes, &whole] {
            let sight = sight(bytes, Verdict::Read, None);
            let headers = Headers::of(bytes);
            if let Ok(filter) = parse(&words, DEPTHS) {
                filter.matches(&sight, &headers);
            }
            let all = "priority 1 or xon or feedback or net ::/0 or port 1 or ecn ce or less 9";
            parse(all, DEPTHS).unwrap().matches(&sight, &headers);
        }
    }
}
