"""Whatever is asked of the pool, with whomever it is batched: the answer is that of the translator alone."""

import asyncio
from collections.abc import Hashable
from itertools import pairwise

import pytest
from pool_world import PAIR, TEXTS, use

from regard.config import SearchConfig
from regard.errors import InputError, RegardError
from regard.search.resident import ResidentTranslator
from regard.search.translator import Translation, Translator
from regard.serve.jobs import Answer, Job, Pair, PoolSettings, Progress
from regard.serve.marked import translate_markup
from regard.serve.pool import Pool
from regard.serve.requests import Request
from regard.serve.routing import Served
from regard.serve.sentences import Wanted
from regard.text.glossary import Glossary
from regard.text.spans import SpanFinder

TERMS = (("apples", "poires"), ("cat", "matou"))


def same(translator: Translator, ours: list[list[Translation]], theirs: list[list[Translation]]) -> bool:
    """Equal to the last bit in C; through torch, the last bits of scores depend on the batch."""
    if ResidentTranslator.suits(translator, SearchConfig()):
        return ours == theirs
    return [[(each.text, each.tokens, each.finished) for each in found] for found in ours] == [
        [(each.text, each.tokens, each.finished) for each in found] for found in theirs
    ]


def test_one_model_is_searched_in_c_and_the_other_is_not(
    native_translator: Translator, plain_translator: Translator
) -> None:
    if not ResidentTranslator.suits(native_translator, SearchConfig()):
        pytest.skip("no kernels here")
    assert not ResidentTranslator.suits(plain_translator, SearchConfig())


@pytest.mark.parametrize(("best", "beam"), [(1, None), (1, 1), (2, None), (3, 5), (4, None)])
def test_translations_are_those_of_the_translator(translator: Translator, best: int, beam: int | None) -> None:
    async def scenario(pool: Pool) -> list[Answer]:
        jobs = [Job(tuple(TEXTS[start:]), best=best, beam=beam) for start in range(len(TEXTS))]
        return await asyncio.gather(*(pool.translate(PAIR, job) for job in jobs))

    answers = use(translator, scenario)
    expected = translator.translate_nbest(TEXTS, best, beam=beam or max(best, translator.config.search.beam))
    for start, answer in enumerate(answers):
        assert same(translator, answer.translations, expected[start:])
        assert answer.alignments is answer.constraints is None


def test_all_kinds_of_jobs_at_once(translator: Translator) -> None:
    jobs = [
        Job(tuple(TEXTS), best=2),
        Job(tuple(TEXTS), alignment=True, best=2),
        Job(tuple(TEXTS), glossary=TERMS),
        Job(tuple(TEXTS), keep_spans=True, alignment=True),
        Job(tuple(TEXTS), beam=1),
    ]

    async def scenario(pool: Pool) -> list[Answer]:
        return await asyncio.gather(*(pool.translate(PAIR, job) for job in jobs * 2))

    answers = use(translator, scenario)
    plain = translator.translate_nbest(TEXTS, 2)
    greedy = translator.translate_nbest(TEXTS, 1, beam=1)
    terms = translator.controlled(Glossary.of(TERMS)).translate(TEXTS)
    spans = translator.controlled(keep=SpanFinder()).translate(TEXTS)
    pairs = [(text, each.text) for text, found in zip(TEXTS, plain, strict=True) for each in found]
    links = translator.align(*zip(*pairs, strict=True))
    for start in range(0, len(answers), len(jobs)):
        two, aligned, with_terms, kept, narrow = answers[start : start + len(jobs)]
        assert same(translator, two.translations, plain)
        assert same(translator, aligned.translations, plain)
        assert same(translator, narrow.translations, greedy)
        assert [(each.text, each.terms) for each in with_terms.constraints] == [
            (each.text, each.terms) for each in terms
        ]
        assert [(each.text, each.spans) for each in kept.constraints] == [(each.text, each.spans) for each in spans]
        assert [[each.translation] for each in kept.constraints] == kept.translations
        assert [each for own in aligned.alignments for each in own] == links
        assert [len(own) for own in aligned.alignments] == [len(own) for own in two.translations]
        assert [len(own) for own in kept.alignments] == [1] * len(TEXTS)


