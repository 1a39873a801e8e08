"""The tokens that every vocabulary begins with: four marks, then one token for each byte."""

from __future__ import annotations

import re

PAD_ID, BOS_ID, EOS_ID, UNK_ID = 0, 1, 2, 3

SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>")
"""The marks by id. No text encodes to them, whatever it spells; `<unk>` stands only where the file format wants it."""

BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""One token for each byte, with which characters outside a vocabulary are spelled in UTF-8."""

FIRST_BYTE_ID = len(SPECIAL_TOKENS)
FIRST_LEARNED_ID = FIRST_BYTE_ID + len(BYTE_TOKENS)

_TAG = re.compile(r"<2([A-Za-z0-9_-]{2,16})>")


def tag_for(language: str) -> str:
    """The mark before a source that is to be translated into a language, such as `<2de>`. No text encodes to it."""
    return f"<2{language}>"


def tagged_language(piece: str) -> str | None:
    """The language of a token that is such a mark."""
    found = _TAG.fullmatch(piece)
    return found[1] if found else None
