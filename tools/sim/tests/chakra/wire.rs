//! Encodes traces by hand according to `et_def.proto`.

use weir_sim::import::TraceFile;

pub const COMP: u64 = 4;
pub const SEND: u64 = 5;
pub const RECV: u64 = 6;
pub const COLL: u64 = 7;
pub const ALL_REDUCE: u64 = 0;
pub const ALL_GATHER: u64 = 2;
pub const ALL_TO_ALL: u64 = 6;
pub const REDUCE_SCATTER: u64 = 7;

/// A node to be encoded: kind, waits, microseconds, and attributes.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub id: u64,
    pub name: &'static str,
    pub kind: u64,
    pub control: Vec<u64>,
    pub data: Vec<u64>,
    pub micros: u64,
    pub attributes: Vec<(&'static str, Value)>,
}

#[derive(Clone, Debug)]
pub enum Value {
    Int64(u64),
    Uint32(u64),
    Uint64(u64),
    Bool(bool),
    Bools(Vec<bool>),
    Text(&'static str),
}

pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a field of wire type 0.
pub fn number(out: &mut Vec<u8>, tag: u64, value: u64) {
    varint(out, tag << 3);
    varint(out, value);
}

/// Writes a field of wire type 2.
pub fn bytes(out: &mut Vec<u8>, tag: u64, value: &[u8]) {
    varint(out, tag << 3 | 2);
    varint(out, value.len() as u64);
    out.extend(value);
}

pub fn packed(out: &mut Vec<u8>, tag: u64, values: &[u64]) {
    if !values.is_empty() {
        let mut all = Vec::new();
        values.iter().for_each(|value| varint(&mut all, *value));
        bytes(out, tag, &all);
    }
}

impl Node {
    /// Encodes it according to `et_def.proto`; zeros are left out, as in proto3.
    pub fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut above_zero = |tag, value| {
            if value > 0 {
                number(&mut out, tag, value);
            }
        };
        above_zero(1, self.id);
        if !self.name.is_empty() {
            bytes(&mut out, 2, self.name.as_bytes());
        }
        if self.kind > 0 {
            number(&mut out, 3, self.kind);
        }
        packed(&mut out, 4, &self.control);
        packed(&mut out, 5, &self.data);
        if self.micros > 0 {
            number(&mut out, 7, self.micros);
        }
        for (name, value) in &self.attributes {
            let mut attribute = Vec::new();
            bytes(&mut attribute, 1, name.as_bytes());
            match value {
                Value::Int64(value) => number(&mut attribute, 9, *value),
                Value::Uint32(value) => number(&mut attribute, 11, *value),
                Value::Uint64(value) => number(&mut attribute, 13, *value),
                Value::Bool(value) => number(&mut attribute, 27, u64::from(*value)),
                Value::Bools(values) => {
                    let mut list = Vec::new();
                    let values: Vec<u64> = values.iter().map(|value| u64::from(*value)).collect();
                    packed(&mut list, 1, &values);
                    bytes(&mut attribute, 28, &list);
                }
                Value::Text(text) => bytes(&mut attribute, 29, text.as_bytes()),
            }
            bytes(&mut out, 10, &attribute);
        }
        out
    }
}

pub fn file(name: &str, nodes: &[Node]) -> TraceFile {
    let mut out = Vec::new();
    let mut version = Vec::new();
    bytes(&mut version, 1, b"0.0.4");
    for message in std::iter::once(version).chain(nodes.iter().map(Node::encoded)) {
        varint(&mut out, message.len() as u64);
        out.extend(message);
    }
    TraceFile {
        name: name.to_owned(),
        bytes: out,
    }
}

pub fn files(ranks: &[Vec<Node>]) -> Vec<TraceFile> {
    let ranks = ranks.iter().enumerate();
    ranks
        .map(|(rank, nodes)| file(&format!("t.{rank}.et"), nodes))
        .collect()
}
