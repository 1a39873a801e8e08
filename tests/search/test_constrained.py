import math
import random

import numpy as np
import pytest
import torch
from toy_models import Output, PrefixModel, TableModel, all_outputs, random_sources

from regard.config import ModelConfig, SearchConfig, TokenizerConfig
from regard.data.tokenizer import Tokenizer, train_tokenizer
from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.errors import ModelFolderError
from regard.models import build_model
from regard.search.banks import share_places
from regard.search.beam import beam_search
from regard.search.constrained import constrained_search, places_for
from regard.search.constraints import ConstraintSet, Progress
from regard.search.engine import Engine, engine_for
from regard.search.hypotheses import Hypothesis
from regard.search.length_penalty import score_with_forced
from regard.search.spellings import Constraint, Place, Spelling, TokenEdges, term_constraint

NO_WORDS = TokenEdges((False,) * 40, (False,) * 40)
"""A vocabulary without letters, so that any token may stand anywhere."""


def plain(*tokens: int) -> Constraint:
    return Constraint((Spelling(tokens),))


def config(beam: int, limit: int = 4) -> SearchConfig:
    return SearchConfig(beam=beam, max_length_factor=1e-6, max_length_extra=limit)


def search(model: Engine, constraints: list[list[Constraint]], settings: SearchConfig) -> list[list[Hypothesis]]:
    source, mask = random_sources(len(constraints))
    sets = [ConstraintSet(each, NO_WORDS) for each in constraints]
    return constrained_search(model, source, mask, sets, NO_WORDS, settings)


def holds(tokens: list[int], wanted: tuple[int, ...]) -> bool:
    return any(holds_at(tokens, start, wanted) for start in range(len(tokens)))


def holds_at(tokens: list[int], start: int, wanted: tuple[int, ...]) -> bool:
    return tuple(tokens[start : start + len(wanted)]) == wanted


def forced_part(output: Output, wanted: list[tuple[int, ...]]) -> float:
    """The log-probability of the tokens that first met each of `wanted`, which do not overlap."""
    places = [
        next(start for start in range(len(output.tokens)) if holds_at(output.tokens, start, each)) for each in wanted
    ]
    ranges = [(start, start + len(each)) for start, each in zip(places, wanted, strict=True)]
    return sum(sum(output.per_token[start:stop]) for start, stop in ranges)


# Progress


def test_tokens_of_a_constraint_are_counted_and_given_up() -> None:
    constraints = ConstraintSet([plain(5, 6, 7)], NO_WORDS)
    progress = constraints.start
    needs = []
    for token in (5, 6, 9, 5, 5, 6, 7):
        progress = constraints.advance(progress, token)
        needs.append(progress.needed)
    assert needs == [2, 1, 3, 2, 2, 1, 0]
    assert progress.unmet == ()


def test_the_end_of_a_failed_match_may_begin_another() -> None:
    constraints = ConstraintSet([plain(5, 6, 5, 7), plain(6, 8)], NO_WORDS)
    progress = constraints.start
    for token in (5, 6, 5, 6, 5):
        progress = constraints.advance(progress, token)
    assert progress.begun == (5, 6, 5)
    progress = constraints.advance(constraints.advance(progress, 6), 8)
    assert progress.unmet == (0,)


def test_each_constraint_needs_a_place_of_its_own() -> None:
    constraints = ConstraintSet([plain(5), plain(5), plain(5, 6)], NO_WORDS)
    progress = constraints.start
    for token, unmet in ((5, (1, 2)), (5, (2,)), (6, (2,)), (5, (2,)), (6, ())):
        progress = constraints.advance(progress, token)
        assert progress.unmet == unmet


def test_advancing_always_needs_less() -> None:
    constraints = ConstraintSet([plain(5, 6, 7), plain(6), plain(8, 5)], NO_WORDS)
    progress = constraints.start
    for _ in range(constraints.tokens):
        before = progress.needed
        tokens = constraints.alphabet[constraints.choices(progress).advances].tolist()
        after = [constraints.advance(progress, token) for token in tokens]
        progress = min(after, key=lambda each: each.needed)
        assert progress.needed == before - 1


EDGES = TokenEdges(
    tuple(token % 3 == 0 for token in range(40)),
    tuple(token % 2 == 0 for token in range(40)),
    tuple(token % 6 == 0 for token in range(40)),
)
"""A vocabulary in which some tokens begin in a word, some end in one, and some are endings."""


