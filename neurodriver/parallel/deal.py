"""Deals LPUs to ranks: the costliest first, each to the rank with the least to do."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import CircuitError


def deal(costs: Mapping[str, float], asked: Mapping[str, int], size: int) -> dict[str, int]:
    """Return the rank of each LPU from the costs of its steps and the ranks that were asked for.

    Raises
    ------
    CircuitError
        When a rank was asked for that does not exist.
    """
    bad = {name: rank for name, rank in asked.items() if not 0 <= rank < size}
    if bad:
        said = ", ".join(f"{name}: {rank}" for name, rank in bad.items())
        raise CircuitError(f"manager: ranks are 0 to {size - 1}, asked for were {said}")
    load = [0.0] * size
    out = dict(asked)
    for name, rank in asked.items():
        load[rank] += costs[name]
    free = [name for name in costs if name not in asked]
    for name in sorted(free, key=lambda n: -costs[n]):  # stable: equal costs keep their order
        rank = min(range(size), key=lambda r: load[r])
        out[name] = rank
        load[rank] += costs[name]
    return {name: out[name] for name in costs}
