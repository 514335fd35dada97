"""Numbers that float32 cannot hold are refused, or warned of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from support import DT, model

import neurodriver as nd

LIF = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
       "time_constant": 20.0, "refractory_period": 0.5}  # fmt: skip


def circuit(weight: Any = 0.5, **given: Any) -> nd.Circuit:
    """Return three neurons and three connections."""
    ends = np.array([0, 1, 2], np.int32), np.array([1, 2, 0], np.int32)
    data = {"weight": np.asarray(weight, np.float64)}
    links = nd.Connections("spike_state", "spike_state", *ends, 1e-3, data)
    group = model("LeakyIAFDelta"), 3, {**LIF, **given}, ["a", "b", "c"]
    return nd.Circuit.from_arrays([group], [links])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"threshold": [-50.0, 1e39, -50.0]}, "'threshold' of 'b': 1e+39 is infinite in float32"),
        ({"time_constant": 1e300}, "'time_constant' of 'a': 1e+300 is infinite"),
        ({"weight": [0.5, 0.5, -4e38]}, "'weight' of connections 1 (spike_state), row 2: -4e+38"),
    ],
)
def test_overflow(given: dict[str, Any], says: str) -> None:
    """In float64 they are legal."""
    made = circuit(**given)
    nd.LPU(made, DT).close()
    with pytest.raises(nd.CircuitError) as caught:
        nd.LPU(made, DT, dtype="float32")
    assert says in str(caught.value) and "dtype='float64'" in str(caught.value)


@pytest.mark.parametrize("given", [{"initV": [-55.0, 1e-60, -55.0]}, {"weight": 1e-46}])
def test_underflow(given: dict[str, Any]) -> None:
    """A number that becomes 0 gives one warning."""
    with pytest.warns(UserWarning, match=r"is 0 in float32; take dtype='float64'") as caught:
        nd.LPU(circuit(**given), DT, dtype="float32").close()
    assert len(caught) == 1


@pytest.mark.parametrize("weight", [1e-45, -3.4e38, [0.0, 1e-40, 1e38]])
def test_what_float32_holds(weight: Any) -> None:
    """Also numbers near both ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nd.LPU(circuit(weight), DT, dtype="float32").close()
