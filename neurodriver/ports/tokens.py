"""Tokens of port identifiers as integers, so that a million ports are a few NumPy columns.

An integer token is its own code, ``PAD`` fills the levels that an identifier does not have, and
every string has a code below ``PAD``, given once per process.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import SelectorError

Codes = npt.NDArray[np.int64]
Token = int | str

PAD = -1
LARGEST = 2**62
"""Integer tokens are smaller than this."""

_code_of: dict[str, int] = {"": PAD}
_names: list[str] = ["", ""]  # code -c stands at place c
_lock = threading.Lock()


def encode(token: Any) -> int:
    """Return the code of a token; the empty string is padding.

    Raises
    ------
    SelectorError
        When the token is neither a string nor an integer from 0 to 2**62.
    """
    if isinstance(token, str):
        code = _code_of.get(token)
        return _new(str(token)) if code is None else code
    if isinstance(token, int | np.integer) and not isinstance(token, bool):
        if not 0 <= token < LARGEST:
            raise SelectorError(f"invalid selector: integer token {token} is not in [0, 2**62)")
        return int(token)
    message = f"invalid selector: a token is a string or an integer (got {token!r})"
    raise SelectorError(message)


def _new(text: str) -> int:
    with _lock:
        if text not in _code_of:
            _names.append(text)
            _code_of[text] = 1 - len(_names)
        return _code_of[text]


def encode_all(tokens: Sequence[Any]) -> Codes:
    """Return the codes of many tokens, (n,)."""
    known = _code_of.get
    if set(map(type, tokens)) == {int} and min(tokens) >= 0 and max(tokens) < LARGEST:
        return np.array(tokens, dtype=np.int64)
    return np.array(
        [known(t) or encode(t) if type(t) is str else encode(t) for t in tokens], dtype=np.int64
    )


def decode_all(codes: Codes) -> list[Token]:
    """Return the tokens of a column of codes."""
    listed: list[Token] = codes.tolist()
    if len(codes) and codes.min() < 0:
        return [c if c >= 0 else _names[-c] for c in listed]  # type: ignore[operator]
    return listed


def rank(codes: Codes) -> Codes:
    """Return numbers that stand in the order of the tokens: none, integers, strings.

    Parameters
    ----------
    codes : (n,) int64
        Codes of one level.

    Returns
    -------
    (n,) int64
        Equal for equal tokens.
    """
    if not len(codes) or codes.min() >= PAD:
        return codes
    found, inverse = np.unique(codes, return_inverse=True)
    strings = int(np.searchsorted(found, PAD))
    names = [_names[-c] for c in found[:strings].tolist()]
    place = np.empty(len(found), np.int64)
    place[strings:] = np.arange(len(found) - strings)
    ordered = sorted(range(strings), key=names.__getitem__)
    place[ordered] = len(found) - strings + np.arange(strings)
    return place[inverse.reshape(-1)]
