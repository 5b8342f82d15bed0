//! Bodies of the daemon's API, and words in its paths.

use core::fmt::Debug;

use serde::{de::DeserializeOwned, Serialize};
use weir_api::capture::CaptureRequest;
use weir_api::daemon::{RouteDetail, SetRoute, Status, ToPort, WatermarkClear};
use weir_api::overview::Overview;
use weir_api::pfcwd::PfcwdChange;
use weir_api::run::RunResult;
use weir_core::MacAddress;

/// A body is refused, or is unchanged after writing and reading.
pub fn bodies(bytes: &[u8]) {
    // Parsed by the daemon.
    body::<SetRoute>(bytes);
    body::<ToPort>(bytes);
    body::<PfcwdChange>(bytes);
    body::<WatermarkClear>(bytes);
    body::<CaptureRequest>(bytes);
    // Parsed by switchctl.
    body::<Status>(bytes);
    body::<RouteDetail>(bytes);
    body::<Overview>(bytes);
    body::<RunResult>(bytes);
    if let Some(address) = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.parse::<MacAddress>().ok())
    {
        assert_eq!(address.to_string().parse(), Ok(address));
    }
}

fn body<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) {
    let Ok(read) = serde_json::from_slice::<T>(bytes) else {
        return;
    };
    let written = serde_json::to_vec(&read).expect("a body has no keys that JSON could not write");
    let again: T = serde_json::from_slice(&written).expect("what was written can be read");
    let rewritten = serde_json::to_vec(&again).expect("as above");
    // Numbers that JSON cannot hold exactly may change once, and only once.
    let third: T = serde_json::from_slice(&rewritten).expect("as above");
    assert_eq!(serde_json::to_vec(&third).expect("as above"), rewritten);
}
