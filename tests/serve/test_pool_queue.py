"""Places are counted and given back, turns are fair, and nobody hangs."""

import asyncio
import gc
import threading
import time
from contextlib import suppress

import pytest
from pool_world import PAIR, Obedient, until, use

from regard.native.search import Prepared
from regard.search.resident import Joined
from regard.search.translator import Translator
from regard.serve import sentences
from regard.serve.jobs import Batch, Busy, Job, TookTooLong, WorkerFailed
from regard.serve.pace import Pace
from regard.serve.pool import Pool
from regard.serve.requests import Request


@pytest.fixture
def obedient(plain_translator: Translator) -> Obedient:
    return Obedient(plain_translator)


def many(count: int, word: str = "w") -> Job:
    return Job(tuple(f"{word}{number}" for number in range(count)))


def test_requests_share_batches(obedient: Obedient) -> None:
    seen: list[Batch] = []

    async def scenario(pool: Pool) -> None:
        pool.observe(seen.append)
        obedient.gate.clear()
        first = asyncio.create_task(pool.translate(PAIR, Job(("first",))))
        await until(lambda: len(obedient.batches) == 1)
        others = [asyncio.create_task(pool.translate(PAIR, Job((f"t{number}",)))) for number in range(20)]
        await until(lambda: pool.statistics.waiting == 20)
        obedient.gate.set()
        await first
        answers = await asyncio.gather(*others)
        assert [answer.translations[0][0].text for answer in answers] == [f"T{number}" for number in range(20)]

    use(obedient, scenario, workers=1)
    assert obedient.batches == [["first"], [f"t{number}" for number in range(20)]]
    assert [batch.sentences for batch in seen] == [1, 20]
    assert all(batch.pair == PAIR and batch.source_tokens and batch.target_tokens for batch in seen)


def test_a_long_request_lets_a_short_one_through(obedient: Obedient) -> None:
    async def scenario(pool: Pool) -> None:
        obedient.gate.clear()
        long = asyncio.create_task(pool.translate(PAIR, many(1000)))
        await until(lambda: len(obedient.batches) == 1)
        short = asyncio.create_task(pool.translate(PAIR, Job(("short",))))
        await until(lambda: pool.statistics.jobs == 2)
        obedient.gate.set()
        await asyncio.gather(long, short)

    use(obedient, scenario, workers=1)
    where = [number for number, batch in enumerate(obedient.batches) if "short" in batch]
    assert where == [1]
    assert len(obedient.batches) > 5
    assert sum(map(len, obedient.batches)) == 1001


def test_clients_take_turns_whatever_they_have_waiting(obedient: Obedient) -> None:
    async def scenario(pool: Pool) -> None:
        obedient.gate.clear()
        greedy = [asyncio.create_task(pool.translate(PAIR, many(8, f"g{n}-"), client="greedy")) for n in range(50)]
        await until(lambda: len(obedient.batches) == 1)
        modest = [asyncio.create_task(pool.translate(PAIR, many(8, f"m{n}-"), client="modest")) for n in range(2)]
        await until(lambda: pool.statistics.jobs == 52)
        obedient.gate.set()
        await asyncio.gather(*greedy, *modest)

    use(obedient, scenario, workers=1)
    order = [text for batch in obedient.batches[1:] for text in batch]
    assert [text[0] for text in order[:32]] == [*"gm" * 16]


def test_over_its_bounds_the_queue_refuses_and_says_for_how_long(obedient: Obedient) -> None:
    async def scenario(pool: Pool) -> None:
        obedient.gate.clear()
        held = [asyncio.create_task(pool.translate(PAIR, many(3))) for _ in range(3)]
        await until(lambda: pool.statistics.sentences == 9)
        with pytest.raises(Busy) as refused:
            await pool.translate(PAIR, many(2))
        assert 1 <= refused.value.retry_after <= 60
        assert pool.statistics.sentences == 9
        with pytest.raises(Busy):
            await pool.translate(PAIR, Job(("x" * 95,)))
        last = asyncio.create_task(pool.translate(PAIR, many(1)))
        await until(lambda: pool.statistics.sentences == 10)
        obedient.gate.set()
        await asyncio.gather(*held, last)
        assert pool.statistics.sentences == pool.statistics.characters == 0

    use(obedient, scenario, queue_sentences=10, queue_characters=100, workers=1)


