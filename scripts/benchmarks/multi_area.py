"""The multi-area model (Schmidt et al. 2018) at full size, in both states, and one area alone.

``MULTI_AREA_DATA`` is the folder of the model's numbers. Without it there is a network of the same
size in the ground state alone; the metastable state has no smaller form. Full size takes a GPU of
139 GiB, or with ``--devices 2`` two of 78 GiB.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .papers import example
from .seconds import Network, rows
from .table import Row, Table

DATA = "MULTI_AREA_DATA"
NAME = "schmidt_2018"

TOLD = {
    "ground": (3_000.0, 1_500.0, 0.6, "GeNN 4.3.3, Titan RTX: 474 s; NEST, 32 nodes: 8.3 s"),
    "metastable": (10_000.0, 6_000.0, 0.65, "GeNN 4.3.3, Titan RTX: 510 s; NEST, 32 nodes: 18 s"),
}
"""State -> two targets in ms a second, one for the ratio of two devices to one, published times."""


LONG = {"seconds": 10.0, "before": 0.5, "spikes": 6_018.0}
"""Of the metastable state, whose seconds differ by a factor of three: bursts come and go. So many
spikes a step, with 33.4 M arrivals, follow from the published rates."""

ALONE, ALONE_MS = "MDP", 120.0
"""An area that gets nothing from the others, and the target for it, in ms a second."""


def model(small: bool = False) -> dict[str, Any]:
    """Return the arguments of the example's ``network`` in the ground state."""
    example("potjans_diesmann_2014")  # which the other one imports
    module, folder = example(NAME), os.environ.get(DATA)
    anatomy = module.read(Path(folder)) if folder else None
    sizes, indegrees = (0.01, 0.1) if small else (1.0, 1.0)
    return {"anatomy": anatomy, "grid": module.GRID, "sizes": sizes, "indegrees": indegrees}


def table(table: Table) -> Iterator[Row]:
    """Yield a row for each state, and one for an area alone."""
    folder, full, small = os.environ.get(DATA), model(), model(small=True)
    networks = [
        Network(
            f"multi-area model, {state} state", NAME, full | {"state": state},
            small | {"state": state}, first, then, told, dtypes=("float32",), parts=parts,
            **(LONG if state == "metastable" else {}),
        )
        for state, (first, then, parts, told) in TOLD.items()
        if state == "ground" or (folder and not table.small)
    ]  # fmt: skip
    if folder and not table.small:
        alone = full | {"areas": (ALONE,)}
        title = f"multi-area model, area {ALONE} alone"
        networks.append(Network(title, NAME, alone, small, ALONE_MS, dtypes=("float32",)))
    return rows(table, *networks)
