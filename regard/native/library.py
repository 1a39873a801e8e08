"""Compiles the C files beside it, once for each processor, and loads them. Without a compiler all works, slower."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

SOURCES = tuple(
    Path(__file__).with_name(name)
    for name in (
        "kernels.c",
        "two_logits.c",
        "residual.c",
        "products.c",
        "multiply.c",
        "pairs.c",
        "tile_packing.c",
        "tiles.c",
        "orthogonal.c",
        "sublayers.c",
        "layers.c",
        "choice.c",
        "average.c",
        "room.c",
        "ahead.c",
        "search.c",
        "resident.c",
    )
)
HEADERS = tuple(
    Path(__file__).with_name(name)
    for name in (
        "vectors.h",
        "blocks.h",
        "multiply.h",
        "pairs.h",
        "lanes.h",
        "tile_packing.h",
        "tiles.h",
        "turn.h",
        "kernels.h",
        "projections.h",
        "residual.h",
        "products.h",
        "layers.h",
        "choice.h",
        "average.h",
        "search.h",
    )
)
SWITCH = "REGARD_NATIVE"
"""The variable that turns the kernels off when it is 0."""
FLAGS = ("-O3", "-ffp-contract=fast", "-fPIC", "-shared")
TUNED = ("-march=native", "-Wl,-Bsymbolic")
"""Flags that not every compiler knows for every processor and system."""
WITHOUT_TILES = ("-DWITHOUT_TILES",)
"""For a processor that has them and dies of them: see tiles.h."""
LANES = 16
"""Most kernels want rows of a multiple of so many floats, whatever the processor takes at a time."""
LONGEST_COMPILATION = 120.0
LONGEST_TRIAL = 60.0

POINTER, LONG, FLOAT = ctypes.c_void_p, ctypes.c_long, ctypes.c_float


class SpaceStructure(ctypes.Structure):
    """`Space` of layers.h: where a step leaves what it needs on the way."""

    _fields_ = tuple((name, POINTER) for name in ("wide", "narrow", "scores", "turned", "places", "bytes", "scales"))


class FactorStructure(ctypes.Structure):
    """`Factor` of multiply.h: a matrix as it lies."""

    _fields_ = (("at", POINTER), ("row", LONG), ("column", LONG), ("panel", LONG), ("form", ctypes.c_int))


class EndingStructure(ctypes.Structure):
    """`Ending` of multiply.h: what becomes of a product's sums."""

    _fields_ = (("keep", ctypes.c_int), ("positive", ctypes.c_int), ("bias", POINTER))


