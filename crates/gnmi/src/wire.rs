//! The wire format of gNMI messages: package `gnmi` of `gnmi.proto`, version 0.10. Written by hand with field numbers,
//! so that building needs no protobuf compiler. Deprecated fields are omitted: unknown fields are skipped.

use std::collections::BTreeMap;

use prost::{Enumeration, Message, Oneof};

/// The supported version of the protocol, in the form of Capabilities.
pub const PROTOCOL_VERSION: &str = "0.10.0";

/// Path of a node.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Path {
    /// The tree of the path. Empty for any.
    #[prost(string, tag = "2")]
    pub origin: String,
    /// From the root down.
    #[prost(message, repeated, tag = "3")]
    pub elem: Vec<PathElem>,
    /// The device, if one server answers for several. Returned unchanged.
    #[prost(string, tag = "4")]
    pub target: String,
}

/// One node of a [`Path`].
#[derive(Clone, PartialEq, Eq, Message)]
pub struct PathElem {
    /// Its name in the YANG module.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The keys of a list's entry.
    #[prost(btree_map = "string, string", tag = "2")]
    pub key: BTreeMap<String, String>,
}

/// A value.
#[derive(Clone, PartialEq, Message)]
pub struct TypedValue {
    /// Value with its kind.
    #[prost(oneof = "Value", tags = "1, 2, 3, 4, 10, 11")]
    pub value: Option<Value>,
}

/// The kinds of a [`TypedValue`] that this server sends.
#[derive(Clone, PartialEq, Oneof)]
pub enum Value {
    /// Text.
    #[prost(string, tag = "1")]
    String(String),
    /// A signed number.
    #[prost(int64, tag = "2")]
    Int(i64),
    /// An unsigned number.
    #[prost(uint64, tag = "3")]
    Uint(u64),
    /// True or false.
    #[prost(bool, tag = "4")]
    Bool(bool),
    /// JSON (RFC 7159).
    #[prost(bytes, tag = "10")]
    Json(Vec<u8>),
    /// JSON of YANG data (RFC 7951).
    #[prost(bytes, tag = "11")]
    JsonIetf(Vec<u8>),
}

/// Encoding of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum Encoding {
    /// JSON text.
    Json = 0,
    /// Bytes of a kind that both sides agree on.
    Bytes = 1,
    /// Scalars of protobuf.
    Proto = 2,
    /// Text for people.
    Ascii = 3,
    /// JSON text by RFC 7951.
    JsonIetf = 4,
}

/// One changed node.
#[derive(Clone, PartialEq, Message)]
pub struct Update {
    /// Its path, after the notification's prefix.
    #[prost(message, optional, tag = "1")]
    pub path: Option<Path>,
    /// Its present value.
    #[prost(message, optional, tag = "3")]
    pub val: Option<TypedValue>,
    /// Number of earlier values that a slow reader has missed.
    #[prost(uint32, tag = "4")]
    pub duplicates: u32,
}

/// State at one time.
#[derive(Clone, PartialEq, Message)]
pub struct Notification {
    /// Nanoseconds since 1970.
    #[prost(int64, tag = "1")]
    pub timestamp: i64,
    /// Common prefix of all paths.
    #[prost(message, optional, tag = "2")]
    pub prefix: Option<Path>,
    /// Nodes with their values.
    #[prost(message, repeated, tag = "4")]
    pub update: Vec<Update>,
    /// Nodes that are gone.
    #[prost(message, repeated, tag = "5")]
    pub delete: Vec<Path>,
}

/// Requests the capabilities.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct CapabilityRequest {}

/// Capabilities.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct CapabilityResponse {
    /// YANG modules.
    #[prost(message, repeated, tag = "1")]
    pub supported_models: Vec<ModelData>,
    /// Encodings.
    #[prost(enumeration = "Encoding", repeated, tag = "2")]
    pub supported_encodings: Vec<i32>,
    /// [`PROTOCOL_VERSION`].
    #[prost(string, tag = "3")]
    pub gnmi_version: String,
}

/// A YANG module.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ModelData {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Publisher.
    #[prost(string, tag = "2")]
    pub organization: String,
    /// Its version.
    #[prost(string, tag = "3")]
    pub version: String,
}

