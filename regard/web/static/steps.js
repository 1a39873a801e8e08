// Decoding replayed: at each step what has been written, the best candidates, and where the decoder looked.
import { beamFigure } from "./beam.js";
import { button, element, paragraph, titledSection, withVariables } from "./dom.js";
import { decimal, percent } from "./numbers.js";
import { groupsOf, isCutOff, spelled } from "./explanation.js";
import { mergeMatrix, pool, rowOf } from "./weights.js";
import { othersCard } from "./others.js";

const PAUSE_OF_PLAY = 900;
const SPACE_MARK = "\u2581";

/** The candidates of a step; a token that was written without being among them comes last, with its rank. */
function shownCandidates(step, written) {
  const list = step.candidates.map((candidate, index) =>
    ({ ...candidate, rank: index + 1, taken: written && index + 1 === step.rank }));
  if (written && !list.some((candidate) => candidate.taken)) {
    list.push({ token: step.token, probability: Math.exp(step.log_probability), rank: step.rank, taken: true });
  }
  return list;
}

function candidateRow({ rank, token, probability, taken }, language, say) {
  const bar = withVariables(element("span", { class: "bar", "aria-hidden": "true" }), { "--share": probability });
  const told = taken ? element("span", { class: "unseen" }, ` ${say("steps.taken")}`) : null;
  return element("li", { class: taken ? "taken" : null, "aria-current": taken ? "step" : null },
    element("span", { class: "rank" }, `${rank}.`), element("span", { class: "token", lang: language }, token),
    element("span", { class: "track" }, bar), element("span", { class: "share" }, percent(probability), told));
}

/** The source with the attention that this step pays to each of its words. */
function watchedSource(explanation, words, weights) {
  const { tokens } = explanation.source;
  const spans = words.flatMap((word, index) => {
    const span = element("span", { title: percent(weights[index]) }, word.text);
    const space = index > 0 && (tokens[word.start].startsWith(SPACE_MARK) || word.stop === tokens.length) ? " " : "";
    return [space, withVariables(span, { "--weight": weights[index].toFixed(3) })];
  });
  return element("p", { class: "watched", lang: explanation.model.source_language }, spans);
}

/** The translation up to this step, the token that is written now, and faintly what will follow. */
function writtenLine({ target: { tokens }, model }, at, written, say) {
  const now = tokens[at].replaceAll(SPACE_MARK, "") || "\u2423";
  const mark = written ? element("mark", {}, now)
    : element("mark", { class: "unwritten", lang: say.language }, say("steps.cut"));
  const space = tokens[at].startsWith(SPACE_MARK) && at > 0 ? " " : "";
  const coming = tokens.slice(at + 1, -1).join("").replaceAll(SPACE_MARK, " ");
  return element("p", { class: "written", lang: model.target_language }, spelled(tokens.slice(0, at)) + space,
    mark, element("span", { class: "coming", "aria-hidden": "true" }, coming));
}

/** A button that moves the slider by itself until the last step. */
function playButton(view, slider, count, say) {
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    node.textContent = say("steps.play");
  };
  const advance = () => {
    const next = view.get().step + 1;
    if (next >= count || !slider.isConnected) stop();
    else view.set({ step: next });
  };
  const node = button(say("steps.play"), () => {
    if (timer) {
      stop();
      return;
    }
    if (view.get().step + 1 >= count) view.set({ step: 0 });
    timer = setInterval(advance, PAUSE_OF_PLAY);
    node.textContent = say("steps.stop");
  }, { id: "play" });
  return node;
}

/** The section; `view` is the store that holds `step`, `onTake` hears of another translation to look into. */
export function stepsSection({ explanation, view, say, onTake }) {
  const { steps, target, model } = explanation;
  const words = groupsOf(explanation, "source", true);
  const each = target.tokens.map((_, index) => ({ start: index, stop: index + 1 }));
  const watched = mergeMatrix(pool(explanation.heads.cross.flat(), "mean"), each, words);
  const slider = element("input", { type: "range", id: "step", min: 1, max: steps.length, step: 1,
    input: (event) => view.set({ step: Number(event.target.value) - 1 }) });
  const counter = element("label", { for: "step", class: "counter" });
  const stage = element("div", { class: "step-stage" });
  const beam = explanation.beam ? beamFigure(explanation.beam, say) : null;

  const show = () => {
    const at = Math.min(view.get().step, steps.length - 1);
    const step = steps[at];
    const written = at + 1 < steps.length || !isCutOff(explanation);
    const counted = { number: at + 1, total: steps.length, token: written ? step.token : say("steps.cut") };
    slider.value = at + 1;
    slider.setAttribute("aria-valuetext", say("steps.value", counted));
    counter.textContent = say("steps.counter", counted);
    const facts = { token: step.token, rank: step.rank, logarithm: decimal(step.log_probability),
      entropy: decimal(step.entropy) };
    const candidates = shownCandidates(step, written).map((one) => candidateRow(one, model.target_language, say));
    stage.replaceChildren(
      element("div", {}, element("h3", {}, say("steps.written")), writtenLine(explanation, at, written, say),
        element("h3", {}, say("steps.watched")), watchedSource(explanation, words, rowOf(watched, at)),
        paragraph("small", say(written ? "steps.facts" : "steps.facts.cut", facts))),
      element("div", {}, element("h3", {}, say("steps.candidates")),
        element("ol", { class: "candidates" }, candidates)));
    beam?.showStep(at + 1);
  };
  view.listen(["step"], show);
  show();
  const controls = element("div", { class: "slider" }, playButton(view, slider, steps.length, say), slider, counter);
  return titledSection("steps", say("steps.title"),
    paragraph("tell", say(target.forced ? "steps.text.forced" : "steps.text")),
    element("div", { class: "card" }, controls, stage),
    beam ? element("div", { class: "card" }, beam.node) : paragraph("small aside", say("beam.none")),
    othersCard({ explanation, say, onTake }));
}
