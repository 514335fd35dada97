"""The first value that is NaN or infinite: found at its step, whatever runs it, and told."""

import re
import warnings

import numpy as np
import pytest
from host_threads import HostThreads
from support import IAF, build, node

from neurodriver import (
    LPU,
    Circuit,
    Connections,
    Manager,
    MemoryRecorder,
    NDComponent,
    NonFiniteError,
    Parameter,
    State,
    StepInput,
)
from neurodriver.codegen.finite import watched
from neurodriver.errors import CircuitWarning, LPUExecutionError, NeurodriverError
from neurodriver.plan.diagnostics import FAULT, NO_FAULT, Diagnostics

DT = 1e-4


class Growing(NDComponent):
    """Multiplies a hidden number and adds it to its potential."""

    updates = ("V",)
    params = {"factor": Parameter("1"), "start": Parameter("1", default=1.0)}
    states = {"V": State("mV"), "hidden": State("1", "start")}
    update = "hidden = hidden * factor; V = 0.5 * V + (hidden > 1e30 ? 0 : hidden);"


class Exponential(NDComponent):
    """Calls a function whose infinity comes without arithmetic."""

    accesses = ("I",)
    updates = ("V",)
    states = {"V": State("mV")}
    update = "V = V + I; real large = exp(1 * V); V = V > 2000 ? large : V;"


class Twice(NDComponent):
    """Takes two sub-steps a step, and publishes a function of its state."""

    updates = {"y": "1"}
    states = {"x": State("1", 1e150)}
    maximum_dt = DT / 2
    update = "x = x * 2;"
    outputs = {"y": "x * x"}


class Passing(NDComponent):
    """A value that is infinite in one step only, from a constant that is infinite."""

    updates = {"y": "1"}
    params = {"zero": Parameter("1", default=0.0)}
    states = {"n": State("1")}
    constants = {"endless": "1 / zero"}
    update = "n = n + 1; y = n == 40 ? endless : 0;"


class Free(NDComponent):
    """May be infinite."""

    updates = ("V",)
    states = {"V": State("mV", 1e300, infinite=True)}
    update = "V = V * 10;"


class Relay(NDComponent):
    """Sums what arrives, from memory of its own form."""

    accesses = ("V",)
    updates = {"r": "1"}
    update = "r = V * 1e10;"


def growing(count=700, first=321, factor=10.0):
    """Return components of which all from ``first`` on grow, one after the other in size."""
    start = np.full(count, 1.0)
    factors = np.where(np.arange(count) >= first, factor, 0.5)
    return Circuit.from_arrays([(Growing, count, {"factor": factors, "start": start}, None)], [])


def failure(circuit, steps=2000, **how):
    with LPU(circuit, DT, **how) as lpu, pytest.raises(NonFiniteError) as caught:
        lpu.run(steps)
    return caught.value


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_hidden_state_is_told_with_the_first_step_and_component(threads, dtype):
    error = failure(growing(), threads=threads, dtype=dtype)
    step = 309 if dtype == "float64" else 39
    assert error.step == step
    assert f"hidden of 'Growing/321' (Growing) is inf at step {step:,}" in str(error)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_of_a_gpu_find_the_same(dtype):
    """Run on the host; a number near the greatest one is finite, though a thread looks at it."""
    count, first = 70, 41
    large = 1e308 if dtype == "float64" else 3e38
    start = np.where(np.arange(count) == 5, large, 1.0)
    factor = np.select([np.arange(count) == 5, np.arange(count) >= first], [1.0, 1e12], 0.5)
    circuit = Circuit.from_arrays([(Growing, count, {"factor": factor, "start": start}, None)], [])
    threads = HostThreads(circuit, DT, dtype, watch=Diagnostics(finite=True))
    steps = 25 if dtype == "float64" else 3
    threads.advance(steps)
    assert threads.array(FAULT)[1] == NO_FAULT
    threads.advance(2)
    _, step, component, which, known, _, value, _ = threads.array(FAULT)
    assert (step, component, known) == (steps, first, False)
    assert watched(Growing)[which] == "hidden" and np.int64(value).view(np.float64) == np.inf
    error = failure(circuit, dtype=dtype)
    assert error.step == steps + 1 and f"hidden of 'Growing/{first}'" in str(error)


def test_call_lengths_and_recordings_do_not_matter():
    messages = set()
    for per_call in (1, 7, 2000):
        for recorded in (False, True):
            recorders = [MemoryRecorder([("V", None)])] if recorded else []
            with LPU(growing(), DT, recorders=recorders) as lpu:
                lpu.start(2000)
                with pytest.raises(NonFiniteError) as caught:
                    for _ in range(0, 2000, per_call):
                        lpu.advance(per_call)
                messages.add(str(caught.value))
    assert len(messages) == 1


def test_value_of_the_step_before_is_told_where_memory_has_it():
    recorder = MemoryRecorder([("y", None)])
    circuit = Circuit.from_arrays([(Twice, 3, {}, None)], [])
    error = failure(circuit, recorders=[recorder])
    before = re.search(r"is inf at step ([\d,]+) .*at step ([\d,]+) it was (\S+);", str(error))
    assert before is not None, error
    step = int(before[1].replace(",", ""))
    assert int(before[2].replace(",", "")) == step - 1
    assert float(before[3]) == pytest.approx((1e150 * 4.0 ** (step - 1)) ** 2, rel=1e-6)


def test_infinity_of_a_function_is_found():
    circuit = Circuit.from_arrays([(Exponential, 40, {}, None)], [])
    source = StepInput("I", circuit.uids[17:20], 100.0, 0.0, 1.0)
    error = failure(circuit, inputs=[source])
    assert "V of 'Exponential/17' (Exponential) is inf at step 21" in str(error)


