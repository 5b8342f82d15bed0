//! A test's switch: end, restart, state, and `switchctl`.

use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use weir_api::daemon::{Event, EventPage, Pfc, Port};
use weir_lab::lab::process::program;
use weir_lab::lab::switches::SwitchProcess;

use super::{until, LOSSLESS};

/// Ends it normally.
pub fn end(switch: &mut SwitchProcess) {
    switch
        .end_process()
        .unwrap_or_else(|error| panic!("{error:#}"));
}

/// Kills it, and waits for its end.
pub fn kill(switch: &mut SwitchProcess) {
    switch.process().unwrap().signal(Signal::SIGKILL);
    until("it is dead", || switch.check().is_err().then_some(()));
}

/// Starts it again, and waits until it forwards.
pub fn start(switch: &mut SwitchProcess) {
    switch.start_process().unwrap();
    switch.ready().unwrap_or_else(|error| panic!("{error:#}"));
}

/// Returns the events of this kind that it still has, oldest first.
pub fn events(switch: &SwitchProcess, kind: &str) -> Vec<Event> {
    let page: EventPage = switch.get("/v1/events?after=0").unwrap();
    let events = page.events.into_iter();
    events.filter(|event| event.kind == kind).collect()
}

/// Returns its state of a port.
pub fn port(switch: &SwitchProcess, name: &str) -> Port {
    let ports: Vec<Port> = switch.get("/v1/ports").unwrap();
    ports.into_iter().find(|port| port.name == name).unwrap()
}

/// Returns its state of the lossless priority at a port.
pub fn pfc(switch: &SwitchProcess, name: &str) -> Pfc {
    let all: Vec<Pfc> = switch.get("/v1/pfc").unwrap();
    let mut all = all.into_iter();
    all.find(|pfc| pfc.port == name && pfc.priority == LOSSLESS)
        .unwrap()
}

/// Returns a `switchctl` command for the daemon at `socket`; append arguments.
pub fn switchctl(socket: &Path) -> Command {
    let mut command = Command::new(program("switchctl").unwrap());
    command.arg("--socket").arg(socket);
    command
}
