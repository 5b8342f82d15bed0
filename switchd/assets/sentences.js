// Events as sentences: one for each kind of event, made of its fields.

const spanOf = (text) => seconds(parseFloat(text));
const amountOf = (text) => bytes(parseFloat(text));
const countOf = (number, one, many) => `${count(Number(number))} ${Number(number) === 1 ? one : many || one + "s"}`;
const inVlan = (d) => d.vlan === undefined ? "" : `, VLAN ${d.vlan}`;

const NEIGHBOURS = { unknown: "of unknown kind", enhanced: "supporting Levels", regular: "supporting PFC only" };
// Why an egress sends nothing; `port` is the egress.
const REASONS = {
  paused: (port) => `paused by ${who(port)}`,
  release_rule: () => "a release lets only another port's frames out",
  no_eligible_level: (port) => `${who(port)} blocks every queued Level`,
  no_credits: (port) => `${who(port)} gives no credits`,
  transmitter_stuck: () => "the transmitter takes nothing",
};
const becauseOf = (reason, port) => REASONS[reason] ? REASONS[reason](port) : words(reason || "reason unknown");

const SENTENCES = {
  started: () => "The switch began to forward.",
  draining: () => "The switch stops and sends what it holds.",
  reloaded: (d) => `The configuration was read again: ${countOf(d.applied || 0, "change")} in force, ${d.kept || 0} kept for the next restart.`,
  reload_confirmed: () => "The new configuration was confirmed.",
  reload_reverted: (d) => `Nobody confirmed the new configuration: ${countOf(d.reverted || 0, "change")} taken back.`,
  impairment_began: (d) => `Impaired on purpose: ${d.what}.`,
  impairment_ended: (d) => `No longer impaired on purpose: ${d.what}.`,
  restart_failed: (d) => `A restart failed, and what ran before runs again: ${d.why}.`,
  keeper_gone: () => "The keeper has ended. The switch goes on and cannot be restarted in place.",
  listener_taken: (d) => `${d.key}: cannot listen at ${d.address}: ${d.why}.`,
  listener_free: (d) => `${d.key}: listens at ${d.address}.`,
  tokens_refused: (d) => `${d.key}: ${countOf(Number(d.wrong), "wrong token")}, the last from ${d.address}, which is not heard for a minute.`,
  route_changed: (d) => `Changed by request: ${d.changed}.`,
  ecn_changed: (d) => `ECN profile ${d.profile} changed: marks from ${bytes(Number(d.kmin_bytes))} to ${bytes(Number(d.kmax_bytes))}.`,
  events_lost: (d) => `${countOf(d.events, "event")} were lost: the control plane gets too little CPU.`,
  link_up: () => "The link is up.",
  link_down: () => "The link is down.",
  link_suppressed: (d) => `The link went down too often (penalty ${d.penalty}). It counts as down until it has been quiet for ${spanOf(d.reused_after)}.`,
  link_reused: () => "The link has been quiet and is used again.",
  device_gone: () => "The device is gone.",
  device_back: () => "The device is back.",
  device_refused: (d) => `The device cannot be used${d.reason ? ": " + d.reason : ""}. It is tried again.`,
  device_renamed: (d) => `The device has another name now${d.name ? ": " + d.name : ""}.`,
  mtu_too_small: (d) => `The device's MTU is ${d.mtu_bytes} B and the switch's ${d.wanted_bytes} B. Longer frames are lost both ways.`,
  mtu_fits: () => "The device's MTU is large enough again.",
  device_unfit: (d) => `The device ${d.reason}.`,
  device_fits: () => "The device is alone again.",
  frames_missing: (d) => `${d.frames} frames were lost below the switch (${d.kind}).`,
  port_added: () => "The port took its device, by request.",
  port_removed: () => "The port gave up its device, by request.",
  suspected: (d, port) => `Suspected of a deadlock: ${amountOf(d.queued)} waiting, nothing sent for ${spanOf(d.idle)}, ${becauseOf(d.reason, port)}` + (d.alternatives === "true" ? "; another way is open." : "."),
  suspicion_ended: (d) => `No longer suspected, after ${spanOf(d.lasted)}.`,
  unanswered: (d) => `Nothing has answered its CLCM messages for ${spanOf(d.lasted)}.`,
  spuid_assigned: (d) => `Its loop is called ${d.spuid} from now on.`,
  clcm_sent: (d) => `CLCM ${d.spuid} sent.`,
  clcm_received: (d) => `CLCM of ${d.origin} received (${d.phase}, ${countOf(d.hops, "hop")}).`,
  clcm_forwarded: (d) => `CLCM from ${d.ingress} passed on, after ${countOf(d.hops, "hop")}.`,
  clcm_ignored: (d) => `CLCM not passed on: ${words(d.reason || "")}.`,
  loop_found: (d, port) => `Loop of ${countOf(d.switches, "switch", "switches")} found, in by ${d.ingress} and out by ${port}.`,
  master_elected: (d) => `This switch was elected to break the loop of ${countOf(d.switches, "switch", "switches")}.`,
  no_alternative: (d) => `No flow from ${d.ingress} can be moved elsewhere.`,
  release_ordered: (d, port) => `Release ordered: only ${d.ingress} may send by ${port} for ${spanOf(d.preference)}.`,
  release_started: (d, port) => `Release began: only ${d.ingress} sends by ${port}.`,
  release_ended: (d) => `Release ended: ${amountOf(d.released)} of ${d.ingress} left.`,
  traffic_release_ordered: (d) => `${amountOf(d.amount)} of ${d.ingress} are sent in spite of the pause.`,
  traffic_release_ended: (d) => `${amountOf(d.released)} of ${d.ingress} were sent in spite of the pause.`,
  flow_moved: (d, port) => `A flow from ${d.ingress} to ${d.destination} moved from ${port} to ${d.to}.`,
  rerouted: (d) => `Rerouted: ${countOf(d.moved, "flow")} of ${d.ingress} moved, ${d.stuck} could not.`,
  ways_changed: () => "Ports that flows could move to appeared or went.",
  headroom_exceeded: (d, port) => `A lossless frame was dropped: ${who(port)} sent on although paused, and the headroom is full.`,
  pause_stalled: (d, port) => `Paused by ${who(port)} for long: ${amountOf(d.queued)} waiting, nothing sent for ${spanOf(d.idle)}.`,
  pause_stall_ended: () => "The long pause is over.",
  no_storm: (d) => `The long pause is not called a storm: ${words(d.reason || "")}.`,
  storm_detected: (d, port) => `PFC storm: ${who(port)} pauses without end; action: ${words(d.action || "")}.`,
  storm_restored: (d) => `The PFC storm is over after ${spanOf(d.lasted)}: ${countOf(d.dropped, "frame")} dropped, ${d.forwarded} forwarded.`,
  lifetime_stalled: () => "The lifetime limit dropped as many frames in a row as it may.",
  route_too_long: (d) => `The way to ${d.destination} has more links than D: its class needs more Levels.`,
  forwarding_loop: (d) => `Flooded frames come round a loop by ${d.other}${inVlan(d)}: the port floods nothing.`,
  forwarding_loop_ended: (d) => `The loop is over${inVlan(d)}: the port floods again.`,
  loop_behind: (d) => `Probes of this port come back by itself${inVlan(d)}: look behind it for a loop between two ports of one switch, or for a host that sends probes back. Nothing is blocked.`,
  address_moves: (d) => `Address ${d.address} moves between this port and ${d.other}${inVlan(d)}.`,
  learning_table_full: (d) => `Addresses of this port find no room: ${d.learned} of ${d.capacity} are learned. Frames to forgotten ones are flooded.`,
  addresses_forgotten: (d) => `Learned addresses forgotten on request${inVlan(d)}.`,
  transmitter_stalled: () => "The device has completed no transmission for a second: frames for the port are dropped.",
  transmitter_resumed: () => "The device completes transmissions again.",
  dataplane_stalled: (d) => `The switch did nothing for ${spanOf(d.lasted)}: its thread was stopped or had no CPU.`,
  round_trip_exceeded: (d) => `The measured round trip of ${spanOf(d.measured)} is longer than the configured one.`,
  cable_exceeded: (d) => `A round trip of ${spanOf(d.measured)} needs more headroom than the cable's length gives; that is enough for ${spanOf(d.enough_for)}.`,
  cable_fits: (d) => `The cable's headroom is enough again: the last round trip took ${spanOf(d.measured)}.`,
  neighbour_found: (d) => `Neighbour found: ${d.system || d.chassis}, its port ${d.neighbour_port}.`,
  neighbour_lost: (d) => `Neighbour ${d.chassis} is gone: ${words(d.reason || "")}.`,
  neighbour_kind: (d) => `The neighbour is now treated as ${NEIGHBOURS[d.neighbour] || words(d.neighbour || "of another kind")}.`,
  pfc_mismatch: (d) => `The neighbour's PFC differs: ${d.mismatch}.`,
  pfc_mismatch_ended: () => "The neighbour's PFC no longer differs.",
  level_mismatch: (d) => `The neighbour's Levels differ: ${d.mismatch}.`,
  level_mismatch_ended: () => "The neighbour's Levels no longer differ.",
  credit_mismatch: (d) => `The neighbour's credits differ: ${d.mismatch}.`,
  credit_mismatch_ended: () => "The neighbour's credits no longer differ.",
};

// `event` has kind, port and details; one of a newer daemon is shown by its fields.
function sentence(event) {
  const told = event.details || {};
  const known = SENTENCES[event.kind];
  return known ? known(told, event.port) : [words(event.kind), details(told)].filter(Boolean).join(": ");
}

// The action on a suspicion.
function measures(one) {
  const parts = [];
  if (one.loops_found) parts.push("loop found");
  if (one.releases) {
    const times = one.releases === 1 ? "released once" : `released ${one.releases} times`;
    parts.push(times + (one.first_release_seconds == null ? "" : (one.releases === 1 ? " after " : ", first after ") + seconds(one.first_release_seconds)));
  }
  if (one.flows_moved) parts.push(countOf(one.flows_moved, "flow") + " moved");
  if (one.forced_bytes) parts.push(bytes(one.forced_bytes) + " sent in spite of the pause");
  if (one.master) parts.push("led by " + led(one));
  return parts.join(", ") || "nothing";
}

function led(one) {
  if (!one.master) return NONE;
  return one.master.who === "this_switch" ? "this switch" : one.master.spuid;
}