@pytest.mark.parametrize("seed", range(30))
def test_choices_are_what_each_token_would_do(seed: int) -> None:
    """The table of all tokens at once must agree with advancing by each of them."""
    chance = random.Random(seed)

    def spelling(place: Place) -> Spelling:
        return Spelling(tuple(chance.choices(range(5, 11), k=chance.randint(1, 4))), place, chance.random() < 0.2)

    places = [Place.ANYWHERE, *chance.choices(list(Place), k=2)]
    constraints = ConstraintSet(
        [
            Constraint(tuple(spelling(place) for place in places[: chance.randint(1, 3)]), chance.random() < 0.5)
            for _ in range(chance.randint(0, 6))
        ],
        EDGES,
    )
    progress = constraints.start
    for _ in range(60):
        choices = constraints.choices(progress)
        for token in range(4, 40):
            may_follow = not progress.closed and (not progress.ending or EDGES.is_ending[token])
            if EDGES.begins_in_word[token] and not may_follow:
                continue
            after = constraints.advance(progress, token)
            [place] = np.flatnonzero(constraints.alphabet == token).tolist() or [None]
            assert after.needed == (choices.otherwise if place is None else choices.needed[place])
            advances = place is not None and bool(choices.advances[place])
            assert advances == _advances(constraints, progress, token)
        progress = constraints.advance(progress, chance.choice(range(4, 12)))


def _advances(constraints: ConstraintSet, progress: Progress, token: int) -> bool:
    """Whether a token begins a constraint that is unmet, or goes on with all that has been begun."""
    if (progress.closed or progress.ending) and EDGES.begins_in_word[token]:
        return False

    def begins(tokens: tuple[int, ...], before: int) -> bool:
        return any(
            spelling.tokens[: len(tokens)] == tokens
            and (
                spelling.place is Place.ANYWHERE
                or (before == BOS_ID if spelling.place is Place.START else not EDGES.ends_in_word[before])
            )
            for index in progress.unmet
            for spelling in constraints.constraints[index].spellings
        )

    return begins((token,), progress.last) or begins((*progress.begun, token), progress.before)


def test_an_output_may_meet_constraints_by_itself() -> None:
    word = Constraint((Spelling((5, 7)),), closed=True)
    once = Constraint((Spelling((8,)),), reserved=True)
    constraints = ConstraintSet([word, once], EDGES)
    assert constraints.met_by([8, 5, 7, 10])
    assert constraints.met_by([5, 5, 7, 8])
    assert not constraints.met_by([5, 7])
    assert not constraints.met_by([8, 5, 7, 8])
    assert not constraints.met_by([8, 5, 7, 9]), "9 goes on with the word"
    ending = ConstraintSet([Constraint((Spelling((5,), ending=True),))], EDGES)
    assert ending.met_by([5, 6, 7])
    assert not ending.met_by([5, 9])
    assert not ending.met_by([5, 6, 6])


def test_places_are_shared_among_banks() -> None:
    """The fast form must agree with a plain one."""
    chance = random.Random(1)
    for _ in range(300):
        count, places, most = chance.randint(0, 60), chance.randint(1, 12), chance.randint(0, 8)
        rows = [(chance.uniform(-20, 0), chance.randint(0, most)) for _ in range(count)]
        values, needed = np.array([value for value, _ in rows]), np.array([bank for _, bank in rows], dtype=np.int64)
        assert share_places(values, needed, places, most).tolist() == _shared(rows, places, most)


