"""Small spiking circuits: LeakyIAF neurons, ten SynapseAMPA each, no sub-steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.model.library import shipped

from .table import Row, Table, bytes_of

DT = 1e-4
INPUTS = 10
CURRENT = 3.0
"""uA/cm^2: above the threshold of 2.5 that the membrane has without synapses."""


def circuit(components: int) -> nd.Circuit:
    """Return neurons with random inputs, as many components in all as asked for, or up to ten more.

    Four neurons of five excite.
    """
    rng = np.random.default_rng(1)
    neurons = -(-components // (1 + INPUTS))
    synapse = np.arange(neurons, neurons * (1 + INPUTS), dtype=np.int32)
    source = rng.integers(0, neurons, synapse.size).astype(np.int32)
    target = np.repeat(np.arange(neurons, dtype=np.int32), INPUTS)
    cell: dict[str, Any] = {"resting_potential": -70.0, "threshold": -45.0, "capacitance": 2.0}
    cell |= {"reset_potential": -70.0, "resistance": 10.0}
    cell["initV"] = rng.uniform(-70.0, -45.0, neurons)
    groups = [
        (shipped()["LeakyIAF"], neurons, cell, None),
        (shipped()["SynapseAMPA"], synapse.size, {"gmax": 0.003, "st": 5.0}, None),
    ]
    links = [
        nd.Connections("spike_state", "spike_state", source, synapse),
        nd.Connections("g", "I", synapse, target, data={"reverse": np.where(source % 5, 0, -80.0)}),
    ]
    return nd.Circuit.from_arrays(groups, links, name=f"lif_ampa {components}")


def current(made: nd.Circuit) -> list[nd.StepInput]:
    """Return the constant current into every neuron."""
    return [nd.StepInput("I", made.groups[0].uids, CURRENT)]


def table(table: Table) -> list[Row]:
    """Return one row for each size."""
    rows = []
    for components, target in ((1_000, 0.6), (10_000, 1.5)):
        made = circuit(components // 5 if table.small else components)
        rate = table.rate(made, DT, current(made), 10_000)
        with table.lpu(made, DT, current(made)) as lpu:
            spent = table.timed(lpu)
            floor = table.floor(lpu, bytes_of(lpu))
        case = f"{made}, {rate:.0f} Hz, float64"
        rows.append(table.row(case, spent, target, floor))
    return rows
