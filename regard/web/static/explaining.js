// The work behind the Look inside view: ask for an explanation; a newer question ends an older one.
import { ServiceError, fetchAnswer } from "./service.js";
import { isTooLong, requestBody } from "./translating.js";
import { readExplanation } from "./explanation.js";

/** The worker on a store: `ask(text, translation)`, where `translation` null means the model's own. */
export function createExplaining(store) {
  let controller = null;
  let timer = null;

  function countDown(seconds) {
    store.set({ explaining: { kind: "busy", seconds } });
    const again = () => ask(store.get().insideText, store.get().insideTranslation);
    timer = setTimeout(() => (seconds > 1 ? countDown(seconds - 1) : again()), 1000);
  }

  async function ask(text, translation) {
    clearTimeout(timer);
    controller?.abort();
    store.set({ insideText: text, insideTranslation: translation });
    const state = store.get();
    if (!text.trim() || !state.source) {
      store.set({ explaining: { kind: "idle" } });
      return;
    }
    const limit = state.served.limits.explain_characters;
    if (isTooLong(text, limit) || isTooLong(translation ?? "", limit)) {
      store.set({ explaining: { kind: "lengthy" } });
      return;
    }
    controller = new AbortController();
    const { signal } = controller;
    store.set({ explaining: { kind: "forming" } });
    try {
      const answer = await fetchAnswer("api/explain", { ...requestBody(state, text), translation }, signal);
      store.set({ explanation: readExplanation(answer), explaining: { kind: "done" } });
    } catch (error) {
      if (signal.aborted) return;
      const { kind, message, seconds } = error instanceof ServiceError ? error : new ServiceError("broken");
      if (kind === "busy") countDown(seconds ?? 3);
      else store.set({ explaining: { kind, message }, keyNeeded: store.get().keyNeeded || kind === "key" });
    }
  }

  return { ask };
}
