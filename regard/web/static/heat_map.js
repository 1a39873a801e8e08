// A heat map as SVG: rows look, columns are seen. Cells of one colour are one path, so that big ones stay light.
import { clamp } from "./numbers.js";
import { cssColour, inkOn } from "./colour.js";
import { labelWidth, shortened, widest } from "./labels.js";
import { shape } from "./dom.js";
import { cellOf } from "./weights.js";

const WIDEST_ROW_LABEL = 132;
const WIDEST_COLUMN_LABEL = 118;
const [COSINE, SINE] = [0.67, 0.743];  // column labels lean by 48 degrees
const FIGURES_FROM = 25;

/** Where everything stands: {side, top, cell, gap, width, height}, for labels and the width there is. */
export function heatGeometry(rows, columns, available) {
  const side = 14 + widest(rows, WIDEST_ROW_LABEL);
  const top = 16 + SINE * widest(columns, WIDEST_COLUMN_LABEL);
  const overhang = (cell) => Math.max(4, ...columns.map((text, column) =>
    COSINE * Math.min(labelWidth(text), WIDEST_COLUMN_LABEL) + 10 - (columns.length - column - 0.5) * cell));
  let cell = clamp((available - side) / columns.length, 11, 34);
  cell = clamp((available - side - overhang(cell)) / columns.length, 11, 34);
  const gap = cell >= 16 ? 1 : 0;
  const [width, height] = [side + cell * columns.length + overhang(cell), top + cell * rows.length + 2];
  return { side, top, cell, gap, width, height };
}

function cellPath(x, y, size, radius) {
  const inner = size - 2 * radius;
  const corner = (dx, dy) => (radius ? `a${radius} ${radius} 0 0 1 ${dx} ${dy}` : "");
  return `M${(x + radius).toFixed(1)} ${y.toFixed(1)}h${inner.toFixed(1)}${corner(radius, radius)}v${inner.toFixed(1)}`
    + `${corner(-radius, radius)}h${(-inner).toFixed(1)}${corner(-radius, -radius)}v${(-inner).toFixed(1)}`
    + `${corner(radius, -radius)}z`;
}

/** The paths of all cells, one for each level of colour that occurs. */
function cellPaths(matrix, scale, place, allowed) {
  const paths = new Map();
  for (let row = 0; row < matrix.rows; row += 1) {
    for (let column = 0; column < matrix.columns; column += 1) {
      if (!allowed(row, column)) continue;
      const level = scale.level(cellOf(matrix, row, column));
      const list = paths.get(level) ?? paths.set(level, []).get(level);
      list.push(cellPath(...place(row, column)));
    }
  }
  return [...paths].sort((a, b) => a[0] - b[0])
    .map(([level, list]) => shape("path", { class: "cells", d: list.join(""), fill: cssColour(scale.colours[level]) }));
}

function cellFigures(matrix, scale, geometry, place) {
  const texts = [];
  if (geometry.cell < FIGURES_FROM) return texts;
  for (let row = 0; row < matrix.rows; row += 1) {
    for (let column = 0; column < matrix.columns; column += 1) {
      const weight = cellOf(matrix, row, column);
      if (weight < 0.095) continue;
      const [x, y, size] = place(row, column);
      texts.push(shape("text", { class: "cell-figure", x: x + size / 2, y: y + size / 2 + 4, "text-anchor": "middle",
        fill: inkOn(scale.colours[scale.level(weight)]) }, String(Math.round(100 * weight))));
    }
  }
  return texts;
}

/** Rectangles that veil what is not singled out: everything but a row, a column, or both. */
function veils({ side, top, cell }, matrix, { row, column }) {
  if (row === null && column === null) return [];
  const around = (index, count) => [[0, index], [index + 1, count]].filter(([from, to]) => to > from);
  const others = (index, count) => (index === null ? [[0, count]] : around(index, count));
  return others(row, matrix.rows).flatMap(([up, down]) => others(column, matrix.columns).map(([left, right]) =>
    shape("rect", { class: "veil", x: side + left * cell, y: top + up * cell,
      width: (right - left) * cell, height: (down - up) * cell })));
}

