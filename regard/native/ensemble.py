"""Several Transformers with one vocabulary that the engine in C asks together."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence

from regard.native.engine import ModelsStructure, ModelStructure, PackedTransformer


class PackedEnsemble:
    """Members whose probabilities are averaged, or, where `logarithms` says so, their log-probabilities."""

    def __init__(self, members: Sequence[PackedTransformer], logarithms: bool) -> None:
        self._members, self._logarithms = members, logarithms
        self._made_from: list[ModelStructure] = []
        self._models = ModelsStructure()
        self._lock = threading.Lock()

    @staticmethod
    def suits(members: Sequence[PackedTransformer]) -> bool:
        """Whether all of them have one vocabulary on each side."""
        sizes = {
            (each.parts.source.table.size(0), each.parts.target.table.size(0), each.vocabulary) for each in members
        }
        return len(sizes) == 1

    @property
    def vocabulary(self) -> int:
        return self._members[0].vocabulary

    @property
    def position_bytes(self) -> int:
        return sum(member.position_bytes for member in self._members)

    def models(self, positions: int, unchanged: bool = False) -> ModelsStructure:
        with self._lock:
            structures = [
                member.same_structure(positions) if unchanged else member.structure(positions)
                for member in self._members
            ]
            if [*map(id, structures)] != [*map(id, self._made_from)]:
                self._models = _side_by_side(structures, self._logarithms)
                self._made_from = structures
            return self._models


def _side_by_side(structures: Sequence[ModelStructure], logarithms: bool) -> ModelsStructure:
    """Copies of all, each of which knows where its part of a position begins."""
    each = (ModelStructure * len(structures))(*structures)
    total = sum(structure.total for structure in structures)
    before = 0
    for member, structure in zip(each, structures, strict=True):
        member.before, member.total = before, total
        before += structure.total
    models = ModelsStructure(ctypes.addressof(each), len(each), logarithms)
    models.kept = (each, structures)
    return models
