//! The messages of gNMI as they are on the wire: package `gnmi` of `gnmi.proto`, version 0.10.
//! Written down here by their field numbers, so that no machine needs a protobuf compiler.
//! Deprecated fields are left out: unknown fields are skipped.

use std::collections::BTreeMap;

use prost::{Enumeration, Message, Oneof};

/// The supported version of the protocol, in the form of Capabilities.
pub const PROTOCOL_VERSION: &str = "0.10.0";

/// Path of a node.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Path {
    /// Which tree: whose data it names. Empty for any.
    #[prost(string, tag = "2")]
    pub origin: String,
    /// From the root down.
    #[prost(message, repeated, tag = "3")]
    pub elem: Vec<PathElem>,
    /// The device that is meant, where one answers for several. Given back as it came.
    #[prost(string, tag = "4")]
    pub target: String,
}

/// One node of a [`Path`].
#[derive(Clone, PartialEq, Eq, Message)]
pub struct PathElem {
    /// Its name in the YANG module.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Which entry of a list.
    #[prost(btree_map = "string, string", tag = "2")]
    pub key: BTreeMap<String, String>,
}

/// A value.
#[derive(Clone, PartialEq, Message)]
pub struct TypedValue {
    /// Of one kind.
    #[prost(oneof = "Value", tags = "1, 2, 3, 4, 10, 11")]
    pub value: Option<Value>,
}

/// The kinds of a [`TypedValue`] that this server sends.
#[derive(Clone, PartialEq, Oneof)]
pub enum Value {
    /// Text.
    #[prost(string, tag = "1")]
    String(String),
    /// A number with a sign.
    #[prost(int64, tag = "2")]
    Int(i64),
    /// A number without one.
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
    /// Which; behind the notification's prefix.
    #[prost(message, optional, tag = "1")]
    pub path: Option<Path>,
    /// Its value now.
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

/// Asks what there is.
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

/// Asks for nodes once.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct GetRequest {
    /// Common prefix of all paths.
    #[prost(message, optional, tag = "1")]
    pub prefix: Option<Path>,
    /// Which nodes.
    #[prost(message, repeated, tag = "2")]
    pub path: Vec<Path>,
    /// Type of data.
    #[prost(enumeration = "DataType", tag = "3")]
    pub r#type: i32,
    /// Encoding of values.
    #[prost(enumeration = "Encoding", tag = "5")]
    pub encoding: i32,
    /// The modules that matter; empty for all.
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
    /// The first message: what is subscribed to.
    #[prost(message, tag = "1")]
    Subscribe(SubscriptionList),
    /// A later one of mode POLL: values now.
    #[prost(message, tag = "3")]
    Poll(Poll),
}

/// Asks for values now.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Poll {}

/// All that a call subscribes to.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct SubscriptionList {
    /// Common prefix of all paths.
    #[prost(message, optional, tag = "1")]
    pub prefix: Option<Path>,
    /// Each with its own mode.
    #[prost(message, repeated, tag = "2")]
    pub subscription: Vec<Subscription>,
    /// Once, by question, or for as long as the call lasts.
    #[prost(enumeration = "ListMode", tag = "5")]
    pub mode: i32,
    /// The modules that matter; empty for all.
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
    /// An answer for each question.
    Poll = 2,
}

/// One path of a [`SubscriptionList`].
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Subscription {
    /// Behind the list's prefix.
    #[prost(message, optional, tag = "1")]
    pub path: Option<Path>,
    /// Time of updates; of mode STREAM.
    #[prost(enumeration = "SubscriptionMode", tag = "2")]
    pub mode: i32,
    /// Nanoseconds between two samples; zero for the least.
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
    /// By kind: counters as samples, all else on change.
    TargetDefined = 0,
    /// When they change.
    OnChange = 1,
    /// Again and again.
    Sample = 2,
}

/// Message to a subscriber.
#[derive(Clone, PartialEq, Message)]
pub struct SubscribeResponse {
    /// Values, or the mark that all were sent.
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
