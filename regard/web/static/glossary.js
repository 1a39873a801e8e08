// The glossary: terms that the translation must use, kept in the browser for each pair of languages.
import { button, element, paragraph } from "./dom.js";
import { pairKey } from "./translating.js";
import { recall, remember } from "./store.js";

/** The glossaries that the browser keeps, {"en-fr": [{source, target}]}; whatever else it kept is dropped. */
export function keptGlossaries() {
  const kept = recall("glossaries", {});
  if (typeof kept !== "object" || kept === null) return {};
  const isTerm = (term) => typeof term?.source === "string" && typeof term?.target === "string";
  return Object.fromEntries(Object.entries(kept).filter(([, terms]) => Array.isArray(terms))
    .map(([pair, terms]) => [pair, terms.filter(isTerm).map(({ source, target }) => ({ source, target }))]));
}

/** Whether the terms that applied were met: [{term, wanted, met}] of all sentences. */
function constraintsOf(answer) {
  return (answer?.sentences ?? []).flatMap((sentence) => sentence.constraints ?? []);
}

function arrowSign() {
  return element("span", { class: "arrow", "aria-hidden": "true" }, "→");
}

function termField(name, say) {
  const label = say(`glossary.${name}`);
  const attributes = { type: "text", autocomplete: "off", maxlength: 200, "aria-label": label, placeholder: label };
  return element("input", { id: `term-${name}`, ...attributes });
}

function termRow(term, { source, target, answer }, onRemove, say) {
  const applied = constraintsOf(answer).filter((one) => one.term === term.source);
  const met = applied.every((one) => one.met) ? say("glossary.met") : say("glossary.missed");
  const title = say("glossary.remove", { term: term.source });
  return element("li", {}, element("span", { lang: source }, term.source), arrowSign(),
    element("span", { lang: target }, term.target), element("span", { class: "term-state" }, applied.length ? met : ""),
    button("×", onRemove, { class: "quiet round", "aria-label": title, title }));
}

/** The editor; `onChange` hears when terms came or went. */
export function glossaryPanel({ store, say, onChange }) {
  const list = element("ul", { class: "terms" });
  const title = element("summary", { id: "glossary-title" });
  const note = element("p", { class: "small", role: "status" });
  const [from, to] = [termField("source", say), termField("target", say)];

  const termsNow = () => store.get().glossaries[pairKey(store.get())] ?? [];
  const replaceTerms = (terms) => {
    const glossaries = { ...store.get().glossaries, [pairKey(store.get())]: terms };
    remember("glossaries", glossaries);
    store.set({ glossaries });
    from.focus();
    onChange();
  };
  const add = (event) => {
    event.preventDefault();
    const term = { source: from.value.trim(), target: to.value.trim() };
    const most = store.get().served?.limits.glossary_terms ?? 0;
    const others = termsNow().filter((other) => other.source !== term.source);
    const complete = term.source && term.target;
    note.textContent = "";
    if (!complete) note.textContent = say("glossary.incomplete");
    else if (others.length >= most) note.textContent = say("glossary.full", { most });
    else {
      [from.value, to.value] = ["", ""];
      replaceTerms([...others, term]);
    }
  };
  const draw = () => {
    const terms = termsNow();
    title.textContent = terms.length ? say("glossary.count", { count: terms.length }) : say("glossary.title");
    const remove = (term) => () => replaceTerms(termsNow().filter((other) => other !== term));
    list.replaceChildren(...terms.map((term) => termRow(term, store.get(), remove(term), say)));
  };
  store.listen(["glossaries", "source", "target", "answer"], draw);
  draw();
  const submit = element("button", { type: "submit", id: "add-term" }, say("glossary.add"));
  return element("details", { class: "panel glossary", open: termsNow().length > 0 }, title,
    paragraph("small", say("glossary.text")), list,
    element("form", { class: "add-term", submit: add }, from, arrowSign(), to, submit), note);
}
