// The work behind the Look inside view: ask for an explanation.
import { createAsking, isTooLong, requestBody } from "./asking.js";
import { fetchAnswer } from "./service.js";
import { readExplanation } from "./explanation.js";

/** The worker on a store: `ask(text, translation)`, where `translation` null means the model's own. */
export function createExplaining(store) {
  const tell = (explaining) => store.set({ explaining });
  const asking = createAsking(store, tell);

  function ask(text, translation) {
    asking.stop();
    store.set({ insideText: text, insideTranslation: translation });
    const state = store.get();
    const limit = state.served?.limits.explain_characters;
    if (!text.trim() || !state.source) tell({ kind: "idle" });
    else if (isTooLong(text, limit) || isTooLong(translation ?? "", limit)) tell({ kind: "lengthy" });
    else {
      asking.ask(async (signal) => {
        tell({ kind: "forming" });
        const body = { ...requestBody(store.get(), text), translation };
        const explanation = await fetchAnswer("api/explain", body, signal, readExplanation);
        store.set({ explanation, explaining: { kind: "done" } });
      });
    }
  }

  return { ask };
}
