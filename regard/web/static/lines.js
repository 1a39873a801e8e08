// Lines between words as SVG: those that look on the left, those that are seen on the right; the stronger, the thicker.
import { shortened, widest } from "./labels.js";
import { percent } from "./numbers.js";
import { roving, shape } from "./dom.js";
import { cellOf } from "./weights.js";

const LINE_HEIGHT = 30;
const SHARE_WIDTH = 46;
const WIDEST_LABEL = 150;
const MOST_LINES = 4000;

/** The pairs that get a line: all over 2 %, or, where they are too many, the strongest. */
export function linkedPairs(matrix) {
  const pairs = [];
  for (let row = 0; row < matrix.rows; row += 1) {
    for (let column = 0; column < matrix.columns; column += 1) {
      const weight = cellOf(matrix, row, column);
      if (weight >= 0.02) pairs.push({ row, column, weight });
    }
  }
  return pairs.length <= MOST_LINES ? pairs : pairs.sort((a, b) => b.weight - a.weight).slice(0, MOST_LINES);
}

/** A word of one side: a box, its text and, on the right, the share it gets. */
function wordShape({ text, x, y, boxWidth, anchor, language, label }) {
  const inset = anchor === "end" ? boxWidth - 8 : 8;
  return shape("g", { class: "line-word", role: "button", "aria-label": label, "aria-pressed": "false" },
    shape("rect", { class: "word-box", x, y: y + 2, width: boxWidth, height: LINE_HEIGHT - 4, rx: 6 }),
    shape("text", { class: "word-text", x: x + inset, y: y + LINE_HEIGHT / 2 + 5, "text-anchor": anchor, lang: language },
      shortened(text, WIDEST_LABEL), shape("title", {}, text)),
    shape("text", { class: "word-share", x: x + boxWidth - 8, y: y + LINE_HEIGHT / 2 + 4.5, "text-anchor": "end" }));
}

/** Draw lines; options as those of a heat map. */
export function lineDrawing({ rows, columns, matrix, label, width, languages, selection, ends }) {
  const grow = 1.16;  // words are set larger here than the labels that are measured
  const most = Math.min(WIDEST_LABEL, (width - SHARE_WIDTH - 90) / 2);
  const left = Math.ceil(18 + grow * widest(rows, most));
  const right = Math.ceil(18 + grow * widest(columns, most) + SHARE_WIDTH);
  const total = Math.max(Math.min(width, 720), left + right + 60);
  const head = 24;
  const height = head + LINE_HEIGHT * Math.max(rows.length, columns.length);
  const middle = (index) => head + LINE_HEIGHT * (index + 0.5);
  const from = left + 4;
  const to = total - right - 4;
  const bend = (to - from) * 0.45;
  const wire = (start, end) => `M${from} ${start}C${from + bend} ${start} ${to - bend} ${end} ${to} ${end}`;
  const pairs = linkedPairs(matrix).map((pair) =>
    ({ ...pair, path: shape("path", { class: "wire", d: wire(middle(pair.row), middle(pair.column)) }) }));
  const asking = rows.map((text, index) => wordShape({ text, x: 0, y: head + LINE_HEIGHT * index, boxWidth: left, anchor: "end",
    language: languages[0], label: text }));
  const seen = columns.map((text, index) => wordShape({ text, x: total - right, y: head + LINE_HEIGHT * index, boxWidth: right,
    anchor: "start", language: languages[1], label: text }));
  const node = shape("svg",
    { class: "lines", viewBox: `0 0 ${total} ${height}`, width: total, height, role: "group", "aria-label": label },
    shape("text", { class: "end-text", x: left - 8, y: 12, "text-anchor": "end" }, ends[0]),
    shape("text", { class: "end-text", x: total - right + 8, y: 12 }, ends[1]),
    shape("g", { class: "wires" }, pairs.map((pair) => pair.path)),
    shape("g", { role: "group", "aria-label": ends[0] }, asking),
    shape("g", { role: "group", "aria-label": ends[1] }, seen));
  const reach = { row: attach(asking, "row", selection), column: attach(seen, "column", selection) };
  return { node, highlight: () => paint({ pairs, asking, seen, matrix, selection, reach }) };
}

function only(side, index) {
  return side === "row" ? { row: index, column: null } : { row: null, column: index };
}

function attach(words, side, selection) {
  words.forEach((word, index) => {
    word.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse") selection.set({ passing: only(side, index) });
    });
    word.addEventListener("pointerleave", () => selection.set({ passing: null }));
    const toggle = () => {
      const { pinned } = selection.get();
      const again = pinned && pinned[side] === index;
      selection.set({ passing: null, pinned: again ? null : only(side, index) });
    };
    word.addEventListener("click", toggle);
    word.addEventListener("keydown", (event) => {
      if (event.key === "Escape") selection.set({ passing: null, pinned: null });
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle();
    });
  });
  return roving(words, { across: 1, onMove: (index) => selection.set({ passing: null, pinned: only(side, index) }) });
}

/** The strength of each line and of each word's ground, for what is singled out. */
function paint({ pairs, asking, seen, matrix, selection, reach }) {
  const { passing, pinned } = selection.get();
  const shown = passing ?? pinned ?? { row: null, column: null };
  const free = shown.row === null && shown.column === null;
  for (const { row, column, weight, path } of pairs) {
    const active = free || row === shown.row || (shown.row === null && column === shown.column);
    path.setAttribute("stroke-opacity", (active ? Math.min(1, 0.1 + weight) : 0.07 * weight).toFixed(3));
    path.setAttribute("stroke-width", (active ? 1 + 7 * weight : 1).toFixed(2));
  }
  const dress = (word, weight, chosen, pressed) => {
    word.classList.toggle("chosen", chosen);
    word.firstChild.setAttribute("fill-opacity", chosen ? "1" : (0.6 * weight).toFixed(3));
    word.setAttribute("aria-pressed", String(pressed));
  };
  const byColumn = shown.row === null && shown.column !== null;
  asking.forEach((word, row) => dress(word, byColumn ? cellOf(matrix, row, shown.column) : 0,
    row === shown.row, pinned?.row === row && pinned.column === null));
  seen.forEach((word, column) => dress(word, shown.row === null ? 0 : cellOf(matrix, shown.row, column),
    byColumn && column === shown.column, pinned?.column === column && pinned.row === null));
  seen.forEach((word, column) => {
    const weight = shown.row === null ? 0 : cellOf(matrix, shown.row, column);
    word.lastChild.textContent = weight >= 0.03 ? percent(weight) : "";
  });
  if (pinned && pinned.row !== null) reach.row(pinned.row);
  if (pinned && pinned.row === null && pinned.column !== null) reach.column(pinned.column);
}
