// A picture of weights with all that belongs to it: the drawing, a sentence that reads it out, files, and a table.
import { cellOf, columnOf, rowOf } from "./weights.js";
import { cssColour, currentTheme, shareScale } from "./colour.js";
import { button, element, paragraph, sized } from "./dom.js";
import { fold, weightTable } from "./tables.js";
import { heatMap } from "./heat_map.js";
import { lineDrawing } from "./lines.js";
import { percent } from "./numbers.js";
import { savePng, saveSvg } from "./save.js";
import { strongest } from "./labels.js";

const LEGEND_MARKS = [0, 0.05, 0.25, 0.5, 1];
const LEGEND_PIXELS = 160;

/** What is singled out, in words: `voice` is "attention" or "attribution", the first part of the messages' names. */
export function readOut({ rows, columns, matrix, voice }, { row, column }, say) {
  if (row !== null && column !== null) {
    const share = percent(cellOf(matrix, row, column));
    return say(`${voice}.cell`, { row: rows[row], column: columns[column], share });
  }
  const [texts, weights] = row !== null ? [columns, rowOf(matrix, row)] : [rows, columnOf(matrix, column)];
  const item = ([index, weight]) => say("list.item", { word: texts[index], share: percent(weight) });
  const list = strongest(weights, 4, 0.02).map(item).join(say("list.comma")) || say("list.nothing");
  if (row !== null) return say(`${voice}.row`, { word: rows[row], list });
  return say(`${voice}.column`, { word: columns[column], list });
}

/** Buttons that save a picture; `picture()` gives the SVG that is shown. */
export function saveButtons(name, picture, say) {
  const save = (kind, write) =>
    button(kind, () => write(name, picture()), { class: "quiet", "aria-label": say("save.as", { kind }) });
  return paragraph("saving", element("span", {}, say("save")), save("PNG", savePng), save("SVG", saveSvg));
}

/** A legend of the colours of shares. */
export function shareLegend(say) {
  const canvas = element("canvas", { class: "ramp", width: LEGEND_PIXELS, height: 1, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const scale = shareScale(currentTheme());
  for (let x = 0; x < LEGEND_PIXELS; x += 1) {
    context.fillStyle = cssColour(scale.colours[scale.level((x / (LEGEND_PIXELS - 1)) ** 2)]);
    context.fillRect(x, 0, 1, 1);
  }
  const ticks = LEGEND_MARKS.map((share) => {
    const tick = element("span", {}, percent(share));
    tick.style.left = `${100 * Math.sqrt(share)}%`;
    return tick;
  });
  return element("div", { class: "legend", role: "img", "aria-label": say("legend") },
    canvas, element("div", { class: "ticks" }, ticks));
}

/**
 * A figure that can be given other weights: `update({rows, columns, matrix, languages, label, drawing, allowed})`.
 * `selection` is a store of {passing, pinned}; figures that share one single out the same cells.
 */
export function weightFigure({ id, name, voice, selection, say }) {
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  let [shown, drawn] = [null, null];
  const box = sized((width) => {
    const options = { ...shown, width, selection, scale: shareScale(currentTheme()) };
    const label = say(shown.drawing === "lines" ? "lines.label" : "heat.label", { what: shown.label });
    drawn = shown.drawing === "lines"
      ? lineDrawing({ ...options, label, ends: [say("lines.from"), say("lines.to")] })
      : heatMap({ ...options, label });
    drawn.highlight();
    return element("div", { class: "picture" }, drawn.node);
  });
  const table = fold(say("table"), () => weightTable(shown), `${id}-table`);
  const read = () => {
    const { passing, pinned } = selection.get();
    const at = passing ?? pinned;
    readout.textContent = at && shown ? readOut({ ...shown, voice }, at, say) : say("readout.hint");
    drawn?.highlight();
  };
  selection.listen(["passing", "pinned"], read);
  const foot = element("div", { class: "figure-foot" }, shareLegend(say), saveButtons(name, () => drawn.node, say));
  const node = element("div", { class: "figure", id }, box.node, readout, foot, table.node);
  return {
    node,
    update(next) {
      shown = next;
      drawn = null;
      box.redraw();
      table.refresh();
      read();
    },
  };
}
