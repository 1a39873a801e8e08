"""HTML: what is text, what is not, and tags around the right words of a translation."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.search.alignment import Alignment
from regard.serve.words import links_of
from regard.text.markup import take_markup_apart
from regard.text.passages import Passage
from regard.text.projection import Links
from regard.text.units import Unit


def through(html: str, words: dict[str, str] | None = None, order: list[int] | None = None) -> str:
    """HTML with each word in capitals, or as `words` say, linked one to one; `order` moves the words of a passage."""

    def finish(passage: Passage) -> str:
        if not passage.has_words:
            return passage.html
        # What stands in for something moves as a whole.
        sources = [Unit(found.group(), *found.span()) for found in re.finditer(r"\{\d+\}|\w+|[^\w\s]", passage.text)]
        placed = [sources[index] for index in order] if order else sources
        text, links, done = "", [], 0
        for unit in placed:
            word = unit.text if unit.text.startswith("{") else (words or {}).get(unit.text, unit.text.upper())
            text += passage.text[done : unit.start] if not order else " " if text else ""
            done = unit.stop
            links.append(((unit.start, unit.stop), (len(text), len(text) + len(word))))
            text += word
        return passage.finish(text, links)

    return take_markup_apart(html).put_together(finish)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("plain text", "PLAIN TEXT"),
        ("<p>one</p>\n  <p>two</p>", "<p>ONE</p>\n  <p>TWO</p>"),
        ("<p>the <b>cat</b> eats</p>", "<p>THE <b>CAT</b> EATS</p>"),
        ('a <a href="x?a=1&amp;b=2" title="&gt;">link</a>.', 'A <a href="x?a=1&amp;b=2" title="&gt;">LINK</a>.'),
        ("<b><i>both</i> words</b>", "<b><i>BOTH</i> WORDS</b>"),
        ("all <b>of it</b>", "ALL <b>OF IT</b>"),
        ("<b>all of it</b>", "<b>ALL OF IT</b>"),
        ("one<br>two<br/>three", "ONE<br>TWO<br/>THREE"),
        ("<b>cat<br></b>", "<b>CAT<br></b>"),
        ("<b>cat</b><br>", "<b>CAT</b><br>"),
        ("<img src=a> cat", "<img src=a> CAT"),
        ("cat<!-- a comment --> dog", "CAT<!-- a comment --> DOG"),
        ("<!DOCTYPE html><p>cat", "<!DOCTYPE html><p>CAT"),
        ("x &lt; y &amp; z", "X &lt; Y &amp; Z"),
        ("AT&T and &nosuch; R&D", "AT&amp;T AND &amp;NOSUCH; R&amp;D"),
        ("caf&eacute; &#233; &#xe9;", "CAFÉ É É"),
        ("a&nbsp;b", "A&nbsp;B"),
        ("<script>if (a < b) { c() }</script>cat", "<script>if (a < b) { c() }</script>CAT"),
        ("<style>p { x: y }</style><pre>  the\n cat</pre>", "<style>p { x: y }</style><pre>  the\n cat</pre>"),
        ("run <code>make all</code> now", "RUN <code>make all</code> NOW"),
        ('<span translate="no">the cat</span> eats', '<span translate="no">the cat</span> EATS'),
        ('<div class="x notranslate"><p>the cat</p></div><p>dog</p>',
         '<div class="x notranslate"><p>the cat</p></div><p>DOG</p>'),
        ("<code>a</code> {0} b", "<code>a</code> {0} B"),
        ('<ul><li class="notranslate">one<li>two</ul><p>three</p>',
         '<ul><li class="notranslate">one<li>TWO</ul><p>THREE</p>'),
        ("<ul><li>one<li translate=no>two <b>three</b></ul><p>four</p>",
         "<ul><li>ONE<li translate=no>two <b>three</b></ul><p>FOUR</p>"),
        ("<p translate=no>one <i>two</i><p>three", "<p translate=no>one <i>two</i><p>THREE"),
        ("<table><tr><td translate=no>one<td>two</table>", "<table><tr><td translate=no>one<td>TWO</table>"),
        ("<div translate=no><p>one<p>two</div>three", "<div translate=no><p>one<p>two</div>THREE"),
        ("<p>12 <b>34</b> !</p>", "<p>12 <b>34</b> !</p>"),
        ("<ul>\n <li>one\n <li>two\n</ul>", "<ul>\n <li>ONE <li>TWO </ul>"),
        ("", ""),
        ("  \n ", "  \n "),
        ("<b>open", "<b>OPEN"),
        ("close</b>", "CLOSE</b>"),
        ("<b><i>wrong</b> way</i>", "<b><i>WRONG</b> WAY</i>"),
        ("<b>a<p>b</b></p>", "<b>A<p>B</b></p>"),
        ("<", "<"),
        ("a < b", "A &lt; B"),
        ("<svg viewBox='0 0 1 1'><text>cat</text></svg> dog", "<svg viewBox='0 0 1 1'><text>cat</text></svg> DOG"),
    ],
)  # fmt: skip
def test_html_comes_through(html: str, expected: str) -> None:
    assert through(html) == expected


def test_tags_follow_their_words() -> None:
    html = 'a <b>red</b> <a href="#">car</a>.'
    assert through(html, {"a": "une", "red": "rouge", "car": "voiture"}, [0, 2, 1, 3]) == (
        'une <a href="#">voiture</a> <b>rouge</b> .'
    )
    assert through("the <b>big red</b> car", order=[0, 3, 2, 1]) == "THE CAR <b>RED BIG</b>"


def test_an_outlier_does_not_stretch_an_element() -> None:
    links: Links = [((0, 3), (0, 2)), ((4, 7), (3, 7)), ((8, 12), (8, 13)), ((4, 7), (14, 20)), ((13, 16), (21, 24))]
    [passage] = take_markup_apart("the <b>cat</b> eats now").passages
    assert passage.finish("le chat mange encore ici", links) == "le <b>chat</b> mange encore ici"


def test_what_was_lost_comes_at_the_end() -> None:
    [passage] = take_markup_apart("see <code>x</code> there").passages
    assert passage.finish("voir", []) == "voir<code>x</code>"


@pytest.mark.parametrize(
    "html",
    [
        "a man opens <b>the door with <code>open()</code></b> today .",
        'Press <a href="x"><kbd>F1</kbd></a> now.',
        "Dear <b>{name}</b>, hi there",
        'uses <code>x</code><img src="a.png"> in',
        "only <b>50%</b> of it",
        "in <b>C++</b> here",
        'see <b>"this"</b>, please',
        "at <b>www.example.org</b> now",
    ],
)
def test_no_tag_cuts_what_is_whole(html: str) -> None:
    """With the links of words as the service makes them: without the marks around them."""

    def finish(passage: Passage) -> str:
        words = tuple(passage.text.split())
        alignment = Alignment(tuple((place, place) for place in range(len(words))), words, words)
        return passage.finish(passage.text, links_of(passage.text, passage.text, alignment))

    assert take_markup_apart(html).put_together(finish) == html


TAGS = st.sampled_from(
    ["<b>", "</b>", "<i class='x'>", "</i>", "<p>", "</p>", "<br>", "<code>", "</code>", "&amp;", "&", "<", ">", "<!--",
     "-->", "<script>", "</script>", "<a href=\"'\">", "</a>", " ", "cat", "dog.", "{0}", "<span translate=no>",
     "</span>", "é", "<![CDATA[", "]]>", "<?x", "</", "<div", "\n"]
)  # fmt: skip


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(f"<{tag} {attrs}>")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"</{tag}>")


def tags_of(html: str) -> list[str]:
    reader = _Tags()
    reader.feed(html)
    reader.close()
    return sorted(reader.tags)


@settings(max_examples=300, deadline=None)
@given(st.lists(TAGS, max_size=30).map("".join))
def test_no_html_breaks_it_and_no_tag_is_lost(html: str) -> None:
    marking = take_markup_apart(html)
    assert marking.put_together(lambda passage: passage.html) == html
    if "<!" not in html and "<?" not in html and "<div" not in html and not html.rstrip().endswith(("<", "</")):
        assert tags_of(through(html)) == tags_of(html)
    else:
        through(html)


def test_many_tags_take_no_time() -> None:
    html = "<b>" * 3000 + "cat" + "</b>" * 3000
    assert tags_of(through(html)) == tags_of(html)


@pytest.mark.parametrize(
    "lone", ["<![CDATA[y]]>", "<!-- c -->", "<!doctype html>", "</?x>", "<!x>", "<![if !IE]>", "<?pi x?>"]
)
def test_what_is_no_element_stays_letter_for_letter(lone: str) -> None:
    [passage] = take_markup_apart(f"one {lone} two").passages
    assert passage.finish("one two", [((0, 3), (0, 3)), ((4, 7), (4, 7))]).replace(lone, "", 1).split() == [
        "one",
        "two",
    ]


def test_marks_that_are_not_seen_do_not_part_words() -> None:
    [passage] = take_markup_apart("trans&shy;late &zwnj;it").passages
    assert passage.text == "trans\u00adlate \u200cit"
