"""Translates with one system in a process of its own, and prints how long it took as the last line, in JSON."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from train_systems.measuring import process_peak_mb

from translate_systems.systems import SYSTEMS, Setting

WARM_UP = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--model", type=Path, required=True, help="holds the forms of the model")
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--sentences", type=int, required=True, help="so many, the file again and again")
    parser.add_argument("--output", type=Path, required=True, help="where the translations go")
    parser.add_argument("--beam", type=int, required=True)
    parser.add_argument("--single", action="store_true", help="one at a time")
    for name in ("threads", "inside", "batch"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    setting = Setting(given.threads, given.inside, given.batch)
    system = SYSTEMS[given.system]
    lines = given.texts.read_text(encoding="utf-8").splitlines()
    texts = [lines[number % len(lines)] for number in range(given.sentences)]
    translate = system.open(given.model / system.form, system, setting, given.beam)
    for text in lines[: WARM_UP // 8] if given.single else []:
        translate([text])
    if not given.single:
        translate(lines[:WARM_UP])
    begin = time.perf_counter()
    found = [translate([text])[0] for text in texts] if given.single else translate(texts)
    seconds = time.perf_counter() - begin
    given.output.write_text("".join(f"{text}\n" for text in found), encoding="utf-8")
    print(json.dumps({"seconds": seconds, "sentences": len(texts), "peak_memory_mb": process_peak_mb("self")}))


if __name__ == "__main__":
    main()
