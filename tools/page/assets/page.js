// The page as a whole: it shows each answer and keeps the user's choices.

let view = null;
let chosen = null;
let chosenIncident = null;
let early = false;
let frozen = false;
let lastHeard = 0;

const VERDICTS = { waiting: "Waiting for answers", well: "Well", degraded: "Degraded", recovering: "Recovering", unreachable: "No answer", failing: "Failing", locked: "Locked" };
const CLASSES = { well: "", waiting: "dim", degraded: "warn", recovering: "freed", unreachable: "dim", failing: "bad", locked: "bad" };

function pick(name) {
  chosen = chosen === name ? null : name;
  if (view) show(view);
}

const picture = new Picture(byId("map"), pick);

// Where rows are stacked, each value has its column's heading next to it, also for screen readers.
function named(tableId, made) {
  const heads = byId(tableId).tHead.rows[0].cells;
  made.forEach((cell, index) => {
    cell.dataset.label = heads[index].textContent;
    cell.setAttribute("role", index === 0 ? "rowheader" : "cell");
  });
  made[0].parentElement.setAttribute("role", "row");
  return made;
}

function clockWords(one) {
  if (!one.clock) return NONE;
  if (one.clock.is_ours) return "ours";
  return "±" + seconds(one.clock.uncertainty_seconds);
}

const switchRows = new Rows("switches-table", (tr, one) => {
  const made = named("switches-table", cells(tr, ["", "", "n", "n", "n", "n", "n", "n", "wide"]));
  const button = element("button", "", one.name);
  button.type = "button";
  button.addEventListener("click", () => pick(one.name));
  made[0].append(button);
  made[8].append(element("span", "clamp"));
  return made;
}, (cell, one, tr) => {
  cell[0].firstElementChild.setAttribute("aria-pressed", String(one.name === chosen));
  say(cell[1], WORDS[one.condition]);
  classIs(cell[1], CLASSES[one.condition]);
  say(cell[2], one.version ? one.ports_up + " of " + one.ports : NONE);
  say(cell[3], String(one.suspicions));
  say(cell[4], count(one.dropped));
  say(cell[5], one.uptime_seconds === null ? NONE : seconds(Math.floor(one.uptime_seconds)));
  say(cell[6], one.round_trip_seconds === null ? NONE : seconds(one.round_trip_seconds));
  say(cell[7], clockWords(one));
  say(cell[8].firstElementChild, one.condition === "well" ? NONE : [one.text, ...one.reasons].join("; "));
  classIs(tr, one.name === chosen ? "shown" : "");
});

const pauseRows = new Rows("pauses-table", (tr) => named("pauses-table", cells(tr, ["", "", "n", "", "", "n", ""])), (cell, pause) => {
  say(cell[0], pause.held_name);
  say(cell[1], pause.by_name);
  say(cell[2], String(pause.priority));
  say(cell[3], pause.ports.join(", "));
  say(cell[4], pause.now ? "held" : "sends");
  classIs(cell[4], pause.now ? "held" : "dim");
  say(cell[5], share(pause.share) || NONE);
  say(cell[6], pause.releasing ? "under a release" : pause.suspected ? "suspected" : pause.in_loop ? "in a circle" : NONE);
  classIs(cell[6], pause.releasing ? "freed" : pause.suspected ? "bad" : pause.in_loop ? "held" : "dim");
});

const incidentRows = new Rows("incidents", (tr, one) => {
  const made = named("incidents", cells(tr, ["", "n", "n", "n", "wide"]));
  made[4].append(element("span", "clamp"));
  const button = element("button", "", clock(one.began_time));
  button.type = "button";
  button.addEventListener("click", () => {
    chosenIncident = chosenIncident === one.id ? null : one.id;
    show(view);
  });
  made[0].append(button);
  return made;
}, (cell, one, tr) => {
  const shown = shownIncident();
  say(cell[0].firstElementChild, clock(one.began_time));
  cell[0].firstElementChild.setAttribute("aria-pressed", String(one.id === chosenIncident));
  say(cell[1], one.lasts ? "lasts" : seconds(one.lasted_seconds));
  classIs(cell[1], one.lasts ? "n bad" : "n");
  say(cell[2], String(one.switches));
  say(cell[3], count(one.lanes.length + one.lanes_left_out));
  say(cell[4].firstElementChild, one.text);
  classIs(tr, shown && shown.id === one.id ? "shown" : "");
});

