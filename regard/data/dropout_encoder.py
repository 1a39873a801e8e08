"""BPE-dropout in a process of its own, so that its Python does not hold up the training beside it.

A thread would not do: it holds the interpreter most of the time, and every operation of the model waits for it. The
process has the lowest priority, too: where training uses all cores, it works when training pauses.
Run as a module, this is that process: it reads requests from standard input and writes token ids to standard output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from regard.data.ragged import OFFSETS, Ragged
from regard.data.subword_dropout import SubwordDropout
from regard.data.tokenizer import Tokenizer, Tokenizers
from regard.progress import note

TOKENS = "<u4"


class DropoutEncoder:
    """Encodes both sides of a corpus with merges left out at random: a function of (side, texts, seed) only.

    Should the process fail, the work is done here, with the same result.
    """

    def __init__(self, tokenizers: Tokenizers, probability: float, own_process: bool) -> None:
        self._tokenizers, self._probability = tokenizers, probability
        self._sides = _encoders(tokenizers, probability)
        self._own_process = own_process and bool(sys.executable)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def encode(self, side: int, texts: Sequence[str], seed: tuple[int, ...]) -> Ragged:
        """The token ids of each text; side 0 is the source, 1 the target."""
        with self._lock:
            if self._own_process:
                try:
                    return self._ask(side, texts, seed)
                except (OSError, ValueError, EOFError) as error:
                    note(f"the process for BPE-dropout failed ({error}); going on without it, more slowly")
                    self._own_process = False
            return Ragged.from_rows(self._sides[side].encode_batch(texts, seed), TOKENS)

    def _ask(self, side: int, texts: Sequence[str], seed: tuple[int, ...]) -> Ragged:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        _send(process.stdin, {"side": side, "texts": list(texts), "seed": list(seed)})
        counts = json.loads(process.stdout.readline() or b"null")
        if counts is None:
            raise EOFError("it ended")
        offsets = _receive(process.stdout, counts["rows"] + 1, OFFSETS)
        return Ragged(_receive(process.stdout, counts["tokens"], TOKENS), offsets)

    def _start(self) -> subprocess.Popen[bytes]:
        package_root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the training, which decides when this one ends
        )
        assert process.stdin is not None
        weakref.finalize(self, _end, process)
        self._process = process
        sides = [self._tokenizers.source.to_json(), self._tokenizers.target.to_json()]
        _send(process.stdin, {"tokenizers": sides, "probability": self._probability})
        return process


def _encoders(tokenizers: Tokenizers, probability: float) -> tuple[SubwordDropout, SubwordDropout]:
    return SubwordDropout(tokenizers.source, probability), SubwordDropout(tokenizers.target, probability)


def _send(stream: IO[bytes], values: dict[str, object]) -> None:
    stream.write(json.dumps(values).encode() + b"\n")
    stream.flush()


def _receive(stream: IO[bytes], count: int, dtype: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    size = count * np.dtype(dtype).itemsize
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("its answer is cut short")
    return np.frombuffer(data, dtype=np.dtype(dtype))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until the requests end, which they do when the training process is gone."""
    start = json.loads(requests.readline())
    with tempfile.TemporaryDirectory() as folder:
        sides: list[Tokenizer] = []
        for content in start["tokenizers"]:
            path = Path(folder) / "tokenizer.json"
            path.write_text(content, encoding="utf-8", newline="\n")
            sides.append(Tokenizer.load(path))
    encoders = _encoders(Tokenizers(*sides), start["probability"])
    for line in requests:
        request = json.loads(line)
        rows = encoders[request["side"]].encode_batch(request["texts"], tuple(request["seed"]))
        flat = Ragged.from_rows(rows, TOKENS)
        _send(answers, {"rows": len(flat), "tokens": len(flat.values)})
        answers.write(flat.offsets.astype(OFFSETS).tobytes() + flat.values.tobytes())
        answers.flush()


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(19)
    _serve(sys.stdin.buffer, sys.stdout.buffer)
