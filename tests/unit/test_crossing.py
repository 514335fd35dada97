"""How warps send what they compute to other GPUs: what goes as bits, and who brings it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from neurodriver.backends.cuda import crossing, schedule
from neurodriver.backends.tables import PeerRows
from neurodriver.model.kinds import VariableKind
from neurodriver.plan.layout import Ring


def ring(kind: VariableKind) -> Ring:
    """Return a ring of groups of 40 and 20 components, and of inputs."""
    made = Ring("x", 4, kind)
    for owner, count in (("0", 40), ("2", 20), ("inputs", 5)):
        made.add(owner, count)
    made.width += 16
    return made


def units(*names: str) -> Any:
    """Return a unit of each group, whose warps send some variables."""
    kernel = SimpleNamespace(crosses=names)
    return [SimpleNamespace(kernel=kernel, groups=(n,)) for n in (0, 2)]


def test_spikes_go_as_bits() -> None:
    """A word is of 32 components of a group; the second group begins at element 48."""
    made = ring(VariableKind.EVENT)
    rows = crossing.crossing(made, units("x"), [0, 31, 32, 39, 48, 67])
    assert rows[:3] == (0, 112, 1)
    assert rows.places.tolist() == [0, 31, 32 * 32, 32 * 32 + 7, 48 * 32, 48 * 32 + 19]
    assert crossing.bytes_of(rows, 6, 4, 4) == 4 * (7 * 8 + 112 * 8)


@pytest.mark.parametrize("kind", list(VariableKind))
def test_values_and_copies(kind: VariableKind) -> None:
    """Spikes in another order go as values; inputs and units that do not send are copied."""
    made = ring(kind)
    rows = crossing.crossing(made, units("x"), [5, 3])
    assert rows[:3] == (0, 112, 0) and rows.places.tolist() == [5, 3]
    assert crossing.bytes_of(rows, 2, 4, 8) == 4 * 112 * 16
    for elements, given in (([0, 80], units("x")), ([0, 3], units("y")), ([], units("x"))):
        rows = crossing.crossing(made, given, elements)
        assert rows[:3] == (0, 0, 0)
    assert crossing.bytes_of(rows, 2, 4, 8) == 4 * 2 * 16


def test_warps_that_bring() -> None:
    """Idle ones, where a few words are left for each; else all."""
    plan = schedule.LaunchPlan("grid", 10, schedule.Shape(threads=320), (1,))
    spikes = PeerRows(0, 64, 1)
    few = crossing.bring_items(3, 100, spikes, 40, plan)
    many = crossing.bring_items(3, 1000, spikes, 40, plan)
    assert len(few) == 20 and len(many) == 100 and (few[:, 3] == 3).all()
    for items, count in ((few, 100), (many, 1000)):
        brought = [i for _, first, end, _ in items for i in range(first, end)]
        assert brought == list(range(count))
    for count, idle, size in ((300, 40, 32), (1000, 40, 64), (3000, 40, 128), (300, 0, 128)):
        values = crossing.bring_items(0, count, PeerRows(0, 64), idle, plan)
        assert (np.diff(values[:, 1:3])[:-1] == size).all() and values[-1, 2] == count
