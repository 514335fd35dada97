"""Values of the neurons at both ends of a synapse, as texts of rules name them.

``pre.r`` is the variable r of the source, ``post.V`` the variable V of the target. ``pre.value``
and ``post.value`` are the variable that the connections carry, whatever it is called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

CARRIED = "value"
"""Stands for the variable that the connections carry."""

VALUE_TEXTS = {"on_step": ("pre", "post"), "on_arrival": ("post",), "every": ("pre", "post")}
"""Texts that may read values of neurons -> of which end."""

IN_STEPS = ("on_step", "every")
"""Those of them that run in steps, whether there is an event or not."""

_VALUE = re.compile(r"\b(pre|post)\.([A-Za-z_]\w*)")


class ValueRead(NamedTuple):
    """A variable of the source (``pre``) or of the target (``post``)."""

    side: str
    name: str

    @property
    def symbol(self) -> str:
        """The name that stands for it once a text has been read."""
        return f"{self.side}_{self.name}"

    def __str__(self) -> str:
        return f"{self.side}.{self.name}"

    def variable(self, carried: str) -> str:
        """Return the variable that is meant where connections carry one."""
        return carried if self.name == CARRIED else self.name


def values_of(text: str) -> list[ValueRead]:
    """Return the values that a text reads, each once, in order."""
    return list(dict.fromkeys(ValueRead(*found.groups()) for found in _VALUE.finditer(text)))


def with_levels(text: str, levels: Mapping[str, str]) -> str:
    """Return a text that reads variables of the target where it names modulators of each target.

    Parameters
    ----------
    levels : mapping of str to str
        Modulator -> variable of the target.
    """
    if not levels:
        return text
    named = rf"(?<![.\w])({'|'.join(map(re.escape, levels))})\b"
    return re.sub(named, lambda found: f"post.{levels[found[1]]}", text)


def with_symbols(text: str) -> str:
    """Return a text whose values are plain names, of the same length."""
    return _VALUE.sub(r"\1_\2", text)
