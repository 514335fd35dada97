"""A job that is saved goes on with equal bits, whichever rank its LPUs are on before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutting import after, assert_equal_bits, managed, network, random_parts, whole, with_crossings
from support import weighted_network

from neurodriver import Circuit, Input, StepInput
from neurodriver.circuit.cut import cut
from neurodriver.mpi import world

STEPS, NAMES = 500, ("a", "b", "c")
PLACES = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
CHAINS = [PLACES[:3], PLACES[1:], (PLACES[3], PLACES[0], PLACES[1]), PLACES[2:0:-1] * 2]
FIRST, SECOND = 217, 90


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """One file for both ranks."""
    yield Path(world().spread(str(tmp_path))) / "job.h5"
    world().gather(None)


def interrupted(
    circuit: Circuit,
    inputs: Sequence[Input],
    path: Path,
    places: Sequence[Sequence[int]],
    more: int,
    **settings: Any,
) -> int:
    """Save a job twice and compare what it records; return how many columns were compared."""
    part = random_parts(circuit, 3, 2)
    expected = whole(with_crossings(circuit, part, more=more), inputs, STEPS, **settings)
    pieces, done, compared = cut(circuit, part, NAMES), 0, 0
    assert sum(map(len, expected["spike_state"].values())) > 50
    for number, steps in enumerate([FIRST, SECOND, STEPS - FIRST - SECOND]):
        ranks = dict(zip(NAMES, places[number], strict=True))
        resumed = path if number else None
        man, found = managed(pieces, inputs, steps, more * 1e-4, ranks, path, resumed, **settings)
        assert set(man.lpus) == {name for name in NAMES if ranks[name] == man.rank}
        done += steps
        if found:
            here = {
                variable: {
                    uid: data[data < (done - 0.5) * 1e-4] if variable == "spike_state" else
                    data[:steps] for uid, data in columns.items()
                }
                for variable, columns in after(expected, done - steps).items()
            }  # fmt: skip
            compared += assert_equal_bits(here, found, all_of=False)
    return compared


@pytest.mark.parametrize("places", CHAINS)
@pytest.mark.parametrize("more", [0, 3])
def test_any_placement(places: Any, more: int, path: Path) -> None:
    """From both ranks to one and back, with windows of one step and of several."""
    circuit, inputs = network(40, 3)
    assert sum(world().gather(interrupted(circuit, inputs, path, places, more))) > 100


@pytest.mark.parametrize("large", [1, 12])
@pytest.mark.parametrize("more", [0, 1, 4])
def test_rows_in_rings(large: int, more: int, path: Path, monkeypatch: Any) -> None:
    """Blocks that go from ring to ring."""
    monkeypatch.setattr("neurodriver.parallel.buffers.LARGE", large)
    circuit, inputs = network(50, 2)
    places = PLACES[1], PLACES[2], PLACES[3]
    assert sum(world().gather(interrupted(circuit, inputs, path, places, more))) > 100


@pytest.mark.parametrize("places", CHAINS)
@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("more", [0, 4])
def test_weighted_spikes(places: Any, least: int, more: int, path: Path) -> None:
    """Sums on their way hold the spikes that have not reached the other rank."""
    circuit = weighted_network(60, least)
    inputs: list[Input] = [StepInput("I", circuit.uids[:60], np.linspace(5.0, 30.0, 60))]
    assert sum(world().gather(interrupted(circuit, inputs, path, places, more))) > 50