const shownIncident = () => view.incidents.find((one) => one.id === chosenIncident) || view.incidents[0];

// Pairs of a list of terms, filled in place.
function facts(list, rows) {
  rows.forEach(([name, value], index) => {
    let pair = list.children[index];
    if (!pair) {
      pair = element("div");
      pair.append(element("dt"), element("dd"));
      list.append(pair);
    }
    say(pair.children[0], name);
    say(pair.children[1], value);
  });
  while (list.children.length > rows.length) list.lastElementChild.remove();
}

function lines(list, texts, classOf) {
  texts.forEach((text, index) => {
    const item = list.children[index] || list.appendChild(element("li"));
    say(item, text);
    classIs(item, classOf(index));
  });
  while (list.children.length > texts.length) list.lastElementChild.remove();
}

function showLoops() {
  const loops = view.loops;
  byId("loops-none").hidden = loops.length > 0;
  lines(byId("loops"), loops.map((loop) => `${loop.text} (priority ${loop.priority})` + (loop.suspected ? ": suspected of a deadlock" : loop.releasing ? ": being released" : ": pauses alone, nothing is suspected")), (index) => loops[index].releasing ? "freed" : loops[index].suspected ? "bad" : "");
}

function showOne() {
  const one = view.switches.find((other) => other.name === chosen);
  say(byId("one-title"), one ? one.name + (one.called ? `, which calls itself ${one.called}` : "") : "Choose a switch");
  say(byId("one-text"), one ? `${WORDS[one.condition]}: ${one.text}` : "In the picture, or by its button in the table.");
  classIs(byId("one-text"), one ? CLASSES[one.condition] : "dim");
  byId("one-link").hidden = !one || !one.page;
  const link = byId("one-page");
  if (one && one.page) {
    if (link.getAttribute("href") !== one.page) link.setAttribute("href", one.page);
    say(link, "Its own page, " + one.page);
  }
  const held = one ? view.pauses.filter((pause) => [pause.held_name, pause.by_name].includes(one.name)).slice(0, 12).map((pause) => told(view, pause)) : [];
  lines(byId("one-reasons"), one ? [...held, ...one.reasons] : [], () => "");
  byId("one-facts").hidden = !one;
  facts(byId("one-facts"), one ? [
    ["Ports up", one.version ? `${one.ports_up} of ${one.ports}` : NONE],
    ["Dropped", count(one.dropped) + " frames"],
    ["Up for", one.uptime_seconds === null ? NONE : seconds(Math.floor(one.uptime_seconds))],
    ["Version", one.version || NONE],
    ["Heard", one.age_seconds === null ? "never" : seconds(Math.round(one.age_seconds)) + " ago"],
    ["Answer took", one.round_trip_seconds === null ? NONE : seconds(one.round_trip_seconds)],
    ["Clock, ours minus its", one.clock ? (one.clock.is_ours ? "the same clock" : `${signed(one.clock.offset_seconds)} ± ${seconds(one.clock.uncertainty_seconds)}`) : NONE],
  ] : []);
}

function showIncidents() {
  incidentRows.show(view.incidents, (one) => one.id);
  const incident = shownIncident();
  byId("zoom").disabled = !incident;
  byId("zoom").setAttribute("aria-pressed", String(early));
  say(byId("lanes-title"), incident ? `${clock(incident.began_time)} UTC: ${incident.text}` + (incident.lanes_left_out ? `; ${incident.lanes_left_out} more suspicions are not shown` : "") : "No deadlock has been suspected");
  say(byId("lanes-words"), incident ? lanesInWords(view, incident) : "No deadlock has been suspected.");
  if (incident) drawLanes(byId("lanes"), view, incident, early);
  else byId("lanes").replaceChildren();
}

