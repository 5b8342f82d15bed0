// Asks, shows, says so when nobody answers, and goes on by itself.

const ASK_MILLISECONDS = 500;
const RETRY_MILLISECONDS = 1000;
const PATIENCE_MILLISECONDS = 4000;
// Announcements to screen readers keep this distance.
const QUIET_MILLISECONDS = 3000;
// Time lines beside the chosen one.
const CURRENT_SHOWN = 2;

let held = false;
let chosen = null;
let lastAnswer = null;
let view = null;
const cards = new Map();
const known = { current: new Set(), pid: null, verdict: "ok" };
const speech = { waiting: [], at: 0 };

async function ask(path) {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE_MILLISECONDS);
  try {
    const answer = await fetch(path, { signal: patience.signal, cache: "no-store" });
    return answer.ok ? await answer.json() : null;
  } finally {
    clearTimeout(timer);
  }
}

// One line for screen readers at a time, and not too many.
function tell(text) {
  if (text) speech.waiting.push(text);
  const now = Date.now();
  if (!speech.waiting.length || now - speech.at < QUIET_MILLISECONDS) return;
  const all = speech.waiting.splice(0);
  say(byId("told"), all.length > 4 ? all.slice(-4).join(". ") + `. And ${all.length - 4} more.` : all.join(". "));
  speech.at = now;
}

function announce(deadlocks, pid) {
  if (known.pid !== null && known.pid !== pid) {
    tell("The daemon has restarted");
    known.current.clear();
    cards.clear();
    byId("lines").replaceChildren();
    chosen = null;
  }
  const first = known.pid === null;
  known.pid = pid;
  const current = new Map(deadlocks.current.map((one) => [one.id, one]));
  for (const [id, one] of current) {
    if (!known.current.has(id)) tell(`Suspicion ${id}: port ${one.port}, priority ${one.priority}`);
  }
  for (const id of known.current) {
    const past = deadlocks.past.find((one) => one.id === id);
    if (!current.has(id) && !first) tell(`Suspicion ${id} is over` + (past ? ` after ${seconds(past.lasted_seconds)}` : ""));
  }
  known.current = new Set(current.keys());
}

const suspicionRows = new Rows("suspicions", (tr, one) => {
  const made = cells(tr, ["", "", "n", "", "", "n", "n", "n", "n", ""]);
  const button = element("button", "", String(one.id));
  button.type = "button";
  button.addEventListener("click", () => {
    chosen = chosen === one.id ? null : one.id;
    if (view) showDeadlocks(view.deadlocks);
    timelines();
  });
  made[0].append(button);
  return made;
}, (cell, one, tr) => {
  const button = cell[0].firstElementChild;
  button.disabled = !one.recorded;
  button.setAttribute("aria-pressed", String(shownIds().includes(one.id)));
  button.setAttribute("aria-label", `Timeline of suspicion ${one.id}`);
  say(cell[1], one.port);
  say(cell[2], String(one.priority));
  const lasts = one.lasted_seconds == null;
  say(cell[3], lasts ? "SUSPECTED NOW" : "lasted " + seconds(one.lasted_seconds));
  classIs(cell[3], lasts ? "bad" : "");
  say(cell[4], led(one));
  say(cell[5], String(one.loops_found));
  say(cell[6], String(one.releases));
  say(cell[7], one.first_release_seconds == null ? NONE : seconds(one.first_release_seconds));
  say(cell[8], String(one.flows_moved));
  say(cell[9], words(one.reason));
  classIs(tr, shownIds().includes(one.id) ? "shown" : "");
});

// The time lines that are shown: the chosen one, else those of what is suspected now, else the newest.
function shownIds() {
  if (!view) return [];
  const { current, past } = view.deadlocks;
  const recorded = [...current, ...past].filter((one) => one.recorded);
  if (chosen !== null && recorded.some((one) => one.id === chosen)) return [chosen];
  const now = current.filter((one) => one.recorded).slice(0, CURRENT_SHOWN).map((one) => one.id);
  return now.length ? now : recorded.slice(0, 1).map((one) => one.id);
}

function showDeadlocks(deadlocks) {
  const all = [...deadlocks.current, ...deadlocks.past];
  byId("deadlocks-none").hidden = all.length > 0;
  byId("suspicions-box").hidden = all.length === 0;
  suspicionRows.show(all, (one) => one.id);
}

async function timelines() {
  const ids = shownIds();
  for (const [id, card] of cards) {
    if (!ids.includes(id)) {
      card.root.remove();
      cards.delete(id);
    }
  }
  for (const id of ids) {
    let card = cards.get(id);
    if (!card) {
      card = new Card(id);
      cards.set(id, card);
    }
    if (!card.line || !card.line.complete) {
      const line = await ask("/timelines/" + id);
      if (!line || cards.get(id) !== card) continue;
      if (!card.root.isConnected) byId("lines").append(card.root);
      card.show(line);
    }
  }
}

function stateIs(state, text) {
  document.body.dataset.state = state;
  say(byId("state-text"), text);
}

function show(answer) {
  view = answer;
  const { status, deadlocks } = view;
  say(byId("name"), status.name);
  const { verdict, reasons, left_out: more } = status.health;
  document.title = (verdict === "ok" ? "" : "▲ ") + status.name + " – Weir";
  announce(deadlocks, status.pid);
  if (known.verdict !== verdict) tell("Health is " + verdict);
  known.verdict = verdict;
  const why = reasons.map((reason) => reason.text).concat(more ? [`and ${more} more`] : []);
  if (verdict === "ok") stateIs("live", status.state + "; health ok");
  else stateIs(verdict, `${status.state}; ${verdict}: ${why.join("; ")}`);
  tables(view);
  showDeadlocks(deadlocks);
}

function gone() {
  const since = lastAnswer === null ? "yet" : "for " + seconds((Date.now() - lastAnswer) / 1000);
  stateIs("gone", "no answer");
  const banner = byId("banner");
  const text = "weir-switchd does not answer. The figures below are stale; the page resumes when it is back.";
  if (banner.hidden) {
    banner.hidden = false;
    say(banner, text);
  }
  say(byId("state-text"), "no answer " + since);
}

async function round() {
  if (document.hidden) return;
  tell();
  if (held) return;
  let answer = null;
  try {
    answer = await ask("/overview");
  } catch (error) {
    answer = null;
  }
  if (answer === null) return gone();
  lastAnswer = Date.now();
  byId("banner").hidden = true;
  if (held) return;
  show(answer);
  try {
    await timelines();
  } catch (error) {
    // The next round says so if nobody answers any more.
  }
}

async function forever() {
  for (;;) {
    await round();
    const pause = document.body.dataset.state === "gone" ? RETRY_MILLISECONDS : ASK_MILLISECONDS;
    await new Promise((done) => setTimeout(done, pause));
  }
}

byId("hold").addEventListener("click", () => {
  held = !held;
  const button = byId("hold");
  button.setAttribute("aria-pressed", String(held));
  if (held) stateIs("held", "frozen; press Freeze again to resume");
});
addEventListener("resize", () => cards.forEach((card) => card.draw()));
forever();
