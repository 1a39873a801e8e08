// The beam as a tree: what was kept at each step, what was dropped, what was finished, and the way to the result.
import { dataTable, fold, scrolled } from "./tables.js";
import { decimal, percent } from "./numbers.js";
import { element, paragraph, shape } from "./dom.js";
import { layoutBeam, neighbour, tokenProbability } from "./beam_layout.js";
import { saveButtons } from "./figure.js";
import { shortened } from "./labels.js";

const NODE_HEIGHT = 24;
const HEAD = 22;
const KINDS = ["best", "kept", "finished", "dropped"];

function kindOf(node) {
  if (node.best) return "best";
  if (node.finished) return "finished";
  return node.kept ? "kept" : "dropped";
}

function describeNode(nodes, node, say) {
  return say("beam.node", { step: node.step, token: node.token, probability: percent(tokenProbability(nodes, node)),
    total: decimal(node.log_probability), state: say(`beam.${kindOf(node)}`) });
}

function branchShape(from, to) {
  const [x, y] = [from.x + from.width, from.y + HEAD + NODE_HEIGHT / 2];
  const [endX, endY] = [to.x, to.y + HEAD + NODE_HEIGHT / 2];
  const bend = (endX - x) / 2;
  const curve = `M${x} ${y}C${x + bend} ${y} ${endX - bend} ${endY} ${endX} ${endY}`;
  return shape("path", { class: `branch ${kindOf(to.node)}`, d: curve });
}

function nodeShape({ node, x, y, width }, nodes, say) {
  const top = y + HEAD;
  const corner = node.finished ? 2 : NODE_HEIGHT / 2;
  return shape("g", { class: `leaf ${kindOf(node)}${node.finished ? " ended" : ""}` },
    shape("title", {}, describeNode(nodes, node, say)),
    shape("rect", { class: "leaf-box", x: x + 0.75, y: top, width: width - 1.5, height: NODE_HEIGHT, rx: corner }),
    shape("text", { class: "leaf-text", x: x + width / 2, y: top + NODE_HEIGHT / 2 + 4.5, "text-anchor": "middle" },
      shortened(node.token, 110)));
}

/** Draw the tree; `onPoint(index)` hears which node the pointer or the arrow keys are on. */
function drawTree({ nodes }, withDropped, say, onPoint) {
  const { places, columns, width, height } = layoutBeam(nodes, withDropped);
  const ordered = [...places.values()].sort((a, b) => Number(a.node.best) - Number(b.node.best));
  const leaves = new Map(ordered.map((place) => [place.node.index, nodeShape(place, nodes, say)]));
  const branches = ordered.filter(({ node }) => places.has(node.parent))
    .map((place) => branchShape(places.get(place.node.parent), place));
  const heads = columns.map(({ step, x, width: wide }) =>
    shape("text", { class: "end-text", x: x + wide / 2, y: 11, "text-anchor": "middle" }, String(step)));
  const band = shape("rect", { class: "band", y: 0, height: HEAD + height, rx: 6, visibility: "hidden" });
  const node = shape("svg", { class: "beam", viewBox: `0 0 ${width} ${HEAD + height}`, width, height: HEAD + height,
    tabindex: 0, role: "application", "aria-label": say("beam.label") }, band, branches, heads, [...leaves.values()]);
  let current = null;
  const point = (index) => {
    leaves.get(current)?.classList.remove("here");
    current = index;
    leaves.get(current)?.classList.add("here");
    onPoint(index);
  };
  for (const [index, leaf] of leaves) leaf.addEventListener("pointerenter", () => point(index));
  node.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    point(current === null ? 0 : neighbour(places, current, event.key));
  });
  const showStep = (step) => {
    const column = columns.find((one) => one.step === step);
    band.setAttribute("visibility", column ? "visible" : "hidden");
    if (column) {
      band.setAttribute("x", column.x - 8);
      band.setAttribute("width", column.width + 16);
    }
    return column;
  };
  return { node, showStep };
}

function beamTable({ nodes }, say) {
  const heads = ["step", "token", "after", "probability", "total", "state"].map((name) => say(`beam.column.${name}`));
  const rows = nodes.map((node) => [String(node.step), node.token, nodes[node.parent]?.token ?? "",
    percent(tokenProbability(nodes, node)), decimal(node.log_probability), say(`beam.${kindOf(node)}`)]);
  return dataTable(say("beam.title"), heads, rows);
}

/** The tree with its legend, switch, files and table; `showStep(step)` marks a column. */
export function beamFigure(beam, say) {
  const readout = element("p", { class: "readout", "aria-live": "polite" }, say("beam.hint"));
  const box = scrolled(say("beam.title"));
  box.classList.add("picture");
  box.removeAttribute("tabindex");
  let tree = null;
  let step = 1;
  const markStep = () => {
    const column = tree.showStep(step);
    if (column) box.scrollTo({ left: Math.max(0, column.x - box.clientWidth / 2) });
  };
  const read = (index) => { readout.textContent = describeNode(beam.nodes, beam.nodes[index], say); };
  const draw = (withDropped) => {
    tree = drawTree(beam, withDropped, say, read);
    box.replaceChildren(tree.node);
    markStep();
  };
  const redraw = (event) => draw(event.target.checked);
  const dropped = element("input", { type: "checkbox", id: "beam-dropped", change: redraw });
  const keys = KINDS.map((kind) => element("li", { class: `key ${kind}` }, say(`beam.${kind}`)));
  draw(false);
  const node = element("div", { class: "figure beam-figure" },
    element("h3", {}, say("beam.title")), paragraph("tell", say("beam.text", { size: beam.size })),
    element("div", { class: "row" }, element("ul", { class: "keys" }, keys),
      element("label", { class: "tick-label", for: "beam-dropped" }, dropped, say("beam.dropped.show"))),
    box, readout, element("div", { class: "figure-foot" }, saveButtons("beam", () => tree.node, say)),
    fold(say("table"), () => beamTable(beam, say), "beam-table").node);
  return { node, showStep(next) { step = next; markStep(); } };
}
