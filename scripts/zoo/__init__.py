"""The zoo: circuits of every kind whose digests tell whether a change of the code changes a bit."""

from __future__ import annotations

from collections.abc import Iterator

from . import files, inputs, large, models, networks, own, several, weighted
from .case import Case


def cases() -> Iterator[Case]:
    """Yield all cases, each name once.

    Raises
    ------
    RuntimeError
        Where two have one name.
    """
    seen: set[str] = set()
    for module in (models, networks, weighted, inputs, files, several, own, large):
        for case in module.cases():
            if case.name in seen:
                raise RuntimeError(f"two cases are named '{case.name}'")
            seen.add(case.name)
            yield case
