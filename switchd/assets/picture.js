// The picture of the ports: the switch in the middle, neighbours around it, and between them traffic and pauses.

const PICTURE = { row: 50, dense: 34, box: 132, neighbour: 84, denseFrom: 17, twoSidedFrom: 520, character: 7.2 };
// Ports named in the words below the picture's title.
const NAMED = 4;

// The state of a port, over all of its priorities.
function conditions(view) {
  const found = new Map(view.ports.map((port) => [port.name, { pausing: [], paused: [], suspected: false, release: null }]));
  for (const queue of view.pfc) {
    const at = found.get(queue.port);
    if (!at) continue;
    if (queue.pausing) at.pausing.push(queue.priority);
    if (queue.paused) at.paused.push(queue.priority);
    at.suspected ||= queue.suspected;
    at.release ||= queue.release_ingress;
  }
  return found;
}

function listed(names) {
  const more = names.length - NAMED;
  if (more > 0) return names.slice(0, NAMED).join(", ") + ` and ${more} more`;
  return names.length > 1 ? names.slice(0, -1).join(", ") + " and " + names.at(-1) : names[0];
}

// A neighbour without its domain; an address stays whole.
const hostOf = (name) => /^[a-z][^:]*[.]/i.test(name) ? name.split(".")[0] : name;

// The picture in words.
function pictureWords(view, found) {
  const having = (test) => view.ports.filter((port) => test(found.get(port.name), port)).map((port) => hostOf(who(port.name)));
  const parts = [];
  const suspected = having((at) => at.suspected), paused = having((at) => at.paused.length && !at.suspected), pausing = having((at) => at.pausing.length);
  if (suspected.length) parts.push(`Frames for ${listed(suspected)} stand still.`);
  if (paused.length) parts.push(`${listed(paused)} ${paused.length === 1 ? "pauses" : "pause"} us.`);
  if (pausing.length) parts.push(`We pause ${listed(pausing)}.`);
  const down = having((at, port) => !port.link_up);
  if (down.length) parts.push(`No link to ${listed(down)}.`);
  return parts.join(" ") || "Nobody pauses anybody.";
}

// A lane from one x to another as a path, with room for a text in its middle: a line with a head, or with two bars in front of what is
// held.
function lanePath(from, to, y, blocked, textWidth) {
  const way = Math.sign(to - from), middle = (from + to) / 2, half = way * textWidth / 2;
  const start = from + way * (blocked ? 14 : 3), end = to - way * 2;
  const line = textWidth ? `M${start} ${y}H${middle - half}M${middle + half} ${y}H${end}` : `M${start} ${y}H${end}`;
  if (blocked) return `${line}M${from + way * 4} ${y - 6}v12M${from + way * 9} ${y - 6}v12`;
  return `${line}m${-way * 6} -4l${way * 6} 4l${-way * 6} 4`;
}

class PortRow {
  constructor(parent, geometry) {
    this.g = geometry;
    const { portX, neighbourX, neighbourLeft, y, height, side } = geometry;
    const add = (name, attributes) => {
      const made = shape(name, attributes);
      parent.append(made);
      return made;
    };
    const middle = y + height / 2;
    add("rect", { class: "node", x: neighbourLeft, y: y + 4, width: PICTURE.neighbour, height: height - 8, rx: 3 });
    this.neighbour = add("text", { class: "label", x: neighbourLeft + PICTURE.neighbour / 2, y: middle + 4, "text-anchor": "middle" });
    this.port = add("text", { class: "label port", x: portX - side * 8, y: middle + 4, "text-anchor": side > 0 ? "end" : "start" });
    this.lanes = [-1, 1].map((place) => {
      const at = middle + place * height * 0.2;
      const lane = { y: at, path: add("path", { class: "lane" }), text: add("text", { x: (portX + neighbourX) / 2, y: at + 4, "text-anchor": "middle" }) };
      return lane;
    });
  }

  lane(index, outward, state, text, short) {
    const lane = this.lanes[index], { portX, neighbourX } = this.g;
    const [from, to] = outward ? [portX, neighbourX] : [neighbourX, portX];
    const blocked = ["paused", "pausing", "suspected"].includes(state);
    const fits = text.length * PICTURE.character <= Math.abs(to - from) - 44;
    const told = fits ? text : short;
    const d = lanePath(from, to, lane.y, blocked, told && told.length * PICTURE.character + 10);
    if (lane.path.getAttribute("d") !== d) lane.path.setAttribute("d", d);
    const name = "lane " + state;
    if (lane.path.getAttribute("class") !== name) {
      lane.path.setAttribute("class", name);
      lane.text.setAttribute("class", "told " + state);
    }
    say(lane.text, told);
  }