def let_watchers_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers wait until those who watch have seen what is new, however busy the machine is."""
    tell = Pool._grown

    async def some_turns_of_the_loop() -> None:
        for _ in range(8):
            await asyncio.sleep(0)

    def tell_and_wait(self: Pool, requests: list[Request]) -> None:
        tell(self, requests)
        if requests:
            asyncio.run_coroutine_threadsafe(some_turns_of_the_loop(), requests[0].loop).result(30)

    monkeypatch.setattr(Pool, "_grown", tell_and_wait)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_stream_grows_to_the_translation(translator: Translator, beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    let_watchers_look(monkeypatch)
    texts = [text for text in TEXTS if text]

    async def follow(pool: Pool, text: str) -> list[str]:
        return [progress[0].texts[0] async for progress in pool.watch(PAIR, [Job((text,), beam=beam)])]

    async def scenario(pool: Pool) -> list[list[str]]:
        streams, _ = await asyncio.gather(
            asyncio.gather(*(follow(pool, text) for text in texts)), pool.translate(PAIR, Job(tuple(TEXTS * 3)))
        )
        return streams

    streams = use(translator, scenario)
    assert [stream[-1] for stream in streams] == translator.translate(texts, beam=beam)
    assert any(len(stream) > 1 for stream in streams)
    if beam == 1:
        for stream in streams:
            assert all(late.startswith(early) for early, late in pairwise(stream))


def test_a_document_can_be_watched_with_all_it_asks_for(translator: Translator) -> None:
    job = Job(tuple(TEXTS), alignment=True, best=2)

    async def scenario(pool: Pool) -> list[object]:
        seen = [progress async for [progress] in pool.watch(PAIR, [job])]
        return [seen, await pool.translate(PAIR, job)]

    seen, answer = use(translator, scenario)
    assert same(translator, seen[-1].answer.translations, answer.translations)
    assert seen[-1].answer.alignments == answer.alignments
    assert seen[-1].texts == tuple(translator.translate(TEXTS))
    assert all(progress.answer is None for progress in seen[:-1])
    assert all(len(progress.texts) == len(TEXTS) for progress in seen)


def test_terms_can_be_watched_too(translator: Translator) -> None:
    jobs = [Job(tuple(TEXTS[:2]), glossary=TERMS), Job(tuple(TEXTS[2:4]))]

    async def scenario(pool: Pool) -> list[list[Progress]]:
        return [progress async for progress in pool.watch(PAIR, jobs)]

    with_terms, plain = use(translator, scenario)[-1]
    found = translator.controlled(Glossary.of(TERMS)).translate(TEXTS[:2])
    assert with_terms.texts == tuple(each.text for each in found)
    assert plain.texts == tuple(translator.translate(TEXTS[2:4]))


def test_nothing_to_translate(native_translator: Translator) -> None:
    async def scenario(pool: Pool) -> list[Answer]:
        return [await pool.translate(PAIR, Job(())), await pool.translate(PAIR, Job(("", " ")))]

    nothing, blanks = use(native_translator, scenario)
    assert nothing.translations == []
    assert blanks.translations == native_translator.translate_nbest(["", " "], 1)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (Job(("a\nb",)), "line break"),
        (Job(("\ud800",)), "surrogate"),
        (Job(("a",), beam=101), "beam"),
        (Job(("a",), best=0), "0 best"),
        (Job(("a",), best=3, beam=2), "3 best"),
        (Job(("a",), glossary=(("", "b"),)), "both sides"),
        (Job(("a",) * 3000), "send fewer"),
    ],
)
def test_what_cannot_be_done_is_said(native_translator: Translator, job: Job, message: str) -> None:
    async def scenario(pool: Pool) -> None:
        with pytest.raises(RegardError, match=message):
            await pool.translate(PAIR, job)
        assert pool.statistics.jobs == pool.statistics.sentences == 0
        assert (await pool.translate(PAIR, Job(("the cat",)))).translations

    use(native_translator, scenario)


def test_a_pair_without_a_model(native_translator: Translator) -> None:
    async def scenario(pool: Pool) -> None:
        with pytest.raises(InputError, match="no model from 'en' to 'de'"):
            await pool.translate(Pair("en", "de"), Job(("a",)))

    use(native_translator, scenario)


def test_passages_with_and_without_tags_are_begun_together(plain_translator: Translator) -> None:
    class Patient(Pool):
        """Begins to translate when two jobs are there."""

        both = asyncio.Barrier(2)

        async def translate(self, pair: Pair, job: Job, *, client: Hashable | None = None) -> Answer:
            async with asyncio.timeout(30):
                await self.both.wait()
            return await super().translate(pair, job, client=client)

    async def play() -> list[str]:
        served = Served("tiny", PAIR, plain_translator, 1)
        pool = Patient({PAIR: served}, PoolSettings(workers=1))
        await pool.start()
        try:
            html = ["<p>the cat</p><p>the <b>dog</b></p>", "<br>"]
            return await translate_markup(pool, served, html, Wanted(), 256, None)
        finally:
            await pool.stop()

    text, rule = asyncio.run(play())
    assert text.count("<p>") == 2
    assert text.count("<b>") == 1
    assert rule == "<br>"
