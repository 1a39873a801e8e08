// The view of one explanation as a page of its own: data and script stand in the same file.
import { FIRST_VIEW, insideView } from "./inside_view.js";
import { createStore, recall, scoped } from "./store.js";
import { dressDocument, fillHeader, followSystem } from "./shell.js";
import { element, keepingFocus, paragraph } from "./dom.js";
import { modelFacts, viewTools } from "./inside_head.js";
import { readAddress, writeAddress } from "./address.js";
import { readExplanation } from "./explanation.js";
import { speaker } from "./language.js";

/** The two sentences, as they are read. */
function sentencePair(explanation, say) {
  const { model, source, target } = explanation;
  return element("div", { class: "card sentences" },
    element("p", { class: "said", lang: model.source_language }, source.text),
    element("p", { class: "heard", lang: model.target_language }, target.text),
    element("p", { class: "small" }, say(target.forced ? "target.forced" : "target.own")));
}

/** Draw the page, and draw it anew when its language or its appearance changes. */
function startFile() {
  const data = JSON.parse(document.getElementById("explanation-data").textContent);
  const explanation = readExplanation(data.explanation);
  const store = createStore({ language: data.language, theme: recall("theme", null), view: "inside" });
  const view = createStore({ ...FIRST_VIEW, ...readAddress(location.hash) });
  const address = () => {
    const fragment = writeAddress({ ...view.get(), text: null, translation: null, source: null, target: null });
    return fragment && location.href.replace(/#.*$/, "") + fragment;
  };
  let scope = null;
  const draw = () => {
    scope?.release();
    scope = scoped(view);
    const say = speaker(store.get().language === "zh" ? "zh" : "en");
    dressDocument(store.get(), say, `${say("view.inside")}: ${explanation.source.text}`);
    fillHeader(document.getElementById("top"), { store, say, views: [] });
    document.getElementById("main").replaceChildren(element("h1", {}, say("view.inside")),
      paragraph("lead", say("inside.lead")), sentencePair(explanation, say), modelFacts(explanation, say),
      viewTools({ explanation, address, say }), insideView({ explanation, view: scope, say }));
  };
  store.listen(["language", "theme"], () => keepingFocus(draw));
  followSystem(store, draw);
  draw();
}

startFile();
