//! `/system`: openconfig-system. The system is the switch, not the host that it runs on.

use super::field::{families, fields, rows as rows_of, Nanos, Row};
use super::{Grower, State};

families! {
    Switch: State;
}

const PROGRAM: &str = "weir-switchd";

impl State {
    fn began_unix_nanos(&self) -> Option<u64> {
        let lasted = (self.status.uptime_seconds * 1e9) as i64;
        u64::try_from(self.taken_unix_nanos - lasted).ok()
    }
}

fields! { CONFIG of Switch {
    "hostname" Config: String = |it| Some(it.status.name.clone()); "`name` of the configuration: the switch's, not the host's."
} }

fields! { STATE of Switch {
    "hostname" Applied: String = |it| Some(it.status.name.clone()); "`name` of `switchctl status`: the switch's, not the host's."
    "software-version" Applied: String = |it| Some(it.status.version.clone()); "`version`."
    "up-time" Counter: Nanos = |it| Some(Nanos(it.status.uptime_seconds)); "`uptime_seconds` of the switch."
    "boot-time" Counter: u64 = |it| it.began_unix_nanos(); "When the switch began to forward, in nanoseconds since 1970: the time of the answer less `uptime_seconds`."
} }

fields! { PROCESS of Switch {
    "pid" Applied: u64 = |it| Some(it.status.pid.into()); "`pid` of `switchctl status`."
    "name" Applied: &'static str = |_| Some(PROGRAM); "Always `weir-switchd`."
} }

pub(super) fn rows() -> Vec<Row> {
    [
        rows_of("/system/config", CONFIG),
        rows_of("/system/state", STATE),
        rows_of("/system/processes/process[pid]/state", PROCESS),
    ]
    .concat()
}

pub(super) fn grow(grower: &mut Grower, state: &State) {
    grower.container("system", |grower| {
        grower.leaves("config", CONFIG, state);
        grower.leaves("state", STATE, state);
        grower.container("processes", |grower| {
            let pid = state.status.pid.to_string();
            grower.entry("process", &[("pid", &pid)], |grower| {
                grower.leaves("state", PROCESS, state);
            });
        });
    });
}