FUNCTIONS = {
    "multiply_matrices": [LONG, LONG, LONG, FactorStructure, FactorStructure, EndingStructure, POINTER, LONG],
    "lay_out_panels": [LONG, LONG, FactorStructure, POINTER],
    "room_for_panels": [LONG, LONG, ctypes.c_int],
    "muon_step": [LONG, LONG, FLOAT, FLOAT, FLOAT, ctypes.c_int, *[POINTER] * 4],
    "multiplies_fast": [],
    "panel_width": [],
    "attention_forward": [POINTER, LONG, LONG, *[POINTER] * 9],
    "attention_backward": [POINTER, LONG, LONG, LONG, *[POINTER] * 14],
    "add_norm_forward": [LONG, LONG, LONG, FLOAT, *[POINTER] * 9],
    "add_norm_backward": [LONG, LONG, LONG, *[POINTER] * 10],
    "relu_forward": [LONG, LONG, LONG, *[POINTER] * 2],
    "relu_backward": [LONG, LONG, LONG, *[POINTER] * 4],
    "exponentials": [LONG, LONG, LONG, *[POINTER] * 3],
    "consistent_gradients": [LONG, LONG, LONG, FLOAT, FLOAT, *[POINTER] * 5],
    "taught_gradients": [LONG, LONG, LONG, FLOAT, FLOAT, *[POINTER] * 5],
    "attention_sublayer_forward": [POINTER],
    "attention_sublayer_backward": [POINTER],
    "feed_forward_sublayer_forward": [POINTER],
    "feed_forward_sublayer_backward": [POINTER],
    "encode": [POINTER, LONG, POINTER, POINTER, SpaceStructure, POINTER],
    "remember": [POINTER, LONG, POINTER, POINTER, SpaceStructure, POINTER],
    "decode_logits": [POINTER, POINTER, SpaceStructure, POINTER, POINTER],
    "search": [POINTER],
    "open_search": [LONG, LONG],
    "join_search": [POINTER, POINTER],
    "run_search": [POINTER, LONG, LONG, POINTER],
    "close_search": [POINTER],
    "takes_bytes": [],
    "takes_pairs": [],
    "takes_tiles": [],
    "best_tokens": [LONG, LONG, LONG, LONG, POINTER, LONG, *[POINTER] * 3],
}
RESULTS = {
    "multiplies_fast": ctypes.c_int,
    "panel_width": ctypes.c_int,
    "takes_bytes": ctypes.c_int,
    "takes_pairs": ctypes.c_int,
    "takes_tiles": ctypes.c_int,
    "lay_out_panels": FactorStructure,
    "room_for_panels": LONG,
    "open_search": POINTER,
    "join_search": LONG,
    "run_search": LONG,
}
TRIAL = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.exponentials.argtypes = [ctypes.c_long] * 3 + [ctypes.c_void_p] * 3
logits, top, total = (ctypes.c_float * 33)(*range(33)), ctypes.c_float(), ctypes.c_float()
library.exponentials(0, 1, 33, logits, ctypes.addressof(top), ctypes.addressof(total))
library.takes_tiles()
sys.exit(not (top.value == 32 and abs(total.value - 1.5819767) < 1e-5))
"""
"""What a new library must do in a process of its own before anybody relies on it."""


class UnavailableError(Exception):
    """Why there are no kernels here, in words."""


@cache
def library() -> ctypes.CDLL | None:
    """The kernels, or None where there are none."""
    return _found()[0]


def loaded() -> ctypes.CDLL:
    """The kernels, where `takes` was asked before."""
    kernels = library()
    assert kernels is not None
    return kernels


def takes(x: Tensor) -> bool:
    """Whether there are kernels for such a tensor: float32 in the main memory, and not under autocast."""
    return (
        x.device.type == "cpu"
        and x.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
        and library() is not None
    )


def pointers(*tensors: Tensor | None) -> list[int | None]:
    """Where tensors begin in memory; they must live until the kernel has ended."""
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]


def multiplies_fast() -> bool:
    """Whether products of our own are the faster ones here."""
    kernels = library()
    return kernels is not None and bool(kernels.multiplies_fast())


@cache
def panel_width() -> int:
    """Outputs of a weight that its layout for products in C puts side by side."""
    return int(loaded().panel_width())


@cache
def matrix_product() -> int | None:
    """The address of the `sgemm_` that torch brings along; None where it brings none."""
    folder = Path(torch.__file__).parent / "lib"
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        try:
            return ctypes.cast(ctypes.CDLL(str(folder / name)).sgemm_, POINTER).value
        except (OSError, AttributeError):
            continue
    return None


def why_not() -> str | None:
    """Why there are no kernels here; None where there are."""
    return _found()[1]


@cache
def _found() -> tuple[ctypes.CDLL | None, str | None]:
    try:
        return _load(_compiled()), None
    except UnavailableError as reason:
        return None, str(reason)
    except (OSError, subprocess.SubprocessError) as error:
        return None, f"{error}"


def _load(path: Path) -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(path))
    for name, arguments in FUNCTIONS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, RESULTS.get(name)
    return loaded


def _compiled() -> Path:
    """The shared library for this source, compiler and processor; compiled and tried out if it is not there yet."""
    if os.environ.get(SWITCH) == "0":
        raise UnavailableError(f"{SWITCH} is 0")
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise UnavailableError("there is no C compiler")
    folder = _own_folder()
    path = folder / f"kernels-{_fingerprint(compiler)}.so"
    if not path.exists():
        aside = folder / f".{path.stem}.{os.getpid()}.so"
        try:
            _compile(compiler, aside)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    return path


def _own_folder() -> Path:
    """The folder for compiled code, which nobody else may write."""
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(cache_home) / "regard"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    facts = folder.stat()
    if hasattr(os, "geteuid") and (facts.st_uid != os.geteuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise UnavailableError(f"{folder} can be written by others")
    return folder


def _fingerprint(compiler: str) -> str:
    """A name for all that the compiled code depends on."""
    texts = [path.read_text(encoding="utf-8") for path in (*HEADERS, *SOURCES)]
    parts = [*texts, repr((FLAGS, TUNED, TRIAL)), compiler, _version(compiler), _processor()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=LONGEST_TRIAL).stdout


def _processor() -> str:
    """The processor and what it can do: code for another one might not run."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine() + platform.processor()
    return "".join(sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))}))


def _compile(compiler: str, path: Path) -> None:
    """Compile with the first flags that come to something that runs."""
    for flags in ((*FLAGS, *TUNED), (*FLAGS, *TUNED, *WITHOUT_TILES), FLAGS):
        command = [compiler, *flags, "-o", str(path), *map(str, SOURCES), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_COMPILATION)
        if done.returncode == 0:
            left = _try_out(path)
            if left == 0:
                return
            reason = f"the compiled kernels do not run on this processor (exit code {left})"
            if left == -signal.SIGKILL:  # by the system, for want of memory: another time they may
                break
        else:
            lines = done.stderr.splitlines()
            error = next((line for line in lines if "error" in line), f"exit code {done.returncode}")
            reason = f"{compiler} cannot compile the kernels: {error}"
    raise UnavailableError(reason)


def _try_out(path: Path) -> int:
    """How a process that uses them leaves; one that does not leave says nothing about them."""
    command = [sys.executable, "-c", TRIAL, str(path)]
    return subprocess.run(command, capture_output=True, timeout=LONGEST_TRIAL).returncode


def shared_out(count: int, work: Callable[[int, int, int], None]) -> int:
    """Do `work(begin, end, part)` for 0 to `count`, in one part for each of torch's threads; gives how many parts."""
    parts = max(1, min(torch.get_num_threads(), count))
    if parts == 1:
        work(0, count, 0)
        return 1
    bounds = [count * part // parts for part in range(parts + 1)]
    waiting = [_pool(parts).submit(work, bounds[part], bounds[part + 1], part) for part in range(1, parts)]
    work(bounds[0], bounds[1], 0)
    for part in waiting:
        part.result()
    return parts


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads - 1, thread_name_prefix="regard-kernels")
