// Look inside: the attention of a sentence pair, its decoding step by step, its attribution and its positions.
import { PARTS, SIDES, attributionOf, groupsOf, isCutOff, languagesOf, partOf } from "./explanation.js";
import { choiceName, headPicker } from "./picker.js";
import { chosenMatrix } from "./weights.js";
import { createStore } from "./store.js";
import { element, paragraph, segments, titledSection } from "./dom.js";
import { positionsSection } from "./positions.js";
import { stepsSection } from "./steps.js";
import { weightFigure } from "./figure.js";

/** What belongs to one sentence: the step, and the cells kept in the attention and in what it is compared with. */
export const FIRST_LOOK = { step: 0, pinned: null, compared: null };
/** How the view begins; `layer` null is all layers, `attributed` the side whose attribution is shown. */
export const FIRST_VIEW = {
  part: "cross", drawing: "heat", whole: true, layer: null, head: "mean", attributed: "source", ...FIRST_LOOK,
};
const MEAN_OF_ALL = { layer: null, head: "mean" };

/** A choice that these heads have, or the mean of all. */
function validChoice(heads, { layer, head }) {
  const pooled = head === "mean" || head === "max";
  const fine = layer === null ? pooled : layer < heads.length && (pooled || head < heads[0].length);
  return fine ? { layer, head } : MEAN_OF_ALL;
}

/** What is singled out of a part, {passing, pinned}; what is pinned stands in the view, too, under `name`. */
function keptSelection({ explanation, view }, name, part) {
  const sizes = SIDES[part].map((side) => groupsOf(explanation, side, view.get().whole).length);
  const pin = view.get()[name];
  const there = pin && (pin.row ?? 0) < sizes[0] && (pin.column ?? 0) < sizes[1];
  const selection = createStore({ passing: null, pinned: there ? pin : null });
  selection.listen(["pinned"], ({ pinned }) => view.set({ [name]: pinned }));
  return selection;
}

/** The part that is compared with an attribution. */
function comparedPart(attributed) {
  return attributed === "source" ? "cross" : "decoder";
}

/** Which cells exist: the decoder cannot look at what comes later. */
function visibleCells(part) {
  return part === "decoder" ? (row, column) => column <= row : () => true;
}

function figureName(part, choice, say) {
  return say("figure.label", { part: say(`part.${part}`), name: choiceName(choice, say) });
}

/** Draw radio buttons anew; the focus goes to the chosen one of the group that had it. */
function replaceControls(bar, groups) {
  const index = [...bar.children].findIndex((group) => group.contains(document.activeElement));
  bar.replaceChildren(...groups);
  if (index >= 0) bar.children[index].querySelector("[aria-checked=true]").focus();
}

/** A group of radio buttons; `id` is also the first part of its messages' names. */
function choiceGroup(id, values, chosen, onChoose, say) {
  const choices = values.map((value) => ({ value, label: say(`${id}.${value}`) }));
  return segments({ id, label: say(`choose.${id}`), choices, chosen, onChoose });
}

