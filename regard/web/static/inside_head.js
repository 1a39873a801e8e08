// What stands above the pictures: facts about the model, the link that reopens the view, and the data as a file.
import { button, element } from "./dom.js";
import { saveJson } from "./save.js";
import { whole } from "./numbers.js";

const NOTE_SECONDS = 4;

/** Facts about the model as a list. */
export function modelFacts({ model }, say) {
  const layers = say("fact.layers.value", { encoder: model.encoder_layers, decoder: model.decoder_layers });
  const numbers = ["heads", "width", "parameters"].map((name) => [name, whole(model[name], say.language)]);
  return element("dl", { class: "facts" }, [["name", model.name], ["layers", layers], ...numbers].map(([name, value]) =>
    element("div", {}, element("dt", {}, say(`fact.${name}`)), element("dd", {}, String(value)))));
}

/** Put a text on the clipboard, if the browser lets us. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * A button that copies what `text()` gives and says so for a moment; where the browser refuses (a page from the disk),
 * the user gets the text to copy. `text()` null is answered with `refusal`.
 */
export function copyButton({ label, text, say, refusal = "", id }) {
  const note = element("span", { class: "copied", role: "status" });
  const field = element("input", { class: "to-copy", readonly: true, hidden: true, "aria-label": label });
  const copy = async () => {
    const value = text();
    if (value === null) note.textContent = refusal;
    else if (await copyText(value)) note.textContent = say("copied");
    else {
      field.value = value;
      field.hidden = false;
      field.select();
      note.textContent = say("copy.yourself");
    }
    setTimeout(() => { note.textContent = ""; }, 1000 * NOTE_SECONDS);
  };
  return element("span", { class: "copying" }, button(label, copy, { id }), field, note);
}

/** The tools: copy a link to the view, save the data. `address()` is the link, or null where it would be too long. */
export function viewTools({ explanation, address, say }) {
  return element("div", { class: "tools" },
    copyButton({ label: say("link.copy"), text: address, say, refusal: say("link.long"), id: "copy-link" }),
    button(say("save.data"), () => saveJson("explanation", explanation.json), { id: "save-json" }));
}
