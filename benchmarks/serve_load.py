"""How much a server does, beside the translator alone: many clients of `regard serve`, and one call for everything.

    regard train recipes/multi30k-en-de-tiny.toml --run runs/multi30k-en-de-tiny
    .venv/bin/python benchmarks/serve_load.py runs/multi30k-en-de-tiny --json out.json
    .venv/bin/python benchmarks/serve_load.py runs/multi30k-en-de-tiny --soak 100000
    .venv/bin/python benchmarks/serve_load.py runs/multi30k-en-de-tiny --overload

The server, the clients and the translator are processes of their own, on the same cores; server and translator take
turns. benchmarks/README.md says what exactly is measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measurement import run_measurement
from rich.console import Console
from serve_systems.results import Load, Overload, Rounds, Soak
from serve_systems.server import Server
from train_systems.following import environment
from train_systems.machine import machine

from regard import progress
from regard.errors import RegardError
from regard.figures import write_figures
from regard.hardware import available_cores
from regard.recipe import load_config
from regard.serve.sentences import TELLING
from regard.text.documents import take_apart
from regard.text.spans import SpanFinder

KEPT = SpanFinder(TELLING)
"""What the server would keep by another search than the translator's."""
FOLDER = Path(__file__).parent
TEXTS = "multi30k/tok/test_2016_flickr.{}.gz"
LONGEST = 1800.0
WIDTH = 110
"""Columns of a table that goes to a file."""
FEW_CLIENTS, FEW_SHARE = 4, 5
"""Up to so many clients get this part of the sentences: they take longer."""
SOAK_CLIENTS, SOAK_PARTS = 32, 50
CROWD_CONNECTIONS, CROWD_GROUP, MODEST_RATE = 512, 10, 2.0
SAMPLE_SECONDS = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    return run_measurement("serve_load", options.json, lambda work: Measurement(options, work).run())


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="the folder of a model that regard trained")
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 8, 32, 128], metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--sentences", type=int, default=3000, metavar="N", help="of a measurement; the texts repeated")
    parser.add_argument("--texts", type=Path, metavar="FILE", help="one sentence a line; default: Multi30k's test set")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="holds multi30k/tok; default: REGARD_DATA, or data")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings of the server")
    parser.add_argument("--soak", type=int, metavar="N", help="instead, N requests and the server's memory meanwhile")
    parser.add_argument("--overload", action="store_true", help="instead, many times what the server can do")
    parser.add_argument("--times", type=float, default=10.0, metavar="N", help="of --overload")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N", help="of --overload")
    parser.add_argument("--json", metavar="FILE", help="write all figures there (`-`: to standard output)")
    return parser.parse_args(arguments)


