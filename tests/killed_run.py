"""A run that is killed where a test says."""

import pytest

from regard.pipeline import train_run
from regard.train import loop


class Killed(BaseException):
    """Stands for a kill: nothing in the program may catch it."""


def train_killed_at(step, config, run, monkeypatch):
    """Train until a step begins, and no further."""
    original = loop.Trainer._step

    def killed(self, *arguments):
        if self.session.standing.step == step - 1:
            raise Killed
        return original(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(loop.Trainer, "_step", killed)
        with pytest.raises(Killed):
            train_run(config, run)
