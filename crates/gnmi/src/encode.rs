//! Encoding of values and whole nodes.

use serde_json::{Map, Value as Json};

use crate::models;
use crate::path::Elem;
use crate::refusal::Refusal;
use crate::tree::{Leaf, Node, Value};
use crate::wire;

/// Encoding of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// JSON with plain names and numbers.
    Json,
    /// JSON by RFC 7951: names with their module where it changes, 64-bit numbers as text.
    JsonIetf,
    /// Scalars of protobuf, one for each leaf.
    Proto,
}

impl Encoding {
    /// All encodings, in the form of Capabilities.
    pub const ALL: [wire::Encoding; 3] = [
        wire::Encoding::Json,
        wire::Encoding::JsonIetf,
        wire::Encoding::Proto,
    ];

    /// Returns the encoding with the number in a client's request.
    ///
    /// # Errors
    ///
    /// The number is not supported.
    pub fn asked(number: i32) -> Result<Self, Refusal> {
        match wire::Encoding::try_from(number) {
            Ok(wire::Encoding::Json) => Ok(Self::Json),
            Ok(wire::Encoding::JsonIetf) => Ok(Self::JsonIetf),
            Ok(wire::Encoding::Proto) => Ok(Self::Proto),
            Ok(other) => Err(Refusal::unimplemented(format!(
                "no encoding {other:?} here; ask for JSON, JSON_IETF or PROTO"
            ))),
            Err(_) => Err(Refusal::bad_request(format!(
                "no encoding has the number {number}; ask for JSON, JSON_IETF or PROTO"
            ))),
        }
    }

    /// Encodes one leaf's value.
    pub fn leaf(self, value: &Value) -> wire::TypedValue {
        let value = match (self, value) {
            (Self::Proto, Value::Text(text)) => wire::Value::String(text.clone()),
            (Self::Proto, Value::Long(number)) => wire::Value::Uint(*number),
            (Self::Proto, Value::Short(number)) => wire::Value::Uint((*number).into()),
            (Self::Proto, Value::Bool(is)) => wire::Value::Bool(*is),
            (Self::Json, value) => wire::Value::Json(written(&self.json(value))),
            (Self::JsonIetf, value) => wire::Value::JsonIetf(written(&self.json(value))),
        };
        wire::TypedValue { value: Some(value) }
    }

    /// Encodes all of `nodes`, whose paths share their first `depth` elements, below these. For JSON.
    pub fn subtree(self, nodes: &[Chosen<'_>], depth: usize) -> wire::TypedValue {
        let json = written(&Json::Object(self.object(nodes, depth, None)));
        let value = match self {
            Self::JsonIetf => wire::Value::JsonIetf(json),
            Self::Json | Self::Proto => wire::Value::Json(json),
        };
        wire::TypedValue { value: Some(value) }
    }

    /// Encodes the part below the first `depth` elements, in the node of `module`.
    fn object(self, nodes: &[Chosen<'_>], depth: usize, module: Option<&str>) -> Map<String, Json> {
        let mut object = Map::new();
        let next = |chosen: &Chosen<'_>| chosen.node.path.get(depth).cloned();
        for below in nodes.chunk_by(|one, other| next(one) == next(other)) {
            let Some(first) = below.first() else {
                continue;
            };
            let inside = models::module_at(&first.node.path, depth);
            let Some(elem) = first.node.path.get(depth) else {
                for leaf in below.iter().flat_map(|chosen| &chosen.leaves) {
                    let name = self.name(leaf.name, inside, module);
                    object.insert(name, self.json(&leaf.value));
                }
                continue;
            };
            let value = Json::Object(self.object(below, depth + 1, Some(inside)));
            let name = self.name(elem.name, inside, module);
            if elem.keys.is_empty() {
                object.insert(name, value);
                continue;
            }
            let entries = object
                .entry(name)
                .or_insert_with(|| Json::Array(Vec::new()));
            if let Json::Array(entries) = entries {
                entries.push(value);
            }
        }
        object
    }

    /// Adds the module as a prefix if it differs from that of the node above.
    fn name(self, name: &str, module: &str, above: Option<&str>) -> String {
        match self {
            Self::JsonIetf if above != Some(module) => format!("{module}:{name}"),
            _ => name.to_owned(),
        }
    }

    fn json(self, value: &Value) -> Json {
        match value {
            Value::Text(text) => Json::String(text.clone()),
            Value::Bool(is) => Json::Bool(*is),
            Value::Short(number) => Json::Number((*number).into()),
            Value::Long(number) if self == Self::JsonIetf => Json::String(number.to_string()),
            Value::Long(number) => Json::Number((*number).into()),
        }
    }
}

/// A node, and some of its leaves.
#[derive(Clone, Debug)]
pub struct Chosen<'a> {
    /// The node.
    pub node: &'a Node,
    /// Some of its leaves.
    pub leaves: Vec<&'a Leaf>,
}

impl Chosen<'_> {
    /// The first elements of its path.
    pub fn begins(&self, depth: usize) -> &[Elem] {
        &self.node.path[..depth.min(self.node.path.len())]
    }
}

fn written(json: &Json) -> Vec<u8> {
    json.to_string().into_bytes()
}
