//! `/v1/ports` of a daemon whose devices do not exist: ports release devices and wait for others.

use crate::support::running::Running;
use crate::support::{get, port, put, settings, until, FakeDataplane};
use weir_api::daemon::Port;
use weir_core::Command;
use weir_switchd::daemon::Ended;

#[tokio::test]
async fn a_port_gives_its_device_up_and_waits_for_one() {
    let daemon = Running::start(FakeDataplane::start(), settings()).await;
    let change = async |name: &str, body: &str| {
        put(&daemon.socket, &format!("/v1/ports/{name}"), body).await
    };
    for (device, reason) in [
        (false, "removed by an operator"),
        (false, "removed by an operator"),
        (true, "device is gone"),
        (true, "device is gone"),
        (false, "removed by an operator"),
    ] {
        let answer = change("p1", &format!(r#"{{"device": {device}}}"#)).await;
        let changed: Port = answer.json();
        assert_eq!(changed.device_gone_reason.as_deref(), Some(reason));
        assert!(changed.device_gone && !changed.link_up, "{changed:?}");
    }
    let expected = [
        Command::SetLink {
            port: port(1),
            up: false,
        },
        Command::DeviceGone { port: port(1) },
    ];
    until(async || (daemon.remote.commands() == expected).then_some(())).await;
    let ports: Vec<Port> = get(&daemon.socket, "/v1/ports").await.json();
    let gone = ports.iter().map(|port| port.device_gone);
    assert_eq!(gone.collect::<Vec<_>>(), [false, true, false]);

    let answer = change("p9", r#"{"device": true}"#).await;
    assert_eq!(answer.status, 404);
    assert!(
        answer.body.contains("no such port: `p9`"),
        "{}",
        answer.body
    );
    for body in ["{}", r#"{"device": 1}"#, r#"{"device": true, "name": 1}"#] {
        assert_eq!(change("p1", body).await.status, 400, "{body}");
    }
    let commands = daemon.remote.commands();
    assert_eq!(commands, expected, "once, however often it is asked for");
    assert_eq!(daemon.end().await.unwrap(), Ended::Cleanly);
}
