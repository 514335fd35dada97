"""The texts of a GPU's threads on the host: the bits of the CPU's kernels."""

from __future__ import annotations

import numpy as np
import pytest
from host_threads import HostThreads
from layered import CIRCUITS
from placed import circuit

import neurodriver as nd
from neurodriver.circuits import optic_lobe


def check(one: nd.Circuit, dtype: str, steps: int, own: int = 1) -> set[str]:
    """Compare all variables of a circuit; return the forms of its sums."""
    threads = HostThreads(one, 1e-3, dtype, own)
    threads.advance(steps)
    groups = list(enumerate(one.groups))
    spread = 0
    with nd.LPU(one, dt=1e-3, dtype=dtype) as lpu:
        lpu.advance(steps)
        for variable in sorted({v for _, group in groups for v in group.model.updates}):
            mine = (number for number, group in groups if variable in group.model.updates)
            found = np.concatenate([threads.get(number, variable) for number in mine])
            want = np.ravel(lpu.get(variable))
            assert want.tobytes() == found.tobytes(), variable
            spread = max(spread, len(np.unique(want)))
    assert spread > 2
    return {gather.form for gather in threads.program.gathers.values()}


@pytest.mark.parametrize(
    ("kind", "masked", "dtype", "own"),
    [("closed uneven", False, "float64", 1), ("uneven", True, "float32", 2)],
)
def test_connections_that_are_stored_nowhere(kind: str, masked: bool, dtype: str, own: int) -> None:
    """A thread has one component, or two of one row."""
    assert check(circuit(kind, masked, False), dtype, 5, own) == {"by_place"}


@pytest.mark.parametrize(("extent", "own"), [(3, 1), (20, 2)])
def test_the_optic_lobe_from_its_rules(extent: int, own: int) -> None:
    """Rows are longer than a warp at extent 20."""
    one = optic_lobe.from_rules(extent, stored=False)
    assert "by_place" in check(one, "float32", 4 if own > 1 else 20, own)
    assert not any("_columns" in vars(links) for links in one.connections)


@pytest.mark.parametrize(
    ("name", "own"), [("windows", 1), ("windows", 4), ("extremes", 1), ("look-ups", 1)]
)
def test_cells_side_by_side_and_split_loops(name: str, own: int) -> None:
    check(CIRCUITS[name](), "float64", 2, own)
