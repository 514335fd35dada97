"""Storage order on a device: rows of a grid begin at whole slices."""

from __future__ import annotations

import numpy as np
import pytest

from neurodriver import Circuit, Connections, NDComponent, Parameter
from neurodriver.circuits import optic_lobe
from neurodriver.native.buffers import LANES
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.ordering import by_rows
from neurodriver.plan.target import CUDA


class Cell(NDComponent):
    """Follows what its neighbours give."""

    accesses = ("r",)
    updates = ("r",)
    params = {"gain": Parameter("1", 0.1)}
    states = {"r": 0.0}
    update = "r = gain * input_r;"


class Spiking(Cell):
    """Tells when it is high, too."""

    updates = ("r", "spike_state")
    update = "r = gain * input_r; if (r > 1) spike_state = 1;"


def grid(height: int, width: int, kind: type[NDComponent] = Cell) -> Circuit:
    """Return cells on a grid, each fed by itself and its neighbours in a square."""
    y, x = np.divmod(np.arange(height * width), width)
    source, target = [], []
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            there = (y + dy >= 0) & (y + dy < height) & (x + dx >= 0) & (x + dx < width)
            target.append(np.flatnonzero(there))
            source.append(target[-1] + dy * width + dx)
    order = np.argsort(np.concatenate(target), kind="stable")
    ends = [np.concatenate(c)[order].astype(np.int32) for c in (source, target)]
    links = [Connections("r", "r", *ends)]
    return Circuit.from_arrays([(kind, height * width, {}, None)], links)


@pytest.mark.parametrize(("width", "places"), [(24, 32), (31, 32), (33, 48), (47, 48)])
def test_rows_begin_at_whole_slices(width: int, places: int) -> None:
    """Each row is stored from a multiple of the slices' width on, in order."""
    (found,) = by_rows(grid(20, width), {}).values()
    rows = found.reshape(20, width)
    assert np.array_equal(rows[:, 0], places * np.arange(20)) and places % LANES == 0
    assert (np.diff(rows, axis=1) == 1).all()


@pytest.mark.parametrize("width", [5, 16, 20, 32])
def test_rows_that_stay(width: int) -> None:
    """Rows of whole slices need nothing; short ones, and ones that waste much, are let be."""
    assert by_rows(grid(20, width), {}) == {}


def test_who_has_no_rows() -> None:
    """A random graph, and neurons that spike: a place without a component would spike, too."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 480, (2, 9000)).astype(np.int32)
    links = [Connections("r", "r", *ends)]
    assert by_rows(Circuit.from_arrays([(Cell, 480, {}, None)], links), {}) == {}
    assert by_rows(grid(20, 24, Spiking), {}) == {}
    assert by_rows(grid(20, 24), {}, {0}) == {}
    assert by_rows(grid(20, 24), {0: np.arange(480)[::-1]}) == {}


def test_records_of_the_optic_lobe() -> None:
    """No slice has more records than a cell has connections, but for a few at the edges."""
    circuit = optic_lobe.circuit(10)
    program = compile_circuit(circuit, 5e-3, "float32", target=CUDA)
    places = program.layout.positions[0]
    assert len(np.unique(places)) == circuit.count < places.max() < 1.5 * circuit.count
    gather = program.gathers[0, "r"]
    records = np.diff(gather.arrays["start"])
    most = np.bincount(circuit.connections[0].target).max()
    assert gather.form == "lattice" and records.max() <= most + LANES
    assert program.layout.elements(0, "r")[-1] == program.layout.segment(0, "r").start + places[-1]
