//! Matching of paths compared with a slow model.

use proptest::collection::vec;
use proptest::prelude::*;
use weir_gnmi::path::{Elem, Pattern};
use weir_gnmi::wire::{Path, PathElem};

const NAMES: [&str; 4] = ["interfaces", "qos", "a", "b"];
const KEYS: [&str; 2] = ["k", "l"];

fn asked() -> impl Strategy<Value = PathElem> {
    let name = prop::sample::select(vec!["*", "...", "interfaces", "qos", "a", "b"]);
    let keys = prop::collection::btree_map(
        prop::sample::select(&KEYS[..]),
        prop::sample::select(vec!["*", "1", "2"]),
        0..=2,
    );
    (name, keys).prop_map(|(name, keys)| PathElem {
        name: name.to_owned(),
        key: match name {
            "..." => Default::default(),
            _ => keys
                .iter()
                .map(|(key, value)| (key.to_string(), value.to_string()))
                .collect(),
        },
    })
}

fn node() -> impl Strategy<Value = Elem> {
    let value = prop::sample::select(vec!["1", "2"]);
    (prop::sample::select(&NAMES[..]), vec(value, 0..=2)).prop_map(|(name, values)| Elem {
        name,
        keys: KEYS
            .into_iter()
            .zip(values.iter().map(|value| value.to_string()))
            .collect(),
    })
}

/// Returns true if `asked` names exactly the node that `nodes` lead to.
fn model(asked: &[PathElem], nodes: &[Elem]) -> bool {
    let Some((first, rest)) = asked.split_first() else {
        return nodes.is_empty();
    };
    if first.name == "..." {
        return (0..=nodes.len()).any(|skipped| model(rest, &nodes[skipped..]));
    }
    let Some((node, below)) = nodes.split_first() else {
        return false;
    };
    let has_key = |(key, value): (&String, &String)| {
        node.keys
            .iter()
            .any(|(name, is)| name == key && (value == "*" || value == is))
    };
    (first.name == "*" || first.name == node.name)
        && first.key.iter().all(has_key)
        && model(rest, below)
}

/// Keeps no file of failures: a failure becomes a separate test.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(cases(4096))]

    #[test]
    fn paths_match_as_in_the_slow_model(
        prefix in vec(asked(), 0..3),
        asked in vec(asked(), 0..5),
        root in prop::sample::select(vec!["interfaces", "qos", "weir", "other"]),
        below in vec(node(), 0..5),
        leaf in prop::sample::select(&NAMES[..]),
    ) {
        let mut nodes = vec![Elem::container(root)];
        nodes.extend(below);
        let mut with_leaf = nodes.clone();
        with_leaf.push(Elem::container(leaf));
        let whole: Vec<_> = prefix.iter().chain(&asked).cloned().collect();
        let expected = match root {
            "other" => None,
            _ => (0..=with_leaf.len()).find(|depth| model(&whole, &with_leaf[..*depth])),
        };
        let path = |elem| Path { elem, ..Path::default() };
        let pattern = Pattern::new(Some(&path(prefix)), &path(asked)).unwrap();
        prop_assert_eq!(pattern.matches(&nodes, leaf), expected);
    }

}

proptest! {
    #![proptest_config(cases(64))]

    /// Any text in a path is matched or refused.
    #[test]
    fn any_text_is_accepted_or_refused(
        origin in text(),
        names in vec((text(), text(), text()), 0..8),
        times in 1_usize..6,
    ) {
        let elem = names
            .iter()
            .cycle()
            .take(names.len() * times)
            .map(|(name, key, value)| PathElem {
                name: name.clone(),
                key: [(key.clone(), value.clone())].into(),
            })
            .collect();
        let path = Path { origin, elem, ..Path::default() };
        if let Ok(pattern) = Pattern::new(None, &path) {
            prop_assert!(!pattern.is_in_a_module() || path.elem.is_empty());
        }
    }
}

/// Any characters, up to more than the limit of a path.
fn text() -> impl Strategy<Value = String> {
    (".{0,6}", 1_usize..60).prop_map(|(text, times)| text.repeat(times))
}
