// Draws the timeline of one suspicion: curves, lanes of lasting states, one lane of events.

const LANE_WORDS = {
  suspected: (port) => `${port} suspected`,
  paused: (port) => `${who(port)} pauses us`,
  pausing: (port) => `we pause ${who(port)}`,
  release: (port) => `release, ${port}`,
};
// Lanes that always have room, so that a picture keeps its height when lanes are added.
const LANES_RESERVED = 5;
const CHART = { right: 10, top: 20, panel: 92, lane: 17, marks: 46, foot: 20, number: 15 };

class Drawing {
  constructor(line, axis, width) {
    Object.assign(this, { line, axis, width, y: CHART.top, parts: [] });
    this.left = Math.min(132, width * 0.3);
    this.inner = width - this.left - CHART.right;
    this.from = axis.view[0];
    this.to = axis.view[1];
  }

  add(name, attributes, text) {
    const made = shape(name, attributes, text);
    this.parts.push(made);
    return made;
  }

  x(at) {
    return this.left + this.inner * Math.max(0, Math.min(1, this.axis.share(at)));
  }

  // With the text of an element under the pointer.
  titled(made, text) {
    made.append(shape("title", {}, text));
  }

  label(text, down) {
    this.add("text", { class: "label", x: this.left - 6, y: this.y + down, "text-anchor": "end" }, cut(text, Math.floor((this.left - 6) / 6)));
  }

  legend() {
    let x = this.left;
    for (const [name, text] of [["waiting", `waiting for ${this.line.deadlock.port}`], ["buffered", "in all buffers"]]) {
      this.add("path", { class: name, d: `M${x} 8h18` });
      this.add("text", { class: "label", x: x + 23, y: 12 }, text);
      x += 44 + 6.4 * text.length;
    }
  }

  curves() {
    const { line, y, left } = this, right = left + this.inner;
    const most = Math.max(1024, ...line.waiting_bytes, ...line.buffered_bytes);
    const unit = most >= 1 << 20 ? 1 << 20 : 1024, top = nice(most / unit);
    const level = (value) => y + CHART.panel * (1 - Math.min(1, value / unit / top));
    for (const part of [0, 0.5, 1]) {
      const at = y + CHART.panel * (1 - part);
      this.add("path", { class: "grid", d: `M${left} ${at}H${right}` });
      this.add("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, String(+(top * part).toFixed(2)) + (part === 1 ? (unit === 1024 ? " KiB" : " MiB") : ""));
    }
    const curve = (values) => {
      // From the last sample left of the picture to the last one in it.
      const first = Math.max(0, line.sample_seconds.findLastIndex((at) => at <= this.from));
      const last = line.sample_seconds.findLastIndex((at) => at <= this.to);
      if (last < first) return "";
      const steps = values.slice(first, last + 1).map((value, index) => {
        const at = this.x(line.sample_seconds[first + index]).toFixed(1), up = level(value).toFixed(1);
        return index === 0 ? `M${at} ${up}` : `H${at}V${up}`;
      });
      return steps.join("") + (last + 1 < values.length ? `H${right}` : "");
    };
    this.add("path", { class: "buffered", d: curve(line.buffered_bytes) });
    this.add("path", { class: "waiting", d: curve(line.waiting_bytes) });
    this.add("path", { class: "frame", d: `M${left} ${y}V${y + CHART.panel}H${right}` });
    this.y += CHART.panel + 6;
  }

  lanes() {
    const shown = this.line.lanes.filter((lane) => lane.spans_seconds.some(([start, end]) => end >= this.line.from_seconds && start <= this.line.to_seconds));
    for (const lane of shown) {
      const text = (LANE_WORDS[lane.what] || ((port) => lane.what + " " + port))(lane.port);
      this.label(text, 12.5);
      this.add("path", { class: "grid", d: `M${this.left} ${this.y + CHART.lane}H${this.left + this.inner}` });
      for (const [start, end] of lane.spans_seconds.filter(([start, end]) => end >= this.from && start <= this.to)) {
        const x = this.x(start), width = Math.max(1.5, this.x(end) - x);
        const bar = this.add("rect", { class: lane.what, x: x.toFixed(1), y: this.y + 3, width: width.toFixed(1), height: CHART.lane - 6 });
        this.titled(bar, `${text}: from ${signed(start)} for ${seconds(end - start)}`);
      }
      this.y += CHART.lane;
    }
    this.y += CHART.lane * Math.max(0, LANES_RESERVED - shown.length);
  }

  // All events in one lane; the steps that the text tells have their numbers here.
  marks(steps) {
    const seen = this.line.marks.filter((mark) => mark.seconds >= this.from && mark.seconds <= this.to);
    this.label(countOf(seen.length, "event"), CHART.marks - 8);
    const base = this.y + CHART.marks;
    for (const mark of seen) {
      const dim = mark.kind.startsWith("clcm_");
      const x = this.x(mark.seconds).toFixed(1);
      const made = this.add("path", { class: dim ? "clcm" : "mark", d: `M${x} ${base}v${dim ? -8 : -13}` });
      this.titled(made, `${signed(mark.seconds)}: ${[mark.port, sentence(mark)].filter(Boolean).join(": ")}`);
    }
    this.add("path", { class: "frame", d: `M${this.left} ${base}H${this.left + this.inner}` });
    // Numbers that would lie upon each other go up or to the right.
    const ends = [-1e9, -1e9];
    for (const { at, number } of steps) {
      if (number === undefined || at < this.from || at > this.to) continue;
      const x = this.x(at);
      let row = ends.findIndex((end) => x - end >= CHART.number);
      if (row < 0) row = ends[0] <= ends[1] ? 0 : 1;
      const place = Math.max(x, ends[row] + CHART.number);
      ends[row] = place;
      this.add("text", { class: "number", x: place.toFixed(1), y: base - 17 - row * 14, "text-anchor": "middle" }, String(number));
    }
    this.y = base;
  }

  // The suspicion itself, and the axis of time.
  time() {
    const { top } = CHART, ended = this.line.deadlock.lasted_seconds ?? this.to;
    if (ended >= this.from && this.to >= 0) {
      const x = this.x(0);
      this.parts.unshift(shape("rect", { class: "span", x: x.toFixed(1), y: top, width: Math.max(1, this.x(ended) - x).toFixed(1), height: this.y - top }));
    }
    if (this.from <= 0 && this.to >= 0) this.add("path", { class: "began", d: `M${this.x(0).toFixed(1)} ${top}V${this.y}` });
    for (const { at, share } of this.axis.ticks(58 / this.inner)) {
      const x = this.left + this.inner * share;
      this.add("path", { class: "frame", d: `M${x.toFixed(1)} ${this.y}v4` });
      this.add("text", { x: x.toFixed(1), y: this.y + 16, "text-anchor": "middle" }, tickText(at));
    }
    this.y += CHART.foot;
  }
}

// Draws into `svg`, `width` units wide, each of `scale` pixels.
function draw(svg, line, steps, axis, width, scale) {
  const drawing = new Drawing(line, axis, width);
  drawing.legend();
  drawing.curves();
  drawing.lanes();
  drawing.marks(steps);
  drawing.time();
  svg.setAttribute("viewBox", `0 0 ${width} ${drawing.y}`);
  svg.setAttribute("height", drawing.y * scale);
  svg.replaceChildren(...drawing.parts);
  return drawing;
}
