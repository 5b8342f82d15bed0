"use strict";
// The page of a run: the network at a moment, and tables that can be sorted. Everything else is in the file as it is.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const slider = document.getElementById("moment");

  for (const table of document.querySelectorAll("table")) {
    const headings = [...table.querySelectorAll("th")];
    headings.forEach((heading, column) => heading.querySelector("button").addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") !== "descending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const value = (row) => row.cells[column].dataset.by ?? row.cells[column].textContent;
      const compare = (a, b) => isNaN(a) || isNaN(b) ? String(a).localeCompare(b, undefined, { numeric: true }) : a - b;
      body.append(...[...body.rows].sort((a, b) => compare(value(a), value(b)) * (down ? -1 : 1)));
    }));
  }
  if (!slider) return;

  // Several priorities of one end are one line: the one that pauses longest.
  const lines = new Map();
  for (const line of document.querySelectorAll("#network .end")) lines.set(line.dataset.switch + "\n" + line.dataset.peer, line);
  const nodes = new Map([...document.querySelectorAll("#network g")].map((node) => [node.dataset.name, node]));
  const at = (index) => {
    const paused = new Map();
    for (const end of data.ends) {
      const key = end.switch + "\n" + end.peer;
      const one = paused.get(key);
      if (end.paused[index] > 0 && (!one || one.part < end.paused[index])) {
        paused.set(key, { end, part: end.paused[index], bytes: end.bytes[index] });
      }
    }
    return paused;
  };

  // Switches that wait for each other in a circle: a pauses b, b pauses c, and so on. Only pauses of half the interval count.
  const circle = (paused) => {
    const next = new Map();
    for (const { end, part } of paused.values()) {
      if (part >= 50) next.set(end.switch, [...(next.get(end.switch) ?? []), end.peer]);
    }
    const done = new Set();
    for (const from of next.keys()) {
      const path = [from], left = [[...(next.get(from) ?? [])]], on = new Set(path);
      while (path.length > 0) {
        const to = left[left.length - 1].pop();
        if (to === undefined) {
          const gone = path.pop();
          left.pop();
          on.delete(gone);
          done.add(gone);
        } else if (on.has(to)) {
          return path.slice(path.indexOf(to));
        } else if (!done.has(to)) {
          path.push(to);
          on.add(to);
          left.push([...(next.get(to) ?? [])]);
        }
      }
    }
    return [];
  };

  const time = (seconds) => {
    const [unit, size] = [["s", 1], ["ms", 1e-3], ["µs", 1e-6]].find(([, size]) => seconds >= size) ?? ["ns", 1e-9];
    return `${(seconds / size).toPrecision(4)} ${unit}`;
  };
  const size = (bytes) => bytes >= 1048576 ? `${(bytes / 1048576).toFixed(1)} MiB` : `${(bytes / 1024).toFixed(1)} KiB`;

  const strip = document.getElementById("strip");
  for (let index = 0; index < data.seconds.length; index++) {
    const paused = at(index), part = document.createElement("i");
    part.style.opacity = Math.min(1, paused.size / Math.max(1, Math.min(data.ends.length, 8)));
    part.classList.toggle("circle", circle(paused).length > 0);
    strip.append(part);
  }

  const show = () => {
    const index = Number(slider.value), paused = at(index), loop = circle(paused);
    const now = time(data.seconds[index]);
    document.getElementById("now").textContent = `at ${now}`;
    slider.setAttribute("aria-valuetext", now);
    const follows = (a, b) => loop.some((name, place) => name === a && loop[(place + 1) % loop.length] === b);
    for (const [key, line] of lines) {
      const found = paused.get(key);
      line.style.strokeOpacity = found ? 0.25 + 0.75 * found.part / 100 : 0;
      line.classList.toggle("circle", Boolean(found) && follows(line.dataset.switch, line.dataset.peer));
      line.firstElementChild.textContent = found
        ? `${line.dataset.switch} pauses ${line.dataset.peer} for ${found.part} % of this interval; ${size(found.bytes)} in its buffer` : "";
    }
    for (const [name, node] of nodes) node.classList.toggle("circle", loop.includes(name));
    const longest = [...paused.values()].sort((a, b) => b.part - a.part).slice(0, 6)
      .map(({ end, part, bytes }) => `${end.switch} pauses ${end.peer} (${part} %, ${size(bytes)})`);
    const around = loop.length ? `A circle: ${[...loop, loop[0]].join(" pauses ")}. ` : "";
    const more = paused.size > longest.length ? `, and ${paused.size - longest.length} more` : "";
    document.getElementById("pauses").textContent = paused.size ? `${around}${longest.join(", ")}${more}.` : "Nobody pauses anybody.";
  };

  const play = document.getElementById("play");
  let timer = 0;
  // While it plays, a screen reader cannot read every moment.
  const said = document.getElementById("pauses");
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = "Play"; said.setAttribute("aria-live", "polite"); };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (Number(slider.value) === Number(slider.max)) slider.value = 0;
    play.textContent = "Stop";
    said.setAttribute("aria-live", "off");
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show();
      if (Number(slider.value) === Number(slider.max)) stop();
    }, 80);
  });
  slider.addEventListener("input", () => { stop(); show(); });
  // The initial moment: the first circle, or else the moment with most pauses.
  const weight = data.seconds.map((_, index) => circle(at(index)).length * 1e6 + at(index).size);
  slider.value = weight.indexOf(Math.max(...weight));
  show();
})();
