"""What is different between two circuits, in words for messages."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np

from ..errors import quoted
from .circuit import Circuit, Connections
from .drawn import Drawn
from .groups import Group


def first_difference(saved: Circuit, here: Circuit) -> str:
    """Return the first difference that is found between two circuits with unequal digests."""
    return next(_differences(saved, here), "something that both list alike")


def _differences(saved: Circuit, here: Circuit) -> Iterator[str]:
    names = [[group.name for group in one.groups] for one in (saved, here)]
    if names[0] != names[1]:
        yield f"its models were {', '.join(names[0])}, and are {', '.join(names[1])} here"
        return
    for was, now in zip(saved.groups, here.groups, strict=True):
        yield from _of_groups(was, now)
    if saved.random_namespace != here.random_namespace:
        yield "the namespace of its random numbers"
    for name in sorted({*saved.spaces, *here.spaces}):
        spaces = (one.spaces[name] for one in (saved, here) if name in one.spaces)
        given = [b"".join(space.digest_input()) for space in spaces]
        if len(set(given)) > 1 or len(given) == 1:
            yield f"the axes or positions of {quoted(name)}"
    counts = len(saved.connections), len(here.connections)
    if counts[0] != counts[1]:
        yield f"it had {counts[0]} sets of connections, and has {counts[1]} here"
        return
    for links, other in zip(saved.connections, here.connections, strict=True):
        if b"".join(links.digest_input()) != b"".join(other.digest_input()):
            name = quoted(_name_of(other))
            seeds = _differ_by_seed(links, other)
            yield f"the seed of the connections {name}" if seeds else f"the connections {name}"


def _differ_by_seed(links: Connections, other: Connections) -> bool:
    """Whether two projections differ in the key of their random numbers alone."""
    if not isinstance(links, Drawn) or not isinstance(other, Drawn):
        return False
    same = copy.copy(other)
    vars(same)["key"] = links.key
    return b"".join(links.digest_input()) == b"".join(same.digest_input())


def _of_groups(was: Group, now: Group) -> Iterator[str]:
    if was.count != now.count:
        yield f"it had {was.count:,} {was.name}, and has {now.count:,} here"
        return
    if not np.array_equal(was.uids, now.uids):
        yield f"the uids of {was.name}"
    columns = {**was.params, **was.labels}, {**now.params, **now.labels}
    for name in sorted({*columns[0], *columns[1]}):
        if name not in columns[0] or name not in columns[1]:
            yield f"{quoted(name)} of {was.name} is given in one of them alone"
        elif not np.array_equal(columns[0][name], columns[1][name], equal_nan=_real(columns, name)):
            yield f"{quoted(name)} of {was.name}"
    layers = [b"".join(one.layer.digest_input()) if one.layer else b"" for one in (was, now)]
    if layers[0] != layers[1]:
        yield f"the fields or sources of {was.name}"
    if (was.phase, was.every, was.first) != (now.phase, now.every, now.first):
        yield f"when {was.name} is computed"


def _real(columns: tuple[dict[str, np.ndarray], dict[str, np.ndarray]], name: str) -> bool:
    return all(np.asarray(one[name]).dtype.kind == "f" for one in columns)


def _name_of(links: Connections) -> str:
    return links.name or f"{links.variable} -> {links.access}"
