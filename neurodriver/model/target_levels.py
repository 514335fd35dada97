"""Modulators of which each target has its own: they are variables of the targets.

A text that names one reads the variable of its target: where ``modulators = {"dopamine":
nd.Level("d", per="target")}``, ``dopamine`` is ``post.d``.
"""

from __future__ import annotations

from typing import Any

from .rule_values import with_levels
from .traces import Level

_TEXTS = ("on_arrival", "on_spike", "on_step", "between")


def _of_target(one: Level) -> bool:
    return isinstance(one.per, str) and one.per == "target"


def take_levels_of_targets(cls: Any) -> None:
    """Move the modulators of each target of a class of rules to ``of_targets``, and fill its texts.

    What a base has of them stays, unless the class declares another modulator of that name.
    """
    own = {
        name: one.variable
        for name, one in cls.modulators.items()
        if isinstance(one, Level) and _of_target(one) and isinstance(one.variable, str)
    }
    before = {n: variable for n, variable in cls.of_targets.items() if n not in cls.modulators}
    cls.of_targets = {**before, **own}
    cls.modulators = {name: one for name, one in cls.modulators.items() if name not in own}
    for name in _TEXTS:  # a base's text may name what the class declares; its drift is complete
        text = cls.__dict__.get(name) if name == "between" else getattr(cls, name)
        if isinstance(text, str) and (filled := with_levels(text, cls.of_targets)) != text:
            setattr(cls, name, filled)
    cls.every = {
        name: with_levels(text, cls.of_targets) if isinstance(text, str) else text
        for name, text in cls.every.items()
    }
