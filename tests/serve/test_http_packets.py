"""How an answer goes out on its connection."""

from types import SimpleNamespace

from regard.serve.protocol import GatheringTransport


def test_head_and_body_of_an_answer_come_in_one_packet() -> None:
    sent: list[bytes] = []
    transport, cycle = SimpleNamespace(write=sent.append, close=lambda: sent.append(b"closed")), SimpleNamespace()
    cycle.response_started = False
    gathering = GatheringTransport(transport, cycle)  # type: ignore[arg-type]
    gathering.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    cycle.response_started = True
    gathering.write(b"head")
    assert sent == [b"HTTP/1.1 100 Continue\r\n\r\n"]
    gathering.write(b" and body")
    gathering.write(b"more")
    assert sent[1:] == [b"head and body", b"more"]
    broken = GatheringTransport(transport, cycle)  # type: ignore[arg-type]
    broken.write(b"head alone")
    broken.close()
    assert sent[3:] == [b"head alone", b"closed"]
