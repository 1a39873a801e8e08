// The work behind the Translate view: wait for a pause, stream, ask for the whole answer.
import { createAsking, isTooLong, requestBody } from "./asking.js";
import { fetchAnswer, streamAnswer } from "./service.js";

const PAUSE = 320;
const TRANSLATIONS = 4;

/** The pair that is chosen as a key: "en-fr". */
export function pairKey({ source, target }) {
  return `${source}-${target}`;
}

/** The worker on a store: `later()` after a pause, `now()` at once. */
export function createTranslating(store) {
  const asking = createAsking(store, (status) => store.set({ partial: null, status }));

  function finish(answer, text, kind) {
    store.set({ answer, answered: text, partial: null, chosen: {}, sentence: 0, status: { kind } });
  }

  async function work(signal) {
    const state = store.get();
    const { text } = state;
    const glossary = state.glossaries[pairKey(state)] ?? [];
    const body = { ...requestBody(state, text), glossary, keep_spans: true };
    store.set({ status: { kind: "forming" } });
    const streamed = await streamAnswer(body, signal, (partial) => store.set({ partial }));
    if (streamed) finish(streamed, text, "forming");
    const best = Math.min(TRANSLATIONS, 1 + state.served.limits.alternatives);  // the best, and others beside it
    finish(await fetchAnswer("api/translate", { ...body, best, alignment: true }, signal), text, "done");
  }

  function now() {
    asking.stop();
    const { text, served, source, target } = store.get();
    if (!served || !source || !target || !text.trim()) {
      store.set({ answer: null, partial: null, status: { kind: "idle" } });
    } else if (isTooLong(text, served.limits.characters)) {
      store.set({ partial: null, status: { kind: "long" } });
    } else asking.ask(work);
  }

  return { now, later: () => asking.wait(PAUSE, now) };
}