/// Requests nodes once.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct GetRequest {
    /// Common prefix of all paths.
    #[prost(message, optional, tag = "1")]
    pub prefix: Option<Path>,
    /// The nodes.
    #[prost(message, repeated, tag = "2")]
    pub path: Vec<Path>,
    /// Type of data.
    #[prost(enumeration = "DataType", tag = "3")]
    pub r#type: i32,
    /// Encoding of values.
    #[prost(enumeration = "Encoding", tag = "5")]
    pub encoding: i32,
    /// The relevant modules; empty for all.
    #[prost(message, repeated, tag = "6")]
    pub use_models: Vec<ModelData>,
}

/// Kinds of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum DataType {
    /// Everything.
    All = 0,
    /// Intended values: `config` containers.
    Config = 1,
    /// Present state: `state` containers.
    State = 2,
    /// State without intended values, such as counters.
    Operational = 3,
}

/// The requested nodes.
#[derive(Clone, PartialEq, Message)]
pub struct GetResponse {
    /// One for each path.
    #[prost(message, repeated, tag = "1")]
    pub notification: Vec<Notification>,
}

/// Message of a subscriber.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct SubscribeRequest {
    /// The first or a later message.
    #[prost(oneof = "SubscribeAsk", tags = "1, 3")]
    pub request: Option<SubscribeAsk>,
}

/// The kinds of a [`SubscribeRequest`].
#[derive(Clone, PartialEq, Eq, Oneof)]
pub enum SubscribeAsk {
    /// The first message, with the subscriptions.
    #[prost(message, tag = "1")]
    Subscribe(SubscriptionList),
    /// A later message of mode POLL: requests present values.
    #[prost(message, tag = "3")]
    Poll(Poll),
}

/// Requests present values.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Poll {}

/// All subscriptions of a call.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct SubscriptionList {
    /// Common prefix of all paths.
    #[prost(message, optional, tag = "1")]
    pub prefix: Option<Path>,
    /// Each with its own mode.
    #[prost(message, repeated, tag = "2")]
    pub subscription: Vec<Subscription>,
    /// Once, on request, or continuously.
    #[prost(enumeration = "ListMode", tag = "5")]
    pub mode: i32,
    /// The relevant modules; empty for all.
    #[prost(message, repeated, tag = "7")]
    pub use_models: Vec<ModelData>,
    /// Encoding of values.
    #[prost(enumeration = "Encoding", tag = "8")]
    pub encoding: i32,
    /// The initial state is not sent.
    #[prost(bool, tag = "9")]
    pub updates_only: bool,
}

/// Duration of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum ListMode {
    /// Until the client ends the call.
    Stream = 0,
    /// For one answer.
    Once = 1,
    /// One answer for each request.
    Poll = 2,
}

/// One path of a [`SubscriptionList`].
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Subscription {
    /// Its path, after the list's prefix.
    #[prost(message, optional, tag = "1")]
    pub path: Option<Path>,
    /// Time of updates, in mode STREAM.
    #[prost(enumeration = "SubscriptionMode", tag = "2")]
    pub mode: i32,
    /// Nanoseconds between two samples; zero for the minimum.
    #[prost(uint64, tag = "3")]
    pub sample_interval: u64,
    /// Unchanged samples are not sent.
    #[prost(bool, tag = "4")]
    pub suppress_redundant: bool,
    /// Nanoseconds after which they are sent nevertheless; zero for never.
    #[prost(uint64, tag = "5")]
    pub heartbeat_interval: u64,
}

/// Time of updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum SubscriptionMode {
    /// By kind: counters as samples, everything else on change.
    TargetDefined = 0,
    /// When they change.
    OnChange = 1,
    /// Periodically.
    Sample = 2,
}

/// Message to a subscriber.
#[derive(Clone, PartialEq, Message)]
pub struct SubscribeResponse {
    /// Values, or the marker that all were sent.
    #[prost(oneof = "SubscribeTell", tags = "1, 3")]
    pub response: Option<SubscribeTell>,
}

/// The kinds of a [`SubscribeResponse`].
#[derive(Clone, PartialEq, Oneof)]
pub enum SubscribeTell {
    /// Values.
    #[prost(message, tag = "1")]
    Update(Notification),
    /// All nodes have been sent once.
    #[prost(bool, tag = "3")]
    Sync(bool),
}
