//! `/qos`: openconfig-qos. A queue's name is its priority.

use weir_api::daemon::Queue;

use super::field::{families, fields, rows as rows_of, Row};
use super::{Grower, State};

struct PortQueue<'a> {
    state: &'a State,
    queue: &'a Queue,
}

impl PortQueue<'_> {
    fn counter(&self, key: &str) -> Option<u64> {
        self.state
            .counter(&self.queue.port, Some(self.queue.priority), key)
    }

    fn name(&self) -> String {
        self.queue.priority.to_string()
    }
}

families! {
    Ports: Queue;
    Queues: PortQueue<'a>;
}

fields! { INTERFACE_CONFIG of Ports {
    "interface-id" Config: String = |it| Some(it.port.clone()); "`name` of the port."
} }

fields! { INTERFACE_STATE of Ports {
    "interface-id" Applied: String = |it| Some(it.port.clone()); "`name` of the port."
} }

fields! { CONFIG of Queues {
    "name" Config: String = |it| Some(it.name()); "The priority, 0 to 7."
} }

fields! { OUTPUT of Queues {
    "name" Applied: String = |it| Some(it.name()); "The priority, 0 to 7."
    "max-queue-len" Counter: u64 = |it| Some(it.queue.egress_bytes_max); "`egress_bytes_max` of `switchctl queues`."
    "transmit-pkts" Counter: u64 = |it| Some(it.queue.tx_frames_total); "`tx_frames_total`."
    "transmit-octets" Counter: u64 = |it| Some(it.queue.tx_bytes_total); "`tx_bytes_total`."
    "dropped-pkts" Counter: u64 = |it| {
        let storm = it.counter("storm_dropped_total")?;
        Some(storm + it.counter("lifetime_dropped_total")?)
    }; "`storm_dropped_total` and `lifetime_dropped_total` of `switchctl counters`; absent in lossy classes, which drop at the input."
} }

fields! { INPUT of Queues {
    "name" Applied: String = |it| Some(it.name()); "The priority, 0 to 7."
    "max-queue-len" Counter: u64 = |it| Some(it.queue.ingress_bytes_max); "`ingress_bytes_max` of `switchctl queues`: charged to the ingress buffer."
    "dropped-pkts" Counter: u64 = |it| it.counter("headroom_dropped_total"); "`headroom_dropped_total` of `switchctl counters`; absent in lossy classes, whose drops are counted by port and reason."
} }

pub(super) fn rows() -> Vec<Row> {
    [
        rows_of(
            "/qos/interfaces/interface[interface-id]/config",
            INTERFACE_CONFIG,
        ),
        rows_of(
            "/qos/interfaces/interface[interface-id]/state",
            INTERFACE_STATE,
        ),
        rows_of(
            "/qos/interfaces/interface[interface-id]/input/queues/queue[name]/config",
            CONFIG,
        ),
        rows_of(
            "/qos/interfaces/interface[interface-id]/input/queues/queue[name]/state",
            INPUT,
        ),
        rows_of(
            "/qos/interfaces/interface[interface-id]/output/queues/queue[name]/config",
            CONFIG,
        ),
        rows_of(
            "/qos/interfaces/interface[interface-id]/output/queues/queue[name]/state",
            OUTPUT,
        ),
    ]
    .concat()
}

pub(super) fn grow(grower: &mut Grower, state: &State) {
    grower.container("qos", |grower| {
        grower.container("interfaces", |grower| {
            // The API lists the queues of a port consecutively.
            for queues in state.queues.chunk_by(|one, next| one.port == next.port) {
                let Some(first) = queues.first() else {
                    continue;
                };
                grower.entry("interface", &[("interface-id", &first.port)], |grower| {
                    grower.leaves("config", INTERFACE_CONFIG, first);
                    grower.leaves("state", INTERFACE_STATE, first);
                    for (side, fields) in [("input", INPUT), ("output", OUTPUT)] {
                        grower.container(side, |grower| {
                            grower.container("queues", |grower| {
                                for queue in queues {
                                    let of = PortQueue { state, queue };
                                    grower.entry("queue", &[("name", &of.name())], |grower| {
                                        grower.leaves("config", CONFIG, &of);
                                        grower.leaves("state", fields, &of);
                                    });
                                }
                            });
                        });
                    }
                });
            }
        });
    });
}
