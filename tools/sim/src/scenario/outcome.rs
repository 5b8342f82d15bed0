//! Converts a network's counters to the parts of a result; `weir_results::assemble` adds the verdict.

use std::collections::BTreeMap;

use weir_api::describe::{self, Described};
use weir_api::run::{BufferResult, FlowResult, RunEvent, RunResult, Series, Simulated};
use weir_api::words::Runner;
use weir_config::scenario::{PortPeer, Scenario, SwitchPort};
use weir_core::counters::DropReason;
use weir_core::{Duration, Instant, PortId, Priority};
use weir_results::assemble::{assemble, run_event, Parts};

use super::ideal;
use crate::network::{Counters, LogEntry, LogKind, Network, Totals};

/// Deliveries of each flow and pauses of neighbours at the end of traffic: the drain after it does not count.
pub(crate) struct Delivered {
    /// By flow: bytes in the whole run and in its last part.
    bytes: Vec<[u64; 2]>,
    /// By buffer, in the order of [`places`]: total pause of the neighbour.
    pauses: Vec<Duration>,
}

impl Delivered {
    pub(crate) fn of(scenario: &Scenario, network: &Network) -> Self {
        let flows = network.flows().iter();
        let bytes = flows.map(|flow| [flow.received_bytes, flow.received_bytes_last_part]);
        let total = |(switch, _, port, priority): Place| {
            let gauges = network.switch(switch).gauges(network.now(), port, priority);
            gauges.pauses_sent.total
        };
        Self {
            bytes: bytes.collect(),
            pauses: places(scenario, &scenario.all_ports()).map(total).collect(),
        }
    }
}

type Place = (usize, usize, PortId, Priority);

/// Returns all buffers, by switch, port and priority of a class.
fn places<'a>(
    scenario: &'a Scenario,
    ports: &'a [Vec<SwitchPort>],
) -> impl Iterator<Item = Place> + 'a {
    let priorities = || {
        let classes = scenario.classes.iter();
        classes.flat_map(|class| class.priorities.iter().copied())
    };
    ports.iter().enumerate().flat_map(move |(switch, ports)| {
        let ids = (0..ports.len()).filter_map(|place| Some((place, PortId::from_index(place)?)));
        ids.flat_map(move |(place, port)| {
            priorities().map(move |priority| (switch, place, port, priority))
        })
    })
}

pub(crate) fn outcome(scenario: &Scenario, network: &Network, delivered: &Delivered) -> RunResult {
    let counters = network.counters();
    let ports = scenario.all_ports();
    let held = (0..scenario.switches.len())
        .map(|switch| network.switch(switch).held_frames() as u64)
        .sum();
    assemble(
        scenario,
        Parts {
            runner: Runner::Sim,
            held_frames: held,
            flows: flows(scenario, &ports, network, delivered),
            applications: Vec::new(),
            buffers: buffers(scenario, &ports, network, delivered),
            drops: drops(&counters, network.totals()),
            events: events(scenario, &ports, network),
            series: series(scenario, &ports, network),
            control_frames: counters.pfc_sent + counters.clcm_sent,
            simulated: Some(Simulated {
                frame_hops: network.totals().frame_hops,
                events: network.totals().events,
            }),
        },
    )
}

fn flows(
    scenario: &Scenario,
    ports: &[Vec<SwitchPort>],
    network: &Network,
    delivered: &Delivered,
) -> Vec<FlowResult> {
    let end = Instant::ZERO + scenario.duration;
    let seconds = scenario.duration.as_secs_f64();
    let third = scenario.duration.divided_by(3);
    let last_third = scenario.duration.as_nanos() - (third + third).as_nanos();
    let last_third = Duration::from_nanos(last_third).as_secs_f64();
    let inside = network.inside_by_flow();
    let flows = scenario.flows.iter().zip(network.flows()).enumerate();
    flows
        .map(|(index, (flow, state))| {
            let missing = state.sent - state.received;
            let [bytes, last_part] = delivered.bytes[index];
            let took = state.completion();
            let ideal = took.and_then(|_| {
                let way = ideal::way(scenario, ports, network.plan(), state.plan())?;
                ideal::completion(state.plan(), &way)
            });
            let has_begun = flow.after.is_empty() || state.first_sent.is_some();
            let began = state.plan().start.saturating_since(Instant::ZERO);
            let began = state.plan().size.filter(|_| has_begun).map(|_| began);
            FlowResult {
                name: flow.name.clone(),
                sent: state.sent,
                received: state.received,
                in_flight: inside[index],
                lost: missing - inside[index],
                reordered: state.reordered,
                corrupted: 0,
                duplicated: 0,
                bits_per_second: bytes as f64 * 8.0 / seconds,
                bits_per_second_last_third: last_part as f64 * 8.0 / last_third,
                longest_stall_seconds: state.longest_stall(end).as_secs_f64(),
                size_bytes: state.plan().size.map(|size| size.get()),
                completion_seconds: took.map(Duration::as_secs_f64),
                ideal_seconds: ideal.map(Duration::as_secs_f64),
                slowdown: took.zip(ideal).map(|(took, ideal)| quotient(took, ideal)),
                began_seconds: began.map(Duration::as_secs_f64),
            }
        })
        .collect()
}

