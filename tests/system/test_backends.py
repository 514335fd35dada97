"""Every feature on every backend has the bits of the CPU, or stands in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ledger
import numpy as np
import pytest
from cutting import managed, random_parts
from emulated_gpu import emulated, random_circuit
from old_style import TEMPLATES, RawLeaky
from support import (
    DT,
    IAF,
    Recorded,
    all_to_all,
    build,
    converging,
    model,
    node,
    recorded,
    simulate,
    spiking_network,
    started,
    weighted_network,
)

from neurodriver import (
    Circuit,
    FixedProbability,
    NDComponent,
    Normal,
    Parameter,
    PoissonInput,
    Profile,
    Projection,
    StepInput,
    SubUnits,
    UserInput,
)
from neurodriver.circuit.cut import cut

__all__ = ["emulated"]

STEPS = 120
EVERYTHING = [("V", None), ("spike_state", None), ("g", None)]


class Births(NDComponent):
    """Counts that grow at a rate."""

    updates = ("V",)
    params = {"number": Parameter("1", default=9.0, at_least=0.0, at_most=99.0, whole=True)}
    sub_units = SubUnits("number", {"n": 0}, [("300.0", {"n": 1})], {}, {"N": "n"})
    update = "V = N;"


class ForGPUs(NDComponent):
    """A class with kernels of its own: it says that it needs a GPU."""

    backends = ("cuda",)
    accesses = ["I"]
    updates = ["V"]
    params = ["x"]

    def run_step(self, update_pointers: Any) -> None:
        import pycuda.driver as cuda

        self.steps = getattr(self, "steps", 0.0) + 1.0
        cuda.memcpy_htod(update_pointers["V"], np.full(self.num_comps, self.steps, self.dtype))


class Asked(UserInput):
    """Is asked at every step."""

    def update_input(self) -> None:
        self.variables["I"]["input"][:] = 2.0 + np.sin(self.LPU_obj.step)


def run(circuit: Circuit, inputs: Any = (), **settings: Any) -> Recorded:
    known = {v for group in circuit.groups for v in group.model.updates}
    record = [(v, u) for v, u in EVERYTHING if v in known]
    return simulate(circuit, DT, STEPS, inputs, record, **settings)


def driven(circuit: Circuit, value: float = 2.0, **settings: Any) -> Recorded:
    """Run with a current into the first group."""
    return run(circuit, StepInput("I", circuit.groups[0].uids, value), **settings)


def exact(**settings: Any) -> Recorded:
    """Run delays, spikes and potentials of models that need exact arithmetic alone."""
    return run(*random_circuit(30, seed=2), **settings)


def asked(**settings: Any) -> Recorded:
    circuit, _ = random_circuit(30, seed=2)
    return run(circuit, Asked([("I", circuit.uids[:30].tolist())]), **settings)


def sampled(**settings: Any) -> Recorded:
    circuit, inputs = random_circuit(30, seed=2)
    with started(circuit, DT, inputs, EVERYTHING[:1], interval=7, chunk=13, **settings) as lpu:
        lpu.run(steps=STEPS)
        return recorded(lpu, STEPS)


def profiled(**settings: Any) -> Recorded:
    with Profile() as profile:
        found = exact(**settings)
    assert [one.kernels for one in profile.measured], "no kernel is measured"
    return found


def drawn(**settings: Any) -> Recorded:
    delta = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
             "time_constant": 20.0, "initV": np.linspace(-60.0, -49.0, 50)}  # fmt: skip
    ends, rule = (range(50), range(50)), FixedProbability(0.2)
    links = Projection("spike_state", "spike_state", *ends, rule, Normal(0.5, 0.1), 5e-4)
    circuit = Circuit.from_arrays([(model("LeakyIAFDelta"), 50, delta, None)], [links], seed=1)
    return run(circuit, **settings)


def injected(**settings: Any) -> Recorded:
    """Run weighted spikes and random ones from outside into the same access."""
    circuit = weighted_network(50, 1)
    return run(circuit, PoissonInput("spike_state", circuit.uids, 500.0, seed=3), **settings)


def gaps(**settings: Any) -> Recorded:
    cells = {f"n{i}": node("LeakyIAF", IAF, initV=-65.0 + i) for i in range(9)}
    edges = [(f"n{i}", f"n{(i + 2) % 9}", {"variable": "V", "conductance": 0.05}) for i in range(9)]
    return run(build(cells, edges), **settings)


def noisy(**settings: Any) -> Recorded:
    nodes = {"i": node("NoisyCurrent", {"mean": 1.0, "sigma": 0.2}), "n": node("LeakyIAF", IAF)}
    return run(build(nodes, [("i", "n")]), **settings)


def two_lpus(**settings: Any) -> Recorded:
    circuit, inputs = random_circuit(30, seed=2)
    part = random_parts(circuit, 2, seed=2)
    _, found = managed(cut(circuit, part, ["left", "right"]), inputs, STEPS, **settings)
    return dict(found["V"])


def raw(cls: type[NDComponent], given: dict[str, Any]) -> Callable[..., Recorded]:
    """Return a run of a class of the old library."""
    return lambda **settings: driven(
        build({"n": node(cls.__name__, given)}, models=[cls]), **settings
    )


FEATURES: dict[str, Callable[..., Recorded]] = {
    "exact arithmetic": exact,
    "single precision": lambda **settings: exact(dtype="float32", **settings),
    "input at each step": asked,
    "rows of every seventh step": sampled,
    "profile": profiled,
    "random delays": lambda **settings: driven(spiking_network(61, 3, seed=1), **settings),
    "all to all": lambda **settings: driven(all_to_all(7, seed=2), 20.0, **settings),
    "long sums": lambda **settings: driven(converging(60, seed=3), 4.0, **settings),
    "weighted spikes": lambda **settings: run(weighted_network(50, 1), **settings),
    "weighted spikes of long delays": lambda **settings: run(weighted_network(50, 5), **settings),
    "weighted spikes from outside": injected,
    "projection": drawn,
    "gap junctions": gaps,
    "random numbers": noisy,
    "sub-units": lambda **settings: run(
        Circuit.from_arrays([(Births, 20, {}, None)]), **settings
    ),
    "two LPUs": two_lpus,
    "template": raw(TEMPLATES[0], IAF),
    "class with a run_step": raw(RawLeaky, IAF),
    "class of kernels for GPUs": raw(ForGPUs, {"x": 1.0}),
}  # fmt: skip


WITHOUT_CPU = {"class of kernels for GPUs"}


def where(on_backend: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the settings that let a run happen on a backend."""
    if on_backend == "emulated":
        request.getfixturevalue("emulated")
        return {"backend": "cuda"}
    name, _, how = on_backend.partition(" ")
    if how == "shadow":
        request.getfixturevalue("monkeypatch").setenv("NEURODRIVER_VALIDATE", "1")
        return {"backend": name}
    return {"backend": name, "executor": how} if how else {"backend": name, "threads": 2}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test alone say what runs where."""
    for name in ("BACKEND", "DEVICE", "EXECUTOR", "VALIDATE", "FUZZ"):
        monkeypatch.delenv(f"NEURODRIVER_{name}", raising=False)


CASES = [
    pytest.param(
        backend, name, id=f"{backend}-{name}",
        marks=[pytest.mark.needs("a GPU")] if backend.startswith("cuda") else [],
    )
    for name in FEATURES
    for backend in ledger.BACKENDS
]  # fmt: skip


@pytest.mark.parametrize(("on_backend", "name"), CASES)
def test_feature(
    on_backend: str, name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run gives the bits of one thread of the CPU."""
    found = FEATURES[name](**where(on_backend, request))
    assert found and all(np.isfinite(rows).all() for rows in found.values())
    assert any(np.ptp(rows) > 0 for rows in found.values())
    if name in WITHOUT_CPU:
        return
    monkeypatch.delenv("NEURODRIVER_VALIDATE", raising=False)
    expected = FEATURES[name](backend="cpu", threads=1)
    assert found.keys() == expected.keys()
    for variable, rows in expected.items():
        assert np.array_equal(found[variable], rows), variable
