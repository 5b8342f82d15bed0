//! Parameters of requests.

/// The part of a request that holds a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A part of the path.
    Path,
    /// In the query. Optional.
    Query,
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number, 0, 1, 2, …
    Count,
    /// A number of seconds.
    Seconds,
    /// `true` or `false`.
    Boolean,
    /// Text.
    Text,
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub kind: Kind,
    /// Its meaning.
    pub description: &'static str,
    /// A legal value.
    pub example: &'static str,
}

const fn path(
    name: &'static str,
    kind: Kind,
    example: &'static str,
    description: &'static str,
) -> Parameter {
    Parameter {
        name,
        place: Place::Path,
        kind,
        description,
        example,
    }
}

const fn query(
    name: &'static str,
    kind: Kind,
    example: &'static str,
    description: &'static str,
) -> Parameter {
    Parameter {
        place: Place::Query,
        ..path(name, kind, example, description)
    }
}

pub(super) const SUSPICION: Parameter = path(
    "id",
    Kind::Count,
    "1",
    "Number of the suspicion, as in `GET /v1/deadlocks`.",
);

pub(super) const PORT: Parameter = path("port", Kind::Text, "h1", "The port's name.");

pub(super) const PROFILE: Parameter = path(
    "profile",
    Kind::Text,
    "AZURE_LOSSLESS",
    "The profile's name.",
);

pub(super) const PAST_CONFIGURATION: Parameter = path(
    "number",
    Kind::Count,
    "1",
    "Number of the configuration, as in `GET /v1/config/history`.",
);

pub(super) const IMPAIRMENT: Parameter = path(
    "id",
    Kind::Count,
    "1",
    "Number of the impairment, as in `GET /v1/impairments`.",
);

pub(super) const CAPTURE: Parameter = path(
    "id",
    Kind::Count,
    "1",
    "Number of the capture, as in `GET /v1/captures`.",
);

pub(super) const DESTINATION: Parameter = path(
    "destination",
    Kind::Text,
    "02:00:00:00:00:07",
    "The destination's MAC address; with `@` and a number the route for one VLAN only: `02:00:00:00:00:07@20`.",
);

pub(super) const BUCKET: Parameter =
    path("bucket", Kind::Count, "0", "Number of the bucket, from 0.");

pub(super) const FLOW_HASH: Parameter = path(
    "flow_hash",
    Kind::Text,
    "0000002a",
    "The flow, in up to eight hexadecimal digits, as in `GET /v1/flows`.",
);

pub(super) const AFTER: Parameter = query(
    "after",
    Kind::Count,
    "0",
    "Returns only entries after this sequence number: `next` of the previous answer. Default: 0, all stored entries.",
);

pub(super) const WAIT_SECONDS: Parameter = query(
    "wait_seconds",
    Kind::Seconds,
    "0.5",
    "How long to wait for a first event, in seconds, at most 60. Default: 0.",
);

pub(super) const CONFIRM_SECONDS: Parameter = query(
    "confirm_seconds",
    Kind::Seconds,
    "60",
    "Above zero: the previous configuration is restored after this time unless the change is confirmed. At most a day. Default: 0, no confirmation.",
);
pub(super) const CHECK: Parameter = query(
    "check",
    Kind::Boolean,
    "true",
    "True to only check whether the next daemon could start. Default: false.",
);

pub(super) const DRY_RUN: Parameter = query(
    "dry_run",
    Kind::Boolean,
    "true",
    "True to report changes without applying them. Default: false.",
);
