// The service: models, translations as they form, translations in full, explanations.
import { createEventParser } from "./events.js";

/** What went wrong: "unreachable", "busy", "late", "key", "refused" or "broken"; `seconds`: when to try again. */
export class ServiceError extends Error {
  constructor(kind, message = "", seconds = null) {
    super(message);
    this.kind = kind;
    this.seconds = seconds;
  }
}

const STATUS_KINDS = { 400: "refused", 403: "key", 413: "refused", 429: "busy" };

/** What a status means. A service that is busy says when to come back; one that took too long does not. */
function kindOfStatus(status, seconds) {
  if (status === 503) return seconds === null ? "late" : "busy";
  return STATUS_KINDS[status] ?? "broken";
}

async function errorOf(response) {
  let message = "";
  try {
    message = String((await response.json()).error ?? "");
  } catch {
    // An answer that is no JSON says nothing that a user could use.
  }
  const wait = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  const seconds = Number.isFinite(wait) ? Math.min(600, Math.max(1, Math.ceil(wait))) : null;
  return new ServiceError(kindOfStatus(response.status, seconds), message, seconds);
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError("unreachable");
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

function posted(body, signal) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

async function readBody(read) {
  try {
    return await read();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError("broken");
  }
}

/** What is served: {models, limits, api_key_required}. */
export async function fetchModels(signal) {
  const response = await ask("api/models", { signal });
  return readBody(() => response.json());
}

/** The answer of "api/translate" or "api/explain", as `read` makes it of the JSON. */
export async function fetchAnswer(path, body, signal, read = (json) => json) {
  const response = await ask(path, posted(body, signal));
  return readBody(async () => read(await response.json()));
}

/** The translation as it forms: `onPartial(text)` each time it grows, then the answer (or null if none came). */
export async function streamAnswer(body, signal, onPartial) {
  const response = await ask("api/stream", posted(body, signal));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = createEventParser();
  for (;;) {
    const { done, value } = await readBody(() => reader.read());
    if (done) return null;
    for (const { event, data } of parser.push(value)) {
      const message = await readBody(() => JSON.parse(data));
      if (event === "partial") onPartial(String(message.text));
      if (event === "error") throw new ServiceError("refused", String(message.error ?? ""));
      if (event === "done") return message;
    }
  }
}
