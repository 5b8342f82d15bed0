//! The table.

use super::parameters::{
    Parameter, AFTER, BUCKET, CAPTURE, CONFIRM_SECONDS, DESTINATION, DRY_RUN, FLOW_HASH,
    IMPAIRMENT, PAST_CONFIGURATION, PORT, PROFILE, SUSPICION, WAIT_SECONDS,
};
use super::{Answer, Content, Endpoint, Method, Route};
use crate::audit::Audit;
use crate::capture::{Capture, CaptureRequest};
use crate::counters::Counters;
use crate::daemon::trace::{Trace, TraceRequest};
use crate::daemon::Restarting;
use crate::daemon::{
    Buffers, Changed, Deadlocks, EcnChange, EcnProfile, EventPage, FlightRecord, Flows, History,
    ImpairRequest, Impairment, Levels, MirrorState, PauseCounters, Pfc, Port, PortChange, Queue,
    RouteDetail, Routes, SetRoute, Status, ToPort, Vlans, WatermarkClear, Watermarks,
};
use crate::neighbors::Neighbor;
use crate::overview::Overview;
use crate::pfcwd::{Pfcwd, PfcwdChange};
use crate::reload::{Configuration, ConfigurationHistory, Confirmed, PastConfiguration, Reload};

/// All routes, in the order of the book.
pub const ROUTES: &[Route] = &[
    Route {
        endpoint: Endpoint::Status,
        method: Method::Get,
        path: "/v1/status",
        summary: "The switch as a whole.",
        answer: Answer::Json(Content::of::<Status>()),
        commands: &["status"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Ports,
        method: Method::Get,
        path: "/v1/ports",
        summary: "Every port.",
        answer: Answer::Json(Content::list_of::<Port>()),
        commands: &["ports"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::SetPort,
        method: Method::Put,
        path: "/v1/ports/{port}",
        summary: "Has a port give up its device, or take it again, until the daemon stops.",
        parameters: &[PORT],
        body: Some(Content::of::<PortChange>()),
        answer: Answer::Json(Content::of::<Port>()),
        refusals: &[400, 404, 503],
        commands: &["port add", "port remove"],
    },
    Route {
        endpoint: Endpoint::Queues,
        method: Method::Get,
        path: "/v1/queues",
        summary: "Every (port, priority) that is configured or was used.",
        answer: Answer::Json(Content::list_of::<Queue>()),
        commands: &["queues"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Pfc,
        method: Method::Get,
        path: "/v1/pfc",
        summary: "Every (port, priority) that pauses its neighbour by thresholds.",
        answer: Answer::Json(Content::list_of::<Pfc>()),
        commands: &["pfc"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::PauseCounters,
        method: Method::Get,
        path: "/v1/pfc/counters",
        summary: "Pauses sent and received: frames, how often, when and for how long.",
        answer: Answer::Json(Content::list_of::<PauseCounters>()),
        commands: &["pfc counters"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Buffers,
        method: Method::Get,
        path: "/v1/buffers",
        summary: "Pools, and what each (port, priority) has of them.",
        answer: Answer::Json(Content::of::<Buffers>()),
        commands: &["buffers"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Watermarks,
        method: Method::Get,
        path: "/v1/watermarks",
        summary: "Peaks of buffers, headroom and backlogs, by reader.",
        answer: Answer::Json(Content::of::<Watermarks>()),
        commands: &["watermark show"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::ClearWatermarks,
        method: Method::Post,
        path: "/v1/watermarks/clear",
        summary: "Begins the peaks of one reader again.",
        body: Some(Content::of::<WatermarkClear>()),
        answer: Answer::Json(Content::of::<Watermarks>()),
        refusals: &[400, 404, 503],
        commands: &["watermark clear"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Counters,
        method: Method::Get,
        path: "/v1/counters",
        summary: "Every counter of the switch, its ports and their priorities.",
        answer: Answer::Json(Content::list_of::<Counters>()),
        commands: &["counters"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Levels,
        method: Method::Get,
        path: "/v1/levels",
        summary: "The Level protocol, by link and by destination.",
        answer: Answer::Json(Content::of::<Levels>()),
        commands: &["levels"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Mirrors,
        method: Method::Get,
        path: "/v1/mirrors",
        summary: "Mirrors, and what they have copied.",
        answer: Answer::Json(Content::list_of::<MirrorState>()),
        commands: &["mirrors"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Impairments,
        method: Method::Get,
        path: "/v1/impairments",
        summary: "What is done on purpose to frames and links.",
        answer: Answer::Json(Content::list_of::<Impairment>()),
        commands: &["impair list"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Impair,
        method: Method::Post,
        path: "/v1/impairments",
        summary: "Drops, delays or marks frames, pauses a neighbor or takes a link down, for a bounded time.",
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
        method: Method::Get,
        path: "/v1/vlans",
        summary: "VLANs: their ports, counters and learnt addresses.",
        answer: Answer::Json(Content::of::<Vlans>()),
        refusals: &[503],
        commands: &["vlans"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Audit,
        method: Method::Get,
        path: "/v1/audit",
        summary: "Where every frame and every chunk of packet memory is.",
        answer: Answer::Json(Content::of::<Audit>()),
        refusals: &[503],
        commands: &["audit"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Deadlocks,
        method: Method::Get,
        path: "/v1/deadlocks",
        summary: "Suspected deadlocks, ongoing and past.",
        answer: Answer::Json(Content::of::<Deadlocks>()),
        commands: &["deadlock"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Deadlock,
        method: Method::Get,
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
        method: Method::Get,
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
        method: Method::Get,
        path: "/v1/history",
        summary: "Samples of buffers and rates, oldest first.",
        parameters: &[AFTER],
        answer: Answer::Json(Content::of::<History>()),
        refusals: &[400],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Neighbors,
        method: Method::Get,
        path: "/v1/neighbors",
        summary: "Neighbours, as LLDP announces them.",
        answer: Answer::Json(Content::list_of::<Neighbor>()),
        commands: &["neighbors"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Flows,
        method: Method::Get,
        path: "/v1/flows",
        summary: "Recent flows by ingress and egress port.",
        answer: Answer::Json(Content::of::<Flows>()),
        refusals: &[503],
        commands: &["flows"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Overview,
        method: Method::Get,
        path: "/v1/overview",
        summary: "The whole switch at one moment, bounded.",
        answer: Answer::Json(Content::of::<Overview>()),
        commands: &["top"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Routes,
        method: Method::Get,
        path: "/v1/routes",
        summary: "Routes and flow pins.",
        answer: Answer::Json(Content::of::<Routes>()),
        refusals: &[503],
        commands: &["route list"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Route,
        method: Method::Get,
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
        summary: "Takes a flow pin away.",
        parameters: &[DESTINATION, FLOW_HASH],
        answer: Answer::Json(Content::of::<Changed>()),
        refusals: &[400, 404, 409, 503],
        commands: &["route unpin"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Pfcwd,
        method: Method::Get,
        path: "/v1/pfcwd",
        summary: "The PFC watchdog: settings and storms.",
        answer: Answer::Json(Content::of::<Pfcwd>()),
        commands: &["pfcwd show", "pfcwd stats"],
        ..BARE
    },
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
    Route {
        endpoint: Endpoint::Ecn,
        method: Method::Get,
        path: "/v1/ecn",
        summary: "How frames are marked Congestion Experienced, by profile.",
        answer: Answer::Json(Content::list_of::<EcnProfile>()),
        commands: &["ecn"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::SetEcn,
        method: Method::Put,
        path: "/v1/ecn/{profile}",
        summary: "Has the classes of a profile mark by other values.",
        parameters: &[PROFILE],
        body: Some(Content::of::<EcnChange>()),
        answer: Answer::Json(Content::of::<EcnProfile>()),
        refusals: &[400, 404, 409, 503],
        commands: &["ecn set"],
    },
    Route {
        endpoint: Endpoint::Captures,
        method: Method::Get,
        path: "/v1/captures",
        summary: "Captures that run.",
        answer: Answer::Json(Content::list_of::<Capture>()),
        ..BARE
    },
    Route {
        endpoint: Endpoint::BeginCapture,
        method: Method::Post,
        path: "/v1/captures",
        summary: "Captures frames. The answer goes on until the capture ends; the header x-weir-capture has its number.",
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
        endpoint: Endpoint::Configuration,
        method: Method::Get,
        path: "/v1/config",
        summary: "The configuration in force, as a file.",
        answer: Answer::Json(Content::of::<Configuration>()),
        refusals: &[409],
        commands: &["config diff", "config save"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::ConfigurationHistory,
        method: Method::Get,
        path: "/v1/config/history",
        summary: "The configuration files that were put in force last.",
        answer: Answer::Json(Content::of::<ConfigurationHistory>()),
        refusals: &[409, 500],
        commands: &["config history"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::PastConfiguration,
        method: Method::Get,
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
        summary: "Keeps what a reload has put in force that waits for this.",
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
        answer: Answer::Json(Content::of::<Restarting>()),
        refusals: &[400, 409],
        commands: &["restart"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::Trace,
        method: Method::Post,
        path: "/v1/trace",
        summary: "What would become of a frame that came in now, and why. Nothing is sent or counted.",
        body: Some(Content::of::<TraceRequest>()),
        answer: Answer::Json(Content::of::<Trace>()),
        refusals: &[400, 503],
        commands: &["trace"],
        ..BARE
    },
    Route {
        endpoint: Endpoint::OpenApi,
        method: Method::Get,
        path: "/v1/openapi.json",
        summary: "The OpenAPI document.",
        answer: Answer::Document,
        commands: &["openapi"],
        ..BARE
    },
];

/// A route without what most routes do not have.
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
