"""A connection variable may have any name that no table of connections has."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from connection_names import NAMES, circuit, potentials, reading
from looped import DT

from neurodriver.errors import ModelError
from neurodriver.model.declarations import OF_CONNECTIONS
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CPU, CUDA


@pytest.mark.parametrize("loop", [False, True], ids=["sum", "loop"])
@pytest.mark.parametrize("name", NAMES)
def test_names_of_connection_variables(name: str, loop: bool) -> None:
    wanted = potentials("w", loop)
    assert np.unique(wanted).size > 20
    assert np.array_equal(potentials(name, loop), wanted)


@pytest.mark.parametrize("name", [*sorted(OF_CONNECTIONS), "delay", "spike_state"])
def test_names_that_mean_something_else(name: str) -> None:
    said = rf"Reading.accesses\['exc'\]: a connection variable '{name}' .* choose another name"
    with pytest.raises(ModelError, match=said):
        reading(name, False)


def test_all_tables_are_known() -> None:
    """What plans store beside a connection variable ``w`` has a name that is refused."""
    found = set()
    for loop, longest, target in product((False, True), (1, 5), (CPU, CUDA)):
        program = compile_circuit(circuit("w", loop, longest), DT, target=target)
        found |= {name for gather in program.gathers.values() for name in gather.arrays}
    assert {"back", "degree", "element", "event_element", "start"} <= found
    assert found - {"w", "event_w"} <= OF_CONNECTIONS
