// Suspicions of all switches on one axis of time.

const signed = (at) => at === 0 ? "0" : (at < 0 ? "−" : "+") + seconds(Math.abs(at));

// The next round number.
function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((round) => round >= value * 0.9999);
}

const clock = (time) => time.slice(11, 23);

function lanesInWords(view, incident) {
  const lanes = incident.lanes.map((lane) => `${view.switches[lane.switch].name} port ${lane.port} ${signed(lane.from_seconds)} ±${seconds(lane.uncertainty_seconds)}, ${lane.lasts ? "lasts" : "for " + seconds(lane.to_seconds - lane.from_seconds)}`);
  return `Since ${clock(incident.began_time)} UTC: ` + lanes.join("; ");
}

// Draws an incident into `svg`. `early` shows only the beginning: milliseconds distinguish the first switch.
function drawLanes(svg, view, incident, early) {
  const width = Math.max(260, Math.round(svg.parentElement.clientWidth) - 4);
  const left = Math.min(170, width * 0.34), right = 12, laneHeight = 18, top = 4;
  const starts = incident.lanes.map((lane) => lane.from_seconds);
  const last = Math.max(...starts, 0);
  const whole = Math.max(incident.lasted_seconds, 1e-3);
  const to = early ? Math.max(last * 1.4, whole * 0.02, 2e-3) : whole * 1.02;
  const idle = Math.min(...incident.lanes.map((lane) => lane.idle_from_seconds), 0);
  const from = Math.max(idle, early ? -to * 0.5 : -to * 0.3);
  const x = (at) => left + (width - left - right) * (Math.min(Math.max(at, from), to) - from) / (to - from);
  const parts = [];
  const add = (name, attributes, text) => {
    const made = shape(name, attributes, text);
    parts.push(made);
    return made;
  };
  const bottom = top + incident.lanes.length * laneHeight;
  const step = nice((to - from) / (width < 520 ? 3 : 6));
  for (let tick = Math.ceil(from / step); tick * step <= to; tick += 1) {
    const at = x(tick * step).toFixed(1);
    add("path", { class: "grid", d: `M${at} ${top}V${bottom}` });
    add("text", { x: at, y: bottom + 14, "text-anchor": "middle" }, tick === 0 ? "0" : String(+(tick * step).toPrecision(6)).replace("-", "−"));
  }
  add("text", { x: left - 6, y: bottom + 14, "text-anchor": "end" }, "s since " + incident.began_time.slice(11, 19));
  incident.lanes.forEach((lane, index) => {
    const y = top + index * laneHeight, middle = y + laneHeight / 2;
    const name = `${view.switches[lane.switch].name} ▸ ${lane.port}` + (lane.priority === 3 ? "" : ` p${lane.priority}`);
    const most = Math.floor(left / 6.6);
    add("text", { class: "label", x: left - 6, y: middle + 4, "text-anchor": "end" }, name.length > most ? name.slice(0, most - 1) + "…" : name);
    add("path", { class: "idle", d: `M${x(lane.idle_from_seconds).toFixed(1)} ${middle}H${x(lane.from_seconds).toFixed(1)}` });
    const start = x(lane.from_seconds), end = x(lane.to_seconds);
    const bar = add("rect", { class: lane.lasts ? "suspected" : "suspected over", x: start.toFixed(1), y: y + 4, width: Math.max(2, end - start).toFixed(1), height: laneHeight - 8 });
    bar.append(shape("title", {}, `${view.switches[lane.switch].name}, port ${lane.port}, priority ${lane.priority}: suspected ${signed(lane.from_seconds)} (±${seconds(lane.uncertainty_seconds)}), ` +
      (lane.lasts ? "lasts" : lane.end_unknown ? "its end was not seen" : "for " + seconds(lane.to_seconds - lane.from_seconds)) + (lane.loops_found ? `, ${lane.loops_found} loops found` : "")));
    if (lane.released_seconds !== null && lane.released_seconds <= to) add("rect", { class: "release", x: (x(lane.released_seconds) - 1.5).toFixed(1), y: y + 2, width: 3, height: laneHeight - 4 });
    const low = x(lane.from_seconds - lane.uncertainty_seconds), high = x(lane.from_seconds + lane.uncertainty_seconds);
    if (high - low >= 2) add("path", { class: "bound", d: `M${low.toFixed(1)} ${middle - 4}v8M${low.toFixed(1)} ${middle}H${high.toFixed(1)}M${high.toFixed(1)} ${middle - 4}v8` });
  });
  svg.setAttribute("viewBox", `0 0 ${width} ${bottom + 22}`);
  svg.setAttribute("height", bottom + 22);
  svg.replaceChildren(...parts);
}
