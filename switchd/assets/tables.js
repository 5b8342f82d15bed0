// The tables.

let neighbours = {};
const who = (port) => neighbours[port] || port;

// A rate and its curve.
function flow() {
  const made = element("div", "flow");
  made.append(element("span"), sparkSvg());
  return made;
}

function fillFlow(cell, rate, of, line) {
  const [text, svg] = cell.firstElementChild.children;
  say(text, bitRate(rate[of]));
  spark(svg, rate.curve, rate.now, of, line);
}

// The share of sent frames that took the express path, or the reason why none does now: the guide has the reasons.
function express(port) {
  const sent = port.tx_frames_total;
  return port.express === "open" && sent > 0 ? `open, ${Math.round(100 * port.express_tx_frames_total / sent)} % of frames` : port.express.replaceAll("_", " ");
}

const portRows = new Rows("ports-table", (tr) => {
  const made = cells(tr, ["", "", "", "", "", "wide", "n", ""]);
  made[3].append(flow());
  made[4].append(flow());
  return made;
}, (cell, { port, rate }) => {
  say(cell[0], port.name);
  say(cell[1], neighbours[port.name] || NONE);
  say(cell[2], (port.link_up ? "up" : "DOWN") + ", " + bitRate(port.rate_bits_per_second));
  classIs(cell[2], port.link_up ? "" : "bad");
  fillFlow(cell[3], rate, "inward", port.rate_bits_per_second);
  fillFlow(cell[4], rate, "outward", port.rate_bits_per_second);
  const dropped = reasons(port.drops_total);
  say(cell[5], dropped);
  classIs(cell[5], dropped === NONE ? "wide" : "wide warn");
  const losses = port.kernel_losses;
  // A frame that found the fill ring empty is among those that were dropped on receipt.
  const lost = Object.values(losses).reduce((sum, count) => sum + count, 0) - Math.min(losses.rx_dropped_total, losses.rx_fill_ring_empty_total);
  say(cell[6], count(lost));
  classIs(cell[6], lost ? "n warn" : "n");
  say(cell[7], express(port));
  cell[7].hidden = byId("express-head").hidden;
});

// Where a bar's left part ends, which is xoff.
const XOFF_PLACE = 60;

function bar() {
  const made = element("div", "bar");
  made.setAttribute("role", "meter");
  made.setAttribute("aria-valuemin", "0");
  for (const part of ["zone", "fill", "over", "xon", "xoff"]) made.append(element("span", part));
  return made;
}

function fillBar(made, queue) {
  const [, fill, over, xon] = made.children;
  const share = (part, whole) => whole > 0 ? Math.min(1, part / whole) : 0;
  const above = Math.max(0, queue.ingress_bytes - queue.xoff_bytes);
  fill.style.width = XOFF_PLACE * share(queue.ingress_bytes, queue.xoff_bytes) + "%";
  over.style.width = (100 - XOFF_PLACE) * share(above, queue.headroom_bytes) + "%";
  // As wide as the bar, with its left edge as the mark.
  xon.style.transform = `translateX(${XOFF_PLACE * share(queue.xon_bytes, queue.xoff_bytes)}%)`;
  made.setAttribute("aria-label", `Buffer of port ${queue.port}, priority ${queue.priority}`);
  made.setAttribute("aria-valuemax", queue.xoff_bytes + queue.headroom_bytes);
  made.setAttribute("aria-valuenow", Math.min(queue.ingress_bytes, queue.xoff_bytes + queue.headroom_bytes));
  made.setAttribute("aria-valuetext", bytes(queue.ingress_bytes) + (above ? ", in the headroom" : "") + ", xoff at " + bytes(queue.xoff_bytes));
}

// Two amounts, with one unit if both have the same.
function pair(first, second) {
  const [value, unit] = first.split(" ");
  return (second.endsWith(" " + unit) ? value : first) + " / " + second;
}

// Pauses by a queue's port and pauses of it: two lines, each with its colour.
function pausesOf(queue) {
  const first = [queue.pausing ? "◀ pauses " + who(queue.port) : "", queue.release_ingress ? "release for " + queue.release_ingress : ""];
  const second = [queue.paused ? "▶ paused by " + who(queue.port) : "", queue.suspected ? "SUSPECTED" : ""];
  const [above, below] = [first, second].map((parts) => parts.filter(Boolean).join(", "));
  if (!above && !below) return [[NONE, "dim"], ["", ""]];
  // If the neighbour's pause is the only one, it has both lines.
  if (!above) return second.map((part) => [part, queue.suspected ? "suspected" : "paused"]);
  return [[above, queue.release_ingress ? "release" : "pausing"], [below, queue.suspected ? "suspected" : "paused"]];
}

