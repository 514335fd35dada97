"""What accesses make of the values of their connections, against NumPy: ties, empty, long tails."""

from __future__ import annotations

import numpy as np
import pytest
from reductions import EMPTY, REDUCTIONS, Reduced, drawn, expected

import neurodriver as nd
from neurodriver.errors import CircuitError, ModelError


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_reductions_are_those_of_numpy(dtype: str) -> None:
    circuit, given = drawn()
    want = expected(*given)
    bits = []
    for threads, plans in ((1, True), (3, True), (1, False)):
        with nd.LPU(circuit, dt=1e-3, dtype=dtype, threads=threads, plans=plans) as lpu:
            lpu.advance(1)
            found = {name: lpu["Reduced"].get(name).copy() for name in want}
        bits.append(found)
        for name in want:
            exact = name[2:] in ("max", "min", "any", "argmax", "sum")
            tolerance = 0 if exact else 1e-5 if dtype == "float32" else 1e-14
            assert found[name] == pytest.approx(np.array(want[name]), rel=tolerance, abs=0), name
    for other in bits[1:]:
        assert all((other[name] == bits[0][name]).all() for name in want)


def test_nothing_is_connected() -> None:
    with nd.LPU(nd.Circuit([nd.Population(Reduced, 3, name="r")]), dt=1e-3) as lpu:
        lpu.advance(1)
        for name in REDUCTIONS:
            assert (lpu["r"].get(f"r_{name}") == EMPTY[name]).all()


def test_what_is_refused() -> None:
    with pytest.raises(ModelError, match=r"no reduction 'maximum'.*there are sum, max"):
        type("Wrong", (nd.NDComponent,), {"accesses": [nd.Access("x", reduce="maximum")],
                                          "updates": ["y"], "update": "y = x;"})  # fmt: skip
    weight = {"weight": nd.Parameter("", 1.0)}
    model = type("Greatest", (nd.NDComponent,), {
        "accesses": [nd.Access("spike_state", "", "weight * spike_state", weight, reduce="max")],
        "updates": ["spike_state"], "update": "spike_state = input_spike_state > 0;"})  # fmt: skip
    cells = nd.Population(model, 3, name="c")
    learn = nd.Projection(cells, cells, nd.AllToAll(), plasticity=nd.PairSTDP(), name="p")
    with pytest.raises(CircuitError, match="takes the max of its inputs; only a sum can be learn"):
        nd.Circuit([cells], [learn])
