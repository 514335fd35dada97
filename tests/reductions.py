"""A model that shows every reduction of what it reads, and what NumPy makes of the same."""

from __future__ import annotations

from typing import Any

import numpy as np

import neurodriver as nd

REDUCTIONS = ("sum", "max", "min", "mean", "product", "any", "argmax")
WAYS = {
    "sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean, "product": np.prod,
    "any": lambda x: np.any(x != 0), "argmax": np.argmax,
}  # fmt: skip
EMPTY = dict.fromkeys(REDUCTIONS, 0.0) | {"product": 1.0, "argmax": -1.0}


class Told(nd.NDComponent):
    """Has the value that it is told."""

    updates, states, params = {"x": "1"}, {"x": nd.State("1", "first")}, {"first": "1"}
    update = "x = x;"


class Reduced(nd.NDComponent):
    """Shows every reduction of what it reads, with weights and without."""

    params = {"offset": nd.Parameter("1", default=0.0)}
    accesses = [
        *(nd.Access("x", f"of_{name}", reduce=name) for name in REDUCTIONS),
        *(nd.Access("x", f"by_{name}", "weight * x + offset", {"weight": nd.Parameter("", 1.0)},
                    reduce=name) for name in REDUCTIONS),
    ]  # fmt: skip
    updates = {f"{head}{name}": "1" for head in ("r_", "w_") for name in REDUCTIONS}
    update = " ".join(
        f"{head}{name} = {access}_{name};"
        for head, access in (("r_", "of"), ("w_", "by"))
        for name in REDUCTIONS
    )


def drawn() -> tuple[nd.Circuit, Any]:
    """Return a circuit, and values, source, target and weight; one target has most connections."""
    rng = np.random.default_rng(1)
    values = rng.integers(-3, 4, 60) / 2.0
    target = np.concatenate([rng.integers(0, 40, 300), np.full(100, 7)])
    target = np.sort(target[target != 5])
    source = rng.integers(0, 60, len(target)).astype(np.int32)
    weight = rng.integers(-2, 3, len(target)) / 2.0
    ends = source, (60 + target).astype(np.int32)
    links = []
    for name in REDUCTIONS:
        links.append(nd.Connections("x", f"of_{name}", *ends))
        links.append(nd.Connections("x", f"by_{name}", *ends, data={"weight": weight}))
    offset = np.where(np.arange(40) % 2, 0.25, 0.0)
    groups = [(Told, 60, {"first": values}, None), (Reduced, 40, {"offset": offset}, None)]
    return nd.Circuit.from_arrays(groups, links), (values, source, target, weight, offset)


def expected(values: Any, source: Any, target: Any, weight: Any, offset: Any) -> dict[str, Any]:
    out = {}
    for head, each in (("r_", values[source]), ("w_", weight * values[source] + offset[target])):
        for name in REDUCTIONS:
            rows = [each[target == t] for t in range(40)]
            out[f"{head}{name}"] = [WAYS[name](row) if len(row) else EMPTY[name] for row in rows]
    return out