const pfcRows = new Rows("pfc", (tr) => {
  const made = cells(tr, ["", "n", "", "n", "n", "n", "told", "n"]);
  made[2].append(bar());
  made[6].append(element("span"), element("span"));
  return made;
}, (cell, queue, tr) => {
  say(cell[0], queue.port);
  say(cell[1], String(queue.priority));
  fillBar(cell[2].firstElementChild, queue);
  say(cell[3], bytes(queue.ingress_bytes));
  say(cell[4], pair(bytes(queue.xoff_bytes), bytes(queue.xon_bytes)));
  const used = queue.telemetry_headroom_used_bytes_max ?? queue.headroom_used_bytes_max;
  say(cell[5], bytes(used) + " of " + bytes(queue.headroom_bytes));
  pausesOf(queue).forEach(([text, name], index) => {
    const told = cell[6].children[index];
    say(told, text);
    if (told.title !== text) told.title = text;
    classIs(told, text ? name : "");
  });
  say(cell[7], seconds(queue.paused_seconds_total));
  classIs(tr, queue.suspected ? "suspected" : "");
});

function told(feedback, depth) {
  if (feedback === 0) return "0, all";
  return feedback === depth ? feedback + ", none" : `${feedback}, Level ${feedback} and above`;
}

const linkRows = new Rows("links", (tr) => cells(tr, ["", "n", "", "n", "", "", "n", "n"]), (cell, link) => {
  say(cell[0], link.port);
  say(cell[1], String(link.priority));
  say(cell[2], link.class);
  say(cell[3], String(link.depth));
  say(cell[4], told(link.feedback_sent, link.depth));
  classIs(cell[4], link.feedback_sent ? "warn" : "");
  say(cell[5], told(link.feedback_received, link.depth) + (link.paused ? ", and paused by PFC" : ""));
  classIs(cell[5], link.feedback_received || link.paused ? "warn" : "");
  say(cell[6], bytes(link.eligible_bytes) + " in " + link.eligible_frames + " frames");
  say(cell[7], bytes(link.held_bytes) + " in " + link.held_frames + " frames");
});

const destinationRows = new Rows("destinations", (tr) => cells(tr, ["", "n", "", "n", "n"]), (cell, entry) => {
  say(cell[0], entry.destination);
  say(cell[1], String(entry.priority));
  say(cell[2], entry.class);
  say(cell[3], String(entry.level));
  say(cell[4], bytes(entry.buffered_bytes));
});

const SERIOUS = new Set(["suspected", "headroom_exceeded", "storm_detected", "link_down", "link_suppressed", "device_gone", "mtu_too_small", "device_unfit", "frames_missing", "forwarding_loop", "pfc_mismatch", "pause_stalled", "lifetime_stalled"]);

const eventRows = new Slots("events-table", (tr) => cells(tr, ["", "", "wide"]), (cell, event) => {
  say(cell[0], event.time.slice(11, 23));
  const where = [event.port, event.priority === undefined ? "" : "priority " + event.priority];
  say(cell[1], where.filter(Boolean).join(", ") || NONE);
  say(cell[2], sentence(event));
  classIs(cell[2], SERIOUS.has(event.kind) ? "wide bad" : "wide");
});

const picture = new Picture();

function tables(view) {
  neighbours = view.neighbors;
  const rate = rates(view);
  showVerdict(view);
  const ports = finder.ports(view);
  picture.show(view, rate, ports);
  byId("express-head").hidden = view.ports.every((port) => port.express === "off");
  portRows.show(ports.map((port) => ({ port, rate: rate.get(port.name) })), ({ port }) => port.name);
  byId("pfc-box").hidden = !view.pfc.length;
  byId("pfc-none").hidden = view.pfc.length > 0;
  pfcRows.show(finder.of(view.pfc, ports), (queue) => queue.port + " " + queue.priority);
  const levels = view.levels.links.length > 0;
  byId("levels").hidden = byId("levels-link").hidden = !levels;
  linkRows.show(view.levels.links, (link) => link.port + " " + link.priority);
  destinationRows.show(view.levels.destinations, (entry) => entry.destination + " " + entry.priority);
  const more = view.levels.left_out;
  say(byId("destinations-caption"), "Level Table: destinations with buffered frames" + (more ? `; ${count(more)} more not shown` : ""));
  eventRows.show(view.events, (event) => view.status.pid + " " + event.sequence);
}
