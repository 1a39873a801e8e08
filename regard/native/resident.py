"""A search in C that goes on: sentences join those under way, and each leaves as it ends."""

from __future__ import annotations

import ctypes

from regard.native.engine import PackedModel
from regard.native.library import loaded
from regard.native.search import ROWS, Prepared

MOST_BYTES = 2**28
"""Of keys and values that the sentences under way may come to need; one sentence alone may need more."""
NO_MEMORY = "there is not enough memory for this search; ask for a smaller beam"


class Bell:
    """Rung from any thread, it brings a search back before the next sentence ends."""

    def __init__(self) -> None:
        self._rung = ctypes.c_int64()
        self.place = ctypes.addressof(self._rung)

    def ring(self) -> None:
        self._rung.value = 1

    def reset(self) -> None:
        self._rung.value = 0


class ResidentSearch:
    """Searches with a model as it is now, for one thread; `close` it at the end.

    After a MemoryError nothing is under way any more, and a new one must be made.
    """

    def __init__(self, model: PackedModel) -> None:
        self._models = model.models(1)
        self._worker = loaded().open_search(ROWS, max(1, MOST_BYTES // model.position_bytes))
        self._under_way: list[Prepared] = []
        if self._worker is None:
            raise MemoryError(NO_MEMORY)

    def join(self, prepared: Prepared) -> None:
        """Let sentences take part."""
        self._under_way = [each for each in self._under_way if each.left]
        self._under_way.append(prepared)
        self._models = prepared.models  # what the worker uses from now on, even after these have ended
        if self._worker is None or not loaded().join_search(self._worker, ctypes.byref(prepared.job)):
            self._fail()

    def run(self, steps: int, bell: Bell, more: int = 0) -> int:
        """Go on for so many steps, or until a sentence ends or the bell rings, and `more` steps after that.

        Gives how many sentences are left.
        """
        left: int = -1 if self._worker is None else loaded().run_search(self._worker, steps, more, bell.place)
        if left < 0:
            self._fail()
        if not left:
            self._under_way = []
        return left

    def close(self) -> None:
        """Give everything up."""
        if self._worker is not None:
            loaded().close_search(self._worker)
        self._worker = None
        self._under_way = []

    def _fail(self) -> None:
        self.close()
        raise MemoryError(NO_MEMORY)
