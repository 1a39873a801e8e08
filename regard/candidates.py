"""What minimum risk training learns from: the translations that a beam search finds, and what each costs by BLEU."""

from __future__ import annotations

import torch

from regard.config import Config
from regard.data.batch import Batch
from regard.data.tokenizer import Tokenizers
from regard.data.vocabulary import PAD_ID
from regard.errors import ConfigError, ModelFolderError
from regard.evaluate.metrics import SentenceBleu, available_tokenize
from regard.models.contract import SequenceToSequence
from regard.models.folder import LoadedModel
from regard.search.options import plain_search
from regard.search.translator import Translator
from regard.train.risk import Candidate, FindCandidates


def candidates_of(config: Config, tokenizers: Tokenizers) -> FindCandidates | None:
    """What searches candidates in a run, if its risk counts."""
    if not config.train.risk:
        return None
    kept = {name: getattr(config.search, name) for name in ("length_penalty", "alpha")}
    search = plain_search(config.search).model_copy(update={**kept, "beam": config.train.risk_candidates})
    config = config.model_copy(update={"search": search})
    score = SentenceBleu(_tokenize(config))
    target = tokenizers.target

    @torch.no_grad()
    def find(model: SequenceToSequence, batch: Batch) -> list[list[Candidate]]:
        translator = Translator(LoadedModel(model, config, tokenizers))
        batch = batch.to("cpu")
        sources = [row[mask].tolist() for row, mask in zip(batch.source, batch.source_mask, strict=True)]
        references = [target.decode(row[row != PAD_ID][:-1].tolist()) for row in batch.target_output]
        try:
            found = translator.find(sources)
        except ModelFolderError:  # probabilities that are not numbers: the loss will not be one either
            return [[] for _ in sources]
        return [
            [
                Candidate(one.tokens, one.log_probability, 1 - score(target.decode(one.tokens), reference) / 100)
                for one in hypotheses
                if one.finished
            ]
            for reference, hypotheses in zip(references, found, strict=True)
        ]

    return find


def _tokenize(config: Config) -> str:
    """The tokenization of BLEU for the language, or languages, that a run translates into."""
    languages = {target for _, target in config.data.pairs}
    kinds = {available_tokenize(language) for language in languages}
    if len(kinds) > 1:
        raise ConfigError(
            f"`train.risk` measures all translations by one BLEU, but {', '.join(sorted(languages))} are cut into "
            "words in different ways: train without it, or a model for each"
        )
    return kinds.pop()
