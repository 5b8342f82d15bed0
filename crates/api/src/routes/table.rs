//! The table.

use super::parameters::{
    Parameter, AFTER, BUCKET, CAPTURE, CHECK, CONFIRM_SECONDS, DESTINATION, DRY_RUN, FLOW_HASH,
    IMPAIRMENT, PAST_CONFIGURATION, PORT, PROFILE, SUSPICION, WAIT_SECONDS,
};
use super::{Answer, Content, Endpoint, Method, Route};
use crate::audit::Audit;
use crate::capture::{Capture, CaptureRequest};
use crate::counters::Counters;
use crate::daemon::trace::{Trace, TraceRequest};
use crate::daemon::Restarting;
use crate::daemon::{
    Buffers, Changed, Credits, Deadlocks, EcnChange, EcnProfile, EventPage, Exports, Fdb, FdbFlush,
    FlightRecord, Flows, History, ImpairRequest, Impairment, Levels, MirrorState, PauseCounters,
    Pfc, Port, PortChange, Queue, RouteDetail, Routes, SetRoute, Status, ToPort, Vlans,
    WatermarkClear, Watermarks,
};
use crate::neighbors::Neighbor;
use crate::overview::Overview;
use crate::pfcwd::{Pfcwd, PfcwdChange};
use crate::record::{RecordLine, RecordRequest};
use crate::reload::{Configuration, ConfigurationHistory, Confirmed, PastConfiguration, Reload};

/// A route without parameters that reads something and is never refused.
const fn shown(
    endpoint: Endpoint,
    path: &'static str,
    summary: &'static str,
    content: Content,
    commands: &'static [&'static str],
) -> Route {
    Route {
        endpoint,
        path,
        summary,
        answer: Answer::Json(content),
        commands,
        ..BARE
    }
}

