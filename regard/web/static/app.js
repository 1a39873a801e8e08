// The page of the service: one store, two views, and the address that leads to them.
import { FIRST_LOOK, FIRST_VIEW } from "./inside_view.js";
import { button, element, keepingFocus, paragraph } from "./dom.js";
import { createAsking } from "./asking.js";
import { createExplaining } from "./explaining.js";
import { createStore, recall, remember, scoped } from "./store.js";
import { createTranslating } from "./translating.js";
import { dressDocument, fillHeader, followSystem } from "./shell.js";
import { fetchModels } from "./service.js";
import { firstPair } from "./language_bar.js";
import { insidePage } from "./inside_page.js";
import { keptGlossaries } from "./glossary.js";
import { pageLanguage, speaker } from "./language.js";
import { readAddress } from "./address.js";
import { statusText } from "./status.js";
import { translateView } from "./translate_view.js";

const VIEWS = ["translate", "inside"];

const store = createStore({
  language: pageLanguage([recall("language", null), ...navigator.languages].filter(Boolean)),
  theme: recall("theme", null),
  view: "translate",
  // What is served, and what is needed to be served.
  served: null, failure: null, keyNeeded: false, apiKey: String(recall("key", "", "sessionStorage")),
  // Translate: the pair, the text, and the answer that belongs to the text `answered`.
  source: null, target: null, glossaries: keptGlossaries(), text: "", partial: null, answer: null, answered: "",
  chosen: {}, sentence: 0, pointed: null, status: { kind: "idle" },
  // Look inside: the sentence, its translation (null: the model's own), and what was found.
  insideText: "", insideTranslation: null, explanation: null, explaining: { kind: "idle" },
});
const view = createStore(FIRST_VIEW);
const translating = createTranslating(store);
const explaining = createExplaining(store);
const loading = createAsking(store, (failure) => store.set({ failure }));
let [scope, shown] = [null, null];

function explainAgain() {
  explaining.ask(store.get().insideText, store.get().insideTranslation);
}

/** The field for a key, where the service wants one. */
function keyField(say) {
  const change = (event) => {
    const apiKey = event.target.value.trim();
    remember("key", apiKey, "sessionStorage");
    store.set({ apiKey });
    if (store.get().view === "translate") translating.now();
    else explainAgain();
  };
  const field = element("input", { id: "api-key", class: "secret", type: "text", autocomplete: "off",
    spellcheck: "false", change });
  field.value = store.get().apiKey;
  return paragraph("key-field", element("label", { for: "api-key" }, say("key")), field,
    element("span", { class: "small" }, say("key.text")));
}

function openInside({ text, translation }) {
  history.pushState(null, "", "#view=inside");
  store.set({ view: "inside", insideText: text, insideTranslation: translation, explanation: null });
  view.set(FIRST_LOOK);
  document.getElementById("main").focus();
  window.scrollTo(0, 0);
  explaining.ask(text, translation);
}

/** Do what the address asks for: a view, perhaps with a sentence and a way to look at it. */
function followAddress() {
  if (location.hash === "#main") return;  // the skip link
  const asked = { view: "translate", ...readAddress(location.hash) };
  const { served } = store.get();
  const pair = asked.source && asked.target && served ? firstPair(served, asked) : {};
  const ways = Object.fromEntries(Object.entries(asked).filter(([name]) => name in FIRST_VIEW));
  if (asked.text === undefined || !served) {
    view.set(ways);
    store.set({ ...pair, view: asked.view });
  } else if (asked.view === "inside") {
    const { text, translation = null } = asked;
    store.set({ ...pair, insideText: text, insideTranslation: translation, explanation: null, view: "inside" });
    view.set({ ...FIRST_VIEW, ...ways });  // now that no picture of another sentence is left to take it for its own
    redraw();
    explaining.ask(text, translation);
  } else {
    store.set({ ...pair, text: asked.text, view: asked.view });
    translating.now();
  }
}

/** The sentence of the Translate view comes along to a Look inside view that has none yet. */
function bringSentence() {
  const { view: name, insideText, answer } = store.get();
  if (name !== "inside" || insideText || !answer?.sentences.length) return;
  store.set({ insideText: answer.sentences[0].source });
  redraw();
  explainAgain();
}

function load() {
  loading.ask(async (signal) => {
    const served = await fetchModels(signal);
    store.set({ served, failure: null, keyNeeded: served.api_key_required, ...firstPair(served, recall("pair", {})) });
    followAddress();
    redraw();
  });
}

/** What the main part shows: {node, release}. */
function content(say) {
  const { view: name, failure, served } = store.get();
  const told = (...parts) => ({ node: paragraph("status", ...parts) });
  if (failure) return told(statusText(failure, say), button(say("retry"), load, { id: "load-retry" }));
  if (!served) return { node: paragraph("placeholder", say("loading")) };
  if (!served.models.length) return told(say("error.nothing"));
  if (name === "inside") return insidePage({ store: scope, view, say, explaining });
  return { node: translateView({ store: scope, say, translating, openInside }) };
}

function draw() {
  scope?.release();
  shown?.release?.();
  scope = scoped(store);
  const say = speaker(store.get().language);
  dressDocument(store.get(), say, `regard: ${say(`view.${store.get().view}`)}`);
  fillHeader(document.getElementById("top"), { store, say, views: VIEWS });
  shown = content(say);
  document.getElementById("main").replaceChildren(...(store.get().keyNeeded ? [keyField(say)] : []), shown.node);
  document.getElementById("foot").textContent = say("foot");
}

function redraw() {
  keepingFocus(draw);
}

function comeBack() {
  if (store.get().failure) load();
  else if (store.get().status.kind === "unreachable") translating.now();
}

store.listen(["language", "theme", "view", "failure", "keyNeeded"], redraw);
store.listen(["view"], bringSentence);
store.listen(["source", "target"], ({ source, target }) => remember("pair", { source, target }));
followSystem(store, redraw);
window.addEventListener("hashchange", followAddress);
window.addEventListener("online", comeBack);
draw();
load();
