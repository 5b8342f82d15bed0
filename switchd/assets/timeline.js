// The time line of one suspicion: a curve, lanes of what held, marks of what happened, and the steps as text.

const LANE_WORDS = { suspected: "suspected", paused: "neighbour pauses,", pausing: "we pause,", release: "release," };
// What is a step when it happens first, in words.
const STEPS = {
  suspected: "suspected",
  clcm_sent: "first CLCM sent",
  clcm_received: "first CLCM from another switch",
  master_elected: "master elected",
  loop_found: "loop found",
  release_started: "release begins",
  traffic_release_started: "traffic release begins",
  flow_moved: "first flow moved",
  rerouted: "rerouted",
  release_ended: "release ends",
  traffic_release_ended: "traffic release ends",
  storm_detected: "declared a storm",
  suspicion_ended: "cleared",
};

// The next round number.
function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((round) => round >= value * 0.9999);
}

const signed = (at) => at === 0 ? "0" : (at < 0 ? "−" : "+") + seconds(Math.abs(at));

function stepsOf(line) {
  const deadlock = line.deadlock;
  const seen = new Set();
  const steps = [];
  for (const mark of line.marks) {
    const own = !mark.port || mark.port === deadlock.port || mark.kind.startsWith("clcm_") || mark.kind === "master_elected";
    if (!STEPS[mark.kind] || seen.has(mark.kind) || !own || mark.seconds < -1e-4) continue;
    seen.add(mark.kind);
    const from = mark.kind === "release_started" && mark.details?.ingress ? " for " + mark.details.ingress : "";
    const to = mark.kind === "flow_moved" && mark.details?.to ? " to " + mark.details.to : "";
    steps.push([signed(Math.max(mark.seconds, 0)), STEPS[mark.kind] + from + to]);
  }
  steps.unshift(["−" + seconds(deadlock.idle_seconds), "last frame sent by " + deadlock.port]);
  if (deadlock.lasted_seconds === null || deadlock.lasted_seconds === undefined) {
    steps.push(["now", "suspected for " + seconds(Math.max(line.to_seconds, 0)) + ", ongoing"]);
  }
  return steps;
}

function led(deadlock) {
  if (!deadlock.master) return NONE;
  return deadlock.master.who === "this_switch" ? "this switch" : deadlock.master.spuid;
}

function summary(line) {
  const deadlock = line.deadlock;
  const parts = [
    deadlock.lasted_seconds == null ? "ongoing" : "lasted " + seconds(deadlock.lasted_seconds),
    bytes(deadlock.queued_bytes) + " queued",
    deadlock.releases + (deadlock.releases === 1 ? " release" : " releases"),
  ];
  if (deadlock.released_bytes) parts.push(bytes(deadlock.released_bytes) + " sent during releases");
  if (deadlock.flows_moved) parts.push(deadlock.flows_moved + " flows moved");
  if (line.lanes_left_out) parts.push(line.lanes_left_out + " short lanes omitted");
  return parts.join(" · ");
}

