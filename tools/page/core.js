"use strict";
// What all views use. Text from the report reaches the page by textContent and attributes alone:
// nothing here, or in a view, makes markup from a string.

/** Every view: {id, title, about, badge(report), render(root, report)}; main.js shows them in this order. */
const views = [];

/** An element: el("div", {class: "panel", onclick: f}, "text", child, [more]). */
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** The same in SVG. */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, attributes);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "width%") element.style.width = value + "%";
    else if (name === "left%") element.style.left = value + "%";
    else element.setAttribute(name, value === true ? "" : value);
  }
}

const format = {
  /** 1.23 ms of nanoseconds. */
  time(ns) {
    if (!ns) return "–";
    if (ns < 1e3) return ns + " ns";
    if (ns < 1e6) return (ns / 1e3).toPrecision(3) + " µs";
    if (ns < 1e9) return (ns / 1e6).toPrecision(3) + " ms";
    return (ns / 1e9).toPrecision(3) + " s";
  },
  bytes(count) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (count >= 1024 && unit < units.length - 1) { count /= 1024; ++unit; }
    return (unit ? count.toPrecision(3) : count) + " " + units[unit];
  },
  count(value) { return value >= 1e9 ? (value / 1e9).toPrecision(3) + "G" : value >= 1e6 ? (value / 1e6).toPrecision(3) + "M" : String(Math.round(value)); },
  percent(part, whole) { return whole > 0 ? (100 * part / whole).toFixed(1) + "%" : "–"; },
  place(location) { return location ? location.file.split("/").slice(-3).join("/") + ":" + location.line : ""; },
};

const chip = (text, kind) => el("span", {class: "chip " + (kind || "")}, text);
const idOf = (id) => el("span", {class: "id"}, "[" + id + "]");
const nothing = (...text) => el("p", {class: "nothing"}, ...text);
const legend = (rows) => el("div", {class: "legend"}, rows.map(([kind, text]) => el("span", {}, el("i", {class: "fill-" + kind}), text)));

/** A bar of parts: [[kind, amount]]. */
function bar(parts) {
  const whole = parts.reduce((sum, [, amount]) => sum + amount, 0) || 1;
  return el("div", {class: "bar"}, parts.filter(([, amount]) => amount > 0)
    .map(([kind, amount]) => el("span", {class: "fill-" + kind, "width%": 100 * amount / whole})));
}

/** A table of heads and rows; a head that starts with "#" has numbers under it. */
function table(heads, rows, pick) {
  const numeric = heads.map((head) => head.startsWith("#"));
  const cell = (tag, content, at) => el(tag, {class: numeric[at] ? "num" : null}, content);
  return el("table", {},
    el("thead", {}, el("tr", {}, heads.map((head, at) => cell("th", numeric[at] ? head.slice(1) : head, at)))),
    el("tbody", {}, rows.map((row, index) => el("tr", pick ? {class: "pick", tabindex: 0, onclick: () => pick(index),
      onkeydown: (event) => { if (event.key === "Enter") pick(index); }} : {}, row.map((content, at) => cell("td", content, at))))));
}

/** Lines of a source file around `location`, with a caret under its columns. */
function excerpt(report, location, around = 2) {
  if (!location) return null;
  const head = el("div", {class: "small dim mono", title: report.path.get(location.file)}, location.file + ":" + location.line);
  const lines = report.lines.get(location.file);
  if (!lines || !lines.has(location.line)) return head;
  const box = el("div", {class: "excerpt"});
  for (let line = location.line - around; line <= location.line + around; ++line) {
    if (!lines.has(line)) continue;
    const text = lines.get(line), at = line === location.line;
    box.append(el("div", {class: at ? "at" : null}, el("span", {class: "no"}, line), text));
    if (!at || location.column < 0) continue;
    const end = location.end_line === location.line ? location.end_column : text.trimEnd().length;
    box.append(el("div", {}, el("span", {class: "no"}), el("span", {class: "caret"},
      text.slice(0, location.column).replace(/[^\t]/g, " ") + "^".repeat(Math.max(1, end - location.column)))));
  }
  return el("div", {}, head, box);
}

const tip = {
  show(event, text) {
    const box = document.getElementById("tip");
    box.textContent = text;
    box.hidden = false;
    const right = event.clientX + 16 + box.offsetWidth > innerWidth;
    box.style.left = (right ? Math.max(4, event.clientX - 12 - box.offsetWidth) : event.clientX + 16) + "px";
    box.style.top = Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 6) + "px";
  },
  hide() { document.getElementById("tip").hidden = true; },
};

/** A colour of the page's style, for canvases. */
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/** Goes to a view: go("graphs", "0/1"). */
function go(view, what) { location.hash = "#" + view + (what === undefined ? "" : "=" + encodeURIComponent(what)); }
const link = (text, view, what) => el("a", {href: "#" + view + (what === undefined ? "" : "=" + encodeURIComponent(what))}, text);
