"""Answers of our own API, from what the pool has found."""

from __future__ import annotations

from collections.abc import Sequence

from regard.data.vocabulary import EOS_ID, SPECIAL_TOKENS
from regard.search.alignment import Alignment
from regard.search.translator import Translation, Translator
from regard.serve.schemas import Constraint, LikelyToken, LikelyWord, RichSentence, RichTold, RichTranslation, Word
from regard.serve.sentences import Document, Sentence
from regard.serve.words import Range, as_probability, word_probabilities, words_of
from regard.text.documents import Part


def rich_answer(translator: Translator, document: Document) -> RichTold:
    """A text with its sentences, their translations, and the words of both."""
    sentences = iter(document.sentences)
    told: list[RichSentence] = []
    written = document.pieces_with()
    before = target_before = ""
    for piece, text in zip(document.pieces, written, strict=True):
        if piece.part is Part.SENTENCE:
            told.append(_sentence(translator, next(sentences), before, target_before))
            before = target_before = ""
        else:
            before, target_before = before + piece.text, target_before + text
    source, target = document.languages
    return RichTold(source=source, target=target, text="".join(written), sentences=told, after=before)


def copied_answer(language: str, text: str) -> RichTold:
    """The answer where a text is in the right language already."""
    return RichTold(source=language, target=language, text=text, sentences=[], after=text)


def _sentence(translator: Translator, sentence: Sentence, before: str, target_before: str) -> RichSentence:
    source_words = words_of(translator, sentence.source, 0)
    alignments: Sequence[Alignment | None] = sentence.alignments or [None] * len(sentence.translations)
    return RichSentence(
        source=sentence.source,
        before=before,
        target_before=target_before,
        source_words=[_word(sentence.source, each) for each in source_words],
        translations=[
            _translation(translator, translation, alignment)
            for translation, alignment in zip(sentence.translations, alignments, strict=True)
        ],
        constraints=[Constraint(term=use.source, wanted=use.target, met=use.met) for use in sentence.terms],
    )


def _translation(translator: Translator, translation: Translation, alignment: Alignment | None) -> RichTranslation:
    words = words_of(translator, translation.text, 1)
    probabilities = word_probabilities(translator, translation, words)
    return RichTranslation(
        text=translation.text,
        score=round(translation.score, 6),
        confidence=translation.confidence,
        words=[
            LikelyWord(text=translation.text[slice(*each)], start=each[0], stop=each[1], probability=probability)
            for each, probability in zip(words, probabilities, strict=True)
        ],
        tokens=_tokens(translation),
        alignment=[] if alignment is None else list(alignment.links),
    )


def _tokens(translation: Translation) -> list[LikelyToken]:
    pieces = [*translation.pieces, SPECIAL_TOKENS[EOS_ID]]  # whose probability is there if it came to its end
    return [
        LikelyToken(text=piece, probability=as_probability(log))
        for piece, log in zip(pieces, translation.token_log_probabilities, strict=False)
    ]


def _word(text: str, place: Range) -> Word:
    return Word(text=text[slice(*place)], start=place[0], stop=place[1])
