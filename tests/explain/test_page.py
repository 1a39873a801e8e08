import pytest
from attention_examples import maps_of
from one_file import NASTY, check_hostile_text, check_nothing_outside, check_policy, data_of

from regard.errors import RegardError
from regard.explain.page import AttentionPage, Section, SentenceView, Text, render_page, write_page
from regard.explain.pronoun_page import PronounExample, Story, pronoun_page
from regard.explain.pronoun_words import plain_text
from regard.explain.reference import Reference, clearest_trail

START = "the animal left that street because it was"
TIRED, WIDE = f"{START} tired . </s>", f"{START} wide . </s>"
DATA = "page-data"


def pronoun_example(shares=(0.8, 0.7), looking=("tired", "wide")):
    """Layer 2, head 1 of the encoder and layer 1, head 2 of the decoder lead from the pronoun to its noun."""
    tired = maps_of(TIRED, "qu' il </s>", [(1, 0, looking[0], "animal", shares[0])], [(0, 1, "il", looking[0], 0.9)])
    wide = maps_of(WIDE, "qu' elle </s>", [(1, 0, looking[1], "street", shares[1])], [(0, 1, "elle", looking[1], 0.8)])
    examples = [
        PronounExample(f"{START} tired.", "qu'il", tired, Reference("it", "il", "animal", "street")),
        PronounExample(f"{START} wide.", "qu'elle", wide, Reference("it", "elle", "street", "animal")),
    ]
    trail = clearest_trail([example.case for example in examples])
    return pronoun_page(
        examples,
        trail,
        ("en", "fr"),
        Story("A lead.", [("BLEU", "99")], "A trial.", f"A foot with a long{'|signature' * 9}."),
    )


def nasty_page():
    view = SentenceView(NASTY, NASTY, NASTY, maps_of("a b </s>", "c </s>"), focus=0)
    section = Section("encoder", "lines", NASTY, NASTY)
    return AttentionPage(NASTY, NASTY, ("en", "fr"), [[Text(NASTY)]], [view], [section])


def test_the_policy_names_the_very_style_and_script_of_the_page():
    check_policy(render_page(pronoun_example()), script="<script>")


def test_the_page_asks_for_nothing_outside_itself():
    check_nothing_outside(render_page(pronoun_example()))


def test_hostile_text_stays_text():
    html = render_page(nasty_page())
    check_hostile_text(html)
    assert data_of(html, DATA)["title"] == NASTY


def test_a_title_is_escaped():
    assert "<title>&lt;/script&gt;" in render_page(nasty_page())


def test_the_page_opens_on_the_trail_and_the_words_that_lead():
    data = data_of(render_page(pronoun_example()), DATA)
    assert [section["choice"] for section in data["sections"]] == [{"layer": 1, "head": 0}, {"layer": 0, "head": 1}]
    assert [view["focus"] for view in data["views"]] == [8, 8]
    assert data["views"][0]["source_tones"] == {"1": "a", "4": "b", "6": "a", "8": "a"}
    assert data["views"][1]["source_tones"] == {"1": "a", "4": "b", "6": "b", "8": "b"}
    assert data["views"][1]["target_tones"] == {"1": "b"}
    assert data["views"][0]["label"] == "… it was tired"
    assert [link["word"] for link in data["views"][1]["chain"]] == ["elle", "wide", "street"]


def test_the_finding_says_what_was_seen_and_the_mean_beside_it():
    page = pronoun_example()
    written, way, mean = (plain_text(paragraph).replace("\u00a0", " ") for paragraph in page.finding)
    assert written == "“it” becomes “il” when the reason is “tired”, and “elle” when the reason is “wide”."
    assert way == (
        "While reading (encoder layer 2, head 1), “tired” gives 80 % of its attention to “animal”, "
        "and “wide” gives 70 % of its attention to “street”. While writing (decoder layer 1, head 2), "
        "“il” gives 90 % to “tired”, and “elle” gives 80 % to “wide”."
    )
    assert mean.startswith("On average over all 16 pairs of heads, what arrives is 14 % at “animal” against 9 %")
    assert "“it” itself tells the nouns apart less" in mean
    assert any("not proof" in note.title for note in page.notes)
    assert any(note.text.endswith("A trial.") for note in page.notes)


def test_where_the_pronoun_itself_looks_the_reason_is_named():
    page = pronoun_example(looking=("it", "it"))
    way, mean = (plain_text(paragraph).replace("\u00a0", " ") for paragraph in page.finding[1:])
    assert way == (
        "While reading (encoder layer 2, head 1), “it” gives 80 % of its attention to “animal” when the reason is "
        "“tired”, and “it” gives 70 % of its attention to “street” when the reason is “wide”. "
        "While writing (decoder layer 1, head 2), “il” gives 90 % to “it”, and “elle” gives 80 % to “it”."
    )
    assert "itself" not in mean


def test_a_head_that_shows_nothing_is_not_praised():
    page = pronoun_example(shares=(0.05, 0.05))
    assert plain_text(page.finding[1]).startswith("No heads lead to the right noun in every sentence.")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(RegardError, match=r"page\.html: the page cannot be written"):
        write_page(pronoun_example(), blocked / "page.html")
