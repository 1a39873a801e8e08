// The translation: as it forms, then word by word, with the model's sureness of each and what it came from.
import { button, element, roving } from "./dom.js";
import { chosenText, chosenTranslation, piecesOf, sureness } from "./alignment.js";
import { copyButton } from "./inside_head.js";
import { markedWords, wordSentence } from "./pointing.js";
import { percent } from "./numbers.js";

/** A word of the translation as something that can be pointed at. */
function wordSpan(text, probability, at, store, say) {
  const { answer, chosen } = store.get();
  const point = () => store.set({ pointed: at, sentence: at.sentence });
  const leave = () => store.set({ pointed: null });
  return element("span", { class: `said-word ${sureness(probability)}`, role: "button",
    "data-key": `${at.sentence}:${at.word}`, "aria-label": wordSentence(answer, chosen, at, say),
    pointerenter: point, focus: point, click: point, pointerleave: leave, blur: leave }, text);
}

/** All words of the answer, with the white space between them. */
function answerNodes(store, say) {
  const { answer, chosen } = store.get();
  const nodes = answer.sentences.flatMap((sentence, index) => {
    const { text, words = [] } = chosenTranslation(answer, chosen, index);
    const node = (piece) => (piece.word === null ? piece.text : wordSpan(piece.text, words[piece.word].probability,
      { side: "target", sentence: index, word: piece.word }, store, say));
    return [sentence.target_before, ...piecesOf(text, words).map(node)];
  });
  return [...nodes, answer.after ?? ""];
}

/** What the lines under words mean; `unknown` stands in the list only where there are such words. */
function surenessLegend(say) {
  const item = (kind) => element("li", {}, element("span", { class: `said-word ${kind}` }, say(`sure.${kind}`)));
  const unknown = item("unknown");
  const items = [...["sure", "fair", "doubtful"].map(item), unknown];
  return { node: element("ul", { class: "sureness", "aria-label": say("sure.label") }, items), unknown };
}

/** How far the whole can be trusted, where the model was calibrated. */
function confidenceText({ answer, chosen }, say) {
  const values = answer.sentences.map((_, index) => chosenTranslation(answer, chosen, index).confidence)
    .filter((value) => typeof value === "number");
  return values.length ? say("confidence", { share: percent(Math.min(...values)) }) : say("confidence.none");
}

/** The pane; `onInside` opens the other view with the sentence that was pointed at last. */
export function targetPane({ store, say, onInside }) {
  const output = element("div", { id: "translation", class: "text output", dir: "auto", role: "group",
    "aria-label": say("translation.words") });
  const heard = element("p", { class: "unseen", "aria-live": "polite", id: "translation-heard" });
  const readout = element("p", { class: "readout" });
  const confidence = element("p", { class: "small", id: "confidence" });
  const legend = surenessLegend(say);
  const words = element("div", { class: "about-words" }, legend.node, confidence);
  const copied = () => chosenText(store.get().answer, store.get().chosen);
  const inside = button(say("inside.open"), onInside, { id: "open-inside", class: "strong" });
  const copy = copyButton({ label: say("copy"), say, text: copied, id: "copy" });
  const foot = element("div", { class: "pane-foot" }, copy, inside);

  const show = () => {
    const { target, partial, answer, answered, text } = store.get();
    const forming = partial !== null;
    const ready = answer !== null && !forming;
    output.lang = target ?? "";
    output.classList.toggle("forming", forming);
    output.classList.toggle("stale", ready && answered !== text);
    output.setAttribute("aria-busy", String(forming));
    if (forming) output.replaceChildren(partial);
    else if (ready) output.replaceChildren(...answerNodes(store, say));
    else output.replaceChildren(element("span", { class: "placeholder" }, say("translation.placeholder")));
    roving([...output.querySelectorAll(".said-word")]);
    legend.unknown.hidden = output.querySelector(".unknown") === null;
    words.hidden = !ready;
    foot.hidden = !ready;
    if (ready) confidence.textContent = confidenceText(store.get(), say);
    mark();
  };
  const staleness = () => {
    const { answer, answered, text, partial } = store.get();
    output.classList.toggle("stale", partial === null && answer !== null && answered !== text);
  };
  const hear = () => {
    const { status, answer, chosen } = store.get();
    if (status.kind === "done" && answer) heard.textContent = chosenText(answer, chosen);
    if (status.kind === "idle") heard.textContent = "";
  };
  const mark = () => {
    const { answer, chosen, pointed, partial } = store.get();
    const marked = new Set(markedWords(answer, chosen, pointed).target);
    for (const span of output.querySelectorAll("[data-key]")) {
      span.classList.toggle("linked", marked.has(span.dataset.key));
      span.classList.toggle("pointed", pointed?.side === "target" && marked.has(span.dataset.key));
    }
    const told = answer && pointed && partial === null && answer.sentences[pointed.sentence];
    const hint = answer ? say("word.hint") : "";
    readout.textContent = told ? wordSentence(answer, chosen, pointed, say) : hint;
  };
  store.listen(["partial", "answer", "chosen", "target"], show);
  store.listen(["text"], staleness);
  store.listen(["pointed"], mark);
  store.listen(["status", "chosen"], hear);
  show();
  return element("div", { class: "writing" }, output, heard, readout, words, foot);
}
