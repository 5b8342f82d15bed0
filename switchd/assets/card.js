// One card with a timeline: its steps as text, and the buttons and the pointer that choose the shown part of the time.

// Events that are a step at their first occurrence, in words.
const STEPS = {
  suspected: () => "suspected",
  clcm_sent: () => "first CLCM sent",
  clcm_received: () => "first CLCM from another switch",
  master_elected: () => "master elected",
  loop_found: (d) => `loop of ${d.switches} switches found`,
  release_started: (d) => `release begins for ${d.ingress}`,
  traffic_release_started: () => "traffic release begins",
  flow_moved: (d) => `first flow moved to ${d.to}`,
  rerouted: (d) => `rerouted: ${d.moved} moved, ${d.stuck} not`,
  release_ended: (d) => `release ends: ${amountOf(d.released)} left`,
  traffic_release_ended: (d) => `traffic release ends: ${amountOf(d.released)} left`,
  storm_detected: () => "declared a storm",
  suspicion_ended: () => "cleared",
};
// Distance of the axis's end from the last event.
const MARGIN = 0.02;
const ZOOM = 0.25;
// A drag shorter than this is a click.
const DRAG_PIXELS = 6;

function stepsOf(line) {
  const deadlock = line.deadlock, seen = new Set();
  const steps = [{ at: -deadlock.idle_seconds, text: `last frame sent by ${deadlock.port}` }];
  for (const mark of line.marks) {
    const own = !mark.port || mark.port === deadlock.port || mark.kind.startsWith("clcm_") || mark.kind === "master_elected";
    if (!STEPS[mark.kind] || seen.has(mark.kind) || !own || mark.seconds < -1e-4) continue;
    seen.add(mark.kind);
    steps.push({ at: Math.max(mark.seconds, 0), number: seen.size, text: STEPS[mark.kind](mark.details || {}) });
  }
  if (deadlock.lasted_seconds == null) {
    steps.push({ at: Math.max(line.to_seconds, 0), now: true, text: `suspected for ${seconds(Math.max(line.to_seconds, 0))}, ongoing` });
  }
  return steps;
}

function summary(line) {
  const deadlock = line.deadlock;
  const parts = [
    deadlock.lasted_seconds == null ? "Ongoing" : "Lasted " + seconds(deadlock.lasted_seconds),
    `${bytes(deadlock.queued_bytes)} waiting, nothing sent for ${seconds(deadlock.idle_seconds)}, ${becauseOf(deadlock.reason, deadlock.port)}`,
  ];
  if (deadlock.releases) parts.push(countOf(deadlock.releases, "release"));
  if (deadlock.released_bytes) parts.push(bytes(deadlock.released_bytes) + " sent during releases");
  if (deadlock.flows_moved) parts.push(countOf(deadlock.flows_moved, "flow") + " moved");
  if (line.lanes_left_out) parts.push(countOf(line.lanes_left_out, "short lane") + " omitted");
  return parts.join(" · ");
}

class Card {
  constructor(id) {
    this.id = id;
    this.axis = new Axis();
    this.line = null;
    this.steps = [];
    this.root = element("article", "line");
    this.title = element("h3");
    this.title.id = "line-" + id;
    this.root.setAttribute("aria-labelledby", this.title.id);
    this.summary = element("p", "summary");
    this.svg = shape("svg", { class: "chart", role: "img", "aria-label": `Timeline of suspicion ${id}; its steps follow as text` });
    this.picture = element("div", "picture");
    this.picture.append(this.svg);
    this.list = element("ol", "steps scroll");
    this.list.tabIndex = 0;
    this.list.setAttribute("aria-label", "Steps of suspicion " + id);
    const head = element("div", "head");
    head.append(this.title, this.tools());
    const body = element("div", "body");
    body.append(this.picture, this.list);
    this.root.append(head, this.summary, body);
    this.drag();
  }