def test_infinite_constant_that_shows_in_one_step_is_found():
    circuit = Circuit.from_arrays([(Passing, 5, {}, None)], [])
    error = failure(circuit, recorders=[MemoryRecorder([("y", None)])])
    assert error.step == 40
    assert "y of 'Passing/0' (Passing) is inf at step 40" in str(error)
    assert "at step 39 it was 0" in str(error)


def test_source_is_told_and_not_what_it_infects():
    count = 40
    ends = np.arange(count, dtype=np.int32)
    factors = np.full(count, 0.5)
    factors[33] = 10.0
    circuit = Circuit.from_arrays(
        [(Relay, count, {}, None), (Growing, count, {"factor": factors}, None)],
        [Connections("V", "V", (count + ends).astype(np.int32), ends[::-1].copy(), 2e-4)],
    )
    error = failure(circuit)
    assert "of 'Growing/33' (Growing)" in str(error) or "r of 'Relay/6' (Relay)" in str(error)
    assert error.step > 200


def test_rows_before_the_fault_are_recorded(tmp_path):
    from neurodriver import HDF5Recorder, open_recording

    path = tmp_path / "rows.h5"
    circuit = Circuit.from_arrays([(Twice, 3, {}, None)], [])
    error = failure(circuit, recorders=[HDF5Recorder(path, [("y", None)])])
    with open_recording(path) as recording:
        values = np.asarray(recording["y"])
    assert len(values) >= error.step
    expected = (1e150 * 4.0 ** np.arange(error.step)) ** 2
    np.testing.assert_allclose(values[: error.step, 0], expected, rtol=1e-12)
    assert np.isinf(values[error.step, 0])


def test_warning_comes_once_and_the_run_goes_on():
    with LPU(growing(), DT, nonfinite="warn") as lpu:
        with pytest.warns(CircuitWarning, match="hidden of 'Growing/321'") as told:
            lpu.run(3000)
        assert lpu.step == 3000
    assert len(told) == 1


def test_off_and_states_that_may_be_infinite_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with LPU(growing(), DT, nonfinite="off") as lpu:
            lpu.run(2000)
        with LPU(Circuit.from_arrays([(Free, 3, {}, None)], []), DT) as lpu:
            lpu.run(2000)


def test_unknown_policy_is_refused():
    with pytest.raises(NeurodriverError, match="nonfinite must be one of"):
        LPU(growing(), DT, nonfinite="ignore")


def test_what_is_watched():
    class Counts(NDComponent):
        updates = ("spike_state", "n")
        states = {"left": State("1")}
        update = "spike_state = left > 0 ? 1 : 0; n = left; left = left > 3 ? 0 : left + 1;"

    assert watched(Counts) == ["left", "n"]
    assert watched(Free) == []


def test_manager_names_the_lpu():
    manager = Manager(quiet=True)
    manager.add(LPU, "calm", growing(factor=1.0), DT)
    manager.add(LPU, "wild", growing(), DT)
    with pytest.raises(LPUExecutionError, match="hidden of 'wild/Growing/321'") as caught:
        manager.start(steps=2000)
        manager.wait()
    assert caught.value.lpu == "wild"
    assert caught.value.step >= 309


class Wild(NDComponent):
    """A synapse that grows without spikes."""

    accesses = ("spike_state",)
    updates = ("g",)
    params = {"factor": Parameter("1")}
    states = {"z": State("1", 1e-3)}
    update = "z = z * factor + spike_state;"
    outputs = {"g": "fmin(z, 1)"}


class Wilder(Wild):
    """The same with a function that sets no flag of the processor."""

    update = "z = z * factor + spike_state; if (z < 0) z = log(z);"


@pytest.mark.parametrize("model", [Wild, Wilder])
@pytest.mark.parametrize("plans", [True, False])
def test_synapses_that_are_advanced_with_their_sums(model, plans):
    nodes = {"a": node("LeakyIAF", IAF)}
    nodes |= {f"n{i}": node("LeakyIAF", IAF) for i in range(160)}
    edges = []
    for i in range(480):
        factor = {"factor": 10.0 if i in (323, 141) else 0.5}
        nodes[f"s{i}"] = {"class": model.__name__, "reverse": 0.0, **factor}
        edges += [("a", f"s{i}"), (f"s{i}", f"n{i % 160}")]
    circuit = build(nodes, edges, models=[model])
    with LPU(circuit, DT, plans=plans) as lpu:
        assert any(len(unit.specs) == 2 for unit in lpu.program.units) == plans
        with pytest.raises(NonFiniteError) as caught:
            lpu.run(1000)
    assert f"z of 's141' ({model.__name__}) is inf at step 312 " in str(caught.value)


def test_a_run_that_goes_on_is_looked_at_again() -> None:
    """After an error, and a value that is set right, the next runs find their own faults."""
    circuit = Circuit.from_arrays([(Growing, 3, {"factor": np.array([1e100, 1.0, 1.0])}, None)])
    with LPU(circuit, DT) as lpu:
        with pytest.raises(NonFiniteError, match="Growing/0") as first:
            lpu.run(20)
        lpu["Growing/0"].set("factor", 1.0)
        lpu["Growing/0"].set("hidden", 2.0)
        lpu.run(10)
        step = lpu.step
        assert np.isfinite(lpu.get("V")).all()
        lpu["Growing/2"].set("factor", 1e200)
        with pytest.raises(NonFiniteError, match="Growing/2") as second:
            lpu.run(20)
    assert first.value.step == 4 and second.value.step == step + 2