/// Exactly one for equal times.
fn quotient(took: Duration, ideal: Duration) -> f64 {
    took.as_nanos() as f64 / ideal.as_nanos().max(1) as f64
}

fn buffers(
    scenario: &Scenario,
    ports: &[Vec<SwitchPort>],
    network: &Network,
    delivered: &Delivered,
) -> Vec<BufferResult> {
    let all = places(scenario, ports).zip(&delivered.pauses);
    let buffer = |((index, place, id, priority), pause): (Place, &Duration)| {
        let switch = network.switch(index);
        let gauges = switch.gauges(network.now(), id, priority);
        let counters = &switch.counters(id).priority[priority.index()];
        // They receive Feedback, some of which has the form of a pause.
        let has_levels = gauges.levels.is_some();
        let (ended, last) = (counters.xon_sent, u64::from(gauges.pausing));
        BufferResult {
            switch: scenario.switches[index].clone(),
            port: scenario.peer_name(ports[index][place].peer).to_owned(),
            priority: priority.get(),
            ingress_bytes_max: gauges.ingress_max.get(),
            egress_bytes_max: gauges.egress_max.get(),
            pauses: if has_levels { 0 } else { ended + last },
            xoff_sent: if has_levels { 0 } else { counters.xoff_sent },
            pauses_lost: 0,
            pause_nanos: if has_levels { 0 } else { pause.as_nanos() },
        }
    };
    all.map(buffer).collect()
}

fn drops(counters: &Counters, totals: &Totals) -> BTreeMap<String, u64> {
    let by_reason = DropReason::ALL
        .into_iter()
        .map(|reason| (reason.name(), counters.drops[reason.index()]));
    let others = [
        ("lost_on_links", totals.lost_on_lines),
        ("lost_in_restarts", totals.lost_in_restarts),
        ("lost_while_frozen", totals.lost_at_doors),
    ];
    by_reason
        .chain(others)
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| (reason.to_owned(), count))
        .collect()
}

fn events(scenario: &Scenario, ports: &[Vec<SwitchPort>], network: &Network) -> Vec<RunEvent> {
    let entries = network.log().iter();
    entries
        .map(|entry| {
            let switch = &scenario.switches[entry.switch as usize];
            run_event(switch, Instant::ZERO, described(scenario, ports, entry))
        })
        .collect()
}

/// Describes an entry of the log in terms of the API.
pub(super) fn described(
    scenario: &Scenario,
    ports: &[Vec<SwitchPort>],
    entry: &LogEntry,
) -> Described {
    let ports = &ports[entry.switch as usize];
    let port_name = |port: PortId| {
        let peer = ports.get(port.index()).map(|port| port.peer);
        peer.map_or(String::new(), |peer| scenario.peer_name(peer).to_owned())
    };
    match &entry.kind {
        LogKind::Event(event) => describe::event(&port_name, event),
        LogKind::Report(report) => describe::report(&port_name, report),
    }
}

fn series(scenario: &Scenario, ports: &[Vec<SwitchPort>], network: &Network) -> Series {
    let Some(samples) = network.samples() else {
        return Series::default();
    };
    let interval_seconds = samples.interval().as_secs_f64();
    let bins = scenario
        .duration
        .as_nanos()
        .div_ceil(samples.interval().as_nanos().max(1)) as usize;
    let rate = |bytes: &u64| *bytes as f64 * 8.0 / interval_seconds;
    let rates = |bytes: &[u64]| {
        let mut rates: Vec<f64> = bytes.iter().take(bins).map(rate).collect();
        rates.resize(bins, 0.0);
        rates
    };
    let throughput = match samples.sums() {
        None => {
            let flows = scenario.flows.iter().zip(network.flows());
            flows
                .map(|(flow, state)| (flow.name.clone(), rates(&state.series)))
                .collect()
        }
        Some(sums) => BTreeMap::from([
            (
                Series::BETWEEN_SWITCHES.to_owned(),
                rates(&sums.between_switches),
            ),
            (Series::AT_ONE_SWITCH.to_owned(), rates(&sums.at_one_switch)),
        ]),
    };
    let mut occupancy = BTreeMap::new();
    for curve in samples.curves() {
        let switch = curve.switch as usize;
        let peer = ports[switch][curve.port.index()].peer;
        if let PortPeer::Switch(_) = peer {
            let name = scenario.peer_name(peer);
            let key = format!("{}:{name}:{}", scenario.switches[switch], curve.priority);
            occupancy.insert(key, curve.ingress.first(bins));
        }
    }
    Series {
        interval_seconds,
        throughput,
        occupancy,
    }
}
