"""A connection variable may have any name that no table of connections has."""

from __future__ import annotations

import numpy as np
import pytest
from connection_names import NAMES, potentials, reading

from neurodriver.errors import ModelError
from neurodriver.model.declarations import OF_CONNECTIONS


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
