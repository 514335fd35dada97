"""Sums over the synapses of a target, with which texts of intervals may begin."""

from __future__ import annotations

import re

_SUM = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*sum\s*\(([^;]*)\)\s*;")


def sums_of(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return the sums over the synapses of a target that a text begins with, and the rest of it.

    For example ``total = sum(weight); weight *= goal / total;`` begins with (total, weight). The
    rest has blanks in their place.
    """
    found, end = [], 0
    while match := _SUM.match(text, end):
        found.append((match.group(1), match.group(2).strip()))
        end = match.end()
    return found, re.sub(r"\S", " ", text[:end]) + text[end:]