const bySide = (a, b) => (b.in_loop - a.in_loop) || (b.suspected - a.suspected) || a.held_name.localeCompare(b.held_name, "en", { numeric: true }) || a.by_name.localeCompare(b.by_name, "en", { numeric: true }) || a.priority - b.priority;

function show(next, again) {
  const before = view;
  view = next;
  const counts = view.counts;
  document.body.dataset.state = view.condition;
  say(byId("verdict-word"), VERDICTS[view.condition]);
  say(byId("verdict-text"), view.verdict);
  const bounds = view.switches.filter((one) => one.clock && !one.clock.is_ours).map((one) => one.clock.uncertainty_seconds);
  facts(byId("facts"), [
    ["Switches", count(counts.switches)],
    ["Well", count(counts.well)],
    ["Not well", count(counts.troubled)],
    ["No answer", count(counts.switches - counts.reachable)],
    ["In a deadlock", count(counts.suspected)],
    ["Directions held", count(counts.held)],
    ["Clock bound", bounds.length ? "±" + seconds(Math.max(...bounds)) : "one clock"],
  ]);
  say(byId("map-words"), pictureInWords(view));
  picture.show(view, chosen, again);
  showLoops();
  showOne();
  showIncidents();
  switchRows.show(view.switches, (one) => one.name);
  pauseRows.show([...view.pauses].sort(bySide), (pause) => [pause.held_name, pause.by_name, pause.priority, pause.held].join("\n"));
  say(byId("pauses-caption"), view.pauses.length ? "Who may not send, and who does not let it" + (view.pauses_left_out ? `; ${count(view.pauses_left_out)} more are not shown` : "") : "Nobody holds anybody");
  say(byId("foot"), `weir-page ${view.version}; as of ${view.time.slice(0, 19).replace("T", " ")} UTC by the clock of its machine. This page is read-only.` + (view.switches_left_out ? ` ${view.switches_left_out} switches more are not shown.` : ""));
  if (before && before.verdict !== view.verdict) say(byId("told"), VERDICTS[view.condition] + ". " + view.verdict);
}

function take(text) {
  let next;
  try {
    next = JSON.parse(text);
  } catch {
    return;
  }
  lastHeard = performance.now();
  if (!frozen) show(next);
  heard();
}

// Shows the age of the data, and missing answers.
function heard() {
  const silent = lastHeard === 0 || performance.now() - lastHeard > 5000;
  const banner = byId("banner");
  banner.hidden = !silent || (lastHeard === 0 && performance.now() < 5000);
  if (!banner.hidden) say(banner, "weir-page does not answer: what is shown is old. It goes on by itself once it is back.");
  say(byId("asked"), frozen ? "Frozen; the fabric goes on" : view ? `${count(view.counts.reachable)} of ${count(view.counts.switches)} switches answer, asked every ${seconds(view.interval_seconds)}` : "Loading…");
}

byId("freeze").addEventListener("click", () => {
  frozen = !frozen;
  byId("freeze").setAttribute("aria-pressed", String(frozen));
  heard();
});
byId("zoom").addEventListener("click", () => {
  early = !early;
  showIncidents();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && chosen) pick(chosen);
});
let width = 0;
new ResizeObserver(() => {
  const now = byId("drawing").clientWidth;
  if (view && now !== width) show(view, true);
  width = now;
}).observe(byId("drawing"));

// A stream while the page is visible; without a place for one, the page polls.
let stream = null;
let asking = null;

async function ask() {
  try {
    const answer = await fetch("/state");
    if (answer.ok) take(await answer.text());
  } catch {
    // The banner reports it.
  }
}

function open() {
  if (stream || document.hidden) return;
  stream = new EventSource("/events");
  stream.addEventListener("state", (event) => {
    clearInterval(asking);
    asking = null;
    take(event.data);
  });
  stream.addEventListener("error", () => {
    if (stream && stream.readyState === EventSource.CLOSED) {
      stream = null;
      setTimeout(open, 10000);
    }
    asking ||= setInterval(ask, 2000);
  });
}

function close() {
  clearInterval(asking);
  asking = null;
  if (stream) stream.close();
  stream = null;
}

document.addEventListener("visibilitychange", () => document.hidden ? close() : open());
setInterval(heard, 1000);
open();