/** What the pointer is on: a cell, a row's label, a column's label, or nothing. */
export function pointedAt(geometry, matrix, x, y) {
  const { side, top, cell } = geometry;
  const [row, leaning] = [Math.floor((y - top) / cell), y < top ? x - (top - y) * (COSINE / SINE) : x];
  const column = Math.floor((leaning - side) / cell);
  const within = { row: row >= 0 && row < matrix.rows, column: column >= 0 && column < matrix.columns };
  if (within.row && within.column) return { row, column };
  if (within.row && x < side) return { row, column: null };
  return y < top && within.column ? { row: null, column } : null;
}

/**
 * Draw a heat map. `selection` is a store of {passing, pinned}, each {row, column} or null; the pointer and the arrow
 * keys write to it, `highlight()` shows it.
 */
export function heatMap({ rows, columns, matrix, scale, label, width, languages, selection, allowed }) {
  const geometry = heatGeometry(rows, columns, width);
  const { side, top, cell, gap } = geometry;
  const radius = cell >= 20 ? 3 : 0;
  const place = (row, column) => [side + column * cell + gap, top + row * cell + gap, cell - 2 * gap, radius];
  const every = (size) => Math.max(1, Math.ceil(13 / size));
  const heads = columns.map((text, column) => shape("text", { class: "axis-text", lang: languages[1],
    transform: `translate(${(side + (column + 0.5) * cell + 4).toFixed(1)} ${(top - 7).toFixed(1)}) rotate(-48)` },
    column % every(cell) ? "" : shortened(text, WIDEST_COLUMN_LABEL), shape("title", {}, text)));
  const names = rows.map((text, row) => shape("text", { class: "axis-text", lang: languages[0], x: side - 8,
    y: top + (row + 0.5) * cell + 4, "text-anchor": "end" },
    row % every(cell) ? "" : shortened(text, WIDEST_ROW_LABEL), shape("title", {}, text)));
  const covers = shape("g", { class: "veils" });
  const node = shape("svg", { class: "heat", viewBox: `0 0 ${geometry.width.toFixed(1)} ${geometry.height.toFixed(1)}`,
    width: geometry.width, height: geometry.height, tabindex: 0, role: "application", "aria-label": label },
    heads, names, cellPaths(matrix, scale, place, allowed), cellFigures(matrix, scale, geometry, place), covers);
  listenTo(node, geometry, matrix, selection);
  const highlight = () => {
    const shown = selection.get().passing ?? selection.get().pinned ?? { row: null, column: null };
    covers.replaceChildren(...veils(geometry, matrix, shown));
    names.forEach((text, row) => text.classList.toggle("here", row === shown.row));
    heads.forEach((text, column) => text.classList.toggle("here", column === shown.column));
  };
  return { node, highlight };
}

function listenTo(node, geometry, matrix, selection) {
  const found = (event) => {
    const box = node.getBoundingClientRect();
    const unit = geometry.width / box.width;
    return pointedAt(geometry, matrix, (event.clientX - box.left) * unit, (event.clientY - box.top) * unit);
  };
  node.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse") selection.set({ passing: found(event) });
  });
  node.addEventListener("pointerleave", () => selection.set({ passing: null }));
  node.addEventListener("click", (event) => {
    const [at, { pinned }] = [found(event), selection.get()];
    const again = at && pinned && at.row === pinned.row && at.column === pinned.column;
    selection.set({ passing: null, pinned: again ? null : at });
  });
  node.addEventListener("keydown", (event) => {
    const move = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (event.key === "Escape") selection.set({ passing: null, pinned: null });
    if (!move) return;
    event.preventDefault();
    const { pinned } = selection.get();
    const step = (index, by, size) => clamp((index ?? 0) + by, 0, size - 1);
    const [row, column] = pinned
      ? [step(pinned.row, move[0], matrix.rows), step(pinned.column, move[1], matrix.columns)] : [0, 0];
    selection.set({ passing: null, pinned: { row, column } });
  });
}
