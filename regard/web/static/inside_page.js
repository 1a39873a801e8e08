// The Look inside view of the service: a form for the sentence and its translation, then what was found.
import { button, element, paragraph } from "./dom.js";
import { FIRST_LOOK, insideView } from "./inside_view.js";
import { languageName } from "./language.js";
import { modelFacts, viewTools } from "./inside_head.js";
import { scoped } from "./store.js";
import { statusLine } from "./status.js";
import { writeAddress } from "./address.js";

/** The choice of the model to look into. */
function pairPicker(store, say, onPair) {
  const { served, source, target } = store.get();
  const option = (model, index) => {
    const [from, to] = ["source", "target"].map((side) => languageName(model[side], model[`${side}_name`], say));
    const selected = model.source === source && model.target === target;
    return element("option", { value: index, selected }, say("pair", { source: from, target: to }));
  };
  const pick = (event) => {
    const model = served.models[Number(event.target.value)];
    onPair({ source: model.source, target: model.target });
  };
  return element("span", { class: "choice" }, element("label", { for: "inside-pair" }, say("inside.pair")),
    element("select", { id: "inside-pair", change: pick }, served.models.map(option)));
}

/** A field for one of the two sentences; Enter asks, Shift and Enter breaks the line. */
function sentenceField({ id, language, value, say, onEnter, onInput }) {
  const enter = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    onEnter();
  };
  const field = element("textarea", { id, class: "text", rows: 2, lang: language, dir: "auto", autocomplete: "off",
    placeholder: say(`${id}.placeholder`), "aria-describedby": `${id}-note`, keydown: enter, input: onInput });
  field.value = value;
  return field;
}

function labelled(label, field, ...notes) {
  return element("div", {}, element("label", { for: field.id }, label), field, notes);
}

/**
 * The form, and `take(translation, sentence)`, which puts a pair into it and asks; a translation of null is the model's
 * own, and so is a target that the user did not touch. `explaining` is the worker.
 */
function questionForm({ store, view, say, explaining }) {
  const { source: from, target: to, insideText, insideTranslation, explanation } = store.get();
  let edited = insideTranslation !== null;
  const submit = () => {
    const given = target.value.trim();
    edited &&= given !== "";
    describe();
    view.set(FIRST_LOOK);
    explaining.ask(source.value.trim(), edited ? given : null);
  };
  const source = sentenceField({ id: "inside-source", language: from, value: insideText, say, onEnter: () => submit(),
    onInput: () => {
      store.set({ insideText: source.value });
      if (!edited) target.value = "";
    } });
  const target = sentenceField({ id: "inside-target", language: to, say, onEnter: () => submit(),
    value: insideTranslation ?? explanation?.target.text ?? "",
    onInput: () => {
      edited = true;
      store.set({ insideTranslation: target.value });
      describe();
    } });
  const note = element("span", { class: "small", id: "inside-target-note" });
  const take = (translation, sentence) => {
    [source.value, target.value, edited] = [sentence, translation ?? "", true];
    submit();
    target.focus();
  };
  const reset = button(say("inside.reset"), () => take(null, source.value), { id: "inside-own", class: "quiet" });
  const describe = () => {
    reset.hidden = !edited;
    note.textContent = edited ? say("target.forced") : say("target.own");
  };
  store.listen(["explanation"], (state) => {
    if (!edited && state.explanation) target.value = state.explanation.target.text;
  });
  store.listen(["source", "target"], (state) => {
    source.lang = state.source ?? "";
    target.lang = state.target ?? "";
  });
  describe();
  const onPair = (pair) => {
    store.set({ ...pair, explanation: null });
    submit();
  };
  const sourceNote = element("p", { class: "small", id: "inside-source-note" }, say("inside.source.note"));
  const look = element("button", { type: "submit", id: "look", class: "strong" }, say("inside.look"));
  const onSubmit = (event) => {
    event.preventDefault();
    submit();
  };
  const node = element("form", { class: "card question", submit: onSubmit }, pairPicker(store, say, onPair),
    element("div", { class: "fields" }, labelled(say("inside.source"), source, sourceNote),
      labelled(say("inside.target"), target, paragraph("note-line", note, reset))),
    paragraph("submit", look));
  return { node, take };
}

/** The view; `view` is the store of the pictures. `release()` ends what its pictures listen to. */
export function insidePage({ store, view, say, explaining }) {
  const again = () => explaining.ask(store.get().insideText, store.get().insideTranslation);
  const status = statusLine(say, again, "inside");
  const form = questionForm({ store, view, say, explaining });
  const result = element("div", { class: "result" });
  let scope = null;
  const address = () => {
    const { source, target, insideText: text, insideTranslation: translation } = store.get();
    const fragment = writeAddress({ ...view.get(), view: "inside", source, target, text, translation });
    return fragment && location.href.replace(/#.*$/, "") + fragment;
  };
  const draw = () => {
    const { explanation } = store.get();
    scope?.release();
    scope = scoped(view);
    const onTake = (translation) => form.take(translation, explanation.source.text);
    const parts = explanation ? [modelFacts(explanation, say), viewTools({ explanation, address, say }),
      insideView({ explanation, view: scope, say, onTake })] : [paragraph("placeholder lead", say("inside.empty"))];
    result.replaceChildren(...parts);
  };
  const show = ({ explaining: now }) => {
    status.show(now);
    const other = now.kind !== "done" && store.get().explanation !== null;  // the pictures are of another sentence
    result.classList.toggle("stale", now.kind === "forming" || other);
    result.setAttribute("aria-busy", String(now.kind === "forming"));
  };
  store.listen(["explanation"], draw);
  store.listen(["explaining"], show);
  const node = element("div", { class: "look" }, element("h1", {}, say("view.inside")),
    paragraph("lead", say("inside.lead")), form.node, status.node, result);
  draw();
  show(store.get());
  return { node, release: () => scope?.release() };
}
