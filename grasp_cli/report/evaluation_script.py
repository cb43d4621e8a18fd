"""What the page of `grasp evaluate` does: sort, search, and open a question.

Texts from the data only ever become text nodes. Offsets count characters, not UTF-16 units.
"""

from __future__ import annotations

SCRIPT = r"""
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const body = document.querySelector("#questions tbody");
const rows = body ? [...body.rows] : [];
const opened = new Map();

const control = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
const clean = text => String(text).replace(/\r\n/g, "\n").replace(control, "\ufffd");

function make(tag, kind, ...inside) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  element.append(...inside);
  return element;
}

const own = text => make("bdi", "", clean(text));

/* Contexts with what was kept shaded and gold evidence underlined. */
function before(set, kept) {
  const parts = set.documents.map((document, place) => {
    const letters = Array.from(document.text);
    const spans = kept.filter(span => span[0] === place);
    const gold = set.gold.filter(span => span[0] === place);
    const ends = [...spans, ...gold].flatMap(span => [span[1], span[2]]);
    const cuts = [...new Set([0, letters.length, ...ends])].sort((a, b) => a - b);
    const inside = (list, at) => list.some(span => span[1] <= at && at < span[2]);
    const text = make("p");
    text.dir = "auto";
    cuts.slice(1).forEach((end, number) => {
      const start = cuts[number];
      const kind = (inside(spans, start) ? "in" : "out") + (inside(gold, start) ? " gold" : "");
      text.append(make("span", kind, clean(letters.slice(start, end).join(""))));
    });
    return [make("strong", "", own(document.title || `[${place + 1}]`)), text];
  });
  return parts.flat();
}

/* The context that the reader got. */
function after(set, entry) {
  if (entry.context !== undefined) return [paragraph(entry.context)];
  const blocks = new Map();
  for (const [place, start, end] of entry.spans) {
    const letters = Array.from(set.documents[place].text);
    if (!blocks.has(place)) blocks.set(place, []);
    blocks.get(place).push(letters.slice(start, end).join(""));
  }
  return [...blocks].flatMap(([place, texts]) => {
    const title = set.documents[place].title;
    return [...(title ? [make("strong", "", own(title))] : []), paragraph(texts.join(" "))];
  });
}

function paragraph(text) {
  const element = make("p", "", clean(text));
  element.dir = "auto";
  return element;
}

function sides(question, entry) {
  const set = question.sets[entry.set] || { documents: [], gold: [] };
  const [from, to] = entry.tokens;
  const count = number => (number === null || number === undefined ? "" : `, ${number} tokens`);
  const nothing = text => [make("p", "note", text)];
  const left = set.documents.length ? before(set, entry.spans) : nothing("no contexts");
  const right = after(set, entry);
  return make("div", "sides",
    make("div", "side", make("h3", "", `Before${count(from)}`), ...left),
    make("div", "side", make("h3", "", "After: ", own(entry.label), count(to)),
      ...(right.length ? right : nothing("nothing was kept"))));
}

function answers(question, choose) {
  const names = [...new Set(question.methods.flatMap(entry => entry.scores.map(s => s[0])))];
  const head = make("tr", "", ...["", "Answer", ...names].map((name, place) =>
    make("th", place > 1 ? "num" : "", name)));
  const list = question.methods.map(entry => {
    const scores = new Map(entry.scores);
    const answer = entry.error !== undefined ? make("span", "error", own(entry.error))
      : entry.answer === null || entry.answer === undefined ? make("span", "note", "no answer")
      : own(entry.answer);
    const button = make("button", `c${data.colours[entry.label] ?? 0}`, own(entry.label));
    const row = make("tr", "", make("td", "", button), make("td", "answer", answer),
      ...names.map(name => make("td", "num",
        scores.has(name) ? scores.get(name).toFixed(1) : "-")));
    row.addEventListener("click", () => choose(entry));
    return row;
  });
  const table = make("table", "", make("thead", "", head), make("tbody", "", ...list));
  return [make("div", "inner", table), list];
}

function panel(question) {
  const where = make("div");
  const choose = entry => {
    list.forEach((row, place) =>
      row.classList.toggle("chosen", question.methods[place] === entry));
    where.replaceChildren(sides(question, entry));
  };
  const [table, list] = answers(question, choose);
  const gold = question.gold.length ? question.gold.join(" | ") : "none";
  const first = question.methods.find(entry => entry.label === question.worst)
    || question.methods[0];
  const about = make("p", "key", "id ", own(question.id), " \u00b7 gold answer ", own(gold),
    " \u00b7 shaded: kept \u00b7 ", make("span", "gold", "underlined"), ": gold evidence");
  if (first) choose(first);
  return [about, table, where];
}

function toggle(row, button) {
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  if (open) {
    opened.get(row).remove();
    opened.delete(row);
    return;
  }
  const cell = make("td", "", ...panel(data.questions[button.dataset.question]));
  cell.colSpan = row.cells.length;
  const below = make("tr", "open", cell);
  row.after(below);
  opened.set(row, below);
}

function sort(heading, column) {
  const falling = heading.getAttribute("aria-sort") === "ascending";
  const value = row => {
    const text = row.cells[column].dataset.v;
    return text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text;
  };
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === "" || y === "") return (x === "") - (y === "");
    const order = typeof x === "number" && typeof y === "number" ? x - y
      : String(x).localeCompare(String(y));
    return falling ? -order : order;
  };
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
  for (const row of [...rows].sort(compare)) {
    body.append(row);
    if (opened.has(row)) body.append(opened.get(row));
  }
}

for (const row of rows) {
  const button = row.querySelector("button");
  button.addEventListener("click", () => toggle(row, button));
}
for (const button of document.querySelectorAll("#questions thead button")) {
  button.addEventListener("click", () => sort(button.parentElement, Number(button.dataset.column)));
}
const find = document.getElementById("find");
if (find) find.addEventListener("input", () => {
  const wanted = find.value.toLowerCase();
  for (const row of rows) {
    const question = data.questions[row.querySelector("button").dataset.question];
    const text = [row.cells[0].dataset.v, question.id, ...question.gold,
      ...question.methods.map(entry => entry.answer || "")].join("\n").toLowerCase();
    row.hidden = !text.includes(wanted);
    if (opened.has(row)) opened.get(row).hidden = row.hidden;
  }
});
"""
