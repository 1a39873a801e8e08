// Every layer and head in small, with the mean and the maximum of each layer and of all: a grid to choose from.
import { currentTheme, shareScale } from "./colour.js";
import { element, button, roving, withVariables } from "./dom.js";
import { chosenMatrix } from "./weights.js";

/** What can be chosen of heads [L][H], row by row: {layer, head} as `chosenMatrix` takes them. */
export function choicesOf(heads) {
  const columns = [...heads[0].keys(), "mean", "max"];
  const rows = heads.map((_, layer) => columns.map((head) => ({ layer, head })));
  return [...rows.flat(), { layer: null, head: "mean" }, { layer: null, head: "max" }];
}

/** The name of a choice. */
export function choiceName({ layer, head }, say) {
  const which = typeof head === "number" ? say("head", { number: head + 1 }) : say(`head.${head}`);
  if (layer === null) return say("choice.all", { which });
  return say("choice", { layer: say("layer", { number: layer + 1 }), which });
}

/** Paint a matrix on a canvas, one pixel a weight. */
function paintThumbnail(canvas, matrix, scale) {
  canvas.width = matrix.columns;
  canvas.height = matrix.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(matrix.columns, matrix.rows);
  matrix.values.forEach((weight, index) => image.data.set([...scale.colours[scale.level(weight)], 255], 4 * index));
  context.putImageData(image, 0, 0);
}

/** The grid; `chosen` is {layer, head}, `onChoose` hears of another. */
export function headPicker({ heads, chosen, onChoose, say, id }) {
  const choices = choicesOf(heads);
  const across = heads[0].length + 2;
  const scale = shareScale(currentTheme());
  const isChosen = (choice) => choice.layer === chosen.layer && choice.head === chosen.head;
  const thumbs = choices.map((choice, index) => {
    const canvas = element("canvas", { "aria-hidden": "true" });
    paintThumbnail(canvas, chosenMatrix(heads, choice), scale);
    const name = choiceName(choice, say);
    return button(canvas, () => choose(index), { id: `${id}-${index}`, role: "radio", class: "thumb", title: name,
      "aria-label": name, "aria-checked": String(isChosen(choice)) });
  });
  const choose = (index) => {
    thumbs.forEach((thumb, i) => thumb.setAttribute("aria-checked", String(i === index)));
    reach(index);
    onChoose(choices[index]);
  };
  const reach = roving(thumbs, { across, start: choices.findIndex(isChosen), onMove: choose });
  const axis = (text, kind = "") => element("span", { class: `axis ${kind}`, "aria-hidden": "true" }, text);
  const cells = [axis(""), heads[0].map((_, head) => axis(String(head + 1))), axis(say("mean")), axis(say("max"))];
  thumbs.forEach((thumb, index) => {
    const row = Math.floor(index / across);
    const rowName = row < heads.length ? say("layer.short", { number: row + 1 }) : say("all");
    if (index % across === 0) cells.push(axis(rowName, "row"));
    if (index === choices.length - 2) thumb.classList.add("overall");
    cells.push(thumb);
  });
  const grid = element("div", { class: "thumbs", role: "radiogroup", "aria-label": say("picker.label") }, cells);
  return withVariables(grid, { "--across": across, "--heads": heads[0].length });
}