  show(port, at, rate) {
    const neighbour = hostOf(who(port.name));
    say(this.port, cut(port.name, 9));
    say(this.neighbour, cut(hostOf(neighbours[port.name] || "") || (port.role === "edge" ? "host" : "unknown"), 11));
    const priorities = (list) => severalPriorities ? " " + list.join(",") : "";
    if (!port.link_up) {
      this.lane(0, true, "down", "link down", "down");
      return this.lane(1, false, "down", "", "");
    }
    const pauses = at.paused.length ? `paused by ${neighbour}${priorities(at.paused)}` : "";
    if (at.release) this.lane(0, true, "release", `release for ${at.release}`, "release");
    else if (at.suspected) this.lane(0, true, "suspected", (pauses || "nothing leaves") + ", SUSPECTED", "SUSPECTED");
    else if (pauses) this.lane(0, true, "paused", pauses, "paused");
    else this.lane(0, true, "open", bitRate(rate.outward), bitRate(rate.outward));
    if (at.pausing.length) this.lane(1, false, "pausing", `we pause ${neighbour}${priorities(at.pausing)}`, "we pause");
    else this.lane(1, false, "open", bitRate(rate.inward), bitRate(rate.inward));
  }
}

let severalPriorities = false;

class Picture {
  constructor() {
    this.box = byId("picture-box");
    this.svg = byId("picture-svg");
    this.key = "";
  }

  // Where row `index` of `ports` is; the first half on the left, if there is room for two sides.
  geometry(index, ports, width) {
    const two = width >= PICTURE.twoSidedFrom && ports > 1;
    const half = two ? Math.ceil(ports / 2) : 0;
    const left = index < half;
    const height = ports >= PICTURE.denseFrom ? PICTURE.dense : PICTURE.row;
    const boxLeft = two ? (width - PICTURE.box) / 2 : 0, boxRight = two ? boxLeft + PICTURE.box : 88;
    const rows = two ? half : ports;
    // The shorter side is in the middle.
    const y = (left ? index : index - half + (rows - ports + half) / 2) * height + 1;
    const common = { y, height, boxLeft, boxRight, rows, two };
    if (left) return { ...common, side: -1, portX: boxLeft, neighbourX: PICTURE.neighbour + 1, neighbourLeft: 1 };
    return { ...common, side: 1, portX: boxRight, neighbourX: width - PICTURE.neighbour - 1, neighbourLeft: width - PICTURE.neighbour - 1 };
  }

  build(view, ports, width, scale) {
    const all = ports.map((_, index) => this.geometry(index, ports.length, width));
    const { boxLeft, boxRight, rows, height, two } = all[0] || this.geometry(0, 1, width);
    const tall = rows * height + 2;
    // Between the names of the ports; the page's title also has it.
    const roomy = two && ports.every((port) => port.name.length <= 4);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    this.svg.setAttribute("height", tall * scale);
    const box = shape("rect", { class: "switch", x: boxLeft + 0.5, y: 1, width: boxRight - boxLeft - 1, height: tall - 2, rx: 4 });
    const name = shape("text", { class: "label name", x: (boxLeft + boxRight) / 2, y: tall / 2 + 5, "text-anchor": "middle" }, roomy ? cut(view.status.name, 8) : "");
    this.svg.replaceChildren(box, name);
    this.rows = all.map((geometry) => new PortRow(this.svg, geometry));
  }

  show(view, rate, ports) {
    const scale = textScale(), width = Math.round(this.box.clientWidth / scale);
    if (width <= 0) return;
    const found = conditions(view);
    severalPriorities = new Set(view.pfc.map((queue) => queue.priority)).size > 1;
    const key = [width, scale, view.status.name, ...ports.map((port) => port.name)].join(" ");
    if (this.key !== key) {
      this.key = key;
      this.build(view, ports, width, scale);
    }
    ports.forEach((port, index) => this.rows[index].show(port, found.get(port.name), rate.get(port.name)));
    const told = byId("picture-words");
    say(told, pictureWords(view, found));
    if (told.title !== told.textContent) told.title = told.textContent;
  }
}
