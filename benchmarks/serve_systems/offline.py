"""The translator without a server, in a process of its own: all texts in one call, with the model's own search."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from train_systems.measuring import process_peak_mb

import regard

WARM_UP = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--sentences", type=int, required=True, help="so many, the file again and again")
    parser.add_argument("--output", type=Path, required=True, help="where the translations of the file go")
    given = parser.parse_args()
    lines = given.texts.read_text(encoding="utf-8").splitlines()
    texts = [lines[number % len(lines)] for number in range(given.sentences)]
    translator = regard.load(given.model)
    translator.translate(lines[:WARM_UP])
    begin = time.perf_counter()
    found = translator.translate(texts)
    seconds = time.perf_counter() - begin
    given.output.write_text("".join(f"{text}\n" for text in found[: len(lines)]), encoding="utf-8")
    print(json.dumps({"seconds": seconds, "sentences": len(texts), "peak_memory_mb": process_peak_mb("self")}))


if __name__ == "__main__":
    main()