def test_who_leaves_frees_the_place(obedient: Obedient) -> None:
    async def scenario(pool: Pool) -> None:
        obedient.gate.clear()
        under_way = asyncio.create_task(pool.translate(PAIR, Job(("under way",))))
        await until(lambda: len(obedient.batches) == 1)
        queued = asyncio.create_task(pool.translate(PAIR, many(9, "gone")))
        await until(lambda: pool.statistics.sentences == 10)
        for task in (queued, under_way):
            with pytest.raises(Busy):
                await pool.translate(PAIR, many(10))
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        assert pool.statistics.sentences == pool.statistics.waiting == 0
        last = asyncio.create_task(pool.translate(PAIR, many(10)))
        obedient.gate.set()
        await last

    use(obedient, scenario, queue_sentences=10, workers=1)
    assert not any(text.startswith("gone") for batch in obedient.batches for text in batch)


def test_a_watcher_who_leaves_frees_the_place(obedient: Obedient) -> None:
    async def scenario(pool: Pool) -> None:
        obedient.gate.clear()
        blocker = asyncio.create_task(pool.translate(PAIR, Job(("under way",))))
        await until(lambda: len(obedient.batches) == 1)
        watching = pool.watch(PAIR, [many(5)])
        task = asyncio.create_task(anext(watching))
        await until(lambda: pool.statistics.sentences == 6)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert pool.statistics.sentences == 1
        obedient.gate.set()
        await blocker

    use(obedient, scenario, workers=1)


def test_who_leaves_a_search_for_terms_ends_it(plain_translator: Translator) -> None:
    endless = Job(("cat " * 40,), glossary=(("cat", "matou " * 30),))

    async def scenario(pool: Pool) -> None:
        task = asyncio.create_task(pool.translate(PAIR, endless))
        await asyncio.sleep(0.3)
        assert not task.done()
        task.cancel()
        await asyncio.wait([task])
        await asyncio.wait_for(pool.translate(PAIR, Job(("the cat {a}",), keep_spans=True)), 30)

    use(plain_translator, scenario)


def test_time_is_limited(obedient: Obedient) -> None:
    async def scenario(pool: Pool) -> None:
        obedient.gate.clear()
        with pytest.raises(TookTooLong, match=r"0\.05 s"):
            await pool.translate(PAIR, many(3))
        with pytest.raises(TookTooLong):
            async for _ in pool.watch(PAIR, [many(3)]):
                pass
        assert pool.statistics.sentences == pool.statistics.waiting == 0
        obedient.gate.set()

    use(obedient, scenario, seconds=0.05)


def test_what_breaks_breaks_alone(obedient: Obedient, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(pool: Pool) -> None:
        obedient.gate.clear()
        first = asyncio.create_task(pool.translate(PAIR, Job(("first",))))
        await until(lambda: len(obedient.batches) == 1)
        good = [asyncio.create_task(pool.translate(PAIR, Job((f"good{number}",)))) for number in range(5)]
        bad = [asyncio.create_task(pool.translate(PAIR, Job((word, "x")))) for word in ("bad", "worse")]
        await until(lambda: pool.statistics.jobs == 8)
        obedient.gate.set()
        await asyncio.gather(first, *good)
        for task, cause in zip(bad, (ZeroDivisionError, SystemError), strict=True):
            with pytest.raises(WorkerFailed) as failure:
                await task
            assert isinstance(failure.value.__cause__, cause)
            assert "luck" not in str(failure.value)
        assert pool.statistics.sentences == 0
        await pool.translate(PAIR, Job(("again",)))

    use(obedient, scenario, workers=1)
    assert "ZeroDivisionError" in caplog.text
    assert "luck" not in caplog.text


def test_an_observer_that_breaks_breaks_nothing(obedient: Obedient) -> None:
    def observer(batch: Batch) -> None:
        raise ValueError

    async def scenario(pool: Pool) -> None:
        pool.observe(observer)
        await pool.translate(PAIR, many(30))
        await pool.translate(PAIR, many(30))

    use(obedient, scenario)


def test_stopping_finishes_what_was_begun_and_takes_nothing_more(obedient: Obedient) -> None:
    async def scenario(pool: Pool) -> None:
        obedient.gate.clear()
        begun = [asyncio.create_task(pool.translate(PAIR, many(20))) for _ in range(3)]
        await until(lambda: pool.statistics.jobs == 3)
        stopping = asyncio.create_task(pool.stop(30))
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="stops"):
            await pool.translate(PAIR, many(1))
        obedient.gate.set()
        for answer in await asyncio.gather(*begun):
            assert len(answer.translations) == 20
        await stopping
        assert not any(thread.is_alive() for thread in pool._threads)

    use(obedient, scenario)


