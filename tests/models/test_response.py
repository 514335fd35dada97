"""The weakest stimulus that makes a resting cell fire is that of a closed form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from support import model

from neurodriver.circuit.groups import Group
from neurodriver.circuit.initial import initial_states
from neurodriver.model.response import MARGIN, Response, weakest

LIF = {"resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0}
GRID = 1.03
"""The trial's strengths are that far from each other."""


def response(name: str, access: str, given: Mapping[str, float], count: int = 1) -> Response | None:
    """Return the response of cells of a model."""
    kind = model(name)
    group = Group(kind, {k: np.asarray(v) for k, v in given.items()}, count)
    params = {
        key: np.broadcast_to(
            np.asarray(group.params.get(key, kind.params[key].default), float), (count,)
        )
        for key in kind.fixed_params()
    }
    return weakest(kind, access, params, initial_states(group))


def test_a_jump_reaches_the_threshold() -> None:
    """A delta synapse needs the distance to the threshold; ten times that is one spike, too."""
    given = {**LIF, "time_constant": 10.0, "refractory_period": 2.0}
    found = response("LeakyIAFDelta", "spike_state", given)
    assert found is not None
    assert 15.0 <= found.strength <= 15.0 * GRID and found.latency <= 2e-4
    assert found.single == pytest.approx(MARGIN * found.strength)


def test_a_pulse_charges_the_membrane() -> None:
    """A current of 1 ms charges the membrane for 1 ms, and the least sensitive cell decides."""
    given = {**LIF, "time_constant": 10.0, "capacitance": 250.0}
    needed = 15.0 * 250.0 / (10.0 * -np.expm1(-0.1))  # pA
    found = response("LeakyIAFDelta", "I", given)
    assert found is not None and needed <= found.strength <= needed * GRID
    several = {**given, "threshold": np.array([-60.0, -50.0, -55.0])}
    all_of_them = response("LeakyIAFDelta", "I", several, 3)
    assert all_of_them is not None and all_of_them.strength == found.strength


def test_a_conductance_makes_one_spike() -> None:
    """A long conductance makes several spikes where it is strong; the choice stays below that."""
    given = {**LIF, "leak_conductance": 10.0, "capacitance": 200.0, "tau_exc": 5.0, "tau_inh": 9.0}
    found = response("LeakyIAFExpConductance", "exc", given)
    assert found is not None and found.strength <= found.single < 2 * found.strength


@pytest.mark.parametrize(
    ("name", "access", "given"),
    [
        ("GradedNeuron", "I", {"time_constant": 5.0}),
        ("LeakyIAFExpConductance", "inh", {**LIF, "leak_conductance": 10.0, "capacitance": 200.0,
                                           "tau_exc": 5.0, "tau_inh": 9.0}),
        ("AlphaSynapse", "spike_state", {"gmax": 1.0, "ar": 0.1, "ad": 0.2}),
    ],
)  # fmt: skip
def test_nothing_makes_it_fire(name: str, access: str, given: dict[str, float]) -> None:
    """A model without spikes, and inhibition, have no such stimulus."""
    assert response(name, access, given) is None
