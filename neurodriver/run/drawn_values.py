"""Values that are set between calls as a distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.distributions import Distribution, faults_of, in_unit
from ..circuit.numbers_drawn import numbers_drawn
from ..circuit.random_keys import component_keys
from ..errors import NeurodriverError
from .live_places import Live


def drawn(
    law: Distribution, simulation: Live, cells: NDArray[np.int64], name: str, unit: str, said: str
) -> NDArray[np.float64]:
    """Return a number for each of some components, (n,).

    It is a function of the seed, the step, the name, the first component and the place among them.

    Raises
    ------
    NeurodriverError
        For a distribution of wrong numbers, or of another unit.
    """
    plain: Any = in_unit(law, unit, said)
    for text in faults_of(plain):
        raise NeurodriverError(f"{said}: {text}")
    circuit = simulation.program.circuit
    group = int(circuit.group_of(cells[:1])[0])
    first = component_keys(circuit, group)[cells[0] - circuit.starts[group]]
    label = f"{first:x}\0{name}\0{simulation.step}"
    return numbers_drawn(plain, len(cells), simulation.program.seed, label, "set")
