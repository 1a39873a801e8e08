// What is going on, or what went wrong, in words.
import { button, element } from "./dom.js";

/** The sentence for a status {kind, message, seconds}; "" where there is nothing to say. */
export function statusText(status, say) {
  if (["idle", "forming", "done"].includes(status.kind)) return "";
  if (status.kind === "busy") return say("error.busy", { seconds: status.seconds });
  if (["refused", "late"].includes(status.kind)) {
    return status.message ? say(`error.${status.kind}`, { message: status.message }) : say("error.broken");
  }
  if (status.kind === "unreachable" && !navigator.onLine) return say("error.offline");
  return say(`error.${status.kind}`);
}

/** A line that shows a status, with a button to try again where that may help. */
export function statusLine(say, onRetry, id) {
  const text = element("span");
  const retry = button(say("retry"), onRetry, { id: `${id}-retry`, class: "quiet" });
  const node = element("p", { class: "status", role: "status", hidden: true }, text, retry);
  return {
    node,
    show(status) {
      text.textContent = statusText(status, say);
      retry.hidden = !["unreachable", "broken", "busy", "full", "late", "refused"].includes(status.kind);
      node.hidden = text.textContent === "";
    },
  };
}
