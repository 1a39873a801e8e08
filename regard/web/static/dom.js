// Elements made in code. Whatever comes from a user is set as text: nothing here reads HTML.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** Set attributes: a function becomes a listener, true an empty attribute; null, undefined and false are left out. */
function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  return node;
}

/** An HTML element; strings among its children become text, null and nested lists are allowed. */
export function element(tag, attributes = {}, ...children) {
  const node = setAttributes(document.createElement(tag), attributes);
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return node;
}

/** An SVG element; strings among its children become text. */
export function shape(tag, attributes = {}, ...children) {
  const node = setAttributes(document.createElementNS(SVG_NAMESPACE, tag), attributes);
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return node;
}

/** A button with text. */
export function button(text, onClick, attributes = {}) {
  return element("button", { type: "button", click: onClick, ...attributes }, text);
}

/** Set custom properties of a node's style (a policy without inline styles allows this, not a style attribute). */
export function withVariables(node, variables) {
  for (const [name, value] of Object.entries(variables)) node.style.setProperty(name, String(value));
  return node;
}

/** A box that draws its content for the width it has, and again when that changes. */
export function sized(draw) {
  // What is watched has no height: drawing must not change the size of what is watched.
  const [ruler, holder] = [element("div", { class: "ruler" }), element("div")];
  let width = 0;
  const redraw = () => {
    if (width > 0) holder.replaceChildren(draw(width));
  };
  new ResizeObserver(() => {
    const now = Math.floor(ruler.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    redraw();
  }).observe(ruler);
  return { node: element("div", { class: "sized" }, ruler, holder), redraw };
}

/** A set of choices of which one is pressed: [{value, label, title}], as a group of radio buttons. */
export function segments({ label, choices, chosen, onChoose, id }) {
  const buttons = choices.map((choice) => button(choice.label, () => onChoose(choice.value), {
    id: `${id}-${choice.value}`, role: "radio", class: "segment", title: choice.title ?? null,
    "aria-checked": String(choice.value === chosen),
  }));
  roving(buttons, { across: 1, start: choices.findIndex((choice) => choice.value === chosen),
    onMove: (index) => onChoose(choices[index].value) });
  return element("div", { class: "segments", role: "radiogroup", "aria-label": label }, buttons);
}

/** Arrow keys move the focus within `nodes`, of which Tab reaches one. `across`: how many stand in a line. */
export function roving(nodes, { across = 1, start = 0, onMove = () => {} } = {}) {
  const reach = (chosen) => nodes.forEach((node, index) => {
    node.setAttribute("tabindex", index === chosen ? "0" : "-1");
  });
  const steps = { ArrowDown: across, ArrowUp: -across, ArrowRight: 1, ArrowLeft: -1 };
  nodes.forEach((node, index) => node.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    let next = event.key in steps ? index + steps[event.key] : null;
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = nodes.length - 1;
    if (next === null || next < 0 || next >= nodes.length) return;
    event.preventDefault();
    reach(next);
    nodes[next].focus();
    onMove(next);
  }));
  reach(Math.max(0, start));
  return reach;
}

/** Run `change`, which may build parts of the page anew, and give the focus back to the element of the same id. */
export function keepingFocus(change) {
  const id = document.activeElement?.id;
  change();
  if (id) document.getElementById(id)?.focus();
}

/** A paragraph of a class. */
export function paragraph(kind, ...children) {
  return element("p", { class: kind }, children);
}

/** A section with a heading that names it. */
export function titledSection(id, title, ...children) {
  const heading = element("h2", { id: `${id}-title` }, title);
  return element("section", { id, "aria-labelledby": `${id}-title` }, heading, children);
}