function attentionSection({ explanation, view, say }) {
  const selection = keptSelection({ explanation, view }, "pinned", view.get().part);
  const figure = weightFigure({ id: "attention-figure", name: "attention", voice: "attention", selection, say });
  const bar = element("div", { class: "controls" });
  const [tell, holder] = [paragraph("tell"), element("div")];
  const shownName = element("p", { class: "shown", "aria-live": "polite" });
  let current = null;

  const drawFigure = () => {
    const { part, drawing } = view.get();
    const choice = validChoice(current.heads, view.get());
    shownName.textContent = say("shown", { name: choiceName(choice, say) });
    figure.update({ ...current, matrix: chosenMatrix(current.heads, choice), languages: languagesOf(explanation, part),
      drawing, label: figureName(part, choice, say), allowed: visibleCells(part) });
  };
  const drawPicker = () => {
    const { part, whole } = view.get();
    current = partOf(explanation, part, whole);
    tell.textContent = say(`part.${part}.text`);
    const onChoose = ({ layer, head }) => view.set({ layer, head });
    const chosen = validChoice(current.heads, view.get());
    holder.replaceChildren(headPicker({ heads: current.heads, chosen, say, id: "head", onChoose }));
  };
  const drawControls = () => {
    const { part, drawing, whole } = view.get();
    replaceControls(bar, [
      choiceGroup("part", PARTS, part, (value) => view.set({ part: value }), say),
      choiceGroup("drawing", ["heat", "lines"], drawing, (value) => view.set({ drawing: value }), say),
      choiceGroup("tokens", ["words", "subwords"], whole ? "words" : "subwords",
        (value) => view.set({ whole: value === "words" }), say),
    ]);
  };
  view.listen(["part", "whole"], () => selection.set({ passing: null, pinned: null }));
  view.listen(["part", "whole"], drawPicker);
  view.listen(["part", "drawing", "whole"], drawControls);
  view.listen(["part", "drawing", "whole", "layer", "head"], drawFigure);
  [drawPicker, drawControls, drawFigure].forEach((draw) => draw());
  return titledSection("attention", say("attention.title"), bar, tell,
    element("div", { class: "stage" }, element("div", { class: "card" }, figure.node),
      element("div", { class: "card picker" }, element("h3", {}, say("picker.title")), shownName, holder,
        paragraph("small", say("picker.note")))));
}

function attributionSection({ explanation, view, say }) {
  const selection = keptSelection({ explanation, view }, "compared", comparedPart(view.get().attributed));
  const make = (id, voice) => weightFigure({ id, name: id, voice, selection, say });
  const [attribution, attention] = [make("attribution", "attribution"), make("attention-beside", "attention")];
  const bar = element("div", { class: "controls" });
  const draw = () => {
    const { whole, attributed } = view.get();
    const part = comparedPart(attributed);
    const shared = { ...attributionOf(explanation, SIDES[part][1], whole), drawing: "heat",
      languages: languagesOf(explanation, part), allowed: visibleCells(part) };
    const mean = chosenMatrix(partOf(explanation, part, whole).heads, MEAN_OF_ALL);
    attribution.update({ ...shared, label: say("attribution.title") });
    attention.update({ ...shared, matrix: mean, label: figureName(part, MEAN_OF_ALL, say) });
    const choose = (value) => view.set({ attributed: value });
    replaceControls(bar, [choiceGroup("attributed", ["source", "target"], attributed, choose, say)]);
  };
  view.listen(["whole", "attributed"], () => selection.set({ passing: null, pinned: null }));
  view.listen(["whole", "attributed"], draw);
  draw();
  const panel = (title, text, figure) =>
    element("div", { class: "card" }, element("h3", {}, title), paragraph("small", text), figure.node);
  const { method } = explanation.attribution;
  return titledSection("reasons", say("reasons.title"), paragraph("tell", say("reasons.text")), bar,
    element("div", { class: "pair" }, panel(say("attribution.title"), say("attribution.text", { method }), attribution),
      panel(say("attention.beside"), say("attention.beside.text"), attention)));
}

function notesSection(say) {
  const note = (name) =>
    element("div", {}, element("h3", {}, say(`note.${name}.title`)), element("p", {}, say(`note.${name}`)));
  return titledSection("notes", say("notes.title"),
    element("div", { class: "columns" }, ["attention", "attribution", "probability", "words"].map(note)));
}

/**
 * The whole view of an explanation that was read; `view` is a store of FIRST_VIEW's keys. `onTake(translation)` looks
 * into another translation, where that can be asked for.
 */
export function insideView({ explanation, view, say, onTake = null }) {
  const sections = [attentionSection, stepsSection, attributionSection, positionsSection]
    .map((section) => section({ explanation, view, say, onTake }));
  const cutOff = isCutOff(explanation) ? paragraph("status", say("target.cut")) : null;
  return element("div", { class: "inside" }, cutOff, sections, notesSection(say));
}
