// Where the nodes of a beam stand: a column for each step, the most probable on top.
import { labelWidth } from "./labels.js";

const NODE_ROW = 30;
const GAP = 34;
const WIDEST_TOKEN = 110;

/** Which nodes are shown: all, or only those that were kept, finished, or lie on the way to the result. */
export function shownNodes(nodes, withDropped) {
  return nodes.map((node, index) => ({ ...node, index }))
    .filter((node) => withDropped || node.kept || node.finished || node.best);
}

/** Places of nodes: {places: Map(index -> {node, x, y, width, rank}), width, height, columns: [{step, x, width}]}. */
export function layoutBeam(nodes, withDropped) {
  const steps = new Map();
  for (const node of shownNodes(nodes, withDropped)) {
    steps.set(node.step, [...(steps.get(node.step) ?? []), node]);
  }
  const places = new Map();
  const columns = [];
  let [x, tallest] = [0, 0];
  for (const [step, list] of [...steps].sort((a, b) => a[0] - b[0])) {
    const width = Math.max(...list.map((node) => 22 + Math.min(WIDEST_TOKEN, labelWidth(node.token))));
    list.sort((a, b) => b.log_probability - a.log_probability);
    list.forEach((node, rank) => places.set(node.index, { node, x, y: NODE_ROW * rank, width, rank }));
    columns.push({ step, x, width });
    x += width + GAP;
    tallest = Math.max(tallest, list.length);
  }
  return { places, columns, width: Math.max(0, x - GAP), height: NODE_ROW * tallest };
}

/** The probability of a node's token after its parent. */
export function tokenProbability(nodes, node) {
  const before = node.parent >= 0 ? nodes[node.parent].log_probability : 0;
  return Math.exp(node.log_probability - before);
}

/** The node that an arrow key leads to: to the parent, the best child, or the neighbour above or below. */
export function neighbour(places, index, key) {
  const here = places.get(index);
  const all = [...places.values()];
  const best = (list) => list.sort((a, b) => a.rank - b.rank)[0]?.node.index ?? index;
  if (key === "ArrowLeft") return places.has(here.node.parent) ? here.node.parent : index;
  if (key === "ArrowRight") return best(all.filter(({ node }) => node.parent === index));
  const rank = here.rank + (key === "ArrowDown" ? 1 : -1);
  return all.find((place) => place.node.step === here.node.step && place.rank === rank)?.node.index ?? index;
}
