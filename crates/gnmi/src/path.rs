//! Requested paths, matched against existing nodes.

use std::fmt;

use crate::limits::{ELEMENTS_MAX, KEYS_MAX, TEXT_MAX};
use crate::models::{self, Roots};
use crate::refusal::Refusal;
use crate::tree::schema;
use crate::wire;

/// One node on the path from the root.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Elem {
    /// Its name in the YANG module.
    pub name: &'static str,
    /// The entry of a list, by the names of the list's keys; empty if it is not a list.
    pub keys: Vec<(&'static str, String)>,
}

impl Elem {
    /// A node that is not a list.
    pub fn container(name: &'static str) -> Self {
        let keys = Vec::new();
        Self { name, keys }
    }

    fn to_wire(&self) -> wire::PathElem {
        let key = |(name, value): &(&str, String)| (name.to_string(), value.clone());
        wire::PathElem {
            name: self.name.to_owned(),
            key: self.keys.iter().map(key).collect(),
        }
    }
}

/// Encodes the path of a node, or of a leaf in it.
pub fn to_wire(elems: &[Elem], leaf: Option<&str>) -> wire::Path {
    let leaf = leaf.map(|name| wire::PathElem {
        name: name.to_owned(),
        ..wire::PathElem::default()
    });
    wire::Path {
        elem: elems.iter().map(Elem::to_wire).chain(leaf).collect(),
        ..wire::Path::default()
    }
}

/// A requested path: a node with everything below it, or many by wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
    roots: Roots,
}

/// One element of a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// `...`: any number of nodes, including none.
    Deep,
    /// One node.
    One {
        /// `None` for `*`, any.
        name: Option<Name>,
        /// Requested keys; `None` for `*`, any value. Keys that are not given match any value.
        keys: Vec<(String, Option<String>)>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    module: Option<String>,
    node: String,
}

impl Pattern {
    /// Combines `prefix` and `path`.
    ///
    /// # Errors
    ///
    /// They contradict each other, name an unknown tree, or exceed the [limits](crate::limits).
    pub fn new(prefix: Option<&wire::Path>, path: &wire::Path) -> Result<Self, Refusal> {
        let none = wire::Path::default();
        let prefix = prefix.unwrap_or(&none);
        for path in [prefix, path] {
            check_text("origin", &path.origin)?;
            check_text("target", &path.target)?;
        }
        if !path.target.is_empty() && path.target != prefix.target {
            return Err(Refusal::bad_request(
                "a target belongs into the prefix, not into a path",
            ));
        }
        let origin = match (prefix.origin.as_str(), path.origin.as_str()) {
            (one, "") | ("", one) => one,
            (one, other) if one == other => one,
            (one, other) => {
                return Err(Refusal::bad_request(format!(
                    "the prefix has origin `{one}` and the path origin `{other}`; set one of them"
                )))
            }
        };
        let roots = models::roots(origin)?;
        let elems = prefix.elem.iter().chain(&path.elem);
        let length = elems.clone().count();
        if length > ELEMENTS_MAX {
            return Err(Refusal::bad_request(format!(
                "a path of {length} elements; at most {ELEMENTS_MAX} are accepted"
            )));
        }
        let parts = elems.map(part).collect::<Result<_, _>>()?;
        Ok(Self { parts, roots })
    }

    /// Returns the number of elements of the path to `leaf` in the node `elems` that the pattern matches. The node at
    /// this depth is the requested one, and the leaf is that node or below it. `None` if it was not requested.
    pub fn matches(&self, elems: &[Elem], leaf: &str) -> Option<usize> {
        if !elems.first().is_some_and(|root| self.roots.has(root.name)) {
            return None;
        }
        let count = elems.len() + 1;
        // The possible next parts, one bit for each; the last bit is the end.
        let end = 1 << self.parts.len();
        let mut next = self.without_deep(1);
        for depth in 0..=count {
            if next & end != 0 {
                return Some(depth);
            }
            if depth == count || next == 0 {
                return None;
            }
            let mut taken = 0;
            for (index, part) in self.parts.iter().enumerate() {
                if next & (1 << index) == 0 {
                    continue;
                }
                match part {
                    Part::Deep => taken |= 1 << index,
                    Part::One { name, keys } if takes(name.as_ref(), keys, elems, depth, leaf) => {
                        taken |= 1 << (index + 1);
                    }
                    Part::One { .. } => {}
                }
            }
            next = self.without_deep(taken);
        }
        None
    }

