"""Terms and spans through whole translators, most of them untrained: what was asked for must be there all the same."""

import gzip
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from toy_models import PrefixModel

from regard.config import Config, ModelConfig, SearchConfig, TokenizerConfig
from regard.data.builtin.showcase import SENTENCES
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.models import build_model
from regard.models.folder import LoadedModel
from regard.search.alignment import Aligner, Alignment
from regard.search.constrained import constrained_search
from regard.search.constrained_translation import ConstrainedTranslator
from regard.search.control import ControlledTranslator
from regard.search.control_plan import Planner
from regard.search.control_report import ControlReport
from regard.search.hypotheses import Hypothesis
from regard.search.spellings import Constraint, Spelling
from regard.search.stand_ins import stand_ins
from regard.search.substitution import _substituted
from regard.search.tags import PlacedTag, tag_edits
from regard.search.translator import Translator
from regard.text.glossary import Glossary, Term
from regard.text.masking import apply_edits, group_spans, mask, restoring_edit
from regard.text.spans import SpanFinder
from regard.text.units import find_whole

ENGLISH = [sentence.english for sentence in SENTENCES]
FRENCH = [sentence.french for sentence in SENTENCES]
GLOSSARY = Glossary.of(
    [("animal", "bestiole"), ("street", "chaussée pavée"), ("turtle", "tortue"), ("bridge", "Pont-Neuf"), ("it", "ça"),
     ("cow", "vache Ωμ"), ("river", "rivière"), ("too", "trop"), ("didn't", "n'a point")]
)  # fmt: skip


def untrained(
    kind: str = "bpe", lowercase: bool = False, targets: Sequence[str] = tuple(FRENCH), **model: Any
) -> Translator:
    """A Transformer of the built-in data's words that has learned nothing."""
    torch.manual_seed(1)
    tokenizer = train_tokenizer(
        [*ENGLISH, *targets], TokenizerConfig(kind=kind, vocabulary_size=520, lowercase=lowercase)
    )
    sizes = {"width": 32, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 2}
    config = Config(
        model=ModelConfig(**sizes, **model), search=SearchConfig(beam=3, max_length_factor=1.0, max_length_extra=3)
    )
    size = tokenizer.vocabulary_size
    return Translator(LoadedModel(build_model(config.model, size, size), config, Tokenizers(tokenizer, tokenizer)))


@pytest.fixture(scope="module")
def translator() -> Translator:
    return untrained()


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "word", "character", "byte"])
def test_every_term_of_the_built_in_sentences_is_used(kind: str) -> None:
    found = untrained(kind).controlled(GLOSSARY).translate(ENGLISH[:3])
    assert sum(len(each.terms) for each in found) > 10
    for source, each in zip(ENGLISH, found, strict=False):
        wanted = Counter(match.term.target for match in GLOSSARY.find(source))
        for target, times in wanted.items():
            assert len(find_whole(each.text, target)) >= times, (target, each.text)
        for use in each.terms:
            assert use.met
            assert each.text[use.target_start :].startswith(use.target)


def test_terms_in_chinese_need_no_spaces() -> None:
    chinese = untrained(targets=[sentence.chinese for sentence in SENTENCES])
    glossary = Glossary.of([("street", "马路"), ("animal", "小动物"), ("bridge", "石桥")])
    for each in chinese.controlled(glossary).translate(ENGLISH[:4]):
        for use in each.terms:
            assert use.target in each.text
            assert use.met
            assert use.target_start == 0 or each.text[use.target_start - 1] != " "


def test_a_vocabulary_in_lower_case_still_writes_the_term_as_it_is(translator: Translator) -> None:
    [found] = untrained(lowercase=True).controlled(Glossary.of([("bridge", "Pont-Neuf")])).translate(["The bridge."])
    assert find_whole(found.text, "Pont-Neuf")
    assert found.terms[0].met


def test_an_inflected_term_may_get_an_ending(translator: Translator) -> None:
    glossary = Glossary([Term("tired", "fatigu", inflected=True)])
    [found] = translator.controlled(glossary).translate(["The animal was too tired."])
    [use] = found.terms
    assert use.met
    assert found.text[use.target_start :].startswith("fatigu")


def test_a_line_that_has_its_terms_by_itself_stays_as_it_is(translator: Translator) -> None:
    for source, plain in zip(ENGLISH, translator.translate(ENGLISH), strict=True):
        for word in set(re.findall(r"[^\W\d_]+", plain)):
            [found] = translator.controlled(Glossary.of([("because", word)])).translate([source])
            assert found.terms[0].met
            assert found.text == plain


