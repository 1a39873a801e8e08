"""Who works for a client hears when it leaves: from the connection, or from the application's messages."""

import asyncio

import pytest
from starlette.requests import Request
from starlette.types import Message

from regard.serve.departure import KEY, Departure
from regard.serve.refusals import ClientLeft
from regard.serve.service import while_waited_for


def request_of(departure: Departure | None, messages: "asyncio.Queue[Message]") -> Request:
    scope = {"type": "http", "method": "POST", "headers": []} | ({KEY: departure} if departure else {})
    return Request(scope, messages.get)


@pytest.mark.parametrize("known", [True, False])
def test_work_ends_when_the_client_leaves(known: bool) -> None:
    async def play() -> None:
        departure, messages = Departure() if known else None, asyncio.Queue[Message]()
        work = asyncio.Event()

        async def wait() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                work.set()

        task = asyncio.ensure_future(while_waited_for(request_of(departure, messages), wait()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if departure:
            departure.happen()
        else:
            messages.put_nowait({"type": "http.disconnect"})
        with pytest.raises(ClientLeft):
            await task
        assert work.is_set()

    asyncio.run(play())


@pytest.mark.parametrize("known", [True, False])
def test_work_that_is_done_is_handed_over_and_nobody_listens_any_more(known: bool) -> None:
    async def play() -> None:
        departure, messages = Departure() if known else None, asyncio.Queue[Message]()

        async def work() -> int:
            await asyncio.sleep(0)
            return 3

        assert await while_waited_for(request_of(departure, messages), work()) == 3
        if departure:
            departure.happen()
        else:
            messages.put_nowait({"type": "http.disconnect"})
        await asyncio.sleep(0)

    asyncio.run(play())


def test_work_for_one_who_has_left_already_is_not_done() -> None:
    async def play() -> None:
        departure = Departure()
        departure.happen()
        request = request_of(departure, asyncio.Queue[Message]())
        with pytest.raises(ClientLeft):
            await while_waited_for(request, asyncio.sleep(60))

    asyncio.run(play())


def test_another_cancellation_is_not_taken_for_a_departure() -> None:
    async def play() -> None:
        task = asyncio.ensure_future(
            while_waited_for(request_of(Departure(), asyncio.Queue[Message]()), asyncio.sleep(60))
        )
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(play())


def test_the_connection_is_listened_to_while_somebody_wants_to_know() -> None:
    listened = []
    departure = Departure(lambda: listened.append(True))
    assert not listened
    departure.tell(lambda: None)
    assert listened == [True]
