"""Why a model translates a sentence as it does, or what it thinks of a translation that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.errors import InputError
from regard.explain.attribution import attribution
from regard.explain.capture import capture
from regard.explain.explained import Alternative, Explanation, ModelFacts
from regard.explain.steps import steps_of
from regard.explain.tree import TreeRecorder
from regard.explain.words import Weights
from regard.models.contract import SequenceToSequence
from regard.models.ensemble import Ensemble
from regard.search.hypotheses import Hypothesis
from regard.search.options import SearchOptions
from regard.search.searching import Searching
from regard.search.texts import check_texts
from regard.search.translator import Translator

__all__ = ["Explanation", "explain_pair"]
MOST_TOKENS = 256
"""Tokens of a source, or of a target, that are explained, unless more are asked for."""
POSITIONS = 50


def explain_pair(
    translator: Translator,
    source: str,
    target: str | None = None,
    *,
    beam: int | None = None,
    name: str = "",
    most_source_tokens: int = MOST_TOKENS,
    most_target_tokens: int = MOST_TOKENS,
) -> Explanation:
    """Explain how a model translates `source`: into its own translation, or into a `target` that it is made to write.

    The model's own translation is what `translate` gives, by beam search with the model's settings, or with a beam of
    `beam`; sampling and minimum Bayes risk are left out. `name` is what the model is called.
    """
    model = translator.model
    if isinstance(model, Ensemble):
        raise InputError("an ensemble has no attention or gradients of its own: explain its models one by one")
    source_ids = _encoded(translator, "source", source, most_source_tokens)
    forced = None if target is None else _encoded(translator, "target", target, most_target_tokens)
    with translator._evaluating():
        found, recorder = _searched(translator, source_ids, beam)
        if forced is None and len(found[0].tokens) > most_target_tokens:
            raise InputError(
                f"the translation has {len(found[0].tokens)} tokens, more than the {most_target_tokens} that are "
                "explained at once; shorten the text"
            )
        own = found[0]
        ids = own.tokens if forced is None else forced
        tokenizer = translator.tokenizers.target
        captured = capture(model, translator.tokenizers, [*source_ids, EOS_ID], ids)
        predicted, read = [*ids, EOS_ID], [BOS_ID, *ids]
        by_source, by_read = attribution(model, [*source_ids, EOS_ID], read, predicted)
    alternatives = [Alternative(_text(translator, each.tokens), each.score) for each in found]
    return Explanation(
        model=_facts(translator, name),
        source_text=source,
        target_text=_text(translator, ids) if target is None else target,
        forced=target is not None,
        finished=forced is not None or own.finished,
        maps=captured.maps,
        steps=steps_of(captured.logits, predicted, tokenizer),
        source_shares=by_source,
        target_shares=by_read,
        beam=None if forced is not None else recorder.tree(tokenizer, _path(own)),
        positions=_positions(model),
        alternatives=tuple(alternatives if forced is not None else alternatives[1:]),
    )


def _encoded(translator: Translator, side: Literal["source", "target"], text: str, most: int) -> list[int]:
    """The tokens of a text that can be explained; what cannot is refused."""
    check_texts([text])
    if not text.strip():
        remedy = "" if side == "source" else "; leave it out for the model's own translation"
        raise InputError(f"the {side} is empty, so there is nothing to explain{remedy}")
    ids: list[int] = getattr(translator.tokenizers, side).encode(text)
    room = min(most, translator.longest_source - 1)
    if len(ids) > room:
        raise InputError(
            f"the {side} has {len(ids)} tokens, more than the {room} that are explained at once; take a part of it"
        )
    return ids


def _searched(translator: Translator, source: Sequence[int], beam: int | None) -> tuple[list[Hypothesis], TreeRecorder]:
    """All hypotheses of a beam search, best first, and how it went."""
    plain: SearchOptions = {"sampling": False, "mbr": False, "beam": beam}
    search = translator._search_config(plain)
    recorder = TreeRecorder(search.beam)
    engine = translator._engine(search.compute)
    searching = Searching(
        translator.model, engine, search, search.beam, translator.longest_target, follow=recorder.follow
    )
    return searching.search([[*source, EOS_ID]])[0], recorder


def _path(hypothesis: Hypothesis) -> list[int]:
    ended = hypothesis.finished or hypothesis.looped
    return [*hypothesis.tokens, EOS_ID] if ended else hypothesis.tokens


def _text(translator: Translator, tokens: Sequence[int]) -> str:
    return translator.tokenizers.target.decode(tokens).replace("\n", " ")


def _facts(translator: Translator, name: str) -> ModelFacts:
    sizes, (source, target) = translator.config.model, translator.languages
    return ModelFacts(
        name=name,
        source_language=source,
        target_language=target,
        encoder_layers=sizes.encoder_layers,
        decoder_layers=sizes.decoder_layers,
        heads=sizes.heads,
        width=sizes.width,
        parameters=sum(parameter.numel() for parameter in translator.model.parameters()),
        positions=sizes.positions,
    )


def _positions(model: SequenceToSequence) -> Weights | None:
    table = model.source_embedding.positions.table(POSITIONS)
    return None if table is None else table[:POSITIONS].detach().float().cpu().numpy()
