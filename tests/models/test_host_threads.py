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


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize(
    ("kind", "masked", "dtype"), [("closed uneven", False, "float64"), ("uneven", True, "float32")]
)
def test_connections_that_are_stored_nowhere(kind: str, masked: bool, dtype: str) -> None:
    assert check(circuit(kind, masked, False), dtype, 5) == {"by_place"}


def test_the_optic_lobe_from_its_rules() -> None:
    one = optic_lobe.from_rules(3, stored=False)
    assert "by_place" in check(one, "float32", 20)
    assert not any("_columns" in vars(links) for links in one.connections)


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize(
    ("name", "own"), [("windows", 1), ("windows", 4), ("extremes", 1), ("look-ups", 1)]
)
def test_cells_side_by_side_and_split_loops(name: str, own: int) -> None:
    check(CIRCUITS[name](), "float64", 2, own)
