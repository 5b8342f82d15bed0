"use strict";
// Elements, and values as people read them.

const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Changes what is shown only where it differs: selections, focus and screen readers stay where they are.
function say(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

function classIs(target, name) {
  if (target.className !== name) target.className = name;
}

const NONE = "–";

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit + 1 < units.length) {
    count /= 1024;
    unit += 1;
  }
  return (unit === 0 ? String(Math.round(count)) : count.toFixed(1)) + " " + units[unit];
}

function bitRate(perSecond) {
  const units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
  let unit = 0;
  while (perSecond >= 1000 && unit + 1 < units.length) {
    perSecond /= 1000;
    unit += 1;
  }
  return (unit === 0 || perSecond === Math.round(perSecond) ? String(Math.round(perSecond)) : perSecond.toFixed(1)) + " " + units[unit];
}

function seconds(span) {
  if (span >= 3600) return Math.floor(span / 3600) + " h " + Math.floor(span / 60 % 60) + " min";
  if (span >= 60) return Math.floor(span / 60) + " min " + Math.floor(span % 60) + " s";
  if (span >= 1) return span.toFixed(1) + " s";
  if (span >= 1e-3) return (span * 1e3).toFixed(1) + " ms";
  return span > 0 ? (span * 1e6).toFixed(1) + " µs" : "0 s";
}

const count = (number) => number.toLocaleString("en").replaceAll(",", "\u202f");

function reasons(counts) {
  return Object.entries(counts).map(([name, number]) => count(number) + " " + name.replaceAll("_", " ")).join(", ") || NONE;
}

const words = (kind) => kind.replaceAll("_", " ").replace("clcm", "CLCM");

function details(of) {
  return Object.entries(of || {}).map(([name, value]) => name.replaceAll("_", " ") + " " + value).join(", ");
}

// Rows by key: each is made once, and filled again and again by `fill(cells, entry, row)`.
class Rows {
  constructor(tableId, make, fill) {
    this.body = byId(tableId).tBodies[0];
    this.make = make;
    this.fill = fill;
    this.rows = new Map();
  }

  show(entries, keyOf) {
    const seen = new Set();
    let place = this.body.firstElementChild;
    for (const entry of entries) {
      const key = keyOf(entry);
      seen.add(key);
      let row = this.rows.get(key);
      if (!row) {
        const tr = element("tr");
        row = { tr, cells: this.make(tr, entry) };
        this.rows.set(key, row);
      }
      if (row.tr !== place) this.body.insertBefore(row.tr, place);
      else place = place.nextElementSibling;
      this.fill(row.cells, entry, row.tr);
    }
    for (const [key, row] of this.rows) {
      if (!seen.has(key)) {
        row.tr.remove();
        this.rows.delete(key);
      }
    }
  }
}

// Cells of a row: the one that heads it, then one for each class name.
function cells(tr, classNames) {
  return classNames.map((name, index) => {
    const cell = element(index === 0 ? "th" : "td", name);
    if (index === 0) cell.scope = "row";
    tr.append(cell);
    return cell;
  });
}
