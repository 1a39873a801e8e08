// Asking the service: one question at a time, a newer one ends an older; one that is busy is asked again, a few times.
import { ServiceError } from "./service.js";
import { characterCount } from "./alignment.js";

const MOST_TRIES = 5;
const SECONDS_TO_WAIT = 3;

/** What every request holds. */
export function requestBody(state, text) {
  const body = { text, source: state.source, target: state.target };
  return state.apiKey ? { ...body, api_key: state.apiKey } : body;
}

/** Whether a text is longer than the service takes. */
export function isTooLong(text, limit) {
  return characterCount(text) > limit;
}

/**
 * The way of one worker to the service: `ask(question)` awaits `question(signal)`, `wait(milliseconds, then)` lets
 * something else come first, `stop()` ends either. `tell(status)` hears what goes wrong: {kind, message, seconds}.
 */
export function createAsking(store, tell) {
  let [timer, controller] = [null, null];

  function stop() {
    clearTimeout(timer);
    controller?.abort();
    controller = null;
  }

  function wait(milliseconds, then) {
    stop();
    timer = setTimeout(then, milliseconds);
  }

  function countDown(seconds, then) {
    tell({ kind: "busy", seconds });
    wait(1000, () => (seconds > 1 ? countDown(seconds - 1, then) : then()));
  }

  async function ask(question, tries = MOST_TRIES) {
    stop();
    controller = new AbortController();
    const { signal } = controller;
    try {
      await question(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ServiceError)) throw error;
      const { kind, message, seconds } = error;
      if (kind !== "busy") tell({ kind, message });
      else if (tries > 1) countDown(seconds ?? SECONDS_TO_WAIT, () => ask(question, tries - 1));
      else tell({ kind: "full" });
      if (kind === "key") store.set({ keyNeeded: true });
    }
  }

  return { ask, wait, stop };
}
