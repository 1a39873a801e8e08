// Other translations of a sentence: taking one puts it in the place of the best.
import { button, element, paragraph, roving } from "./dom.js";
import { decimal, percent } from "./numbers.js";
import { piecesOf } from "./alignment.js";

/** Which words of a translation the best one does not have. */
export function differingWords(words, bestWords) {
  const left = new Map();
  for (const { text } of bestWords) left.set(text, (left.get(text) ?? 0) + 1);
  return words.map(({ text }) => {
    const count = left.get(text) ?? 0;
    left.set(text, count - 1);
    return count <= 0;
  });
}

function translationText(translation, best) {
  const words = translation.words ?? [];
  const differs = differingWords(words, best.words ?? []);
  const marked = (piece) => piece.word !== null && translation !== best && differs[piece.word];
  return piecesOf(translation.text, words).map((piece) => (marked(piece) ? element("em", {}, piece.text) : piece.text));
}

function translationRow(translation, best, language, attributes, onTake) {
  const { confidence, score } = translation;
  const text = element("span", { lang: language }, translationText(translation, best));
  const worth = typeof confidence === "number" ? percent(confidence) : decimal(score);
  const row = button(text, onTake, { ...attributes, class: "alternative", role: "radio" });
  row.append(element("span", { class: "score" }, worth));
  return row;
}

/** The list for the sentence that was pointed at last. */
export function alternativesPanel({ store, say }) {
  const node = element("section", { class: "panel", id: "alternatives", "aria-labelledby": "alternatives-title" });
  const take = (index) => {
    const { chosen, sentence } = store.get();
    store.set({ chosen: { ...chosen, [sentence]: index } });
    document.getElementById(`alternative-${index}`)?.focus();
  };
  const draw = () => {
    const { answer, answered, text, chosen, sentence, target, source } = store.get();
    const shown = answer && answered === text ? answer.sentences[sentence] : null;
    node.hidden = !shown || shown.translations.length < 2;
    if (node.hidden) {
      node.replaceChildren();
      return;
    }
    const taken = chosen[sentence] ?? 0;
    const [best] = shown.translations;
    const rows = shown.translations.map((translation, index) => translationRow(translation, best, target,
      { id: `alternative-${index}`, "aria-checked": String(index === taken) }, () => take(index)));
    roving(rows, { start: taken, onMove: take });
    const quoted = say("quoted", { text: shown.source });
    const of = answer.sentences.length > 1 ? element("span", { lang: source }, ` ${quoted}`) : null;
    node.replaceChildren(element("h2", { id: "alternatives-title" }, say("alternatives.title")),
      paragraph("small", say("alternatives.text"), of),
      element("div", { role: "radiogroup", "aria-label": say("alternatives.title") }, rows));
  };
  store.listen(["answer", "chosen", "sentence", "text"], draw);
  draw();
  return node;
}