  tools() {
    const tools = element("div", "tools");
    tools.setAttribute("role", "group");
    tools.setAttribute("aria-label", "Axis of time");
    const button = (text, label, act) => {
      const made = element("button", "", text);
      made.type = "button";
      made.setAttribute("aria-label", label);
      made.title = label;
      made.addEventListener("click", () => {
        act();
        this.draw();
      });
      tools.append(made);
      return made;
    };
    this.log = button("log", "log axis on both sides of 0", () => { this.axis.logarithmic = !this.axis.logarithmic; });
    button("+", "Zoom in", () => this.axis.show(ZOOM, 1 - ZOOM));
    button("−", "Zoom out", () => this.axis.show(-ZOOM * 2, 1 + ZOOM * 2));
    button("◀", "Earlier", () => this.axis.move(-ZOOM));
    button("▶", "Later", () => this.axis.move(ZOOM));
    this.all = button("all", "all of the timeline", () => { this.axis.part = null; });
    return tools;
  }

  // A part of the picture is chosen by dragging over it.
  drag() {
    let start = null;
    const place = (event) => event.clientX - this.picture.getBoundingClientRect().left;
    const share = (x) => Math.max(0, Math.min(1, (x / textScale() - this.drawn.left) / this.drawn.inner));
    const mark = element("span", "chosen");
    this.picture.append(mark);
    const end = () => {
      start = null;
      mark.style.display = "none";
    };
    this.picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.drawn) return;
      start = place(event);
      this.picture.setPointerCapture(event.pointerId);
    });
    this.picture.addEventListener("pointermove", (event) => {
      if (start === null) return;
      const [left, right] = [start, place(event)].sort((a, b) => a - b);
      mark.style.display = "block";
      mark.style.left = left + "px";
      mark.style.width = right - left + "px";
    });
    this.picture.addEventListener("pointerup", (event) => {
      if (start === null) return;
      const [left, right] = [start, place(event)].sort((a, b) => a - b);
      end();
      if (right - left < DRAG_PIXELS) return;
      this.axis.show(share(left), share(right));
      this.draw();
    });
    this.picture.addEventListener("pointercancel", end);
    this.picture.addEventListener("dblclick", () => {
      this.axis.part = null;
      this.draw();
    });
  }

  show(line) {
    this.line = line;
    const deadlock = line.deadlock, lasts = deadlock.lasted_seconds == null;
    say(this.title, `Suspicion ${deadlock.id}: ${deadlock.port}, priority ${deadlock.priority}` + (lasts ? ", now" : ""));
    say(this.summary, summary(line));
    classIs(this.root, lasts ? "line current" : "line");
    this.steps = stepsOf(line);
    const { list, steps } = this;
    while (list.children.length > steps.length) list.lastElementChild.remove();
    steps.forEach((step, index) => {
      let item = list.children[index];
      if (!item) {
        item = element("li");
        item.append(element("span", "number"), element("span", "at"), element("span"));
        list.append(item);
      }
      say(item.children[0], step.number === undefined ? "" : String(step.number));
      say(item.children[1], step.now ? "now" : signed(step.at));
      say(item.children[2], step.text);
      classIs(item, step.now ? "now" : "");
    });
    this.draw();
  }

  draw() {
    const scale = textScale(), width = Math.round(this.picture.clientWidth / scale);
    if (!this.line || width <= 0) return;
    const { from_seconds: from, to_seconds: to, deadlock } = this.line;
    const end = Math.max(to, from + 1e-3);
    // Much earlier events have little to do with it.
    this.axis.whole = [Math.max(from, -3 * deadlock.idle_seconds - 0.2), end + MARGIN * (end - Math.min(from, 0))];
    this.log.setAttribute("aria-pressed", String(this.axis.logarithmic));
    this.all.setAttribute("aria-pressed", String(this.axis.part === null));
    this.drawn = draw(this.svg, this.line, this.steps, this.axis, width, scale);
  }
}
