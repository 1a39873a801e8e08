// The text to translate: a field that grows with it, over a mirror of itself in which words can be marked.
import { button, element } from "./dom.js";
import { characterCount, sourcePieces } from "./alignment.js";
import { markedWords } from "./pointing.js";
import { whole } from "./numbers.js";

/** The word of the mirror under a point of the window, or null. */
function wordUnder(mirror, x, y) {
  for (const span of mirror.querySelectorAll("[data-key]")) {
    for (const box of span.getClientRects()) {
      if (x >= box.left && x <= box.right && y >= box.top && y <= box.bottom) return span.dataset.key;
    }
  }
  return null;
}

/** The word in which the caret stands, or null: pieces are [{text, sentence, word}]. */
export function wordAtCaret(pieces, caret) {
  let start = 0;
  for (const piece of pieces) {
    const stop = start + piece.text.length;
    if (piece.word !== null && caret >= start && caret <= stop) return `${piece.sentence}:${piece.word}`;
    start = stop;
  }
  return null;
}

function pointedOf(key) {
  if (key === null) return null;
  const [sentence, word] = key.split(":").map(Number);
  return { side: "source", sentence, word };
}

/** The pane; `onInput(text)` hears each change. */
export function sourcePane({ store, say, onInput }) {
  const mirror = element("div", { class: "mirror", "aria-hidden": "true" });
  const field = element("textarea", { id: "source-text", class: "text", rows: 4, spellcheck: "true", dir: "auto",
    autocomplete: "off", placeholder: say("source.placeholder"), "aria-label": say("source.label"),
    "aria-describedby": "counter" });
  const counter = element("span", { id: "counter", class: "counter" });
  const clear = button(say("clear"), () => {
    onInput("");
    field.focus();
  }, { id: "clear", class: "quiet" });
  let pieces = null;

  const reflect = () => {
    const { text, answer, answered, source } = store.get();
    if (field.value !== text) field.value = text;
    field.lang = source ?? "";
    pieces = answer && answered === text ? sourcePieces(answer, text) : null;
    const spans = (pieces ?? [{ text, word: null }]).map((piece) => (piece.word === null ? piece.text
      : element("span", { "data-key": `${piece.sentence}:${piece.word}` }, piece.text)));
    mirror.replaceChildren(...spans, "\u200b");
    mark();
  };
  const mark = () => {
    const { answer, chosen, pointed } = store.get();
    const marked = new Set(markedWords(answer, chosen, pointed).source);
    for (const span of mirror.querySelectorAll("[data-key]")) {
      span.classList.toggle("linked", marked.has(span.dataset.key));
      span.classList.toggle("pointed", pointed?.side === "source" && marked.has(span.dataset.key));
    }
  };
  const count = () => {
    const { text, served } = store.get();
    const [used, limit] = [characterCount(text), served?.limits.characters ?? 0];
    const counted = { used: whole(used, say.language), limit: whole(limit, say.language) };
    counter.textContent = limit ? say("counter", counted) : "";
    counter.classList.toggle("over", limit > 0 && used > limit);
    clear.hidden = !text;
  };
  const followCaret = () => {
    if (pieces) store.set({ pointed: pointedOf(wordAtCaret(pieces, field.selectionStart)) });
  };
  field.addEventListener("input", () => onInput(field.value));
  field.addEventListener("keyup", (event) => { if (/^(Arrow|Home|End|Page)/.test(event.key)) followCaret(); });
  field.addEventListener("blur", () => store.set({ pointed: null }));
  field.addEventListener("pointermove", (event) => {
    const key = pieces ? wordUnder(mirror, event.clientX, event.clientY) : null;
    const { pointed } = store.get();
    const now = pointed ? `${pointed.sentence}:${pointed.word}` : null;
    if (key !== now || (key && pointed.side !== "source")) store.set({ pointed: pointedOf(key) });
  });
  field.addEventListener("pointerleave", () => store.set({ pointed: null }));
  field.addEventListener("scroll", () => { mirror.scrollTop = field.scrollTop; });
  store.listen(["text", "answer", "source"], reflect);
  store.listen(["pointed", "chosen"], mark);
  store.listen(["text", "served"], count);
  reflect();
  count();
  return element("div", { class: "writing" }, element("div", { class: "field" }, mirror, field),
    element("div", { class: "pane-foot" }, counter, clear));
}
