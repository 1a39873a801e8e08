"""Strict reading of a `tokenizer.json`: a file that is damaged, or not one that regard writes, is refused by name."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Literal

from tokenizers import Tokenizer as LibraryTokenizer

from regard.data.tokenizer_kinds import KINDS, Scheme, build
from regard.data.tokenizer_learning import CHARACTERS, Learned
from regard.data.vocabulary import BYTE_TOKENS, FIRST_LEARNED_ID, SPECIAL_TOKENS, tagged_language
from regard.errors import ModelFolderError

LARGEST_FILE = 256 * 1024 * 1024


class _UnusableError(Exception):
    """Why a file cannot be used, as the end of a sentence about it."""


def read_tokenizer_file(path: Path) -> tuple[Scheme, Learned, LibraryTokenizer]:
    """Read a file and check that it is, part for part, what regard would write for the vocabulary in it."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise _UnusableError(f"it is larger than {LARGEST_FILE // 1024**2} MiB")
        text = path.read_bytes().decode("utf-8")
        document = json.loads(text)
        scheme, learned = _scheme_and_learned(document)
        pipeline = build(scheme, learned)
        # Both pass through the library, so that a field which a later version of it adds does no harm.
        if json.loads(LibraryTokenizer.from_str(text).to_str()) != json.loads(pipeline.to_str()):
            raise _UnusableError("its way of cutting text is not one of regard's")
        return scheme, learned, pipeline
    except FileNotFoundError:
        raise ModelFolderError(f"{path} does not exist; is {path.parent} a model folder, and complete?") from None
    except OSError as error:
        raise ModelFolderError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise _refused(path, "it is not UTF-8 text") from None
    except RecursionError:
        raise _refused(path, "it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise _refused(path, f"it is not JSON (line {error.lineno}: {error.msg})") from None
    except _UnusableError as error:
        raise _refused(path, str(error)) from None
    except Exception as error:  # the library raises no narrower class, and any part of the document may be misshapen
        raise _refused(path, f"a part of it is not as it should be ({type(error).__name__}: {error})") from None


def _refused(path: Path, reason: str) -> ModelFolderError:
    return ModelFolderError(
        f"{path} is not a tokenizer that regard can use: {reason}. Restore the file, or train the tokenizer again."
    )


def _scheme_and_learned(document: Any) -> tuple[Scheme, Learned]:
    if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
        raise _UnusableError("it has no `model`")
    if document.get("version") != "1.0":
        raise _UnusableError(f'its version is {document.get("version")!r}, not "1.0"')
    if document.get("added_tokens"):
        raise _UnusableError("it has `added_tokens`, which would be found in plain text")
    learned = _learned(document["model"])
    return _scheme(document, learned), learned


def _scheme(document: dict[str, Any], learned: Learned) -> Scheme:
    steps = [step["type"] for step in document["normalizer"]["normalizers"]]
    form: Literal["none", "nfc", "nfkc"] = "nfkc" if "NFKC" in steps else "nfc" if "NFC" in steps else "none"
    return Scheme(_kind(document, learned), "Lowercase" in steps, form)


def _kind(document: dict[str, Any], learned: Learned) -> str:
    model = document["model"]
    if model["type"] != "BPE":
        return next(name for name, kind in KINDS.items() if kind.model_type == model["type"])
    if model.get("ignore_merges"):
        return "word"
    if document["pre_tokenizer"]["pattern"] == {"Regex": CHARACTERS}:
        characters = [piece for piece in learned.pieces[FIRST_LEARNED_ID:] if tagged_language(piece) is None]
        return "character" if characters else "byte"
    return "bpe"


def _learned(model: dict[str, Any]) -> Learned:
    known = sorted({kind.model_type for kind in KINDS.values()})
    if model.get("type") not in known:
        raise _UnusableError(f"its model is {model.get('type')!r}, not one of {', '.join(known)}")
    pieces, scores = _pieces_and_scores(model)
    if tuple(pieces[:FIRST_LEARNED_ID]) != SPECIAL_TOKENS + BYTE_TOKENS:
        raise _UnusableError(f"it does not begin with {', '.join(SPECIAL_TOKENS)} and the 256 bytes")
    if len(set(pieces)) != len(pieces) or "" in pieces:
        raise _UnusableError("a token is empty or stands in it twice")
    merges = model.get("merges", [])
    if not all(isinstance(merge, list) and len(merge) == 2 for merge in merges):
        raise _UnusableError("a merge is not a pair of tokens")
    return Learned(pieces, [(left, right) for left, right in merges], scores)


def _pieces_and_scores(model: dict[str, Any]) -> tuple[list[str], list[float]]:
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, dict) and model["type"] != "Unigram":
        if sorted(vocabulary.values()) != list(range(len(vocabulary))):
            raise _UnusableError("its token ids are not 0, 1, 2, ...")
        return sorted(vocabulary, key=vocabulary.__getitem__), []
    if isinstance(vocabulary, list) and model["type"] == "Unigram":
        scores = [float(score) for _, score in vocabulary]
        if not all(map(math.isfinite, scores)):
            raise _UnusableError("a score is not a finite number")
        return [str(piece) for piece, _ in vocabulary], scores
    raise _UnusableError("it has no vocabulary")
