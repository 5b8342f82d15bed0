//! `/v1/recordings`: refusals, and the end of a series when its client disconnects.

use weir_dataplane::series::SERIES_MAX;

use crate::support::running::Running;
use crate::support::{begin, request_with, settings, until, FakeDataplane};

const EACH_MILLISECOND: &str = r#"{"every_seconds": 0.001, "duration_seconds": 60}"#;

#[tokio::test]
async fn intervals_and_durations_out_of_range_are_refused() {
    let daemon = Running::start(FakeDataplane::start(), settings()).await;
    for (body, said) in [
        (
            r#"{"every_seconds": 0.0005, "duration_seconds": 1}"#,
            "every_seconds must be 0.001 to 1, not 0.0005",
        ),
        (
            r#"{"every_seconds": 1.5, "duration_seconds": 1}"#,
            "every_seconds must be 0.001 to 1, not 1.5",
        ),
        (
            r#"{"every_seconds": 0.01, "duration_seconds": 0}"#,
            "duration_seconds must be above 0 and at most 3600, not 0",
        ),
        (
            r#"{"every_seconds": 0.01}"#,
            "missing field `duration_seconds`",
        ),
    ] {
        let answer = request_with(&daemon.socket, "POST", "/v1/recordings", body).await;
        assert!(answer.status == 400 || answer.status == 422, "{answer:?}");
        assert!(answer.body.contains(said), "{body}: {}", answer.body);
    }
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_place() {
    let dataplane = FakeDataplane::start();
    let series = std::sync::Arc::clone(&dataplane.series);
    let running = move || series.lock().unwrap().iter().flatten().count();
    let daemon = Running::start(dataplane, settings()).await;
    let mut clients = Vec::new();
    for _ in 0..SERIES_MAX {
        let stream = begin(&daemon.socket, "/v1/recordings", EACH_MILLISECOND).await;
        clients.push(stream);
    }
    until(async || (running() == SERIES_MAX).then_some(())).await;
    let path = "/v1/recordings";
    let refused = request_with(&daemon.socket, "POST", path, EACH_MILLISECOND).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    drop(clients.pop());
    until(async || (running() < SERIES_MAX).then_some(())).await;
    drop(clients);
    until(async || (running() == 0).then_some(())).await;
    daemon.end().await.unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_read_frees_its_place_after_a_timeout() {
    let dataplane = FakeDataplane::start();
    let places = std::sync::Arc::clone(&dataplane.series);
    let daemon = Running::start(dataplane, settings()).await;
    let body = r#"{"every_seconds": 0.001, "duration_seconds": 1}"#;
    let stream = begin(&daemon.socket, "/v1/recordings", body).await;
    let series = until(async || places.lock().unwrap().iter().flatten().next().cloned()).await;
    // More than its sockets can hold, as long as it lasts.
    let mut frames = 0;
    until(async || {
        for _ in 0..1_000 {
            frames += 1;
            series.add(1, |reading| {
                reading.ports[0].drops[0] = frames;
                true
            });
        }
        let running = places.lock().unwrap().iter().flatten().count();
        (running == 0).then_some(())
    })
    .await;
    assert!(series.lost() > 0, "the client could read everything");
    drop(stream);
    daemon.end().await.unwrap();
}
