// The verdict, at the top: the switch's condition, its reasons, and their figures.

const VERDICTS = { ok: "Well", degraded: "Degraded", failing: "Failing" };

// Meaning of the worst reason.
const HEADLINES = {
  lossless_loss: () => "lossless frames are lost",
  kernel_losses: () => "frames are lost on their way to the switch",
  xdp_losses: () => "frames are lost on their way to the switch",
  device_losses: () => "frames are lost on their way to the switch",
  mtu_too_small: () => "a device's MTU is too small",
  device_unfit: () => "a device cannot be used",
  suspected: (view, reason) => {
    if (view.deadlocks.current.length) return view.status.deadlock_policy === "off" ? "frames stand still" : "a deadlock is being resolved";
    if (!view.deadlocks.past.some((one) => one.releases)) return "a deadlock was suspected";
    return reason.count > 1 ? "a deadlock comes back and is released" : "a deadlock was released";
  },
  storm: () => "a neighbour pauses without end",
  forwarding_loop: () => "frames came round a loop",
  events_lost: () => "events were lost",
  dataplane_silent: () => "the dataplane does not answer",
  restart_failed: () => "a restart failed",
  keeper_gone: () => "the keeper has ended",
  listener_taken: () => "an address to listen at is taken",
};

// The verdict in words, and all reasons for it.
function judged(view) {
  const { health, state } = view.status;
  if (!health) return { word: words(state), reasons: [] };
  const headline = health.reasons.length && HEADLINES[health.reasons[0].kind];
  const verdict = VERDICTS[health.verdict] || words(health.verdict);
  const reasons = health.reasons.map((reason) => ({ verdict: reason.verdict, text: reason.text }));
  if (health.left_out) reasons.push({ verdict: "", text: `and ${health.left_out} more` });
  if (!reasons.length) reasons.push({ verdict: "", text: "Nothing was lost of late, and no deadlock was suspected." });
  return { word: verdict + (headline ? ": " + headline(view, health.reasons[0]) : ""), reasons };
}

function showVerdict(view) {
  const { word, reasons } = judged(view);
  say(byId("verdict-word"), word);
  const list = byId("reasons");
  while (list.children.length > reasons.length) list.lastElementChild.remove();
  reasons.forEach((reason, index) => {
    let item = list.children[index];
    if (!item) {
      item = element("li");
      list.append(item);
    }
    sayWithCode(item, reason.text);
    classIs(item, reason.verdict === "failing" ? "bad" : reason.verdict === "degraded" ? "warn" : "");
  });
  facts(view);
}

function facts(view) {
  const status = view.status, list = byId("facts");
  const rows = [
    ["Up", seconds(status.uptime_seconds)],
    ["Deadlock policy", status.deadlock_policy],
    ["Inside the switch", count(status.held_frames) + " frames"],
    ["Admitted", count(status.admitted_frames_total) + " frames"],
    ["Dropped", reasons(status.drops_total)],
    ["Lost by the kernel", count(status.kernel_losses_total) + " frames"],
    ["Packet memory free", status.umem_frames ? Math.round(100 * status.umem_frames_free / status.umem_frames) + " %" : NONE],
    ["CLCM messages", `${count(status.clcm.sent_total)} out, ${count(status.clcm.received_total)} in`],
  ];
  rows.forEach(([name, value], index) => {
    let pair = list.children[index];
    if (!pair) {
      pair = element("div");
      pair.append(element("dt", "", name), element("dd"));
      list.append(pair);
    }
    say(pair.children[1], value);
    if (pair.children[1].title !== value) pair.children[1].title = value;
  });
  say(byId("foot"), `${status.name}, weir-switchd ${status.version}, process ${status.pid}; as of ${view.time.slice(0, 19).replace("T", " ")} UTC. This page is read-only.`);
}
