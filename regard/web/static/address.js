// The view as a link: a fragment of the page's address, which browsers do not send to any server.

const LONGEST_ADDRESS = 4000;
const CHOICES = {
  view: ["translate", "inside"],
  part: ["encoder", "cross", "decoder"],
  drawing: ["heat", "lines"],
  attributed: ["source", "target"],
};
const TEXTS = ["source", "target", "text", "translation"];
const PINS = ["pinned", "compared"];

/** A cell, a row or a column that is kept, {row, column}, as "3.2", "3.-" or "-.2"; null where nothing is. */
function pinText(pin) {
  const place = (index) => (index === null ? "-" : index + 1);
  return pin && `${place(pin.row)}.${place(pin.column)}`;
}

/** A fragment for a state: who is asked what (`TEXTS`), the view (`CHOICES`), and the keys of FIRST_VIEW. */
export function writeAddress(state) {
  const fields = new URLSearchParams();
  const put = (name, value) => {
    if (value !== null && value !== undefined && value !== "") fields.set(name, String(value));
  };
  for (const name of ["view", ...TEXTS, "part", "drawing", "attributed"]) put(name, state[name]);
  if (state.whole !== undefined) put("tokens", state.whole ? "words" : "subwords");
  if (state.layer !== undefined) put("layer", state.layer === null ? "all" : state.layer + 1);
  if (state.head !== undefined) put("head", typeof state.head === "number" ? state.head + 1 : state.head);
  if (state.step !== undefined) put("step", state.step + 1);
  for (const name of PINS) put(name, pinText(state[name]));
  const address = `#${fields.toString()}`;
  return address.length <= LONGEST_ADDRESS ? address : null;
}

function counted(text) {
  return /^[1-9]\d{0,3}$/.test(text) ? Number(text) - 1 : undefined;
}

function readPin(text) {
  const [row, column, ...more] = text.split(".").map((place) => (place === "-" ? null : counted(place)));
  const wrong = row === undefined || column === undefined || more.length > 0 || (row === null && column === null);
  return wrong ? undefined : { row, column };
}

/** The state that a fragment names; what is unknown, wrong or too long is left out. */
export function readAddress(fragment) {
  if (fragment.length > LONGEST_ADDRESS) return {};
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = {};
  for (const name of TEXTS) if (fields.has(name)) state[name] = fields.get(name);
  for (const [name, allowed] of Object.entries(CHOICES)) {
    if (allowed.includes(fields.get(name))) state[name] = fields.get(name);
  }
  const [tokens, layer, head] = [fields.get("tokens"), fields.get("layer"), fields.get("head")];
  if (tokens === "words" || tokens === "subwords") state.whole = tokens === "words";
  if (layer !== null) state.layer = layer === "all" ? null : counted(layer);
  if (head !== null) state.head = head === "mean" || head === "max" ? head : counted(head);
  if (fields.has("step")) state.step = counted(fields.get("step"));
  for (const name of PINS) if (fields.has(name)) state[name] = readPin(fields.get(name));
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined));
}
