//! The link monitor against a real kernel, in a network namespace that lives as long as its thread.

use std::process::Command as Process;
use std::sync::Arc;

use crate::support::{attached, info, port, settings, until, FakeDataplane, FakeXdp};
use nix::errno::Errno;
use nix::sched::{unshare, CloneFlags};
use weir_core::Command;
use weir_switchd::control;
use weir_switchd::control::devices::link_monitor::LinkMonitor;
use weir_switchd::daemon::RunningDataplane;

/// The loopback device, which is down in a new namespace.
const LOOPBACK: u32 = 1;

/// Needs CAP_SYS_ADMIN for the namespace.
#[test]
fn changes_reach_the_event_log_and_the_dataplane() {
    match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => {}
        Err(Errno::EPERM) => {
            eprintln!("skipped: may not make a network namespace");
            return;
        }
        Err(error) => panic!("{error}"),
    }
    // A single thread: the process's other threads are in another namespace.
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(follow_the_loopback_device());
}

async fn follow_the_loopback_device() {
    let fake = FakeDataplane::start();
    let remote = fake.remote();
    let mut watched = info();
    watched.ports[1].device = "lo".to_owned();
    watched.ports[1].attached = attached(LOOPBACK).into();
    let control = control::start(
        watched,
        &settings(),
        fake.link().unwrap(),
        Box::new(FakeXdp),
    )
    .unwrap();
    let shared = Arc::clone(&control.shared);
    let monitor = tokio::spawn(LinkMonitor::new().unwrap().run(Arc::clone(&shared)));
    let expect = async |count: usize, up: bool| {
        let sent = until(async || {
            let commands = remote.commands();
            (commands.len() >= count).then_some(commands)
        })
        .await;
        let last = Command::SetLink { port: port(1), up };
        assert_eq!((sent.len(), sent.last()), (count, Some(&last)));
        assert_eq!(shared.links.link_up(port(1)), up);
    };
    expect(1, false).await;
    set_loopback("up");
    expect(2, true).await;
    set_loopback("down");
    expect(3, false).await;
    let kinds: Vec<String> = shared
        .records
        .events
        .page(0)
        .events
        .into_iter()
        .filter(|event| event.port.as_deref() == Some("p1"))
        .map(|event| event.kind.to_string())
        .collect();
    assert_eq!(kinds, ["link_down", "link_up", "link_down"]);
    assert!(shared.links.link_up(port(0)), "a port of another device");
    control.stop();
    monitor.await.unwrap().unwrap();
}

fn set_loopback(state: &str) {
    let status = Process::new("ip")
        .args(["link", "set", "dev", "lo", state])
        .status()
        .unwrap();
    assert!(status.success());
}
