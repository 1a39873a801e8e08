// The word that is pointed at, on either side, and the words of the other side that belong to it.
import { chosenTranslation, linksOf, sureness } from "./alignment.js";
import { percent } from "./numbers.js";

/** Marks for a pointed word {side, sentence, word}: the keys "sentence:word" to mark on each side. */
export function markedWords(answer, chosen, pointed) {
  if (!answer || !pointed || !answer.sentences[pointed.sentence]) return { source: [], target: [] };
  const translation = chosenTranslation(answer, chosen, pointed.sentence);
  const links = linksOf(translation.alignment ?? []);
  const keys = (words) => words.map((word) => `${pointed.sentence}:${word}`);
  return pointed.side === "target"
    ? { target: keys([pointed.word]), source: keys(links.toSource(pointed.word)) }
    : { source: keys([pointed.word]), target: keys(links.toTarget(pointed.word)) };
}

/** The words of one side that belong to a word of the other, as a list in words. */
function listed(words, indices, say) {
  const texts = indices.map((index) => words[index]?.text).filter(Boolean);
  return texts.map((text) => say("quoted", { text })).join(say("list.comma"));
}

/** The sentence that says of a word how sure the model was and what it came from. */
export function wordSentence(answer, chosen, { side, sentence, word }, say) {
  const { source_words: sourceWords = [] } = answer.sentences[sentence];
  const translation = chosenTranslation(answer, chosen, sentence);
  const links = linksOf(translation.alignment ?? []);
  if (side === "source") {
    const list = listed(translation.words, links.toTarget(word), say);
    return say(list ? "word.to" : "word.to.nothing", { word: sourceWords[word]?.text ?? "", list });
  }
  const { text, probability } = translation.words[word];
  const list = listed(sourceWords, links.toSource(word), say);
  if (sureness(probability) === "unknown") {
    return say(list ? "word.unknown" : "word.unknown.nothing", { word: text, list });
  }
  return say(list ? "word.from" : "word.from.nothing", { word: text, list, probability: percent(probability) });
}
