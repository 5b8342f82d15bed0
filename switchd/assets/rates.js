// Rates from totals: of the last two seconds, and curves of the last minute, which begin with stored rates of the switch.

// For each port recent totals, to compute rates, and rates of the last minute.
const trace = { totals: [], curves: new Map() };
const RATE_NANOS = 2e9;
const CURVE_NANOS = 60e9;
// A curve with a gap this long requests the missed part.
const GAP_NANOS = 5e9;

// Rates between the moments of `past`, the answer of /curves, for curves that lack them.
function remember(past) {
  const at = past.monotonic_nanos;
  for (const [name, passed] of Object.entries(past.ports)) {
    const points = [];
    for (let index = 1; index < at.length; index += 1) {
      const span = (at[index] - at[index - 1]) / 1e9;
      const rate = (totals) => 8 * (totals[index] - totals[index - 1]) / span;
      if (span > 0) points.push({ at: at[index], inward: rate(passed.rx_bytes_total), outward: rate(passed.tx_bytes_total) });
    }
    const newest = points.length ? points.at(-1).at : 0;
    const later = (trace.curves.get(name) || []).filter((point) => point.at > newest);
    trace.curves.set(name, points.concat(later));
  }
}

// True when curves lack what was before `now`.
const isGap = (now) => !trace.totals.length || now - trace.totals.at(-1).at > GAP_NANOS;

function forget() {
  trace.totals = [];
  trace.curves.clear();
}

function rates(view) {
  const now = view.monotonic_nanos;
  const newest = trace.totals.at(-1);
  if (newest && (now < newest.at || view.status.pid !== newest.pid)) forget();
  if (!newest || now > newest.at) {
    trace.totals.push({ at: now, pid: view.status.pid, ports: new Map(view.ports.map((port) => [port.name, port])) });
  }
  while (trace.totals.length > 2 && now - trace.totals[1].at >= RATE_NANOS) trace.totals.shift();
  const oldest = trace.totals[0], before = trace.totals.at(-2);
  const between = (since, port) => {
    const was = since && since.ports.get(port.name), span = since ? (now - since.at) / 1e9 : 0;
    if (!was || span <= 0) return null;
    return { inward: 8 * (port.rx_bytes_total - was.rx_bytes_total) / span, outward: 8 * (port.tx_bytes_total - was.tx_bytes_total) / span };
  };
  return new Map(view.ports.map((port) => {
    const curve = trace.curves.get(port.name) || [];
    trace.curves.set(port.name, curve);
    const step = between(before, port);
    if (step && (!curve.length || now > curve.at(-1).at)) curve.push({ at: now, ...step });
    while (curve.length && now - curve[0].at > CURVE_NANOS) curve.shift();
    // Initially the newest stored rate is better than none.
    return [port.name, { ...(between(oldest, port) || curve.at(-1) || { inward: 0, outward: 0 }), curve, now }];
  }));
}

function spark(svg, curve, now, of, line) {
  const points = curve.map((point) => {
    const x = 100 * (1 - (now - point.at) / CURVE_NANOS), y = 19 - 18 * Math.min(1, point[of] / line);
    return x.toFixed(2) + " " + y.toFixed(2);
  });
  const [area, stroke] = svg.children;
  if (points.length < 2) return;
  const first = points[0].split(" ")[0], last = points.at(-1).split(" ")[0];
  area.setAttribute("d", `M${first} 20L${points.join("L")}L${last} 20Z`);
  stroke.setAttribute("d", "M" + points.join("L"));
}

function sparkSvg() {
  const svg = shape("svg", { class: "spark", viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(shape("path", { class: "area" }), shape("path", {}));
  return svg;
}
