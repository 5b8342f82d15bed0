// The tables, and rates from totals.

// For each port the totals of late, to take rates from, and rates of the last minute.
const trace = { totals: [], curves: new Map() };
const RATE_NANOS = 2e9;
const CURVE_NANOS = 60e9;

function rates(view) {
  const now = view.monotonic_nanos;
  const newest = trace.totals.at(-1);
  if (newest && (now < newest.at || view.status.pid !== newest.pid)) {
    trace.totals = [];
    trace.curves.clear();
  }
  if (!newest || now > newest.at) {
    trace.totals.push({ at: now, pid: view.status.pid, ports: new Map(view.ports.map((port) => [port.name, port])) });
  }
  while (trace.totals.length > 2 && now - trace.totals[1].at >= RATE_NANOS) trace.totals.shift();
  const oldest = trace.totals[0], before = trace.totals.at(-2);
  const between = (since, port) => {
    const was = since && since.ports.get(port.name), span = since ? (now - since.at) / 1e9 : 0;
    if (!was || span <= 0) return { inward: 0, outward: 0 };
    return { inward: 8 * (port.rx_bytes_total - was.rx_bytes_total) / span, outward: 8 * (port.tx_bytes_total - was.tx_bytes_total) / span };
  };
  return new Map(view.ports.map((port) => {
    const curve = trace.curves.get(port.name) || [];
    trace.curves.set(port.name, curve);
    if (before && (!curve.length || now > curve.at(-1).at)) curve.push({ at: now, ...between(before, port) });
    while (curve.length && now - curve[0].at > CURVE_NANOS) curve.shift();
    return [port.name, { ...between(oldest, port), curve, now }];
  }));
}

function spark(svg, curve, now, of, line) {
  const points = curve.map((point) => {
    const x = 100 * (1 - (now - point.at) / CURVE_NANOS), y = 19 - 18 * Math.min(1, point[of] / line);
    return x.toFixed(2) + " " + y.toFixed(2);
  });
  const [area, stroke] = svg.children;
  if (points.length < 2) return;
  const first = points[0].split(" ")[0];
  area.setAttribute("d", `M${first} 20L${points.join("L")}L100 20Z`);
  stroke.setAttribute("d", "M" + points.join("L"));
}

