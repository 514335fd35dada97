"""``Manager`` and ``Module`` of the old core: what they do in their own way."""

from __future__ import annotations

import inspect
import time
from typing import Any

import networkx as nx
import numpy as np
import pytest
from support import IAF, POWER, graph, node

from neurodriver import MemoryRecorder, StepInput
from neurodriver.compat import core, core_gpu
from neurodriver.compat.lpu import LPU
from neurodriver.errors import CircuitError, CircuitWarning, LPUExecutionError
from neurodriver.parallel.manager import Manager
from neurodriver.ports import Pattern

DT = 1e-4
PORT = {"class": "Port", "port_type": "gpot"}
GOOD = {
    "sel": "/m/in[0:2],/m/out[0:2]",
    "sel_in": "/m/in[0:2]",
    "sel_out": "/m/out[0:2]",
    "sel_gpot": "/m/in[0:2],/m/out[0:2]",
    "sel_spike": "",
    "data_gpot": np.arange(4.0),
    "data_spike": np.zeros(0),
}


def source(name: str, start: float) -> nx.MultiDiGraph:
    """Return a neuron whose potential leaves through two ports."""
    nodes = {
        "n": node("LeakyIAF", IAF, initV=start),
        "o0": {**PORT, "selector": f"/{name}/out/0", "port_io": "out"},
        "o1": {**PORT, "selector": f"/{name}/out/1", "port_io": "out"},
    }
    return graph(nodes, [("n", "o0", {"variable": "V"}), ("n", "o1", {"variable": "V"})])


def target() -> nx.MultiDiGraph:
    """Return two synapses with an input port each."""
    nodes = {f"i{i}": {**PORT, "selector": f"/t/in/{i}", "port_io": "in"} for i in range(2)}
    nodes |= {f"s{i}": node("PowerGPotGPot", POWER, threshold=-80.0) for i in range(2)}
    return graph(nodes, [("i0", "s0"), ("i1", "s1")])


def pattern(name: str, *pairs: tuple[int, int]) -> Pattern:
    """Return a pattern from the outputs of an LPU to inputs of the target."""
    made = Pattern(f"/{name}/out[0:2]", "/t/in[0:2]")
    for out, into in pairs:
        made[f"/{name}/out/{out}", f"/t/in/{into}"] = 1
    made.interface[f"/{name}/out[0:2]", "type"] = "gpot"
    made.interface["/t/in[0:2]", "type"] = "gpot"
    return made


def three(man: Any) -> MemoryRecorder:
    """Add two sources and a target to a manager; input 0 has two sources, the second from b."""
    recorder = MemoryRecorder([("g", ["s0", "s1"])])
    for name, start in (("a", -65.0), ("b", -50.0)):
        current = StepInput("I", ["n"], 1.0)
        man.add(LPU, name, DT, "obj", source(name, start), input_processors=[current])
    man.add(LPU, "t", DT, "obj", target(), output_processors=[recorder])
    man.connect("a", "t", pattern("a", (0, 0), (1, 1)))
    man.connect("t", "b", pattern("b", (1, 0)), 1, 0)
    return recorder


def expected(start: float, steps: int) -> np.ndarray:
    """Return the conductance that the potential of a source makes, two steps later."""
    V = np.empty(steps)
    V[0], decay = start, np.exp(-0.1 / 20.0)
    for k in range(1, steps):
        V[k] = V[k - 1] * decay + (10.0 - 70.0) * (1 - decay)
    return np.minimum(0.4, 0.02 * np.maximum(0.0, V + 80.0))


def test_the_last_source_of_an_input_port_wins() -> None:
    """With a warning that counts; the other ports of both patterns are as ever."""
    man = core_gpu.Manager()
    recorder = three(man)
    with pytest.warns(CircuitWarning, match=r"pattern a -> t: .* later .* '/t/in/0'"):
        man.spawn()
    man.start(steps=30)
    man.wait()
    g = recorder.get("g")
    np.testing.assert_allclose(g[2:, 0], expected(-50.0, 30)[:-2], rtol=1e-12)
    np.testing.assert_allclose(g[2:, 1], expected(-65.0, 30)[:-2], rtol=1e-12)


def test_the_native_manager_refuses_them() -> None:
    """Several sources of one port are an error there."""
    man = Manager(quiet=True)
    three(man)
    with pytest.raises((CircuitError, LPUExecutionError), match="fed by 2 connections"):
        man.spawn()


def test_a_manager_knows_when_it_ran() -> None:
    """``start_time`` and ``stop_time`` are times of day, and their difference is the run's."""
    man = core.Manager()
    assert man.start_time == man.stop_time == 0.0
    before = time.time()
    man.add(LPU, "a", DT, "obj", source("a", -65.0))
    man.start(steps=100)
    assert man.start_time >= before and man.stop_time == 0.0
    seconds = man.timed_wait()
    assert before <= man.start_time <= man.stop_time <= time.time()
    assert man.stop_time - man.start_time == pytest.approx(seconds, abs=1e-5)


def test_arguments_of_the_cpu_module_by_position() -> None:
    """There is no ``manager`` among them; by name it can be given."""

    class Doubled(core.Module):
        """Has a constructor in the old form."""

        def __init__(self, *ports: Any, columns: Any, table: Any, times: bool) -> None:
            super().__init__(*ports, columns, 1, 2, 3, "m", None, table, {0: "m"}, True, times)

        def run_step(self) -> None:
            self.pm["gpot"][self.out_gpot_ports] = 2 * self.pm["gpot"][self.in_gpot_ports]

    module = Doubled(*GOOD.values(), columns=["interface", "io", "type"], table=None, times=True)
    assert (module.id, module.rank_to_id, module.debug, module.time_sync) == (
        "m", {0: "m"}, True, True,
    )  # fmt: skip
    assert module.manager is True and module.routing_table is None
    module.run(3)
    assert module.pm["gpot"][module.out_gpot_ports].tolist() == [0.0, 2.0]
    assert core.Module(**GOOD, manager=False).manager is False


def test_arguments_of_the_gpu_module_by_position() -> None:
    """There ``manager`` comes after ``device``."""
    module = core_gpu.Module(*GOOD.values(), ["interface", "io", "type"], 1, 2, 3, "m", 1, False)
    assert (module.device, module.manager) == (1, False)
    names = list(inspect.signature(core_gpu.Module).parameters)
    assert names.index("manager") == names.index("device") + 1
