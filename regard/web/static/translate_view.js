// The Translate view: languages, the text on the left page, its translation on the right one, and what goes with them.
import { alternativesPanel } from "./alternatives.js";
import { chosenText, chosenTranslation } from "./alignment.js";
import { element } from "./dom.js";
import { glossaryPanel } from "./glossary.js";
import { languageBar } from "./language_bar.js";
import { sourcePane } from "./source_pane.js";
import { statusLine } from "./status.js";
import { targetPane } from "./target_pane.js";

const NO_ANSWER = { answer: null, partial: null, pointed: null, chosen: {} };

/** The view; `translating` is the worker, `openInside({text, translation})` shows the other view. */
export function translateView({ store, say, translating, openInside }) {
  const status = statusLine(say, () => translating.now(), "translate");
  store.listen(["status"], (state) => status.show(state.status));
  status.show(store.get().status);

  const onPair = (pair) => {
    store.set({ ...NO_ANSWER, ...pair });
    translating.now();
  };
  const onSwap = () => {
    const { source, target, answer, chosen, text } = store.get();
    store.set({ ...NO_ANSWER, source: target, target: source, text: answer ? chosenText(answer, chosen) : text });
    translating.now();
  };
  const onInput = (text) => {
    store.set({ text, pointed: null });
    if (text.trim()) translating.later();
    else translating.now();
  };
  const onInside = () => {
    const { answer, chosen, sentence } = store.get();
    const translation = chosen[sentence] ? chosenTranslation(answer, chosen, sentence).text : null;
    openInside({ text: answer.sentences[sentence].source, translation });
  };
  const page = (label, content) => element("section", { class: "page", "aria-label": label }, content);
  return element("div", { class: "translate" }, element("h1", { class: "unseen" }, say("view.translate")),
    languageBar({ store, say, onPair, onSwap }),
    element("div", { class: "spread" }, page(say("source.label"), sourcePane({ store, say, onInput })),
      page(say("translation.label"), targetPane({ store, say, onInside }))),
    status.node,
    element("div", { class: "beneath" }, alternativesPanel({ store, say }),
      glossaryPanel({ store, say, onChange: () => translating.now() })));
}
