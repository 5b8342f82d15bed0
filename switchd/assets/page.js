// Polls the switch and shows its answers; reports missing answers and continues.

const ASK_MILLISECONDS = 500;
const RETRY_MILLISECONDS = 1000;
const PATIENCE_MILLISECONDS = 4000;
// Announcements to screen readers keep this distance.
const QUIET_MILLISECONDS = 3000;

let frozen = false;
let chosen = null;
let lastAnswer = null;
let view = null;
let card = null;
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
    card = null;
    byId("stage").replaceChildren();
    chosen = null;
    forget();
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

const suspicionRows = new Slots("suspicions", (tr) => {
  const made = cells(tr, ["", "", "n", "", "wide"]);
  const button = element("button");
  button.type = "button";
  button.addEventListener("click", () => {
    const id = Number(button.textContent);
    chosen = chosen === id ? null : id;
    if (view) showDeadlocks(view.deadlocks);
    timeline();
  });
  made[0].append(button);
  return made;
}, (cell, one, tr) => {
  const button = cell[0].firstElementChild, shown = shownId() === one.id;
  say(button, String(one.id));
  button.disabled = !one.recorded;
  button.setAttribute("aria-pressed", String(shown));
  button.setAttribute("aria-label", `Timeline of suspicion ${one.id}`);
  say(cell[1], one.port);
  say(cell[2], String(one.priority));
  const lasts = one.lasted_seconds == null;
  say(cell[3], lasts ? "SUSPECTED NOW" : "lasted " + seconds(one.lasted_seconds));
  classIs(cell[3], lasts ? "bad" : "");
  say(cell[4], measures(one));
  classIs(tr, shown ? "shown" : "");
});

// The timeline that is shown: the chosen one, else of what is suspected for longest, else the newest.
function shownId() {
  if (!view) return null;
  const { current, past } = view.deadlocks;
  const recorded = [...current, ...past].filter((one) => one.recorded);
  if (chosen !== null && recorded.some((one) => one.id === chosen)) return chosen;
  return recorded.length ? recorded[0].id : null;
}

function showDeadlocks(deadlocks) {
  const all = [...deadlocks.current, ...deadlocks.past];
  byId("deadlocks-none").hidden = all.length > 0;
  byId("suspicions-box").hidden = all.length === 0;
  byId("stage").hidden = shownId() === null;
  suspicionRows.show(all, (one) => one.id);
}

async function timeline() {
  const id = shownId();
  if (id === null || (card && card.id === id && card.line.complete)) return;
  const line = await ask("/timelines/" + id);
  if (!line || shownId() !== id) return;
  if (!card || card.id !== id) {
    card = new Card(id);
    // In the place of the previous one, at once: nothing moves.
    byId("stage").replaceChildren(card.root);
  }
  card.show(line);
}

function stateIs(state, text) {
  document.body.dataset.state = state;
  say(byId("state"), text);
}

// The rates that the switch has stored, if the page lacks them.
async function past(now) {
  if (!isGap(now)) return;
  try {
    const curves = await ask("/curves");
    if (curves) remember(curves);
  } catch (error) {
    // Then curves begin now.
  }
}

function show(answer) {
  view = answer;
  const { status, deadlocks } = view;
  say(byId("name"), status.name);
  const verdict = status.health ? status.health.verdict : "ok";
  document.title = (verdict === "ok" ? "" : "▲ ") + status.name + " – Weir";
  announce(deadlocks, status.pid);
  if (known.verdict !== verdict) tell("Health is " + verdict);
  known.verdict = verdict;
  stateIs(verdict === "ok" ? "live" : verdict, `${words(status.state)}, ${view.time.slice(11, 19)} UTC`);
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
  say(byId("state"), "no answer " + since);
}

async function round() {
  if (document.hidden) return;
  tell();
  if (frozen) return;
  let answer = null;
  try {
    answer = await ask("/overview");
  } catch (error) {
    answer = null;
  }
  if (answer === null) return gone();
  lastAnswer = Date.now();
  byId("banner").hidden = true;
  if (frozen) return;
  await past(answer.monotonic_nanos);
  if (frozen) return;
  show(answer);
  try {
    await timeline();
  } catch (error) {
    // The next round reports it if the switch answers no longer.
  }
}

async function forever() {
  for (;;) {
    await round();
    const pause = document.body.dataset.state === "gone" ? RETRY_MILLISECONDS : ASK_MILLISECONDS;
    await new Promise((done) => setTimeout(done, pause));
  }
}

byId("freeze").addEventListener("click", () => {
  frozen = !frozen;
  byId("freeze").setAttribute("aria-pressed", String(frozen));
  if (frozen) stateIs("frozen", `frozen at ${view ? view.time.slice(11, 19) + " UTC" : "the start"}; press again to resume`);
});

addEventListener("resize", () => {
  if (card) card.draw();
  if (view) picture.show(view, rates(view), finder.ports(view));
});
forever();
