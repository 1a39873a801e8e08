"""A beam search as a tree: every continuation that came into question, and which of them were kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BOS_ID, EOS_ID
from regard.search.following import BeamStep


@dataclass(frozen=True)
class BeamNode:
    """A token after those of its parents."""

    parent: int
    """The index of a node; -1 for the start mark."""
    step: int
    """How many tokens precede it, the start mark included; that is step 0."""
    token: int
    log_probability: float
    """Of all tokens up to this one."""
    kept: bool
    """Whether it had a place in the beam after its step."""
    finished: bool = False
    """Whether it ends an output."""
    best: bool = False
    """Whether it is on the way to the result."""


@dataclass(frozen=True)
class BeamTree:
    """The nodes of a search, by step, and within a step best first."""

    size: int
    nodes: tuple[BeamNode, ...]
    names: tuple[str, ...]
    """The tokens of the nodes as they can be printed."""

    def to_json(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "nodes": [
                {
                    "parent": node.parent,
                    "step": node.step,
                    "token": name,
                    "log_probability": node.log_probability,
                    "kept": node.kept,
                    "finished": node.finished,
                    "best": node.best,
                }
                for node, name in zip(self.nodes, self.names, strict=True)
            ],
        }

    def outputs(self) -> list[tuple[int, ...]]:
        """The tokens of all finished outputs, without marks."""
        return [self._tokens(node)[:-1] for node in self.nodes if node.finished]

    def _tokens(self, node: BeamNode) -> tuple[int, ...]:
        tokens: list[int] = []
        while node.parent >= 0:
            tokens.append(node.token)
            node = self.nodes[node.parent]
        return tuple(reversed(tokens))


@dataclass
class TreeRecorder:
    """Follows the beam search of one sentence."""

    size: int
    nodes: list[BeamNode] = field(default_factory=lambda: [BeamNode(-1, 0, BOS_ID, 0.0, True)])
    _rows: dict[int, int] = field(default_factory=lambda: {0: 0})
    """The node at which each row of the search stands."""

    def follow(self, step: BeamStep) -> None:
        """Take down a step of the search."""
        places = {(row, token): place for place, (row, token, _) in enumerate(step.taken)}
        rows: dict[int, int] = {}
        for row, token, log_probability in sorted([*step.taken, *step.left_out], key=lambda each: -each[2]):
            place = places.get((row, token))
            if place is not None:
                rows[place] = len(self.nodes)
            kept = place is not None
            node = BeamNode(self._rows[row], step.length, token, log_probability, kept, kept and token == EOS_ID)
            self.nodes.append(node)
        self._rows = rows

    def tree(self, tokenizer: Tokenizer, result: Sequence[int]) -> BeamTree:
        """The tree, with the way to `result` marked: its tokens, the end mark included if the model ended it."""
        nodes, here = self.nodes, 0
        nodes[0] = replace(nodes[0], best=True)
        for token in result:
            here = next(
                index for index, node in enumerate(nodes) if node.parent == here and node.token == token and node.kept
            )
            nodes[here] = replace(nodes[here], best=True)
        return BeamTree(self.size, tuple(nodes), tuple(tokenizer.pieces(node.token for node in nodes)))
