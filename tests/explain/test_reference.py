import pytest
from attention_examples import maps_of

from regard.errors import InputError
from regard.explain.reference import Head, Reference, clearest_head, clearest_trail, follow, position

TIRED = "the animal left that street because it was tired </s>"
WIDE = "the animal left that street because it was wide </s>"


def cases(tired_read, wide_read, tired_seen=(), wide_seen=()):
    return [
        (maps_of(TIRED, "il </s>", tired_read, tired_seen), Reference("it", "il", "animal", "street")),
        (maps_of(WIDE, "elle </s>", wide_read, wide_seen), Reference("it", "elle", "street", "animal")),
    ]


def test_the_trail_leads_from_the_pronoun_over_a_word_to_the_noun():
    trail = clearest_trail(
        cases(
            [(1, 0, "tired", "animal", 0.8)],
            [(1, 0, "wide", "street", 0.7)],
            [(0, 1, "il", "tired", 0.9)],
            [(0, 1, "elle", "wide", 0.6)],
        )
    )
    assert (trail.cross, trail.encoder, trail.tried) == (Head(0, 1), Head(1, 0), 16)
    tired, wide = trail.steps
    assert (tired.via, wide.via) == ("tired", "wide")
    assert (tired.pronoun_to_via, tired.via_to_noun) == (pytest.approx(0.9), pytest.approx(0.8))
    # Through "tired" arrives 0.9 * 0.8; the nine other words have 0.1 / 9 each and give a tenth of it to every word.
    assert tired.share.noun == pytest.approx(0.9 * 0.8 + 0.1 * 0.1)
    assert tired.share.other == pytest.approx(0.9 * 0.2 / 9 + 0.1 * 0.1)
    assert wide.share.margin == pytest.approx(0.6 * (0.7 - 0.3 / 9))


def test_the_mean_is_that_of_all_pairs_of_heads():
    trail = clearest_trail(cases([(1, 0, "tired", "animal", 1.0)], [], [(0, 1, "il", "tired", 1.0)]))
    cross_to_tired = (1.0 + 3 * 0.1) / 4
    encoder_to_animal = (1.0 + 3 * 0.1) / 4
    assert trail.steps[0].mean.noun == pytest.approx(cross_to_tired * encoder_to_animal + (1 - cross_to_tired) * 0.1)


def test_heads_that_always_lead_to_the_first_noun_do_not_win():
    stubborn = (0, 0, "it", "animal", 0.99)
    seen = [(1, 1, "il", "it", 0.9)], [(1, 1, "elle", "it", 0.9)]
    one = (1, 1, "it", "animal", 0.4)
    other = (1, 1, "it", "street", 0.4)
    assert clearest_trail(cases([stubborn, one], [stubborn, other], *seen)).encoder == Head(1, 1)
    assert clearest_head(cases([stubborn, one], [stubborn, other])).head == Head(1, 1)


def test_the_pronoun_itself_is_judged_by_its_own_row():
    found = clearest_head(cases([(1, 0, "it", "animal", 0.8)], [(1, 0, "it", "street", 0.7)]))
    assert found.head == Head(1, 0)
    assert [share.noun for share in found.shares] == pytest.approx([0.8, 0.7])
    assert found.shares[0].other == pytest.approx(0.2 / 9)


def test_a_trail_is_followed_step_by_step_in_another_sentence():
    both = cases(
        [(1, 0, "tired", "animal", 0.8)],
        [(1, 0, "wide", "street", 0.7)],
        [(0, 1, "il", "tired", 0.9)],
        [(0, 1, "elle", "wide", 0.6)],
    )
    trail = clearest_trail(both)
    elsewhere = maps_of("a cat ate it </s>", "il </s>", [(1, 0, "it", "cat", 0.9)], [(0, 1, "il", "it", 0.9)])
    assert follow(elsewhere, trail, "il") == "cat"
    lost = maps_of("a cat ate it </s>", "il </s>", [(1, 0, "it", "ate", 0.9)], [(0, 1, "il", "it", 0.9)])
    assert follow(lost, trail, "il") == "ate"


def test_words_are_found_whatever_their_case_and_missed_in_a_sentence():
    assert position(("The", "Animal"), "animal") == 1
    with pytest.raises(InputError, match='no word "street"'):
        position(("The", "Animal"), "street")
