//! Get: present values of nodes.

use prost::Message;

use crate::encode::{Chosen, Encoding};
use crate::limits::{PATHS_MAX, RESPONSE_BYTES_MAX};
use crate::models;
use crate::path::{self, Pattern};
use crate::refusal::Refusal;
use crate::tree::{Kind, Leaf, Tree};
use crate::wire::{DataType, GetRequest, GetResponse, Notification, Path, Update};

/// A valid Get.
pub struct Asked {
    prefix: Path,
    paths: Vec<(Pattern, String)>,
    encoding: Encoding,
    data: DataType,
}

impl Asked {
    /// Parses a client's request.
    ///
    /// # Errors
    ///
    /// The request is invalid, or exceeds the limits.
    pub fn new(request: GetRequest) -> Result<Self, Refusal> {
        models::check_used(&request.use_models)?;
        let encoding = Encoding::asked(request.encoding)?;
        let data = DataType::try_from(request.r#type).map_err(|_| {
            Refusal::bad_request(format!("no type of data has the number {}", request.r#type))
        })?;
        if request.path.len() > PATHS_MAX {
            return Err(Refusal::bad_request(format!(
                "{} paths; at most {PATHS_MAX} are accepted in one Get",
                request.path.len()
            )));
        }
        // A prefix without paths is a path as well.
        let paths = match request.path.is_empty() {
            true => vec![Path::default()],
            false => request.path,
        };
        let prefix = request.prefix.as_ref();
        let pattern = |path: &Path| {
            let pattern = Pattern::new(prefix, path)?;
            Ok((pattern, path::written(path).to_string()))
        };
        Ok(Self {
            paths: paths.iter().map(pattern).collect::<Result<_, _>>()?,
            prefix: answered_prefix(prefix),
            encoding,
            data,
        })
    }

    /// Answers the request.
    ///
    /// # Errors
    ///
    /// A path selects nothing, or the answer exceeds the limit of clients.
    pub fn answer(&self, tree: &Tree) -> Result<GetResponse, Refusal> {
        let mut response = GetResponse::default();
        let mut length = 0;
        for (pattern, written) in &self.paths {
            let update = self.updates(tree, pattern);
            if update.is_empty() {
                check_there(tree, pattern, written)?;
            }
            let notification = Notification {
                timestamp: tree.taken_unix_nanos(),
                prefix: Some(self.prefix.clone()),
                update,
                delete: Vec::new(),
            };
            length += notification.encoded_len();
            if length > RESPONSE_BYTES_MAX {
                return Err(Refusal::too_large(format!(
                    "the answer has more than {RESPONSE_BYTES_MAX} bytes, which is more than clients take: ask for less at a \
                     time, or subscribe with mode ONCE"
                )));
            }
            response.notification.push(notification);
        }
        Ok(response)
    }

    fn updates(&self, tree: &Tree, pattern: &Pattern) -> Vec<Update> {
        let mut updates = Vec::new();
        // Nodes below the same requested one, and the depth of that.
        let mut together: Vec<Chosen<'_>> = Vec::new();
        let mut depth = 0;
        for node in tree.nodes() {
            let mut above = Vec::new();
            let mut above_depth = 0;
            for leaf in node.leaves.iter().filter(|leaf| self.wants(leaf.kind)) {
                let Some(found) = pattern.matches(&node.path, leaf.name) else {
                    continue;
                };
                if found > node.path.len() || self.encoding == Encoding::Proto {
                    updates.push(leaf_update(&node.path, leaf, self.encoding));
                } else {
                    above_depth = found;
                    above.push(leaf);
                }
            }
            if above.is_empty() {
                continue;
            }
            let next = Chosen {
                node,
                leaves: above,
            };
            let is_other = together.last().is_some_and(|last| {
                depth != above_depth || last.begins(depth) != next.begins(above_depth)
            });
            if is_other {
                updates.push(self.subtree(&together, depth));
                together.clear();
            }
            depth = above_depth;
            together.push(next);
        }
        if !together.is_empty() {
            updates.push(self.subtree(&together, depth));
        }
        updates
    }

    fn subtree(&self, nodes: &[Chosen<'_>], depth: usize) -> Update {
        let begins = nodes.first().map_or(&[][..], |first| first.begins(depth));
        Update {
            path: Some(path::to_wire(begins, None)),
            val: Some(self.encoding.subtree(nodes, depth)),
            duplicates: 0,
        }
    }

    fn wants(&self, kind: Kind) -> bool {
        match self.data {
            DataType::All => true,
            DataType::Config => matches!(kind, Kind::Config | Kind::Key),
            DataType::State => kind != Kind::Config,
            DataType::Operational => matches!(kind, Kind::Event | Kind::Counter | Kind::Key),
        }
    }
}

/// Refuses a path that selects no present value, of any kind of data.
fn check_there(tree: &Tree, pattern: &Pattern, written: &str) -> Result<(), Refusal> {
    check_in_a_module(pattern, written)?;
    if !pattern.is_served() {
        return Err(Refusal::unimplemented(format!(
            "{written}: this switch does not serve it; the book lists what there is (Paths of gNMI)"
        )));
    }
    let mut leaves = tree
        .nodes()
        .iter()
        .flat_map(|node| node.leaves.iter().map(move |leaf| (node, leaf)));
    let is_there = leaves.any(|(node, leaf)| pattern.matches(&node.path, leaf.name).is_some());
    if !is_there && pattern.names_an_entry() {
        return Err(Refusal::not_found(format!(
            "{written}: no such entry now; ask for all of them by `*`"
        )));
    }
    Ok(())
}

/// Refuses a path that is in no module.
///
/// # Errors
///
/// Refers to the list of all paths.
pub fn check_in_a_module(pattern: &Pattern, written: &str) -> Result<(), Refusal> {
    match pattern.is_in_a_module() {
        true => Ok(()),
        false => Err(Refusal::unimplemented(format!(
            "{written}: no module that Capabilities lists has this node; ask for /interfaces, /qos or /weir to see what there is"
        ))),
    }
}

/// Returns the common prefix of every answer's paths, which contains only the target, because the paths are complete.
pub fn answered_prefix(asked: Option<&Path>) -> Path {
    let asked = asked.cloned().unwrap_or_default();
    Path {
        origin: asked.origin,
        target: asked.target,
        elem: Vec::new(),
    }
}

/// Encodes one leaf with its value.
pub fn leaf_update(path: &[path::Elem], leaf: &Leaf, encoding: Encoding) -> Update {
    Update {
        path: Some(path::to_wire(path, Some(leaf.name))),
        val: Some(encoding.leaf(&leaf.value)),
        duplicates: 0,
    }
}
