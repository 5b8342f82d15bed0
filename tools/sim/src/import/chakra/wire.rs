//! Format of a trace file: messages of protocol buffers, each after its length. The first one, which may be missing,
//! describes the trace; each other is a node (`schema/protobuf/et_def.proto` of github.com/mlcommons/chakra, protobuf
//! package `ChakraProtoMsg`). Unused fields are skipped.

use prost::Message;

use super::ChakraError;

/// Maximum size of a message: a node with its tensors takes kilobytes.
const MESSAGE_MAX: usize = 16 << 20;
/// Maximum number of nodes of one rank.
const NODES_MAX: usize = 4_000_000;
/// First bytes of a file compressed with gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(int32, tag = "3")]
    pub(super) kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub(super) ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub(super) data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    pub(super) duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    pub(super) attributes: Vec<Attribute>,
}

/// `AttributeProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(
        oneof = "AttributeValue",
        tags = "7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 28, 29"
    )]
    pub(super) value: Option<AttributeValue>,
}

/// Values of attributes that are used: all kinds of integers, since generators differ, texts and booleans.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum AttributeValue {
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(message, tag = "28")]
    Bools(Bools),
    #[prost(string, tag = "29")]
    Text(String),
}

/// `BoolList`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Bools {
    #[prost(bool, repeated, tag = "1")]
    pub(super) values: Vec<bool>,
}

impl AttributeValue {
    /// Returns the value if it is an integer that is not negative.
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::Int32(number) | Self::Sint32(number) | Self::Sfixed32(number) => {
                u64::try_from(*number).ok()
            }
            Self::Int64(number) | Self::Sint64(number) | Self::Sfixed64(number) => {
                u64::try_from(*number).ok()
            }
            Self::Uint32(number) | Self::Fixed32(number) => Some(u64::from(*number)),
            Self::Uint64(number) | Self::Fixed64(number) => Some(*number),
            Self::Bool(_) | Self::Bools(_) | Self::Text(_) => None,
        }
    }
}

/// Returns the nodes of a file in its order.
///
/// # Errors
///
/// The bytes are not a valid message, or exceed the limits above.
pub(super) fn nodes(file: &str, bytes: &[u8]) -> Result<Vec<Node>, ChakraError> {
    let wrong = |message: String| ChakraError::of_file(file, message);
    if bytes.starts_with(&GZIP) {
        return Err(wrong("is compressed by gzip; unpack it with gunzip".into()));
    }
    let mut left = bytes;
    // The description differs between versions, and is not needed. Old traces begin with a node.
    match next_message(file, bytes, &mut left)? {
        None => return Err(wrong("is empty; give the trace's nodes".into())),
        Some(message) if is_node(message) => left = bytes,
        Some(_) => {}
    }
    let mut nodes = Vec::new();
    loop {
        let at = bytes.len() - left.len();
        let Some(message) = next_message(file, bytes, &mut left)? else {
            return Ok(nodes);
        };
        let node = Node::decode(message).map_err(|error| {
            wrong(format!(
                "byte {at}: no node of a chakra trace ({error}); is it an .et file of et_def.proto?"
            ))
        })?;
        if nodes.len() == NODES_MAX {
            return Err(wrong(format!(
                "has more than {NODES_MAX} nodes; cut the trace to fewer iterations"
            )));
        }
        nodes.push(node);
    }
}

/// True for a node, false for the description, whose fields 1 and 2 are a text and messages.
fn is_node(message: &[u8]) -> bool {
    Node::decode(message).is_ok_and(|node| node.id > 0 || node.kind > 0)
}

/// Returns the next message; `None` at the end of the file.
fn next_message<'a>(
    file: &str,
    bytes: &[u8],
    left: &mut &'a [u8],
) -> Result<Option<&'a [u8]>, ChakraError> {
    if left.is_empty() {
        return Ok(None);
    }
    let at = bytes.len() - left.len();
    let wrong = |message: String| ChakraError::of_file(file, format!("byte {at}: {message}"));
    let length = prost::encoding::decode_varint(left)
        .map_err(|_| wrong("no length of a message; is it a chakra .et file?".into()))?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > MESSAGE_MAX {
        return Err(wrong(format!(
            "a message of {length} bytes, {MESSAGE_MAX} at most; is it a chakra .et file?"
        )));
    }
    let Some((message, rest)) = left.split_at_checked(length) else {
        return Err(wrong(format!(
            "a message of {length} bytes, of which {} are there; the file is cut off: copy it again",
            left.len()
        )));
    };
    *left = rest;
    Ok(Some(message))
}
