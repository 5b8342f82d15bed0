// Many ports: those with trouble first, and a filter by name or neighbour.

const MANY_PORTS = PICTURE.denseFrom;
// Rows keep their places for this long, whatever changes meanwhile.
const REORDER_MILLISECONDS = 5000;

// Order of ports by importance: blocked ones first, then losses, then pauses.
function trouble(port, at, pausedSeconds) {
  if (at.suspected || at.release) return 5;
  if (port.device_gone || (!port.link_up && port.rx_frames_total > 0)) return 4;
  const losses = [port.drops_total, port.kernel_losses].flatMap((counts) => Object.values(counts));
  if (losses.some((count) => count > 0)) return 3;
  if (at.paused.length || at.pausing.length) return 2;
  return pausedSeconds > 0 ? 1 : 0;
}

class Finder {
  constructor() {
    this.box = byId("find");
    this.text = byId("find-text");
    this.order = byId("find-order");
    this.places = new Map();
    this.at = 0;
    this.text.addEventListener("input", () => this.changed());
    this.order.addEventListener("click", () => {
      this.order.setAttribute("aria-pressed", String(!this.isByTrouble()));
      this.at = 0;
      this.changed();
    });
  }

  isByTrouble() {
    return this.order.getAttribute("aria-pressed") === "true";
  }

  changed() {
    if (view) tables(view);
  }

  // Places of ports by their names, renewed occasionally.
  arrange(view) {
    const now = Date.now();
    const isSame = this.places.size === view.ports.length && view.ports.every((port) => this.places.has(port.name));
    if (isSame && now - this.at < REORDER_MILLISECONDS) return;
    this.at = now;
    const found = conditions(view), paused = new Map();
    for (const queue of view.pfc) paused.set(queue.port, (paused.get(queue.port) || 0) + queue.paused_seconds_total);
    const ranked = view.ports.map((port, index) => ({ name: port.name, index, rank: this.isByTrouble() ? trouble(port, found.get(port.name), paused.get(port.name) || 0) : 0 }));
    ranked.sort((a, b) => b.rank - a.rank || a.index - b.index);
    this.places = new Map(ranked.map(({ name }, place) => [name, place]));
  }

  // The shown ports, in order.
  ports(view) {
    const isMany = view.ports.length >= MANY_PORTS;
    this.box.hidden = !isMany;
    if (!isMany) return view.ports;
    this.arrange(view);
    const wanted = this.text.value.trim().toLowerCase();
    const matches = (port) => [port.name, port.device, neighbours[port.name] || ""].some((name) => name.toLowerCase().includes(wanted));
    const shown = view.ports.filter(matches);
    return shown.sort((a, b) => this.places.get(a.name) - this.places.get(b.name));
  }

  // The entries of the shown ports, in order.
  of(entries, ports) {
    const places = new Map(ports.map((port, place) => [port.name, place]));
    return entries.filter((entry) => places.has(entry.port)).sort((a, b) => places.get(a.port) - places.get(b.port) || a.priority - b.priority);
  }
}

const finder = new Finder();
