// An explanation as the page uses it: arrays unpacked, and the names of rows and columns of each picture.
import { asMatrix, headsOf, mergeMatrix, unpack } from "./weights.js";

export const PARTS = ["encoder", "cross", "decoder"];

/** Read an explanation of format "regard-explanation", version 1; anything else is refused with an Error. */
export function readExplanation(json) {
  if (json?.format !== "regard-explanation" || json.version !== 1) throw new Error("not an explanation of version 1");
  return {
    json,
    model: json.model,
    source: json.source,
    target: json.target,
    steps: json.steps,
    beam: json.beam,
    alternatives: json.alternatives ?? [],
    heads: Object.fromEntries(PARTS.map((part) => [part, headsOf(unpack(json.attention[part]))])),
    attribution: {
      method: json.attribution.method,
      source: asMatrix(unpack(json.attribution.source)),
      target: asMatrix(unpack(json.attribution.target)),
    },
    positions: json.positions ? { kind: json.positions.kind, matrix: asMatrix(unpack(json.positions)) } : null,
  };
}

/** Whether the model did not end its translation, so that nobody wrote the end mark that stands in the last step. */
export function isCutOff({ target }) {
  return target.finished === false;
}

/** Tokens as words of one token each: the groups of the subword view. */
function singles(tokens) {
  return tokens.map((text, index) => ({ text, start: index, stop: index + 1 }));
}

/** The words that have been read: the start mark, then each word of the target but the last, one place later. */
function readWords(target) {
  const later = ({ text, start, stop }) => ({ text, start: start + 1, stop: stop + 1 });
  return [{ text: target.read[0], start: 0, stop: 1 }, ...target.words.slice(0, -1).map(later)];
}

/** The groups of tokens of "source", "target" (as it is predicted) or "read" (as it is read): [{text, start, stop}]. */
export function groupsOf(explanation, side, wholeWords) {
  const { source, target } = explanation;
  if (side === "source") return wholeWords ? source.words : singles(source.tokens);
  if (side === "target") return wholeWords ? target.words : singles(target.tokens);
  return wholeWords ? readWords(target) : singles(target.read);
}

/** The sides that name rows and columns of each part. */
export const SIDES = { encoder: ["source", "source"], cross: ["target", "source"], decoder: ["target", "read"] };

/** The heads [L][H] of a part, for tokens or for whole words, with the texts of rows and columns. */
export function partOf(explanation, part, wholeWords) {
  const [rows, columns] = SIDES[part].map((side) => groupsOf(explanation, side, wholeWords));
  const heads = wholeWords
    ? explanation.heads[part].map((layer) => layer.map((matrix) => mergeMatrix(matrix, rows, columns)))
    : explanation.heads[part];
  return { heads, rows: rows.map((group) => group.text), columns: columns.map((group) => group.text) };
}

/** The attribution to "source" or "read", for tokens or for whole words. */
export function attributionOf(explanation, side, wholeWords) {
  const rows = groupsOf(explanation, "target", wholeWords);
  const columns = groupsOf(explanation, side, wholeWords);
  const matrix = explanation.attribution[side === "source" ? "source" : "target"];
  return {
    matrix: wholeWords ? mergeMatrix(matrix, rows, columns) : matrix,
    rows: rows.map((group) => group.text),
    columns: columns.map((group) => group.text),
  };
}

/** The languages of rows and columns of a part, for `lang` attributes. */
export function languagesOf(explanation, part) {
  const of = (side) => (side === "source" ? explanation.model.source_language : explanation.model.target_language);
  return SIDES[part].map(of);
}

/** Tokens as running text: the mark of a space becomes one. */
export function spelled(tokens) {
  return tokens.join("").replaceAll("\u2581", " ").trimStart();
}
