//! Values known to a subscriber, and the next updates.

use std::collections::HashMap;
use std::sync::Arc;

use super::plan::{Part, Plan};
use crate::limits::UPDATES_MAX;
use crate::path::{self, Elem};
use crate::service::get::leaf_update;
use crate::tree::{Leaf, Node, Tree, Value};
use crate::wire::{Notification, Path, Update};

/// Last values sent to one subscriber, by leaf. Bounded by the number of leaves in the tree.
#[derive(Debug, Default)]
pub struct Told(HashMap<Arc<[Elem]>, Vec<(&'static str, Value)>>);

impl Told {
    fn note(&mut self, node: &Node, leaf: &Leaf) -> bool {
        let known = self.0.entry(Arc::clone(&node.path)).or_default();
        match known.iter_mut().find(|(name, _)| *name == leaf.name) {
            Some((_, value)) if *value == leaf.value => false,
            Some((_, value)) => {
                *value = leaf.value.clone();
                true
            }
            None => {
                known.push((leaf.name, leaf.value.clone()));
                true
            }
        }
    }

    /// Removes and returns the sent nodes that no longer exist, if one of `parts` reports removals.
    fn take_ended(&mut self, tree: &Tree, parts: &[Part]) -> Vec<Path> {
        let mut ended = Vec::new();
        let is_wanted = |elems: &[Elem], leaf: &str| {
            let mut parts = parts.iter().filter(|part| part.tells_ends);
            parts.any(|part| part.pattern.matches(elems, leaf).is_some())
        };
        self.0.retain(|elems, known| {
            let node = tree.node(elems);
            let before = known.len();
            let mut is_told = false;
            known.retain(|(name, _)| {
                let is_there =
                    node.is_some_and(|node| node.leaves.iter().any(|leaf| leaf.name == *name));
                if is_there {
                    return true;
                }
                if is_wanted(elems, name) {
                    is_told = true;
                    if node.is_some() {
                        ended.push(path::to_wire(elems, Some(name)));
                    }
                }
                false
            });
            if node.is_none() && before > 0 && is_told {
                ended.push(path::to_wire(elems, None));
            }
            !known.is_empty()
        });
        ended
    }
}

/// A part that is due.
#[derive(Clone, Copy, Debug)]
pub struct Due<'a> {
    /// The part.
    pub part: &'a Part,
    /// True if unchanged values are also sent.
    pub all: bool,
    /// Number of earlier samples skipped because the subscriber was slow.
    pub missed: u32,
}

/// Returns the updates from `tree`, in messages of bounded length.
pub fn news(plan: &Plan, told: &mut Told, tree: &Tree, due: &[Due<'_>]) -> Vec<Notification> {
    let delete = told.take_ended(tree, &plan.parts);
    let mut updates: Vec<Update> = Vec::new();
    for node in tree.nodes() {
        for leaf in &node.leaves {
            let meant = due.iter().filter(|due| {
                due.part.of.has(leaf.kind)
                    && due.part.pattern.matches(&node.path, leaf.name).is_some()
            });
            // Sent once, even if several parts select it.
            let asked = meant.map(|due| (due.all || !due.part.changes_only, due.missed));
            let Some((all, missed)) =
                asked.reduce(|one, other| (one.0 || other.0, one.1.max(other.1)))
            else {
                continue;
            };
            if told.note(node, leaf) || all {
                let mut update = leaf_update(&node.path, leaf, plan.encoding);
                update.duplicates = missed;
                updates.push(update);
            }
        }
    }
    notifications(plan, tree, updates, delete)
}

fn notifications(
    plan: &Plan,
    tree: &Tree,
    updates: Vec<Update>,
    delete: Vec<Path>,
) -> Vec<Notification> {
    let empty = || Notification {
        timestamp: tree.taken_unix_nanos(),
        prefix: Some(plan.prefix.clone()),
        ..Notification::default()
    };
    let mut all = Vec::new();
    // Removals come first: a name may have been reused.
    for delete in delete.chunks(UPDATES_MAX) {
        let delete = delete.to_vec();
        all.push(Notification { delete, ..empty() });
    }
    let mut updates = updates.into_iter().peekable();
    while updates.peek().is_some() {
        let update = updates.by_ref().take(UPDATES_MAX).collect();
        all.push(Notification { update, ..empty() });
    }
    all
}