// Draws into `svg`, `width` units wide.
function draw(svg, line, width) {
  const left = Math.min(150, width * 0.32), right = 8, panel = 96, laneHeight = 17;
  // What was long before has little to do with it.
  const from = Math.max(line.from_seconds, -3 * line.deadlock.idle_seconds - 0.2), to = Math.max(line.to_seconds, from + 1e-3);
  const x = (at) => left + (width - left - right) * (at - from) / (to - from);
  const parts = [];
  const add = (name, attributes, text) => parts.push(shape(name, attributes, text));
  const ended = line.deadlock.lasted_seconds ?? to;
  let y = 18;

  // Legend and curves.
  add("path", { class: "waiting", d: `M${left} 7h18` });
  add("text", { class: "label", x: left + 23, y: 11 }, "queued for " + line.deadlock.port);
  const second = left + 40 + 6.4 * ("queued for " + line.deadlock.port).length;
  add("path", { class: "buffered", d: `M${second} 7h18` });
  add("text", { class: "label", x: second + 23, y: 11 }, "in all buffers");
  const most = Math.max(1024, ...line.waiting_bytes, ...line.buffered_bytes);
  const unit = most >= 1 << 20 ? 1 << 20 : 1024;
  const top = nice(most / unit);
  const level = (value) => y + panel - panel * Math.min(1, value / unit / top);
  for (const part of [0, 0.5, 1]) {
    const at = y + panel - panel * part;
    add("path", { class: "grid", d: `M${left} ${at}H${width - right}` });
    add("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, String(+(top * part).toFixed(2)) + (part === 1 ? (unit === 1024 ? " KiB" : " MiB") : ""));
  }
  const curve = (values) => {
    // From the last sample that is left of the picture on.
    const first = Math.max(0, line.sample_seconds.findLastIndex((at) => at <= from));
    return values.slice(first).map((value, index) => {
      const at = x(Math.max(from, line.sample_seconds[first + index])).toFixed(1), up = level(value).toFixed(1);
      return index === 0 ? `M${at} ${up}` : `H${at}V${up}`;
    }).join("");
  };
  add("path", { class: "buffered", d: curve(line.buffered_bytes) });
  add("path", { class: "waiting", d: curve(line.waiting_bytes) });
  add("path", { class: "frame", d: `M${left} ${y}V${y + panel}H${width - right}` });
  y += panel + 6;

  const label = (text) => {
    add("text", { class: "label", x: left - 6, y: y + 12.5, "text-anchor": "end" }, text);
    add("path", { class: "grid", d: `M${left} ${y + laneHeight}H${width - right}` });
  };
  const narrow = width < 560;
  for (const lane of line.lanes) {
    const spans = lane.spans_seconds.filter(([, end]) => end > from);
    if (!spans.length) continue;
    label((narrow ? lane.what : LANE_WORDS[lane.what] || lane.what) + " " + lane.port);
    for (const [start, end] of spans) {
      const begin = Math.max(start, from);
      const bar = shape("rect", { class: lane.what, x: x(begin).toFixed(1), y: y + 3, width: Math.max(1.5, x(end) - x(begin)).toFixed(1), height: laneHeight - 6 });
      bar.append(shape("title", {}, `${lane.what} ${lane.port}: ${signed(start)}, for ${seconds(end - start)}`));
      parts.push(bar);
    }
    y += laneHeight;
  }
  const kinds = new Map();
  for (const mark of line.marks.filter((mark) => mark.seconds >= from)) {
    if (!kinds.has(mark.kind)) kinds.set(mark.kind, []);
    kinds.get(mark.kind).push(mark);
  }
  for (const [kind, marks] of kinds) {
    label(words(kind) + (narrow ? "" : " × " + marks.length));
    const path = marks.map((mark) => `M${x(mark.seconds).toFixed(1)} ${y + 3}v${laneHeight - 6}`).join("");
    add("path", { class: kind.startsWith("clcm_") ? "clcm" : "mark", d: path });
    y += laneHeight;
  }
  // The suspicion itself, and the axis of time.
  add("rect", { class: "span", x: x(0).toFixed(1), y: 18, width: Math.max(1, x(ended) - x(0)).toFixed(1), height: y - 18 });
  add("path", { class: "began", d: `M${x(0).toFixed(1)} 18V${y}` });
  const step = nice((to - from) / (narrow ? 4 : 8));
  for (let tick = Math.ceil(from / step); tick * step <= to; tick += 1) {
    add("text", { x: x(tick * step).toFixed(1), y: y + 15, "text-anchor": "middle" }, tick === 0 ? "0" : String(+(tick * step).toFixed(4)).replace("-", "−"));
  }
  add("text", { x: left - 6, y: y + 15, "text-anchor": "end" }, narrow ? "s" : "s since suspected");
  y += 20;
  svg.setAttribute("viewBox", `0 0 ${width} ${y}`);
  svg.replaceChildren(...parts);
}

// One card with a time line, made once and drawn again as more is known.
class Card {
  constructor(id) {
    this.id = id;
    this.root = element("article", "line");
    const title = element("h3");
    title.id = "line-" + id;
    this.root.setAttribute("aria-labelledby", title.id);
    this.title = title;
    this.summary = element("p");
    const head = element("div", "head");
    head.append(title, this.summary);
    this.svg = shape("svg", { class: "chart", role: "img", "aria-label": "Timeline of suspicion " + id + "; its steps follow as text" });
    const picture = element("div");
    picture.append(this.svg);
    this.steps = element("ol", "steps");
    this.steps.setAttribute("aria-label", "Steps of suspicion " + id);
    const body = element("div", "body");
    body.append(picture, this.steps);
    this.root.append(head, body);
    this.picture = picture;
    this.line = null;
  }

  show(line) {
    this.line = line;
    const deadlock = line.deadlock, lasts = deadlock.lasted_seconds == null;
    say(this.title, `Suspicion ${deadlock.id}: port ${deadlock.port}, priority ${deadlock.priority}` + (lasts ? ", now" : ""));
    say(this.summary, summary(line));
    classIs(this.root, lasts ? "line current" : "line");
    const steps = stepsOf(line);
    while (this.steps.children.length > steps.length) this.steps.lastElementChild.remove();
    steps.forEach(([at, what], index) => {
      let item = this.steps.children[index];
      if (!item) {
        item = element("li");
        item.append(element("span", "at"), element("span"));
        this.steps.append(item);
      }
      say(item.children[0], at);
      say(item.children[1], what);
      classIs(item, at === "now" ? "now" : "");
    });
    this.draw();
  }

  draw() {
    const width = Math.round(this.picture.clientWidth);
    if (this.line && width > 0) draw(this.svg, this.line, width);
  }
}
