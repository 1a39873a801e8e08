// Tables: the same as the pictures, for those who cannot see them, and for copying.
import { element } from "./dom.js";
import { percent } from "./numbers.js";
import { rowOf } from "./weights.js";

/** A box that scrolls by itself and is reached by Tab. */
export function scrolled(label, ...children) {
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, children);
}

/** A table: `heads` are cells or texts of its first row, `rows` lists of cells or texts. */
export function dataTable(caption, heads, rows) {
  const cell = (content) => (content instanceof Node ? content : element("td", {}, content));
  const head = (content) => (content instanceof Node ? content : element("th", { scope: "col" }, content));
  return scrolled(caption, element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, heads.map(head))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map(cell))))));
}

/** A table of weights. */
export function weightTable({ rows, columns, matrix, languages, label }) {
  const heads = columns.map((text) => element("th", { scope: "col", lang: languages[1] }, text));
  const named = (text, scope, language) => element("th", { scope, lang: language }, text);
  return dataTable(label, [element("td"), ...heads],
    rows.map((text, row) => [named(text, "row", languages[0]), ...rowOf(matrix, row).map(percent)]));
}

/** A fold whose content is made when it is opened. */
export function fold(title, make, id) {
  const holder = element("div");
  const node = element("details", { class: "fold" }, element("summary", { id }, title), holder);
  const refresh = () => holder.replaceChildren(...(node.open ? [make()] : []));
  node.addEventListener("toggle", refresh);
  return { node, refresh };
}
