import pytest
from attention_examples import maps_of

from regard.errors import InputError
from regard.explain.reference import Reference, clearest_head, position

TIRED = "the animal left the street because it was tired </s>"
WIDE = "the animal left the street because it was wide </s>"


def cases(tired, wide):
    return [
        (maps_of(TIRED, "il </s>", tired), Reference("it", "animal", "street")),
        (maps_of(WIDE, "elle </s>", wide), Reference("it", "street", "animal")),
    ]


def test_the_head_that_finds_the_noun_in_both_sentences_is_chosen():
    found = clearest_head(cases([(1, 0, "it", "animal", 0.8)], [(1, 0, "it", "street", 0.7)]))
    assert (found.layer, found.head, found.heads) == (1, 0, 4)
    assert [share.noun for share in found.shares] == pytest.approx([0.8, 0.7])
    assert found.shares[0].other == pytest.approx(0.2 / 9)
    assert found.mean_shares[0].noun == pytest.approx((0.8 + 3 * 0.1) / 4)


def test_a_head_that_always_looks_at_the_first_noun_does_not_win():
    stubborn = (0, 1, "it", "animal", 0.99)
    found = clearest_head(cases([stubborn, (1, 1, "it", "animal", 0.4)], [stubborn, (1, 1, "it", "street", 0.4)]))
    assert (found.layer, found.head) == (1, 1)


def test_words_are_found_whatever_their_case_and_missed_in_a_sentence():
    assert position(("The", "Animal"), "animal") == 1
    with pytest.raises(InputError, match='no word "street"'):
        position(("The", "Animal"), "street")