/// All routes, in the order of the book.
pub const ROUTES: &[Route] = &[
    shown(
        Endpoint::Status,
        "/v1/status",
        "The switch as a whole.",
        Content::of::<Status>(),
        &["status"],
    ),
    shown(
        Endpoint::Ports,
        "/v1/ports",
        "Every port.",
        Content::list_of::<Port>(),
        &["ports"],
    ),
    Route {
        endpoint: Endpoint::SetPort,
        method: Method::Put,
        path: "/v1/ports/{port}",
        summary: "Makes a port release its device, or take it again, until the daemon stops.",
        parameters: &[PORT],
        body: Some(Content::of::<PortChange>()),
        answer: Answer::Json(Content::of::<Port>()),
        refusals: &[400, 404, 503],
        commands: &["port add", "port remove"],
    },
    shown(
        Endpoint::Queues,
        "/v1/queues",
        "Every (port, priority) that is configured or was used.",
        Content::list_of::<Queue>(),
        &["queues"],
    ),
    shown(
        Endpoint::Pfc,
        "/v1/pfc",
        "Every (port, priority) that pauses its neighbour by thresholds.",
        Content::list_of::<Pfc>(),
        &["pfc"],
    ),
    shown(
        Endpoint::PauseCounters,
        "/v1/pfc/counters",
        "Pauses sent and received: frames, how often, when and for how long.",
        Content::list_of::<PauseCounters>(),
        &["pfc counters"],
    ),
    shown(
        Endpoint::Credits,
        "/v1/credits",
        "Credits in both directions, by (port, priority) of classes that have them.",
        Content::list_of::<Credits>(),
        &["credits"],
    ),
    shown(
        Endpoint::Buffers,
        "/v1/buffers",
        "Pools, and their use by each (port, priority).",
        Content::of::<Buffers>(),
        &["buffers"],
    ),
    shown(
        Endpoint::Watermarks,
        "/v1/watermarks",
        "Peaks of buffers, headroom and backlogs, by reader.",
        Content::of::<Watermarks>(),
        &["watermark show"],
    ),
    Route {
        endpoint: Endpoint::ClearWatermarks,
        method: Method::Post,
        path: "/v1/watermarks/clear",
        summary: "Restarts the peaks of one reader.",
        body: Some(Content::of::<WatermarkClear>()),
        answer: Answer::Json(Content::of::<Watermarks>()),
        refusals: &[400, 404, 503],
        commands: &["watermark clear"],
        ..BARE
    },
    shown(
        Endpoint::Counters,
        "/v1/counters",
        "Every counter of the switch, its ports and their priorities.",
        Content::list_of::<Counters>(),
        &["counters"],
    ),
    shown(
        Endpoint::Levels,
        "/v1/levels",
        "The Level protocol, by link and by destination.",
        Content::of::<Levels>(),
        &["levels"],
    ),
    shown(
        Endpoint::Mirrors,
        "/v1/mirrors",
        "Mirrors, and counts of their copies.",
        Content::list_of::<MirrorState>(),
        &["mirrors"],
    ),
    shown(
        Endpoint::Exports,
        "/v1/exports",
        "What is sent to collectors by sFlow and IPFIX.",
        Content::of::<Exports>(),
        &["exports"],
    ),
    shown(
        Endpoint::Impairments,
        "/v1/impairments",
        "Impairments of frames and links in force.",
        Content::list_of::<Impairment>(),
        &["impair list"],
    ),
    Route {
        endpoint: Endpoint::Impair,
        method: Method::Post,
        path: "/v1/impairments",
        summary: "Drops, delays or marks frames, pauses a neighbour or takes a link down, for a limited time.",
        body: Some(Content::of::<ImpairRequest>()),
        answer: Answer::Json(Content::of::<Impairment>()),
        refusals: &[400, 409, 503],
        commands: &["impair drop", "impair delay", "impair mark", "impair pause", "impair flap"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::EndImpairment,
        method: Method::Delete,
        path: "/v1/impairments/{id}",
        summary: "Ends an impairment.",
        parameters: &[IMPAIRMENT],
        answer: Answer::Null,
        refusals: &[400, 404],
        commands: &["impair stop"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Vlans,
        path: "/v1/vlans",
        summary: "VLANs: their ports, counters and learned addresses.",
        answer: Answer::Json(Content::of::<Vlans>()),
        refusals: &[503],
        commands: &["vlans"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Fdb,
        path: "/v1/fdb",
        summary: "Learned addresses, and how many each port has.",
        answer: Answer::Json(Content::of::<Fdb>()),
        refusals: &[503],
        commands: &["fdb show", "fdb count"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::FlushFdb,
        method: Method::Post,
        path: "/v1/fdb/flush",
        summary: "Forgets learned addresses.",
        body: Some(Content::of::<FdbFlush>()),
        answer: Answer::Json(Content::of::<Changed>()),
        refusals: &[400, 409, 503],
        commands: &["fdb flush"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Audit,
        path: "/v1/audit",
        summary: "Locations of all frames and chunks of packet memory.",
        answer: Answer::Json(Content::of::<Audit>()),
        refusals: &[503],
        commands: &["audit"],
        ..BARE
    },
    shown(
        Endpoint::Deadlocks,
        "/v1/deadlocks",
        "Suspected deadlocks, ongoing and past.",
        Content::of::<Deadlocks>(),
        &["deadlock"],
    ),
    Route {
        endpoint: Endpoint::Deadlock,
        path: "/v1/deadlocks/{id}",
        summary: "The record of one suspected deadlock.",
        parameters: &[SUSPICION],
        answer: Answer::Json(Content::of::<FlightRecord>()),
        refusals: &[400, 404],
        commands: &["deadlock show"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Events,
        path: "/v1/events",
        summary: "Events, oldest first.",
        parameters: &[AFTER, WAIT_SECONDS],
        answer: Answer::Json(Content::of::<EventPage>()),
        refusals: &[400],
        commands: &["events"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::History,
        path: "/v1/history",
        summary: "Samples of buffers and rates, oldest first.",
        parameters: &[AFTER],
        answer: Answer::Json(Content::of::<History>()),
        refusals: &[400],
        ..BARE
    },
    shown(
        Endpoint::Neighbors,
        "/v1/neighbors",
        "Neighbours, as LLDP announces them.",
        Content::list_of::<Neighbor>(),
        &["neighbors"],
    ),
    Route {
        endpoint: Endpoint::Flows,
        path: "/v1/flows",
        summary: "Recent flows by ingress and egress port.",
        answer: Answer::Json(Content::of::<Flows>()),
        refusals: &[503],
        commands: &["flows"],
        ..BARE
    },
    shown(
        Endpoint::Overview,
        "/v1/overview",
        "The whole switch at one moment, bounded.",
        Content::of::<Overview>(),
        &["top"],
    ),
    Route {
        endpoint: Endpoint::Routes,
        path: "/v1/routes",
        summary: "Routes and flow pins.",
        answer: Answer::Json(Content::of::<Routes>()),
        refusals: &[503],
        commands: &["route list"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Route,
        path: "/v1/routes/{destination}",
        summary: "One route with its buckets and pins.",
        parameters: &[DESTINATION],
        answer: Answer::Json(Content::of::<RouteDetail>()),
        refusals: &[400, 404, 503],
        commands: &["route list"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::SetRoute,
        method: Method::Put,
        path: "/v1/routes/{destination}",
        summary: "Sets the ports of a route.",
        parameters: &[DESTINATION],
        body: Some(Content::of::<SetRoute>()),
        answer: Answer::Json(Content::of::<Changed>()),
        refusals: &[400, 404, 409, 503],
        commands: &["route set"],
    },
    Route {
        endpoint: Endpoint::RemoveRoute,
        method: Method::Delete,
        path: "/v1/routes/{destination}",
        summary: "Removes a route.",
        parameters: &[DESTINATION],
        answer: Answer::Json(Content::of::<Changed>()),
        refusals: &[400, 404, 409, 503],
        commands: &["route remove"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::MoveBucket,
        method: Method::Put,
        path: "/v1/routes/{destination}/buckets/{bucket}",
        summary: "Assigns a bucket of a route to another port.",
        parameters: &[DESTINATION, BUCKET],
        body: Some(Content::of::<ToPort>()),
        answer: Answer::Json(Content::of::<Changed>()),
        refusals: &[400, 404, 409, 503],
        commands: &["route move-bucket"],
    },
    Route {
        endpoint: Endpoint::PinFlow,
        method: Method::Put,
        path: "/v1/routes/{destination}/pins/{flow_hash}",
        summary: "Pins a flow to a port.",
        parameters: &[DESTINATION, FLOW_HASH],
        body: Some(Content::of::<ToPort>()),
        answer: Answer::Json(Content::of::<Changed>()),
        refusals: &[400, 404, 409, 503],
        commands: &["route pin"],
    },
    Route {
        endpoint: Endpoint::UnpinFlow,
        method: Method::Delete,
        path: "/v1/routes/{destination}/pins/{flow_hash}",
        summary: "Removes a flow pin.",
        parameters: &[DESTINATION, FLOW_HASH],
        answer: Answer::Json(Content::of::<Changed>()),
        refusals: &[400, 404, 409, 503],
        commands: &["route unpin"],
        ..BARE
    },
    shown(
        Endpoint::Pfcwd,
        "/v1/pfcwd",
        "The PFC watchdog: settings and storms.",
        Content::of::<Pfcwd>(),
        &["pfcwd show", "pfcwd stats"],
    ),
    Route {
        endpoint: Endpoint::SetPfcwd,
        method: Method::Put,
        path: "/v1/pfcwd",
        summary: "Starts or stops the PFC watchdog at ports, until the daemon stops.",
        body: Some(Content::of::<PfcwdChange>()),
        answer: Answer::Json(Content::of::<Pfcwd>()),
        refusals: &[400, 503],
        commands: &["pfcwd start", "pfcwd start_default", "pfcwd stop"],
        ..BARE
    },
    shown(
        Endpoint::Ecn,
        "/v1/ecn",
        "Marking of frames as Congestion Experienced, by profile.",
        Content::list_of::<EcnProfile>(),
        &["ecn"],
    ),
    Route {
        endpoint: Endpoint::SetEcn,
        method: Method::Put,
        path: "/v1/ecn/{profile}",
        summary: "Changes the marking of the classes of a profile.",
        parameters: &[PROFILE],
        body: Some(Content::of::<EcnChange>()),
        answer: Answer::Json(Content::of::<EcnProfile>()),
        refusals: &[400, 404, 409, 503],
        commands: &["ecn set"],
    },
    Route {
        endpoint: Endpoint::Captures,
        path: "/v1/captures",
        summary: "Captures that run.",
        answer: Answer::Json(Content::list_of::<Capture>()),
        ..BARE
    },
    Route {
        endpoint: Endpoint::BeginCapture,
        method: Method::Post,
        path: "/v1/captures",
        summary: "Captures frames. The answer continues until the capture ends; the header x-weir-capture has its number.",
        body: Some(Content::of::<CaptureRequest>()),
        answer: Answer::Pcapng,
        refusals: &[400, 409, 500, 503],
        commands: &["capture"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::EndCapture,
        method: Method::Delete,
        path: "/v1/captures/{id}",
        summary: "Ends a capture.",
        parameters: &[CAPTURE],
        answer: Answer::Null,
        refusals: &[400, 404],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Record,
        method: Method::Post,
        path: "/v1/recordings",
        summary: "Records queues, pauses and drops. The answer continues until the recording ends.",
        body: Some(Content::of::<RecordRequest>()),
        answer: Answer::Lines(Content::of::<RecordLine>()),
        refusals: &[400, 409, 503],
        commands: &["record"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Configuration,
        path: "/v1/config",
        summary: "The configuration in force, as a file.",
        answer: Answer::Json(Content::of::<Configuration>()),
        refusals: &[409],
        commands: &["config diff", "config save"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::ConfigurationHistory,
        path: "/v1/config/history",
        summary: "The configuration files that were put in force last.",
        answer: Answer::Json(Content::of::<ConfigurationHistory>()),
        refusals: &[409, 500],
        commands: &["config history"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::PastConfiguration,
        path: "/v1/config/history/{number}",
        summary: "One of them.",
        parameters: &[PAST_CONFIGURATION],
        answer: Answer::Json(Content::of::<PastConfiguration>()),
        refusals: &[400, 404, 409, 500],
        commands: &["config rollback"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Reload,
        method: Method::Post,
        path: "/v1/reload",
        summary: "Reads the configuration file again.",
        parameters: &[DRY_RUN, CONFIRM_SECONDS],
        answer: Answer::Json(Content::of::<Reload>()),
        refusals: &[400, 409],
        commands: &["reload"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::ConfirmReload,
        method: Method::Post,
        path: "/v1/reload/confirm",
        summary: "Confirms a reload that waits for it.",
        answer: Answer::Json(Content::of::<Confirmed>()),
        refusals: &[409],
        commands: &["confirm"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Restart,
        method: Method::Post,
        path: "/v1/restart",
        summary: "Restarts the daemon in place. Its keeper pauses the neighbours meanwhile.",
        parameters: &[CHECK],
        answer: Answer::Json(Content::of::<Restarting>()),
        refusals: &[400, 409],
        commands: &["restart"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Trace,
        method: Method::Post,
        path: "/v1/trace",
        summary: "Predicts the treatment of a frame, with the reasons. Nothing is sent or counted.",
        body: Some(Content::of::<TraceRequest>()),
        answer: Answer::Json(Content::of::<Trace>()),
        refusals: &[400, 503],
        commands: &["trace"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::OpenApi,
        path: "/v1/openapi.json",
        summary: "The OpenAPI document.",
        answer: Answer::Document,
        commands: &["openapi"],
        ..BARE
    },
];

/// Defaults for most routes.
const BARE: Route = Route {
    endpoint: Endpoint::Status,
    method: Method::Get,
    path: "",
    summary: "",
    parameters: &[] as &[Parameter],
    body: None,
    answer: Answer::Null,
    refusals: &[],
    commands: &[],
};
