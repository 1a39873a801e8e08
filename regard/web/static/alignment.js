// Words of a translation and of its source: where they stand in the text, and which belong together.

// Models trained with label smoothing give about 90 % to a token they are sure of, so a word of four has 66 %.
const [SURE, FAIR] = [0.6, 0.3];

/** Offsets in UTF-16 of each character (code point) of a text, its end included; the service counts in characters. */
function characterOffsets(text) {
  const offsets = [0];
  for (const character of text) offsets.push(offsets.at(-1) + character.length);
  return offsets;
}

/** Number of characters (code points), as the service counts them. */
export function characterCount(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Cut a text at its words [{start, stop} in characters]: [{text, word: index or null}], nothing lost between them. */
export function piecesOf(text, words) {
  const offsets = characterOffsets(text);
  const pieces = [];
  let done = 0;
  words.forEach((word, index) => {
    const [start, stop] = [offsets[word.start] ?? text.length, offsets[word.stop] ?? text.length];
    if (start < done || stop <= start) return;
    if (start > done) pieces.push({ text: text.slice(done, start), word: null });
    pieces.push({ text: text.slice(start, stop), word: index });
    done = stop;
  });
  if (done < text.length) pieces.push({ text: text.slice(done), word: null });
  return pieces;
}

/** Links of pairs [[source word, target word]]: those of a source word and those of a target word. */
export function linksOf(pairs) {
  const collect = (from, to) => {
    const found = new Map();
    for (const pair of pairs) found.set(pair[from], [...(found.get(pair[from]) ?? []), pair[to]]);
    return (index) => found.get(index) ?? [];
  };
  return { toTarget: collect(0, 1), toSource: collect(1, 0) };
}

/** The source of an answer cut into pieces: [{text, sentence, word}], or null where it is not the text of the field. */
export function sourcePieces(answer, text) {
  const pieces = answer.sentences.flatMap((sentence, index) => [
    { text: sentence.before, sentence: null, word: null },
    ...piecesOf(sentence.source, sentence.source_words ?? []).map((piece) => ({ ...piece, sentence: index })),
  ]);
  pieces.push({ text: answer.after ?? "", sentence: null, word: null });
  return pieces.map((piece) => piece.text).join("") === text ? pieces.filter((piece) => piece.text) : null;
}

/** The translation of sentence `index` that is chosen: the best unless the user took another. */
export function chosenTranslation(answer, chosen, index) {
  const { translations } = answer.sentences[index];
  return translations[chosen[index] ?? 0] ?? translations[0];
}

/** The whole translation as it is chosen: sentences and the white space around them. */
export function chosenText(answer, chosen) {
  if (!Object.keys(chosen).length) return answer.text;
  const part = (sentence, index) => sentence.target_before + chosenTranslation(answer, chosen, index).text;
  return answer.sentences.map(part).join("") + (answer.after ?? "");
}

/** How sure the model was of a word, in three steps: "sure", "fair" or "doubtful"; "unknown" where nobody can say. */
export function sureness(probability) {
  if (typeof probability !== "number") return "unknown";
  if (probability >= SURE) return "sure";
  return probability >= FAIR ? "fair" : "doubtful";
}
