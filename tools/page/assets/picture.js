// The network as a picture: switches where the state places them, links, and pauses between them.

const WORDS = { waiting: "not asked yet", well: "well", degraded: "degraded", recovering: "being released", unreachable: "no answer", failing: "failing", locked: "suspected of a deadlock" };

// Pauses of all priorities in one direction, the worst of them: by "held>by".
function directions(view) {
  const found = new Map();
  for (const pause of view.pauses) {
    if (pause.held === null || pause.by === null) continue;
    const key = pause.held + ">" + pause.by;
    const one = found.get(key) || { held: pause.held, by: pause.by, now: false, suspected: false, releasing: false, circle: false, all: [] };
    one.now ||= pause.now;
    one.suspected ||= pause.suspected;
    one.releasing ||= pause.releasing;
    one.circle ||= pause.in_loop;
    one.all.push(pause);
    found.set(key, one);
  }
  return [...found.values()];
}

const share = (part) => part === null || part === undefined ? "" : Math.round(part * 100) + " %";

function told(view, pause) {
  const part = pause.share === null ? "" : `, ${share(pause.share)} of the time`;
  return `${pause.by_name} holds ${pause.held_name} in priority ${pause.priority}${pause.now ? " now" : ""}${part}${pause.suspected ? ", suspected of a deadlock" : ""}${pause.releasing ? ", under a release" : ""}`;
}

// An arrow from one place to another, next to the middle line, so that both directions have room.
function arrow(from, to, gap, apart, size, names) {
  const dx = to.x - from.x, dy = to.y - from.y, length = Math.hypot(dx, dy) || 1;
  const ux = dx / length, uy = dy / length, ox = -uy * apart, oy = ux * apart;
  const at = (along) => [from.x + ux * along + ox, from.y + uy * along + oy];
  const [x1, y1] = at(gap), [x2, y2] = at(Math.max(gap, length - gap - size)), [x3, y3] = at(Math.max(gap, length - gap));
  const half = size * 0.55;
  const round = (value) => value.toFixed(1);
  const line = shape("path", { class: "pause " + names, d: `M${round(x1)} ${round(y1)}L${round(x2)} ${round(y2)}` });
  const tip = shape("path", { class: "tip " + names, d: `M${round(x3)} ${round(y3)}L${round(x2 - uy * half)} ${round(y2 + ux * half)}L${round(x2 + uy * half)} ${round(y2 - ux * half)}Z` });
  return [line, tip];
}

// Round, a square, or a square on its tip: a state is also visible without colours.
function outline(condition, radius) {
  const side = radius * 0.88;
  if (condition === "locked" || condition === "recovering") return shape("rect", { class: "shape", x: -side, y: -side, width: 2 * side, height: 2 * side });
  if (condition === "degraded" || condition === "failing") return shape("path", { class: "shape", d: `M0 ${-radius * 1.2}L${radius * 1.2} 0L0 ${radius * 1.2}L${-radius * 1.2} 0Z` });
  return shape("circle", { class: "shape", r: radius });
}

class Picture {
  constructor(svg, pick) {
    this.svg = svg;
    this.box = svg.parentElement;
    this.pick = pick;
    this.drawn = "";
  }

