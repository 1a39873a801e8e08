"""The tokens that every vocabulary begins with: four marks, then one token for each byte."""

from __future__ import annotations

PAD_ID, BOS_ID, EOS_ID, UNK_ID = 0, 1, 2, 3

SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>")
"""The marks by id. No text encodes to them, whatever it spells; `<unk>` stands only where the file format wants it."""

BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""One token for each byte, with which characters outside a vocabulary are spelled in UTF-8."""

FIRST_BYTE_ID = len(SPECIAL_TOKENS)
FIRST_LEARNED_ID = FIRST_BYTE_ID + len(BYTE_TOKENS)
