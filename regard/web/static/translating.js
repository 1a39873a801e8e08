// The work behind the Translate view: wait for a pause, stream, ask for the whole answer; newer text ends older work.
import { ServiceError, fetchAnswer, streamAnswer } from "./service.js";
import { characterCount } from "./alignment.js";

const PAUSE = 320;
const TRANSLATIONS = 4;

/** The pair that is chosen as a key: "en-fr". */
export function pairKey({ source, target }) {
  return `${source}-${target}`;
}

/** What every request holds. */
export function requestBody(state, text) {
  const body = { text, source: state.source, target: state.target };
  return state.apiKey ? { ...body, api_key: state.apiKey } : body;
}

/** Whether a text is longer than the service takes. */
export function isTooLong(text, limit) {
  return characterCount(text) > limit;
}

/** The worker on a store: `later()` after a pause, `now()` at once, `stop()`. */
export function createTranslating(store) {
  let [timer, controller] = [null, null];

  function stop() {
    clearTimeout(timer);
    controller?.abort();
    controller = null;
  }

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
    const best = Math.max(1, Math.min(TRANSLATIONS, state.served.limits.alternatives));
    finish(await fetchAnswer("api/translate", { ...body, best, alignment: true }, signal), text, "done");
  }

  function countDown(seconds) {
    store.set({ partial: null, status: { kind: "busy", seconds } });
    timer = setTimeout(() => (seconds > 1 ? countDown(seconds - 1) : now()), 1000);
  }

  async function now() {
    stop();
    const { text, served, source, target } = store.get();
    if (!served || !source || !target || !text.trim()) {
      store.set({ answer: null, partial: null, status: { kind: "idle" } });
      return;
    }
    if (isTooLong(text, served.limits.characters)) {
      store.set({ partial: null, status: { kind: "long" } });
      return;
    }
    controller = new AbortController();
    const { signal } = controller;
    try {
      await work(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ServiceError)) throw error;
      const { kind, message, seconds } = error;
      if (kind === "busy") countDown(seconds ?? 3);
      else store.set({ partial: null, status: { kind, message }, keyNeeded: store.get().keyNeeded || kind === "key" });
    }
  }

  return {
    stop,
    now,
    later() {
      stop();
      timer = setTimeout(now, PAUSE);
    },
  };
}