function sparkSvg() {
  const svg = shape("svg", { class: "spark", viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(shape("path", { class: "area" }), shape("path", {}));
  return svg;
}

let neighbours = {};
const who = (port) => neighbours[port] || port;

const portRows = new Rows("ports-table", (tr) => {
  const made = cells(tr, ["", "", "", "n", "", "n", "", "wide", "n"]);
  made[4].append(sparkSvg());
  made[6].append(sparkSvg());
  return made;
}, (cell, { port, rate }) => {
  say(cell[0], port.name);
  say(cell[1], neighbours[port.name] || NONE);
  say(cell[2], (port.link_up ? "up" : "DOWN") + ", " + bitRate(port.rate_bits_per_second));
  classIs(cell[2], port.link_up ? "" : "bad");
  say(cell[3], bitRate(rate.inward));
  say(cell[5], bitRate(rate.outward));
  spark(cell[4].firstElementChild, rate.curve, rate.now, "inward", port.rate_bits_per_second);
  spark(cell[6].firstElementChild, rate.curve, rate.now, "outward", port.rate_bits_per_second);
  const dropped = reasons(port.drops_total);
  say(cell[7], dropped);
  classIs(cell[7], dropped === NONE ? "wide" : "wide warn");
  const losses = port.kernel_losses;
  const lost = Math.max(losses.rx_dropped_total, losses.rx_fill_ring_empty_total) + losses.rx_ring_full_total + losses.rx_invalid_descs_total + losses.tx_invalid_descs_total + losses.tx_device_drops_total;
  say(cell[8], count(lost));
  classIs(cell[8], lost ? "n warn" : "n");
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
  xon.style.left = XOFF_PLACE * share(queue.xon_bytes, queue.xoff_bytes) + "%";
  made.setAttribute("aria-label", `Buffer of port ${queue.port}, priority ${queue.priority}`);
  made.setAttribute("aria-valuemax", queue.xoff_bytes + queue.headroom_bytes);
  made.setAttribute("aria-valuenow", Math.min(queue.ingress_bytes, queue.xoff_bytes + queue.headroom_bytes));
  made.setAttribute("aria-valuetext", bytes(queue.ingress_bytes) + (above ? ", in the headroom" : "") + ", xoff at " + bytes(queue.xoff_bytes));
}

const pfcRows = new Rows("pfc", (tr) => {
  const made = cells(tr, ["", "n", "", "n", "n", "n", "n", "", "", "n"]);
  made[2].append(bar());
  return made;
}, (cell, queue, tr) => {
  say(cell[0], queue.port);
  say(cell[1], String(queue.priority));
  fillBar(cell[2].firstElementChild, queue);
  say(cell[3], bytes(queue.ingress_bytes));
  say(cell[4], bytes(queue.xoff_bytes));
  say(cell[5], bytes(queue.xon_bytes));
  const used = queue.telemetry_headroom_used_bytes_max ?? queue.headroom_used_bytes_max;
  say(cell[6], bytes(used) + " of " + bytes(queue.headroom_bytes));
  say(cell[7], queue.pausing ? "◀ pauses " + who(queue.port) : NONE);
  classIs(cell[7], queue.pausing ? "warn" : "");
  const release = queue.release_ingress ? ", release for " + queue.release_ingress : "";
  say(cell[8], queue.paused ? "▶ paused by " + who(queue.port) + (queue.suspected ? ", SUSPECTED" : "") + release : queue.suspected ? "SUSPECTED" + release : NONE);
  classIs(cell[8], queue.suspected ? "bad" : queue.paused ? "warn" : "");
  say(cell[9], seconds(queue.paused_seconds_total));
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

const SERIOUS = new Set(["suspected", "headroom_exceeded", "storm_detected", "link_down", "pfc_mismatch", "pause_stalled", "lifetime_stalled"]);

const eventRows = new Rows("events-table", (tr) => cells(tr, ["n", "", "", "", "n", "wide"]), (cell, event) => {
  say(cell[0], String(event.sequence));
  say(cell[1], event.time.slice(11, 23));
  say(cell[2], words(event.kind));
  classIs(cell[2], SERIOUS.has(event.kind) ? "bad" : "");
  say(cell[3], event.port || NONE);
  say(cell[4], event.priority === undefined ? NONE : String(event.priority));
  say(cell[5], details(event.details));
});

function facts(status, view) {
  const list = byId("facts");
  const rows = [
    ["Up", seconds(status.uptime_seconds)],
    ["Deadlock policy", status.deadlock_policy],
    ["Inside the switch", count(status.held_frames) + " frames"],
    ["Admitted", count(status.admitted_frames_total) + " frames"],
    ["Dropped", reasons(status.drops_total)],
    ["Lost by the kernel", count(status.kernel_losses_total) + " frames"],
    ["Packet memory free", status.umem_frames ? Math.round(100 * status.umem_frames_free / status.umem_frames) + " %" : NONE],
    ["CLCM", `${count(status.clcm.sent_total)} sent, ${count(status.clcm.received_total)} received`],
  ];
  rows.forEach(([name, value], index) => {
    let pair = list.children[index];
    if (!pair) {
      pair = element("div");
      pair.append(element("dt", "", name), element("dd"));
      list.append(pair);
    }
    say(pair.children[1], value);
  });
  say(byId("foot"), `${status.name}, weir-switchd ${status.version}, process ${status.pid}; as of ${view.time.slice(0, 19).replace("T", " ")} UTC. This page is read-only.`);
}

function tables(view) {
  neighbours = view.neighbors;
  const rate = rates(view);
  facts(view.status, view);
  portRows.show(view.ports.map((port) => ({ port, rate: rate.get(port.name) })), ({ port }) => port.name);
  byId("pfc-box").hidden = !view.pfc.length;
  byId("pfc-none").hidden = view.pfc.length > 0;
  pfcRows.show(view.pfc, (queue) => queue.port + " " + queue.priority);
  const levels = view.levels.links.length > 0;
  byId("levels").hidden = byId("levels-link").hidden = !levels;
  linkRows.show(view.levels.links, (link) => link.port + " " + link.priority);
  destinationRows.show(view.levels.destinations, (entry) => entry.destination + " " + entry.priority);
  const more = view.levels.left_out;
  say(byId("destinations-caption"), "Level Table: destinations with buffered frames" + (more ? `; ${count(more)} more not shown` : ""));
  eventRows.show(view.events, (event) => view.status.pid + " " + event.sequence);
}