def test_lines_without_terms_are_as_always(translator: Translator) -> None:
    texts = ["Nothing of it.", "", "The animal."]
    found = translator.controlled(Glossary.of([("animal", "bestiole")])).translate(texts)
    assert [each.text for each in found[:2]] == translator.translate(texts[:2])
    assert not found[0].terms


def test_a_term_that_does_not_fit_is_named() -> None:
    short = untrained(positions="learned", max_positions=12)
    glossary = Glossary.of([("animal", "bestiole"), ("street", "chaussée très longue et large")])
    [found] = short.controlled(glossary).translate(["animal street"])
    first, second = found.terms
    assert first.met
    assert not second.met
    assert second.problem == "does not fit into the 11 tokens that the model can write"
    report = ControlReport()
    report.add([found])
    assert "line 1: the term 'chaussée très longue et large' does not fit" in report.to_text()


def test_a_model_that_shows_no_attention_uses_terms_and_keeps_spans_too(translator: Translator) -> None:
    tokenizers = translator.tokenizers
    toy = PrefixModel(tokenizers.target.vocabulary_size, seed=6, scale=6.0, end_bias=1.5)
    controlled = Translator(LoadedModel(toy, Config(), tokenizers)).controlled(GLOSSARY, SpanFinder())
    found = controlled.translate(["The animal {name} and the street.", "The turtle."])
    assert all(use.met for each in found for use in each.terms)
    assert found[0].text.count("{name}") == 1