def test_stopping_does_not_wait_for_ever(obedient: Obedient) -> None:
    async def scenario(pool: Pool) -> None:
        obedient.gate.clear()
        begun = [asyncio.create_task(pool.translate(PAIR, many(20))) for _ in range(3)]
        await until(lambda: pool.statistics.jobs == 3)
        stopping = asyncio.create_task(pool.stop(0.01))
        for task in begun:
            with pytest.raises(Busy, match="stops"):
                await task
        obedient.gate.set()
        await stopping

    use(obedient, scenario)


def test_the_threads_are_gone_after_a_stop(obedient: Obedient) -> None:
    async def scenario(pool: Pool) -> None:
        await pool.translate(PAIR, many(3))

    before = threading.active_count()
    use(obedient, scenario)
    while threading.active_count() > before + 1:  # asyncio keeps a thread of its own for a moment
        time.sleep(0.01)


def test_ten_times_what_it_can_hold(obedient: Obedient) -> None:
    async def scenario(pool: Pool) -> None:
        most = 0

        async def client(number: int) -> str:
            nonlocal most
            try:
                answer = await pool.translate(PAIR, many(4, f"c{number}-"))
            except Busy:
                return "busy"
            finally:
                most = max(most, pool.statistics.sentences)
            assert answer.translations[3][0].text == f"C{number}-3"
            return "done"

        ends = await asyncio.gather(*(client(number) for number in range(640)))
        assert set(ends) == {"busy", "done"}
        assert ends.count("done") >= 64
        assert most <= 256
        assert pool.statistics.sentences == pool.statistics.waiting == pool.statistics.jobs == 0

    use(obedient, scenario, queue_sentences=256)


def test_a_request_leaves_nothing_behind(native_translator: Translator) -> None:
    """No request is part of a circle of references: such a one would stay until the collector comes by."""

    def left() -> int:
        return sum(type(each) in (Request, Joined, Prepared) for each in gc.get_objects())

    async def scenario(pool: Pool) -> None:
        gc.collect()
        gc.disable()
        before = left()
        for _ in range(5):
            await asyncio.gather(*(pool.translate(PAIR, Job(("the cat",))) for _ in range(20)))
        async with asyncio.timeout(30):  # the workers let go a moment later
            while left() > before:
                await asyncio.sleep(0.01)

    try:
        use(native_translator, scenario)
    finally:
        gc.enable()


def test_the_estimate_follows_the_pace() -> None:
    pace = Pace(workers=2)
    assert pace.seconds_for(1000) == 1
    for _ in range(100):
        pace.add(10, 0.1)
    assert pace.seconds_for(1000) == pytest.approx(5)
    for _ in range(1000):
        pace.add(1, 0.1)
    assert pace.seconds_for(1000) == pytest.approx(50, rel=0.01)
    assert pace.seconds_for(10**6) == 60
    assert pace.seconds_for(1) == 1


def test_alignments_do_not_wait_for_slower_searches(plain_translator: Translator) -> None:
    endless = Job(("cat " * 40,), glossary=(("cat", "matou " * 30),))

    async def scenario(pool: Pool) -> None:
        slow = asyncio.create_task(pool.translate(PAIR, endless))
        await until(lambda: pool.statistics.sentences == 1 and pool.statistics.waiting == 0)
        answer = await pool.translate(PAIR, Job(("the cat",), alignment=True))
        assert answer.alignments is not None
        assert not slow.done()
        slow.cancel()
        await asyncio.wait([slow])

    use(plain_translator, scenario)


def test_a_full_pool_refuses_before_texts_are_cut(obedient: Obedient, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        pytest.fail("a text was cut for which there is no room")

    async def scenario(pool: Pool) -> None:
        obedient.gate.clear()
        full = asyncio.create_task(pool.translate(PAIR, many(10)))
        await until(lambda: pool.statistics.sentences == 10)
        monkeypatch.setattr(sentences, "cut", never)
        with pytest.raises(Busy):
            await sentences.cut_all(pool, pool.served[PAIR], ["one more"], 256)
        obedient.gate.set()
        await full

    use(obedient, scenario, queue_sentences=10, workers=1)
