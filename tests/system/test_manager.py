"""Several LPUs in one process give the bits of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cutting import assert_equal_bits, managed, network, random_parts, whole, with_crossings
from hypothesis import given, settings
from hypothesis import strategies as st
from support import (
    DT,
    IAF,
    POWER,
    assert_same_bits,
    build,
    model,
    node,
    recorded,
    simulate,
    started,
)

from neurodriver import LPU, Circuit, Connections, Manager, MemoryRecorder, StepInput, UserInput
from neurodriver.circuit.cut import cut
from neurodriver.errors import LPUExecutionError
from neurodriver.ports import Pattern

STEPS = 300


@settings(max_examples=15, deadline=None)
@given(
    neurons=st.integers(4, 60),
    parts=st.integers(2, 5),
    seed=st.integers(0, 10_000),
    more=st.integers(0, 3),
)
def test_cut_circuit_has_the_bits_of_the_whole(
    neurons: int, parts: int, seed: int, more: int
) -> None:
    """A random circuit, cut at random, equals the whole with the extra steps as delay."""
    circuit, inputs = network(neurons, seed)
    part = random_parts(circuit, parts, seed)
    part[:parts] = np.arange(parts)  # no part is empty
    for links in circuit.connections:
        if links.variable == "g":
            part[links.source] = part[links.target]
    expected = whole(with_crossings(circuit, part, more=more), inputs, STEPS)
    pieces = cut(circuit, part, [f"p{i}" for i in range(parts)])
    _, found = managed(pieces, inputs, STEPS, delay=more * 1e-4)
    assert_equal_bits(expected, found, all_of=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_spikes_cross(dtype: str) -> None:
    """Neurons of one LPU make those of another fire; with the crossings taken away they do not."""
    circuit, inputs = network(40, 7)
    part = random_parts(circuit, 3, 7)
    pieces = cut(circuit, part, ["a", "b", "c"])
    _, found = managed(pieces, inputs, STEPS, dtype=dtype)
    expected = whole(with_crossings(circuit, part), inputs, STEPS, dtype=dtype)
    assert_equal_bits(expected, found, all_of=True)
    pieces.crossings.clear()
    _, alone = managed(pieces, inputs, STEPS, dtype=dtype)
    spikes = [sum(map(len, data["spike_state"].values())) for data in (found, alone)]
    assert spikes[0] > spikes[1] > 0


def pair(record_a: list[str], record_b: list[str]) -> tuple[dict[str, MemoryRecorder], Manager]:
    """Return a manager of two LPUs, the potential of ``a`` led to a synapse onto ``b``."""
    port = {"class": "Port", "port_type": "gpot"}
    a = build(
        {
            "a": node("LeakyIAF", IAF, initV=-65.0),
            "out": {**port, "selector": "/a/v", "port_io": "out"},
        },
        [("a", "out", {"variable": "V"})],
    )
    b = build(
        {
            "in": {**port, "selector": "/b/v", "port_io": "in"},
            "s": node("PowerGPotGPot", POWER, threshold=-70.0, reverse=-30.0),
            "b": node("LeakyIAF", IAF),
        },
        [("in", "s"), ("s", "b")],
    )
    recorders = {
        "a": MemoryRecorder([("V", record_a)]),
        "b": MemoryRecorder([("V", record_b), ("g", ["s"])]),
    }
    man = Manager()
    man.add(LPU, "a", a, DT, [StepInput("I", ["a"], 3.0, 0.002, 0.02)], [recorders["a"]])
    man.add(LPU, "b", b, DT, [], [recorders["b"]])
    pattern = Pattern("/a/v", "/b/v")
    pattern["/a/v", "/b/v"] = 1
    man.connect("a", "b", pattern)
    return recorders, man


def test_ports_are_recorded() -> None:
    """An output port shows its source, an input port the same one step later."""
    recorders, man = pair(["a", "out"], ["b", "in"])
    man.spawn()
    man.start(steps=STEPS)
    man.wait()
    source, out = recorders["a"].get("V").T
    target, taken = recorders["b"].get("V").T
    assert recorders["b"].uids("V") == ["b", "in"]
    np.testing.assert_array_equal(out, source)
    np.testing.assert_array_equal(taken[1:], source[:-1])
    assert taken[0] == source[0] == -65.0
    assert np.ptp(source) > 1
    assert np.ptp(target) > 1
    # the synapse reads row k of its port and writes row k + 1
    expected = np.minimum(0.4, 0.02 * np.maximum(0.0, taken[:-1] + 70.0))
    np.testing.assert_allclose(recorders["b"].get("g")[1:, 0], expected, rtol=1e-14)


def test_recording_ports_changes_nothing() -> None:
    """The bits are the same, whether somebody looks at the ports or not."""
    runs = []
    for ports in ([], ["in"]):
        recorders, man = pair(["a"], ["b", *ports])
        man.spawn()
        man.start(steps=STEPS)
        man.wait()
        runs.append(recorders["b"].get("V")[:, 0])
    np.testing.assert_array_equal(*runs)


def test_what_one_lpu_gives_and_another_leaves_at_its_default() -> None:
    """Columns side by side hold the default where an LPU has none of its own."""

    def circuit(**given: float) -> Circuit:
        groups: Any = [(model("LeakyIAFShiu"), 5, given, None),
                       (model("PoissonSource"), 5, {"rate": 800.0}, None)]  # fmt: skip
        ends = np.arange(5, 10), np.arange(5)
        kicks = Connections("spike_state", "kick", *ends, DT, {"weight": 8.0})
        return Circuit.from_arrays(groups, [kicks])

    man = Manager(timeout=60.0)
    given: dict[str, dict[str, float]] = {"a": {}, "b": {"refractory_period": 0.0, "initV": -50.0}}
    for name, own in given.items():
        man.add(LPU, name, circuit(**own), DT, [], [MemoryRecorder([("V", None)])])
    man.spawn()
    man.start(steps=STEPS)
    man.wait()
    alone = {
        name: simulate(circuit(**own).in_random_namespace(name), DT, STEPS)
        for name, own in given.items()
    }
    for name in given:
        assert_same_bits(alone[name], recorded(man.lpus[name], STEPS))
    assert (alone["a"]["V"][50:] != alone["b"]["V"][50:]).any()


def test_columns_have_the_order_of_their_own_circuit() -> None:
    """Whatever stands in the circuits beside it, and where a model has several groups, too."""
    neuron, source = model("LeakyIAFShiu"), model("PoissonSource")

    def circuit(groups: str) -> Circuit:
        kinds: Any = {"n": (neuron, 3, {"initV": [-51.0, -50.0, -49.0]}, None),
                      "s": (source, 2, {"rate": 900.0}, None)}  # fmt: skip
        return Circuit.from_arrays([kinds[one] for one in groups])

    man = Manager(timeout=60.0)
    record: Any = [("V", None), ("spike_state", None)]
    for name in ("ns", "snsn"):
        man.add(LPU, name, circuit(name), DT, [], [MemoryRecorder(record)])
    man.spawn()
    at_first = {name: lpu.get("V").tolist() for name, lpu in man.lpus.items()}
    man.start(steps=STEPS)
    man.wait()
    for name in ("ns", "snsn"):
        alone = started(circuit(name).in_random_namespace(name), DT, (), record)
        lpu = man.lpus[name]
        with alone:
            assert (
                at_first[name]
                == alone.get("V").tolist()
                == [-51.0, -50.0, -49.0] * (len(name) // 2)
            )
            alone.run(steps=STEPS)
            assert lpu.uids("spike_state").tolist() == circuit(name).uids.tolist()
        assert_same_bits(recorded(alone, STEPS), recorded(lpu, STEPS))
        for variable, entry in alone.recorders[0].output.items():  # type: ignore[attr-defined]
            assert entry["uids"] == lpu.recorders[0].output[variable]["uids"]


class Failing(UserInput):
    """Gives a current, and fails at its third step."""

    def update_input(self) -> None:
        assert self.LPU_obj.step < 2, "the third step"
        self.variables["I"]["input"][:] = 1.0


@pytest.mark.parametrize("names", [[""], ["", "b"], ["b", ""]])
def test_the_empty_name_is_a_name(names: list[str]) -> None:
    """An LPU named '' finds its inputs, recorders and variables, and is blamed for its faults."""
    recorders = [MemoryRecorder([("V", None), ("I", ["n"])]) for _ in names]
    man = Manager(quiet=True)
    for i, (name, recorder) in enumerate(zip(names, recorders, strict=True)):
        nodes = {"n": node("OrnsteinUhlenbeckCurrent", {"sigma": 1.0, "time_constant": 5.0}),
                 "m": node("LeakyIAF", IAF, initV=-60.0 - i)}  # fmt: skip
        current = StepInput("I", ["m"], 1.0 + i)
        man.add(LPU, name, build(nodes), DT, [current], [recorder], backend="cpu")
    man.start(steps=3)
    man.wait()
    for i, (name, recorder) in enumerate(zip(names, recorders, strict=True)):
        lpu = man.lpus[name]
        assert recorder.uids("V") == lpu.uids("V").tolist() == ["m"]
        decay = np.exp(-0.1 / 20.0)
        V = -60.0 - i
        for k in range(3):
            assert recorder.get("V")[k, 0] == pytest.approx(V, rel=1e-14)
            V = V * decay + (10.0 * (1.0 + i) - 70.0) * (1 - decay)
        assert lpu.get("V") == pytest.approx(V, rel=1e-14)
    failing = Manager(quiet=True)
    for name in names:
        made = [Failing([("I", ["n"])])] if name == "" else []
        failing.add(LPU, name, build({"n": node("LeakyIAF", IAF)}), DT, made)
    failing.start(steps=5)
    with pytest.raises(LPUExecutionError, match="the third step") as caught:
        failing.wait()
    assert caught.value.lpu == ""
