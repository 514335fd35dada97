"""Random numbers do not depend on the ranks: neither those of LPUs, nor those of parts."""

from __future__ import annotations

import numpy as np
import pytest
from cutting import assert_equal_bits, managed, random_parts, whole, with_crossings
from noisy import (
    NEURONS,
    RECORD,
    assert_independent,
    echoed,
    echoes,
    noisy_arrays,
    noisy_graph,
    random_inputs,
    side_by_side,
)
from support import DT, assert_same_bits, simulate

from neurodriver.circuit.cut import cut
from neurodriver.errors import CircuitWarning
from neurodriver.mpi import world

STEPS = 400
PLACES = [{"left": 0, "right": 1}, {"left": 1, "right": 0}, {"left": 1, "right": 1}]


@pytest.mark.parametrize("make", [noisy_graph, noisy_arrays])
@pytest.mark.parametrize("more", [0, 4])
def test_parts_draw_the_numbers_of_the_whole(make: type, more: int) -> None:
    """With noise of models and of inputs, a part on each rank."""
    circuit = make()
    part = random_parts(circuit, 2, 5)
    inputs = random_inputs(circuit)
    expected = whole(with_crossings(circuit, part, more=more), inputs, STEPS, seed=3)
    parts = cut(circuit, part, ["a", "b"])
    ranks = {"a": 0, "b": 1}
    _, found = managed(parts, inputs, STEPS, more * DT, ranks=ranks, seed=3)
    assert assert_equal_bits(expected, found, all_of=False) > NEURONS


@pytest.mark.parametrize("ranks", PLACES)
def test_lpus_draw_their_own_numbers(ranks: dict[str, int]) -> None:
    """Wherever an LPU is, its numbers are those of its id; those of the other one are others."""
    circuit = noisy_graph()
    inputs = random_inputs(circuit)  # both LPUs take the same ones
    found = side_by_side(dict.fromkeys(ranks, (circuit, inputs)), STEPS, ranks=ranks)
    assert set(found) == {name for name in ranks if ranks[name] == world().rank}
    for name, data in found.items():
        alone = circuit.in_random_namespace(name)
        assert_same_bits(data, simulate(alone, DT, STEPS, random_inputs(alone), RECORD))


def test_inputs_are_independent() -> None:
    """Rows of two ranks, side by side."""
    circuit, steps = echoes(10), 3000
    lpus = {n: (circuit, echoed(circuit)) for n in ("left", "right")}
    found = side_by_side(lpus, steps, [("x", None)], ranks=PLACES[0])
    told = world().gather({name: data["x"] for name, data in found.items()}, 30.0)
    rows = {name: x for one in told for name, x in one.items()}
    assert_independent(rows["left"], rows["right"])


def test_every_rank_is_told_of_shared_numbers() -> None:
    """LPUs of one namespace are compared wherever they are."""
    circuit = noisy_arrays().in_random_namespace("both")
    text = "LPUs 'left', 'right' draw the same random numbers"
    with pytest.warns(CircuitWarning, match=text):
        found = side_by_side({n: (circuit, []) for n in PLACES[0]}, 20, ranks=PLACES[0])
    assert np.ptp(next(iter(found.values()))["I"]) > 0
