// Returns the page's faults for people who see it badly or not at all; empty without faults.
const wrong = [];
const all = (selector) => [...document.querySelectorAll(selector)];
const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";
const named = (element) => {
  const by = (element.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id)?.textContent || "").join("");
  return (element.getAttribute("aria-label") || by || element.textContent).trim();
};
for (const landmark of ["header", "nav", "main", "footer"]) {
  if (all(landmark).length !== 1) wrong.push(`not one ${landmark}`);
}
if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
const ids = all("[id]").map((element) => element.id);
if (new Set(ids).size !== ids.length) wrong.push("an id is there twice");
for (const reference of all("[aria-labelledby]")) {
  for (const id of reference.getAttribute("aria-labelledby").split(" ")) {
    if (!document.getElementById(id)) wrong.push(`nothing has the id ${id}`);
  }
}
let depth = 0;
for (const heading of all("h1,h2,h3,h4").filter(shown)) {
  const level = Number(heading.tagName[1]);
  if (level > depth + 1) wrong.push(`heading ${heading.textContent} skips a level`);
  depth = level;
}
for (const table of all("table").filter(shown)) {
  if (!table.caption?.textContent) wrong.push(`table ${table.id} has no caption`);
  for (const head of table.querySelectorAll("th")) {
    if (!head.scope) wrong.push(`table ${table.id}: ${head.textContent} has no scope`);
    if (!head.textContent.trim()) wrong.push(`table ${table.id}: a heading is empty`);
  }
  const columns = table.tHead.rows[0].cells.length;
  for (const row of table.tBodies[0].rows) {
    if (row.cells.length !== columns) wrong.push(`table ${table.id}: a row has ${row.cells.length} cells, not ${columns}`);
  }
}
for (const control of all("button, a, [role=meter], [role=region], [role=img], section, article").filter(shown)) {
  if (!named(control)) wrong.push(`no name: ${control.outerHTML.slice(0, 80)}`);
}
for (const box of all(".scroll").filter(shown)) {
  if (box.tabIndex !== 0) wrong.push("a box that scrolls is out of the keyboard's reach");
}
if (!document.querySelector("[aria-live=polite]")) wrong.push("nothing is announced");

// Contrast of every text against its background.
const rgb = (text) => {
  const parts = text.match(/[\d.]+/g)?.map(Number) || [0, 0, 0, 0];
  return parts.length < 4 ? [...parts, 1] : parts;
};
const light = (colour) => {
  const [red, green, blue] = colour.slice(0, 3).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const behind = (element) => {
  // In a picture, the shape that was drawn just before the text, where its middle is inside.
  const shape = element instanceof SVGElement ? element.previousElementSibling : null;
  if (["circle", "rect"].includes(shape?.tagName)) {
    const [around, text] = [shape, element].map((one) => one.getBoundingClientRect());
    const [x, y] = [(text.left + text.right) / 2, (text.top + text.bottom) / 2];
    const paint = rgb(getComputedStyle(shape).fill);
    if (paint[3] === 1 && around.left < x && x < around.right && around.top < y && y < around.bottom) return paint;
  }
  for (let at = element; at; at = at.parentElement) {
    const paint = rgb(getComputedStyle(at).backgroundColor);
    if (paint[3] === 1) return paint;
  }
  return [255, 255, 255, 1];
};
let looked = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !shown(element) || ["SCRIPT", "NOSCRIPT", "title"].includes(element.tagName)) continue;
  if (element.closest(".unseen, .skip, button:disabled")) continue;
  const style = getComputedStyle(element);
  const ink = rgb(element instanceof SVGElement ? style.fill : style.color);
  const [bright, dark] = [light(ink), light(behind(element))].sort((a, b) => b - a);
  const ratio = (bright + 0.05) / (dark + 0.05);
  looked += 1;
  if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ${walker.currentNode.textContent.trim().slice(0, 40)}`);
}
if (looked < 50) wrong.push(`only ${looked} texts were looked at`);
if (document.documentElement.scrollWidth > innerWidth) wrong.push(`the page is wider than the window: ${document.documentElement.scrollWidth} > ${innerWidth}`);
return [...new Set(wrong)];