def test_what_meets_its_constraints_by_itself_is_searched_for_plainly(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizers = translator.tokenizers
    toy = PrefixModel(tokenizers.target.vocabulary_size, seed=6, scale=6.0, end_bias=1.5)
    constrained = ConstrainedTranslator(Translator(LoadedModel(toy, Config(), tokenizers)))
    texts = ENGLISH[:3]
    plain = [found[0] for found in constrained.translator.translate_nbest(texts, 1, beam=8)]
    assert all(each.finished and each.tokens for each in plain)
    met = [[Constraint((Spelling((each.tokens[-1],)),))] for each in plain]
    other = Constraint((Spelling((max(token for each in plain for token in each.tokens) + 1,)),))
    held: list[int] = []

    def search(engine: object, source: torch.Tensor, *rest: Any, **options: Any) -> list[list[Hypothesis]]:
        held.append(len(source))
        return constrained_search(engine, source, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("regard.search.constrained_translation.constrained_search", search)
    assert constrained.translate(texts, met, plain_first=True) == plain
    assert held == []
    found = constrained.translate(texts, [met[0], [other], met[2]], plain_first=True)
    assert held == [1]
    assert (found[0], found[2]) == (plain[0], plain[2])
    assert other.spellings[0].tokens[0] in found[1].tokens
    constrained.translate(texts, met)
    assert sum(held) == 4


def test_a_term_takes_the_place_of_the_words_that_the_alignment_gives_it(translator: Translator) -> None:
    match = GLOSSARY.find("the animal sleeps")[0]
    aligner = Aligner(translator, by_units=True)
    text = "le gros animal gris dort"
    near, far = (Alignment(links, (), ()) for links in (((0, 0), (1, 1), (1, 2), (2, 4)), ((1, 0), (1, 4))))
    assert _substituted(aligner, "the animal sleeps", text, near, [match]) == "le bestiole gris dort"
    assert _substituted(aligner, "the animal sleeps", text, far, [match]) is None


# Spans

SPANS = [
    "The animal {name} didn't cross 25 streets, see https://a.org/b?c=1 or <b>ask</b> me@x.org!",
    "it has %s and %(n)d and ${v}: 3.14 &amp; 1,000",
    "https://only.here/",
    "{a}{b} 7",
    "",
    "The turtle 5 and 5 and 5.",
    " ".join(f"cow {number}," for number in range(100, 112)),
]


@pytest.mark.parametrize(("kind", "texts"), [("bpe", SPANS), ("character", SPANS[1:4]), ("byte", SPANS[1:4])])
def test_spans_come_through_exactly_as_often(kind: str, texts: list[str]) -> None:
    finder = SpanFinder()
    found = untrained(kind).controlled(GLOSSARY, finder).translate(texts)
    for source, each in zip(texts, found, strict=True):
        spans = finder.find(source)
        assert [use.text for use in each.spans] == [span.text for span in spans]
        for use in each.spans:
            assert each.text[use.target_start :].startswith(use.text)
        for span in spans:
            assert len(find_whole(each.text, span.text)) == len(find_whole(source, span.text)), (span, each.text)
        assert all(use.met for use in each.terms)
    assert [each.text for each in found if each.text in SPANS[2:4]] == SPANS[2:4]


def test_tags_stay_in_order_and_leave_the_translation_alone(translator: Translator) -> None:
    text = "The <b>animal</b> and <br/> <i>the</i> street."
    [found] = translator.controlled(keep=SpanFinder(["tags"])).translate([text])
    places = [found.text.index(tag) for tag in ("<b>", "</b>", "<br/>", "<i>", "</i>")]
    assert places == sorted(places)
    assert all(use.inserted for use in found.spans)
    [plain] = translator.translate(["The animal and the street."])
    assert re.sub(r"\s|<[^>]*>", "", found.text) == re.sub(r"\s", "", plain)


def test_tags_enclose_the_words_that_belong_to_those_they_enclosed(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = ((0, 0), (1, 2), (2, 1), (3, 3))

    def align(*_: object) -> list[Alignment]:
        return [Alignment(links, (), ())]

    monkeypatch.setattr(Aligner, "align", align)
    text = "The <b>red</b> cat sleeps<br/>"
    finder = SpanFinder(["tags"])
    groups = group_spans(text, finder.find(text))
    masked, places = mask(text, groups, ["", "", ""])
    assert masked == "The red cat sleeps"
    tags = [PlacedTag(group, place) for group, place in zip(groups, places, strict=True)]
    output = "Le chat rouge dort"
    edits = tag_edits(translator, masked, output, tags)
    assert apply_edits(output, edits)[0] == "Le chat <b>rouge</b> dort<br/>"


def test_a_tag_does_not_cut_the_span_that_it_encloses(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def align(*_: object) -> list[Alignment]:
        return [Alignment(((0, 0), (1, 1), (2, 2), (3, 3)), (), ())]

    monkeypatch.setattr(Aligner, "align", align)
    text = "A (<b>{name}</b>)"
    groups = group_spans(text, SpanFinder().find(text))
    masked, places = mask(text, groups, ["", "bmx", ""])
    tags = [PlacedTag(group, place) for group, place in zip(groups, places, strict=True) if group.is_tag]
    output = "Un ( bmx )"
    restored = restoring_edit(output, 5, 8, groups[1])
    edits = [restored, *tag_edits(translator, masked, output, tags, [restored])]
    assert apply_edits(output, edits)[0] == "Un (<b>{name}</b>)"


def test_a_hyphen_follows_a_span_only_where_one_did_in_the_source(translator: Translator) -> None:
    planner = Planner(translator, None, SpanFinder(["numbers"]), None)
    assert [each.unjoined for each in planner.plan("25 cats, 5-year").constraints] == [True, False]


def test_a_span_that_the_search_cannot_place_is_inserted() -> None:
    short = untrained(positions="learned", max_positions=8)
    text = "a {a} b {b} c {c} d {d} e {e} f {f} g {g} h {h} i {i}"
    with pytest.warns(UserWarning, match="more than the 7 that the model can read"):
        [found] = short.controlled(keep=SpanFinder()).translate([text])
    assert sum(use.inserted for use in found.spans) == 2
    assert sorted(span.text for span in SpanFinder().find(found.text)) == [f"{{{letter}}}" for letter in "abcdefghi"]
    report = ControlReport()
    report.add([found])
    assert report.totals["spans_placed"] == 7
    assert report.totals["spans_inserted"] == 2


def test_stand_ins_are_words_of_one_token_that_the_model_copies(translator: Translator) -> None:
    tokenizer = translator.tokenizers.target
    found = stand_ins(translator)
    assert found
    assert all(tokenizer.encode(each.text) == [each.target] for each in found)


def test_a_report_has_lines_and_totals(translator: Translator) -> None:
    report = ControlReport()
    controlled = ControlledTranslator(translator, Glossary.of([("animal", "bestiole")]), SpanFinder(["numbers"]))
    report.add(controlled.translate(["An animal.", "nothing"]))
    report.add(controlled.translate(["3 animals, an animal"]))
    assert [entry["line"] for entry in report.entries] == [1, 3]
    assert report.totals["terms"] == report.totals["terms_met"] == 2
    assert report.to_text().splitlines() == [
        "terms: 2 of 2 used in 2 lines",
        "spans: 1 kept in 1 line, 0 of them put in by the alignment",
    ]


# Real captions


def test_every_term_is_used_in_captions_of_multi30k(data_folder: Path) -> None:
    run = Path(os.environ.get("REGARD_MULTI30K_MODEL") or Path(__file__).parent.parent.parent / "runs" / "en-de")
    if not (run / "model.safetensors").exists():
        pytest.skip(f"no model of Multi30k at {run}: docs/control.md says how to train it")
    with gzip.open(data_folder / "multi30k/tok/val.en.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file][:200]
    glossary = Glossary.load(Path(__file__).parent / "multi30k-terms.en-de.tsv")
    report = ControlReport()
    report.add(Translator.load(run).controlled(glossary).translate(lines))
    assert report.totals["terms"] == report.totals["terms_met"] == 438