class Measurement:
    """A server, its clients, and the same work without them."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work
        data = load_config(options.model / "config.toml").data
        self.languages = data.source_language, data.target_language
        self.texts, self.expected = work / "texts", work / "expected"
        lines = [line for line in self._lines() if self._suits(line)]
        if not lines:
            raise RegardError("there is no text that is one sentence and no more; name others with --texts")
        asked = list(dict.fromkeys(lines))[: options.sentences]
        self.texts.write_text("".join(f"{line}\n" for line in asked), encoding="utf-8")
        self.figures: dict[str, Any] = {"machine": machine()}

    def run(self) -> None:
        options = self.options
        with Server(options.model, options.set) as server:
            if options.soak:
                found: Load | Soak | Overload = self._soak(server)
            elif options.overload:
                found = self._overload(server)
            else:
                found = self._load(server)
            server.check()
        console = Console(stderr=options.json == "-", width=None if sys.stdout.isatty() else WIDTH)
        console.print(found.table())
        if options.json:
            write_figures(options.json, {**self.figures, type(found).__name__.lower(): found.to_json()})

    def _lines(self) -> list[str]:
        home = self.options.data or Path(os.environ.get("REGARD_DATA") or FOLDER.parent / "data")
        path = self.options.texts or home / TEXTS.format(self.languages[0])
        if not path.is_file():
            raise RegardError(f"{path}: no such file; `regard data multi30k` brings it into data/, or use --texts")
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            return [line.strip() for line in lines if line.strip()]

    def _suits(self, line: str) -> bool:
        """Whether the server, too, translates it by the plain search, in one piece."""
        return len(take_apart(line, self.languages[0], lambda _: True)) == 1 and not KEPT.find(line)

    def _load(self, server: Server) -> Load:
        options = self.options
        load = Load(options.model.name, clients={count: Rounds() for count in options.clients})
        with progress.task("rounds", options.rounds * (1 + len(options.clients))) as work:
            for number in range(options.rounds):
                self._offline(load.offline)
                work.advance(1, "offline")
                place = number % len(options.clients)
                for count in options.clients[place:] + options.clients[:place]:
                    self._round(server, count, load.clients[count])
                    work.advance(1, f"{count} clients")
        return load

    def _offline(self, rounds: Rounds) -> None:
        found = self._child(
            "offline", str(self.options.model.resolve()), "--texts", self.texts, "--output", self.expected,
            "--sentences", self.options.sentences,
        )  # fmt: skip
        rounds.sentences_per_second.append(found["sentences"] / found["seconds"])
        rounds.memory_mb.append(found["peak_memory_mb"])

    def _round(self, server: Server, clients: int, rounds: Rounds) -> None:
        requests = self.options.sentences // (FEW_SHARE if clients <= FEW_CLIENTS else 1)
        self._ask(server, clients=clients, requests=max(clients, requests // 20))  # to warm up
        found = self._ask(server, clients=clients, requests=requests, expected=self.expected)
        if found["ends"] != {"200": requests}:
            raise RegardError(f"{clients} clients: not all of {requests:,} requests were answered: {found['ends']}")
        rounds.sentences_per_second.append(found["sentences"] / found["seconds"])
        rounds.milliseconds.append(found["milliseconds"])
        rounds.memory_mb.append(server.memory_mb())
        rounds.different += found["different"]

    def _soak(self, server: Server) -> Soak:
        total = self.options.soak
        requests: list[int] = []
        memory: list[float] = []
        began = time.monotonic()
        with progress.task("requests", total) as work:
            for part in range(SOAK_PARTS):
                count = total * (part + 1) // SOAK_PARTS - total * part // SOAK_PARTS
                found = self._ask(server, clients=SOAK_CLIENTS, requests=count)
                if found["ends"] != {"200": count}:
                    raise RegardError(f"not all of {count:,} requests were answered: {found['ends']}")
                requests.append(total * (part + 1) // SOAK_PARTS)
                memory.append(server.memory_mb())
                work.advance(count, f"{memory[-1]:,.0f} MB")
        return Soak(requests, memory, time.monotonic() - began)

    def _overload(self, server: Server) -> Overload:
        options = self.options
        self._ask(server, clients=SOAK_CLIENTS, requests=options.sentences // 4)
        normal = self._ask(server, clients=SOAK_CLIENTS, requests=options.sentences)
        capacity = normal["sentences"] / normal["seconds"]
        memory = [server.memory_mb()]
        crowd = self._start(
            server, clients=CROWD_CONNECTIONS, rate=options.times * capacity / CROWD_GROUP, seconds=options.seconds,
            group=CROWD_GROUP,
        )  # fmt: skip
        modest = self._start(server, clients=4, rate=MODEST_RATE, seconds=options.seconds)
        with progress.task("seconds of overload", int(options.seconds)) as work:
            while crowd.poll() is None:
                server.check()
                time.sleep(SAMPLE_SECONDS)
                memory.append(server.memory_mb())
                work.advance(1, f"{memory[-1]:,.0f} MB")
        results = [_result(process) for process in (crowd, modest)]
        after = self._ask(server, clients=8, requests=200)
        memory.append(server.memory_mb())
        return Overload(capacity, options.times, results[0], results[1], memory, after)

    def _ask(self, server: Server, **how: Any) -> dict[str, Any]:
        server.check()
        return _result(self._start(server, **how))

    def _start(self, server: Server, **how: Any) -> subprocess.Popen[str]:
        source, target = self.languages
        given = {"port": server.port, "texts": self.texts, "source": source, "target": target, **how}
        return _process("client", *(part for name, value in given.items() for part in (f"--{name}", value)))

    def _child(self, *command: object) -> dict[str, Any]:
        return _result(_process(*command))


def _process(module: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"serve_systems.{module}", *map(str, arguments)]
    return subprocess.Popen(
        command,
        cwd=FOLDER,
        env=environment(available_cores()),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _result(process: subprocess.Popen[str]) -> dict[str, Any]:
    try:
        output, errors = process.communicate(timeout=LONGEST)
    except BaseException:
        process.kill()
        raise
    if process.returncode:
        raise RegardError("a measuring process failed:\n" + "\n".join(errors.strip().splitlines()[-8:]))
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


if __name__ == "__main__":
    sys.exit(main())