    /// Returns true if the switch may serve such a node, for any entries of its lists.
    pub fn is_served(&self) -> bool {
        self.is_among(&schema::WAYS)
    }

    /// Returns true if a module has such a node, whether supported or not.
    pub fn is_in_a_module(&self) -> bool {
        self.is_served() || self.is_among(&schema::OPENCONFIG)
    }

    fn is_among(&self, ways: &[(Vec<Elem>, &'static str)]) -> bool {
        let mut ways = ways.iter();
        ways.any(|(elems, leaf)| self.matches(elems, leaf).is_some())
    }

    /// Returns true if it selects an entry of a list by a key.
    pub fn names_an_entry(&self) -> bool {
        let mut keys = self.parts.iter().flat_map(|part| match part {
            Part::Deep => &[][..],
            Part::One { keys, .. } => keys,
        });
        keys.any(|(_, value)| value.is_some())
    }

    /// Adds the parts after each `...` among the possible next ones, since it may match nothing.
    fn without_deep(&self, mut next: u64) -> u64 {
        for (index, part) in self.parts.iter().enumerate() {
            if *part == Part::Deep && next & (1 << index) != 0 {
                next |= 1 << (index + 1);
            }
        }
        next
    }
}

/// Bits for all parts and the end.
const _: () = assert!(ELEMENTS_MAX < u64::BITS as usize);

/// Returns true if a part matches this node, which is the leaf after the last of `elems`.
fn takes(
    name: Option<&Name>,
    keys: &[(String, Option<String>)],
    elems: &[Elem],
    depth: usize,
    leaf: &str,
) -> bool {
    let elem = elems.get(depth);
    let node = elem.map_or(leaf, |elem| elem.name);
    let is_named = name.is_none_or(|name| {
        let module = || models::module_at(elems, depth);
        name.node == node && name.module.as_ref().is_none_or(|asked| asked == module())
    });
    let of_node: &[_] = elem.map_or(&[], |elem| &elem.keys);
    is_named
        && keys.iter().all(|(asked, value)| {
            let found = of_node.iter().find(|(key, _)| key == asked);
            found.is_some_and(|(_, is)| {
                value
                    .as_ref()
                    .is_none_or(|value| value == is || is == schema::ANY)
            })
        })
}

fn part(elem: &wire::PathElem) -> Result<Part, Refusal> {
    check_text("name", &elem.name)?;
    if elem.name.is_empty() {
        return Err(Refusal::bad_request("an element of a path has no name"));
    }
    if elem.key.len() > KEYS_MAX {
        return Err(Refusal::bad_request(format!(
            "`{}` has {} keys; at most {KEYS_MAX} are accepted",
            elem.name,
            elem.key.len()
        )));
    }
    let mut keys = Vec::new();
    for (key, value) in &elem.key {
        check_text("key", key)?;
        check_text("value of a key", value)?;
        keys.push((key.clone(), (value != "*").then(|| value.clone())));
    }
    let name = match elem.name.as_str() {
        "..." if keys.is_empty() => return Ok(Part::Deep),
        "..." => return Err(Refusal::bad_request("`...` has no keys; use `*`")),
        "*" => None,
        name => Some(match name.split_once(':') {
            Some((module, node)) => Name {
                module: Some(module.to_owned()),
                node: node.to_owned(),
            },
            None => Name {
                module: None,
                node: name.to_owned(),
            },
        }),
    };
    Ok(Part::One { name, keys })
}

fn check_text(what: &str, text: &str) -> Result<(), Refusal> {
    if text.len() > TEXT_MAX {
        return Err(Refusal::bad_request(format!(
            "a {what} of {} bytes; at most {TEXT_MAX} are accepted",
            text.len()
        )));
    }
    Ok(())
}

/// Formats a path in the notation of `switchctl` and of clients, for logs and errors. Escapes unprintable characters.
pub fn written(path: &wire::Path) -> impl fmt::Display + '_ {
    struct Written<'a>(&'a wire::Path);
    impl fmt::Display for Written<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            if !self.0.origin.is_empty() {
                write!(f, "{}:", self.0.origin.escape_debug())?;
            }
            for elem in &self.0.elem {
                write!(f, "/{}", elem.name.escape_debug())?;
                for (key, value) in &elem.key {
                    write!(f, "[{}={}]", key.escape_debug(), value.escape_debug())?;
                }
            }
            if self.0.elem.is_empty() {
                f.write_str("/")?;
            }
            Ok(())
        }
    }
    Written(path)
}
