"""Five LPUs on four ranks give the bits of one LPU in one process."""

from __future__ import annotations

import pytest
from cutting import assert_equal_bits, managed, network, random_parts, whole, with_crossings
from learning_networks import assert_parts_learn_alike

from neurodriver.circuit.cut import cut
from neurodriver.mpi import world

STEPS = 200


@pytest.mark.parametrize("seed", [11, 12])
def test_same_bits(seed: int) -> None:
    """One rank has two LPUs: crossings within a process and between processes mix."""
    circuit, inputs = network(80, seed)
    part = random_parts(circuit, 5, seed)
    expected = whole(with_crossings(circuit, part), inputs, STEPS)
    man, found = managed(cut(circuit, part, list("abcde")), inputs, STEPS)
    assert len(man.lpus) in (1, 2)
    assert assert_equal_bits(expected, found, all_of=False) > 40


def test_synapses_learn() -> None:
    """A part on each rank has the bits of the whole."""
    assert_parts_learn_alike(world().size)
    world().gather(None)
