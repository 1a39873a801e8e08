// The choice of languages: from, to, and the other way round where a model for it is served.
import { button, element } from "./dom.js";
import { languageName } from "./language.js";

/** The model that is served for a pair, or undefined. */
export function servedModel(served, source, target) {
  return served?.models.find((model) => model.source === source && model.target === target);
}

/** The pair to begin with: the wanted one if it is served, else the first. */
export function firstPair(served, wanted) {
  const found = servedModel(served, wanted?.source, wanted?.target) ?? served.models[0];
  return found ? { source: found.source, target: found.target } : { source: null, target: null };
}

/** Languages of one side, each once: [{code, name}]. */
function distinct(models, side) {
  const found = new Map(models.map((model) => [model[side], model[`${side}_name`]]));
  return [...found].map(([code, name]) => ({ code, name }));
}

/** A labelled list of languages. */
function languagePicker({ id, label, languages, chosen, onChoose, say }) {
  const options = languages.map(({ code, name }) =>
    element("option", { value: code, selected: code === chosen }, languageName(code, name, say)));
  return element("span", { class: "choice" }, element("label", { for: id }, label),
    element("select", { id, change: (event) => onChoose(event.target.value) }, options));
}

/** The bar; `onPair({source, target})` hears of another pair, `onSwap()` of the other way round. */
export function languageBar({ store, say, onPair, onSwap }) {
  const node = element("div", { class: "language-bar" });
  const draw = () => {
    const { served, source, target } = store.get();
    if (!served) return;
    const chooseSource = (code) => {
      const models = served.models.filter((model) => model.source === code);
      onPair({ source: code, target: (models.find((model) => model.target === target) ?? models[0]).target });
    };
    const chooseTarget = (code) => onPair({ source, target: code });
    const back = servedModel(served, target, source);
    const title = say(back ? "swap" : "swap.none");
    const targets = distinct(served.models.filter((model) => model.source === source), "target");
    const focused = node.contains(document.activeElement) ? document.activeElement.id : null;
    node.replaceChildren(
      languagePicker({ id: "source-language", label: say("from"), languages: distinct(served.models, "source"),
        chosen: source, onChoose: chooseSource, say }),
      button(element("span", { "aria-hidden": "true" }, "⇄"), onSwap,
        { id: "swap", class: "round", disabled: !back, "aria-label": title, title }),
      languagePicker({ id: "target-language", label: say("to"), languages: targets, chosen: target,
        onChoose: chooseTarget, say }));
    if (focused) document.getElementById(focused)?.focus();
  };
  store.listen(["served", "source", "target"], draw);
  draw();
  return node;
}
