"""Warnings of LPUs that draw the same random numbers, which is seldom what is meant.

LPUs of different namespaces draw independent numbers. LPUs of one namespace are meant to be the
parts of one circuit, whose keys differ. Projections are drawn by the seed of their circuit,
whatever its namespace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..circuit.circuit import Circuit
from ..circuit.drawn import Drawn
from ..circuit.random_keys import component_keys
from ..errors import Faults, quoted
from ..inputs.base import Input

SAMPLE = 32
"""Equal sets of keys have the same smallest ones, so these are enough to compare."""


@dataclass(frozen=True)
class RandomKeys:
    """Keys of what an LPU draws.

    Attributes
    ----------
    numbers : frozenset of int
        The smallest keys of models and inputs, where the circuit has a namespace of its own.
    connections : frozenset of int
        Keys of projections.
    """

    numbers: frozenset[int] = frozenset()
    connections: frozenset[int] = frozenset()


def random_keys(circuit: Circuit, inputs: Iterable[Input]) -> RandomKeys:
    """Return the keys of what an LPU draws."""
    connections = frozenset(one.key for one in circuit.connections if isinstance(one, Drawn))
    if circuit.random_namespace is None:  # a Manager gives it one that no other LPU has
        return RandomKeys(connections=connections)
    drawing = [g for g, group in enumerate(circuit.groups) if group.model.draws_random()]
    keys = [component_keys(circuit, g) for g in drawing]
    keys += [one.random_keys() for one in inputs]
    numbers = {key for some in keys for key in np.sort(some)[:SAMPLE].tolist()}
    return RandomKeys(frozenset(numbers), connections)


def warn_of_shared(keys: Mapping[str, RandomKeys], source: str, strict: bool = False) -> None:
    """Warn of LPUs that draw the same numbers or the same connections.

    Parameters
    ----------
    keys : mapping of id to RandomKeys
        Those of all LPUs.
    source : str
        What stands before every message.
    strict : bool
        Turn warnings into errors.

    Raises
    ------
    CircuitError
        Where warnings are errors.
    """
    faults = Faults(source)
    numbers = _owners({name: one.numbers for name, one in keys.items()})
    for names in numbers:
        advice = "give each circuit one of its own with Circuit.in_random_namespace"
        faults.warn(f"{names} draw the same random numbers in one namespace; {advice}")
    for names, count in _owners({name: one.connections for name, one in keys.items()}).items():
        what = "a projection" if count == 1 else f"{count:,} projections"
        advice = "unless they shall be equal, give Circuit.from_arrays different seeds"
        faults.warn(f"{names} draw {what} by one name and seed, so connections are alike; {advice}")
    faults.finish(strict)


def _owners(keys: Mapping[str, frozenset[int]]) -> Counter[str]:
    """Return how many keys some LPUs have in common, for all LPUs that have any."""
    owners: dict[int, list[str]] = {}
    for name, some in keys.items():
        for key in some:
            owners.setdefault(key, []).append(name)
    shared = Counter(tuple(names) for names in owners.values() if len(names) > 1)
    return Counter({_listed(names): count for names, count in sorted(shared.items())})


def _listed(names: tuple[str, ...]) -> str:
    said = [quoted(name) for name in names[:5]]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"LPUs {', '.join(said)}{more}"
