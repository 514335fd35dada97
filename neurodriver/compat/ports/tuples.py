"""Port identifiers as tuples of tokens, the form of the old library."""

from __future__ import annotations

from ...ports.identifiers import Identifiers
from ...ports.tokens import Token, decode_all

Tuples = list[tuple[Token, ...]]


def tuples_of(ids: Identifiers, levels: int = 0) -> Tuples:
    """Return one tuple of tokens for each identifier, filled with '' up to ``levels``."""
    if not ids.levels:
        return [("",) * levels] * len(ids)
    columns = [decode_all(column) for column in ids.padded(levels)]
    out: Tuples = list(zip(*columns, strict=True))
    depth = ids.depth
    if len(depth) and depth.min() < ids.levels:
        wanted = [max(n, levels) for n in depth.tolist()]
        out = [t[:n] for t, n in zip(out, wanted, strict=True)]
    return out
