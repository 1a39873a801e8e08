// The vectors of positions as a picture: a row for each position, a column for each of its numbers.
import { cellOf, rowOf } from "./weights.js";
import { clamp, decimal } from "./numbers.js";
import { cssColour, currentTheme, signedScale } from "./colour.js";
import { dataTable, fold } from "./tables.js";
import { element, paragraph, shape, sized, titledSection } from "./dom.js";
import { saveButtons } from "./figure.js";

const SIDE = 40;
const TOP = 20;
const ROW_HEIGHT = 7;

/** The cells, one path for each level of colour. */
function positionCells(matrix, scale, cell) {
  const paths = new Map();
  for (let row = 0; row < matrix.rows; row += 1) {
    for (let column = 0; column < matrix.columns; column += 1) {
      const level = scale.level(cellOf(matrix, row, column));
      const corner = `M${(SIDE + column * cell).toFixed(2)} ${TOP + row * ROW_HEIGHT}`;
      const path = `${corner}h${cell.toFixed(2)}v${ROW_HEIGHT}h${(-cell).toFixed(2)}z`;
      (paths.get(level) ?? paths.set(level, []).get(level)).push(path);
    }
  }
  return [...paths].map(([level, list]) =>
    shape("path", { class: "cells flush", d: list.join(""), fill: cssColour(scale.colours[level]) }));
}

function everyTh(size, step) {
  return Array.from({ length: Math.ceil(size / step) }, (_, index) => index * step);
}

function drawPositions(matrix, limit, width, length, say, onRead) {
  const cell = clamp((width - SIDE - 2) / matrix.columns, 2, 9);
  const right = SIDE + cell * matrix.columns;
  const height = TOP + ROW_HEIGHT * matrix.rows + 2;
  const label = (x, y, anchor, text) =>
    shape("text", { class: "axis-text", x, y, "text-anchor": anchor }, String(text));
  const rows = everyTh(matrix.rows, 10).map((row) => label(SIDE - 8, TOP + ROW_HEIGHT * (row + 0.5) + 4, "end", row));
  const columns = everyTh(matrix.columns, Math.ceil(36 / cell / 8) * 8).map((column) =>
    label(SIDE + cell * (column + 0.5), 12, "middle", column));
  const line = `M${SIDE - 6} ${TOP + ROW_HEIGHT * length}H${right}`;
  const end = length < matrix.rows ? shape("path", { class: "mark-line", d: line }) : null;
  const cursor = shape("rect", { class: "cursor", width: cell + 2, height: ROW_HEIGHT + 2, visibility: "hidden" });
  const node = shape("svg", { class: "positions", viewBox: `0 0 ${right + 2} ${height}`, width: right + 2, height,
    tabindex: 0, role: "application", "aria-label": say("positions.label") },
    rows, columns, positionCells(matrix, signedScale(currentTheme(), limit), cell), end, cursor);
  let at = null;
  const point = (row, column) => {
    at = [clamp(row, 0, matrix.rows - 1), clamp(column, 0, matrix.columns - 1)];
    cursor.setAttribute("visibility", "visible");
    cursor.setAttribute("x", SIDE + cell * at[1] - 1);
    cursor.setAttribute("y", TOP + ROW_HEIGHT * at[0] - 1);
    onRead(...at);
  };
  node.addEventListener("pointermove", (event) => {
    const box = node.getBoundingClientRect();
    const unit = (right + 2) / box.width;
    const [x, y] = [(event.clientX - box.left) * unit - SIDE, (event.clientY - box.top) * unit - TOP];
    if (x >= 0 && y >= 0) point(Math.floor(y / ROW_HEIGHT), Math.floor(x / cell));
  });
  node.addEventListener("keydown", (event) => {
    const move = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (!move) return;
    event.preventDefault();
    point(...(at ? [at[0] + move[0], at[1] + move[1]] : [0, 0]));
  });
  return node;
}

function positionTable(matrix, say) {
  const heads = everyTh(matrix.columns, 1).map(String);
  const named = (row) => element("th", { scope: "row" }, String(row));
  const rows = everyTh(matrix.rows, 1).map((row) => [named(row), ...rowOf(matrix, row).map((value) => decimal(value))]);
  return dataTable(say("positions.title"), [element("td"), ...heads], rows);
}

/** The section of positions, or a word on why there is none. */
export function positionsSection({ explanation, say }) {
  const { positions, source } = explanation;
  const title = say("positions.title");
  if (!positions) return titledSection("positions", title, paragraph("tell", say("positions.none")));
  const known = ["sinusoidal", "learned"].includes(positions.kind) ? positions.kind : "other";
  const { matrix } = positions;
  const limit = matrix.values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
  const length = source.tokens.length;
  const readout = element("p", { class: "readout", "aria-live": "polite" }, say("positions.hint"));
  const read = (position, dimension) => {
    const value = decimal(cellOf(matrix, position, dimension));
    readout.textContent = say("positions.cell", { position, dimension, value });
  };
  let drawn = null;
  const box = sized((width) => {
    drawn = drawPositions(matrix, limit, width, length, say, read);
    return element("div", { class: "picture" }, drawn);
  });
  return titledSection("positions", title, paragraph("tell", say(`positions.${known}`)),
    element("div", { class: "card figure" }, box.node, readout,
      element("div", { class: "figure-foot" },
        paragraph("small", say("positions.scale", { limit: decimal(limit, 1), length })),
        saveButtons("positions", () => drawn, say)),
      fold(say("table"), () => positionTable(matrix, say), "positions-table").node));
}