  // The data for the drawing, without figures that change constantly: an unchanged picture is left alone.
  show(view, picked, again) {
    const width = this.box.clientWidth, height = this.box.clientHeight;
    const key = JSON.stringify([width, height, picked, view.layout, view.switches.map((one) => [one.name, one.x, one.y, one.condition]), view.links.map((one) => [one.a, one.b, one.is_up]), view.pauses.map((one) => [one.held, one.by, one.now, one.suspected, one.releasing, one.in_loop])]);
    if (key === this.drawn && !again) return;
    this.drawn = key;
    const count = view.switches.length;
    const radius = count <= 12 ? 17 : count <= 40 ? 11 : 7.5;
    const places = view.switches.map((one) => ({ x: 14 + one.x * (width - 28), y: 10 + one.y * (height - 44) }));
    const parts = view.links.map((link) => {
      const a = places[link.a], b = places[link.b];
      const own = picked && [view.switches[link.a].name, view.switches[link.b].name].includes(picked);
      return shape("path", { class: (link.is_up ? "wire" : "wire down") + (own ? " own" : ""), d: `M${a.x.toFixed(1)} ${a.y.toFixed(1)}L${b.x.toFixed(1)} ${b.y.toFixed(1)}` });
    });
    const size = count <= 12 ? 11 : 7;
    for (const one of directions(view)) {
      const names = [one.now || one.suspected || one.releasing ? "" : "was", one.circle ? "circle" : "", one.releasing ? "releasing" : one.suspected ? "suspected" : ""].filter(Boolean).join(" ");
      const drawn = arrow(places[one.by], places[one.held], radius + 5, one.circle ? 5 : 4, one.circle ? size + 4 : size, names);
      drawn[0].append(shape("title", {}, one.all.map((pause) => told(view, pause)).join("\n")));
      parts.push(...drawn);
    }
    parts.push(...this.outside(view, places, radius));
    const room = this.room(view, places);
    const nodes = view.switches.map((one, index) => this.node(one, places[index], radius, picked === one.name, room[index]));
    // Unhealthy switches are in front of the others.
    const isWell = (index) => view.switches[index].condition === "well";
    parts.push(...nodes.filter((_, index) => isWell(index)), ...nodes.filter((_, index) => !isWell(index)));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("class", view.links.length > 300 ? "dense" : "");
    this.svg.replaceChildren(...parts);
  }

  // Short arrows for hosts and other neighbours that hold a switch, or are held by it.
  outside(view, places, radius) {
    const parts = [];
    const seen = new Set();
    for (const pause of view.pauses) {
      if (!pause.now || (pause.held === null) === (pause.by === null)) continue;
      const inward = pause.by === null, place = places[inward ? pause.held : pause.by];
      const key = (inward ? "in" : "out") + (pause.held ?? pause.by);
      if (seen.has(key)) continue;
      seen.add(key);
      const side = inward ? 1 : -1, near = radius * 0.75 + 4, far = near + 13;
      const inner = { x: place.x + side * near, y: place.y + near }, outer = { x: place.x + side * far, y: place.y + far };
      const drawn = arrow(inward ? outer : inner, inward ? inner : outer, 0, 0, 7, pause.suspected ? "suspected" : "");
      drawn[0].append(shape("title", {}, told(view, pause)));
      parts.push(...drawn);
    }
    return parts;
  }

  // Number of a name's characters that fit next to the next switch in the same height.
  room(view, places) {
    return places.map((place, index) => {
      let near = Infinity;
      places.forEach((other, another) => {
        if (another !== index && Math.abs(other.y - place.y) < 16) near = Math.min(near, Math.abs(other.x - place.x));
      });
      return near / 6.6;
    });
  }

  node(one, place, radius, picked, room) {
    const group = shape("g", { class: "node " + one.condition + (picked ? " picked" : ""), transform: `translate(${place.x.toFixed(1)} ${place.y.toFixed(1)})`, "data-name": one.name });
    group.append(shape("circle", { class: "ring", r: radius + 5 }), outline(one.condition, radius));
    // Unhealthy switches are always named.
    if (one.name.length <= room || picked || !["well", "waiting"].includes(one.condition)) {
      group.append(shape("text", { y: radius + 16, "font-size": radius > 10 ? 13 : 10.5 }, one.name.length > 16 ? one.name.slice(0, 15) + "…" : one.name));
    }
    group.append(shape("title", {}, `${one.name}: ${WORDS[one.condition]}. ${one.text}`));
    group.addEventListener("click", () => this.pick(one.name));
    return group;
  }
}

// The same in words.
function pictureInWords(view) {
  const names = (list) => list.map((at) => view.switches[at].name).join(", ");
  const troubled = view.switches.filter((one) => !["well", "waiting"].includes(one.condition)).map((one) => `${one.name}: ${WORDS[one.condition]}`);
  return `${count(view.switches.length)} switches, laid out as ${view.layout}. ${troubled.slice(0, 20).join("; ") || "All are well"}. ` +
    (view.loops.length ? view.loops.map((loop) => `Circle: ${names(loop.switches)}`).join("; ") : "No circle of pauses") + ".";
}
