"use strict";
// Elements, and values in readable form.

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

// The same for a text with `commands` in it.
function sayWithCode(target, text) {
  if (target.dataset.said === text) return;
  target.dataset.said = text;
  target.replaceChildren(...text.split("`").map((part, index) => index % 2 ? element("code", "", part) : part));
}

// How much larger than 14 px text is: pictures grow with it.
const textScale = () => parseFloat(getComputedStyle(document.body).fontSize) / 14;

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

// A text of no more than `room` characters.
const cut = (text, room) => text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text;

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
    this.table = byId(tableId);
    this.body = this.table.tBodies[0];
    this.make = make;
    this.fill = fill;
    this.rows = new Map();
  }

  // Where rows are stacked, each value has its column's heading next to it.
  label(made) {
    const heads = this.table.tHead.rows[0].cells;
    made.forEach((cell, index) => { cell.dataset.label = heads[index].textContent; });
  }

  show(entries, keyOf, fill = (row, entry) => this.fill(row.cells, entry, row.tr)) {
    const seen = new Set();
    let place = this.body.firstElementChild;
    for (const entry of entries) {
      const key = keyOf(entry);
      seen.add(key);
      let row = this.rows.get(key);
      if (!row) {
        const tr = element("tr");
        tr.setAttribute("role", "row");
        row = { tr, cells: this.make(tr, entry) };
        this.label(row.cells);
        this.rows.set(key, row);
      }
      if (row.tr !== place) this.body.insertBefore(row.tr, place);
      else place = place.nextElementSibling;
      fill(row, entry);
    }
    for (const [key, row] of this.rows) {
      if (!seen.has(key)) {
        row.tr.remove();
        this.rows.delete(key);
      }
    }
  }
}

// Rows by place, for lists that get new entries at their top: rows stay where they are and nothing on the page moves. The focus goes
// with the entry that has it.
class Slots extends Rows {
  show(entries, keyOf) {
    const focused = [...this.rows.values()].find((row) => row.tr.contains(document.activeElement))?.key;
    const places = entries.map((_, index) => index);
    super.show(places, String, (row, place) => {
      row.key = keyOf(entries[place]);
      this.fill(row.cells, entries[place], row.tr);
    });
    const row = focused !== undefined && [...this.rows.values()].find((row) => row.key === focused);
    if (row && !row.tr.contains(document.activeElement)) row.tr.querySelector("button")?.focus({ preventScroll: true });
  }
}

// Cells of a row: the one that heads it, then one for each class name. Rows that are stacked on phones are no tables to browsers any
// more: the roles say what they are.
function cells(tr, classNames) {
  return classNames.map((name, index) => {
    const cell = element(index === 0 ? "th" : "td", name);
    if (index === 0) cell.scope = "row";
    cell.setAttribute("role", index === 0 ? "rowheader" : "cell");
    tr.append(cell);
    return cell;
  });
}