def _shared(rows: list[tuple[float, int]], places: int, most: int) -> list[int]:
    ranked = sorted(range(len(rows)), key=lambda index: -rows[index][0])
    banks = {need: [index for index in ranked if rows[index][1] == need] for need in {need for _, need in rows}}
    order = sorted(banks, key=lambda bank: (bank != min(banks), -rows[banks[bank][0]][0]))
    chosen = [index for bank in order for index in banks[bank][: max(1, places // (most + 1))]][:places]
    return chosen + [index for index in ranked if index not in chosen][: places - len(chosen)]


# Spellings


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    texts = ["the dog and the dogs ran", "l'ami (the dog) d'un ami", "狗在家。我的狗"] * 5
    return train_tokenizer(texts, TokenizerConfig(kind="bpe", vocabulary_size=340))


def spelled(tokenizer: Tokenizer, constraint: Constraint) -> list[tuple[str, Place]]:
    return [("".join(tokenizer.pieces(each.tokens)), each.place) for each in constraint.spellings]


def test_a_term_is_spelled_as_it_would_stand_in_the_output(tokenizer: Tokenizer) -> None:
    constraint = term_constraint(tokenizer, "dog")
    assert spelled(tokenizer, constraint) == [("▁dog", Place.ANYWHERE), ("dog", Place.AFTER_MARK)]
    assert constraint.closed
    chinese = term_constraint(tokenizer, "狗")
    assert spelled(tokenizer, chinese) == [("狗", Place.ANYWHERE), ("▁狗", Place.START)]
    assert not chinese.closed


def test_a_term_of_unknown_characters_is_spelled_in_bytes(tokenizer: Tokenizer) -> None:
    constraint = term_constraint(tokenizer, "Ω🙂")
    for spelling in constraint.spellings:
        assert tokenizer.decode(spelling.tokens) == "Ω🙂"


def test_an_inflected_term_may_have_an_ending(tokenizer: Tokenizer) -> None:
    whole = [text for text, _ in spelled(tokenizer, term_constraint(tokenizer, "do", inflected=True))]
    assert all(text.startswith("▁do") for text in whole)
    assert "▁dog" in whole


def test_a_spelling_without_a_space_stands_only_after_a_mark(tokenizer: Tokenizer) -> None:
    constraints = ConstraintSet([term_constraint(tokenizer, "ami")], TokenEdges.of(tokenizer))
    for text, met in (("l'ami", True), ("ami", True), ("un ami", True)):
        progress = constraints.start
        for token in tokenizer.encode(text):
            progress = constraints.advance(progress, token)
        assert (not progress.unmet) is met
    inside = constraints.constraints[0].spellings[1].tokens
    progress = constraints.start
    for token in [*tokenizer.encode("the"), *inside]:
        progress = constraints.advance(progress, token)
    assert progress.unmet


# Search


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wanted", [[(5,)], [(4, 6)], [(5,), (4,)]])
def test_a_wide_beam_finds_the_best_of_all_outputs_that_meet_the_constraints(
    seed: int, wanted: list[tuple[int, ...]]
) -> None:
    model = PrefixModel(vocabulary=7, seed=seed, end_bias=-1.0)
    source, mask = random_sources(3, seed)
    tokens = sum(map(len, wanted))
    sets = [ConstraintSet([plain(*each) for each in wanted], NO_WORDS)] * 3
    settings = config(100, 4 - tokens)
    found = constrained_search(model, source, mask, sets, NO_WORDS, settings, best=3)
    for row in range(3):
        outputs = all_outputs(model, source[row][mask[row]], settings, longest=4)
        typical = min(int(mask[row].sum()), 4)
        scores = {
            tuple(output.tokens): score_with_forced(
                output.log_probability, forced_part(output, wanted), len(output.tokens) + 1, typical, settings
            )
            for output in outputs
            if all(holds(output.tokens, each) for each in wanted)
        }
        expected = sorted(scores, key=lambda tokens: -scores[tokens])[:3]
        assert [tuple(hypothesis.tokens) for hypothesis in found[row]] == expected
        assert [each.score for each in found[row]] == pytest.approx([scores[each] for each in expected], abs=1e-5)


def test_padding_does_not_pay_where_forced_tokens_are_unlikely() -> None:
    """Under log P / n^1.4, the unlikelier [6, 7, 5, 7] would win for its length."""
    table = {
        (): {6: 0.5, 5: math.exp(-10)},
        (5,): {6: 0.9},
        (6,): {7: 0.9, 5: math.exp(-11)},
        (6, 7): {5: math.exp(-11), EOS_ID: 0.9},
        (6, 7, 5): {7: 0.9},
    }
    settings = SearchConfig(beam=4, length_penalty="mean", alpha=1.4)
    [[found]] = search(TableModel(table, 8), [[plain(5)]], settings)
    assert found.tokens == [5, 6]


def test_without_constraints_it_finds_what_a_wide_beam_finds() -> None:
    model = PrefixModel(vocabulary=7, seed=2, end_bias=-1.0)
    source, mask = random_sources(5)
    sets = [ConstraintSet([], NO_WORDS)] * 5
    found = constrained_search(model, source, mask, sets, NO_WORDS, config(50))
    assert [each[0].tokens for each in found] == [
        each[0].tokens for each in beam_search(model, source, mask, config(50))
    ]


@pytest.mark.parametrize("beam", [1, 3])
def test_constraints_are_met_by_a_model_that_wants_nothing_of_them(beam: int) -> None:
    """Outputs want to end at once, and the constraints are many more than the places of the beam."""
    model = PrefixModel(vocabulary=40, seed=1, scale=20.0, end_bias=30.0)
    wanted = [(token, token + 1, token + 2) for token in range(5, 38, 3)]
    [found], [single] = search(model, [[plain(*each) for each in wanted], [plain(7, 9)]], config(beam, 1))
    assert all(holds(found.tokens, each) for each in wanted)
    assert holds(single.tokens, (7, 9))


def test_a_search_that_never_ends_meets_its_constraints_at_the_limit() -> None:
    model = PrefixModel(vocabulary=40, seed=1, end_bias=-50.0)
    [[found]] = search(model, [[plain(5, 6, 7), plain(8)]], config(3, 6))
    assert not found.finished
    assert len(found.tokens) == 10
    assert holds(found.tokens, (5, 6, 7))
    assert holds(found.tokens, (8,))


def test_reserved_tokens_come_exactly_once() -> None:
    class Stammerer(PrefixModel):
        def _logits(self, key: torch.Tensor) -> torch.Tensor:
            logits = super()._logits(key)
            logits[:, 9] += 20.0
            return logits

    once = Constraint((Spelling((9,)),), reserved=True)
    [[found]] = search(Stammerer(vocabulary=40), [[once]], config(4, 10))
    assert found.tokens.count(9) == 1


def test_nothing_follows_a_closed_constraint_inside_a_word() -> None:
    edges = TokenEdges(tuple(token >= 20 for token in range(40)), (True,) * 40)

    class Compounder(PrefixModel):
        def _logits(self, key: torch.Tensor) -> torch.Tensor:
            logits = super()._logits(key)
            logits[:, 20:] += 10.0
            return logits

    source, mask = random_sources(1)
    sets = [ConstraintSet([Constraint((Spelling((9,)),), closed=True)], edges)]
    [[found]] = constrained_search(Compounder(vocabulary=40, end_bias=2.0), source, mask, sets, edges, config(4, 10))
    behind = found.tokens[found.tokens.index(9) + 1 :]
    assert not behind or behind[0] < 20


def test_no_hyphen_follows_a_constraint_that_is_unjoined() -> None:
    edges = TokenEdges((False,) * 40, (True,) * 40, joins=tuple(token >= 20 for token in range(40)))

    class Hyphenator(PrefixModel):
        def _logits(self, key: torch.Tensor) -> torch.Tensor:
            logits = super()._logits(key)
            logits[:, 20:] += 10.0
            return logits

    source, mask = random_sources(1)
    sets = [ConstraintSet([Constraint((Spelling((9,)),), unjoined=True)], edges)]
    [[found]] = constrained_search(Hyphenator(vocabulary=40, end_bias=2.0), source, mask, sets, edges, config(4, 10))
    behind = found.tokens[found.tokens.index(9) + 1 :]
    assert not behind or behind[0] < 20
    assert sets[0].met_by(found.tokens)
    assert not sets[0].met_by([9, 20])


def test_what_a_sentence_is_batched_with_does_not_matter() -> None:
    sizes = {"width": 32, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1}
    torch.manual_seed(1)
    model = build_model(ModelConfig(**sizes), 40, 40).eval()
    source, mask = random_sources(6)
    source = source % 40
    sets = [ConstraintSet([plain(5 + row, 6), plain(30)], NO_WORDS) for row in range(6)]
    for engine in (model, engine_for(model)):
        together = constrained_search(engine, source, mask, sets, NO_WORDS, config(3, 8))
        for row in range(6):
            alone = constrained_search(
                engine, source[row : row + 1], mask[row : row + 1], sets[row : row + 1], NO_WORDS, config(3, 8)
            )
            assert alone[0][0].tokens == together[row][0].tokens
            assert holds(alone[0][0].tokens, (5 + row, 6))


def test_wider_for_more_constraints() -> None:
    def places(tokens: int, beam: int) -> int:
        return places_for(ConstraintSet([plain(*[5] * tokens)], NO_WORDS), config(beam))

    assert [places(1, 5), places(7, 5), places(8, 5), places(90, 5), places(1, 50)] == [8, 8, 16, 32, 50]


def test_a_model_that_says_no_numbers_is_refused() -> None:
    class Broken(PrefixModel):
        def _logits(self, key: torch.Tensor) -> torch.Tensor:
            return super()._logits(key) * math.nan

    with pytest.raises(ModelFolderError, match="NaN"):
        search(Broken(vocabulary=40), [[plain(5)]], config(2))


def test_marks_are_never_written() -> None:
    [[found]] = search(PrefixModel(vocabulary=40, seed=5), [[plain(5)]], config(4, 10))
    assert not {BOS_ID, EOS_ID, 0, 3} & set(found.tokens)
