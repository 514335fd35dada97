"""Values that are not finite, and PRINT and ERROR, on a GPU: what the CPU says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import test_same_bits_as_cpu as circuits

from neurodriver import (
    LPU,
    Circuit,
    Connections,
    MemoryRecorder,
    NDComponent,
    NonFiniteError,
    Parameter,
    State,
)
from neurodriver.errors import LPUExecutionError

DT = 1e-4


class Doubling(NDComponent):
    """Multiplies a hidden state; prints and fails where it is asked to."""

    accesses = ("V",)
    updates = ("V", "spike_state")
    params = {"factor": Parameter("1"), "loud": Parameter("1", default=0.0)}
    states = {"V": State("mV", 1.0), "hidden": State("1", 1.0)}
    update = """
        hidden = hidden * factor;
        V = 0.5 * V + 0.25 * input_V + (hidden > 1e30 ? 1 : hidden);
        spike_state = V > 1e3 ? 1 : 0;
        if (loud > 0) PRINT("V %.17g, hidden %.17g", V, hidden);
        if (loud > 1 && hidden > 50) ERROR("hidden is %g", hidden);
    """


class SubSteps(Doubling):
    """The same in two sub-steps."""

    maximum_dt = DT / 2


def circuit(model: type[NDComponent] = Doubling, loud: float = 0.0) -> Circuit:
    """Return components with random connections, of which some grow at the same time."""
    count, rng = 3_000, np.random.default_rng(3)
    factor = np.where(rng.random(count) < 0.01, 8.0, 0.5)
    voice = np.where(factor > 1, loud, 0.0)
    links = 4 * count
    ends = rng.integers(0, count, (2, links)).astype(np.int32)
    joined = [Connections("V", "V", *ends, rng.integers(1, 6, links) * DT)]
    return Circuit.from_arrays([(model, count, {"factor": factor, "loud": voice}, None)], joined)


def failure(error: type[Exception], loud: float = 0.0, model: Any = Doubling, **how: Any) -> str:
    """Return what ends a run."""
    recorders = [MemoryRecorder([("V", None)])]
    with LPU(circuit(model, loud), DT, recorders=recorders, **how) as lpu:
        with pytest.raises(error) as caught:
            lpu.run(700)
    return str(caught.value)


@pytest.mark.parametrize("model", [Doubling, SubSteps])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_first_value_that_is_not_finite(model: Any, dtype: str, executor: str) -> None:
    how = {"model": model, "dtype": dtype}
    wanted = failure(NonFiniteError, backend="cpu", **how)
    assert failure(NonFiniteError, backend="cuda", executor=executor, **how) == wanted
    assert "hidden of 'Doubling/" in wanted or "hidden of 'SubSteps/" in wanted


@pytest.mark.parametrize("model", [Doubling, SubSteps])
def test_lines_and_errors(model: Any, executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for how in ({"backend": "cpu"}, {"backend": "cuda", "executor": executor}):
        message = failure(LPUExecutionError, 2.0, model, debug=True, **how)
        said.append((message, capsys.readouterr().out))
    assert said[0] == said[1]
    assert said[0][1].count("\n") > 50


def test_values_are_the_same_with_and_without(executor: str) -> None:
    """What watches does not change the bits."""
    found = [
        circuits.run("random delays", "float64", executor=executor, nonfinite=policy)
        for policy in ("off", "raise")
    ]
    circuits.same(*found)
