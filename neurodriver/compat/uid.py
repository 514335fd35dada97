"""The old ``uid``: numbers as text, each once per process."""

from __future__ import annotations

import itertools

from ..errors import InputError

_count = itertools.count()


def uid(n: int = 5) -> str:
    """Return the next number with n digits, ``"00000"`` first.

    Raises
    ------
    ValueError
        When the number needs more digits.
    """
    number = next(_count)
    if len(str(number)) > n:
        raise InputError(f"uid: {number} does not fit into {n} digits")
    return f"{number:0{n}d}"
