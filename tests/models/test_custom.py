"""Models of one's own give what the shipped ones give: as templates, and as raw classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from old_style import (
    RAW,
    TEMPLATES,
    OldAlpha,
    OldLeaky,
    OldMorrisLecar,
    RawAlpha,
    RawLeaky,
    RawMorrisLecar,
    host,
    with_models,
)
from support import (
    ALPHA,
    AMPA,
    HH2,
    IAF,
    ML,
    Recorded,
    assert_rows,
    assert_same_bits,
    build,
    model,
    node,
    recorded,
    simulate,
    spike_rows,
    spiking_network,
    started,
)

from neurodriver import (
    ArrayInput,
    Circuit,
    Connections,
    NDComponent,
    RampInput,
    StepInput,
    Weighted,
)
from neurodriver.codegen.source import TILE
from neurodriver.errors import ModelError
from neurodriver.model.library import shipped
from neurodriver.model.runtime import Runtime

WAYS = {
    "LeakyIAF": [OldLeaky, RawLeaky],
    "AlphaSynapse": [OldAlpha, RawAlpha],
    "MorrisLecar": [OldMorrisLecar, RawMorrisLecar],
}
OLD = {"LeakyIAF": OldLeaky, "AlphaSynapse": OldAlpha}
MIXED = {"LeakyIAF": RawLeaky, "AlphaSynapse": OldAlpha}
EVERYTHING = [("V", None), ("spike_state", None), ("g", None)]


def alone(cls: type[NDComponent], given: Mapping[str, Any], **more: Any) -> Circuit:
    """Return a circuit of one component ``n`` of a custom model."""
    return build({"n": node(cls.__name__, given, **more)}, models=[cls])


@pytest.mark.parametrize("cls", WAYS["LeakyIAF"])
def test_golden_leaky(cls: type[NDComponent]) -> None:
    """Rows and spikes of the leaky integrate-and-fire neuron."""
    current = StepInput("I", ["n"], 10.0, 0.02, 0.08)
    data = simulate(alone(cls, IAF), inputs=current, record=EVERYTHING[:2], **host(cls))
    rows = {0: -70.0, 200: -70.0, 201: -69.50124792, 202: -69.00498337, 300: -51.0584246,
            500: -65.12294245, 999: -66.48161624}  # fmt: skip
    assert_rows(data, "V", rows)
    assert spike_rows(data) == [258, 316, 374, 432, 490, 548, 606, 664, 722, 780]


@pytest.mark.parametrize("cls", WAYS["MorrisLecar"])
def test_golden_morris_lecar(cls: type[NDComponent]) -> None:
    """Rows during and after a current, with ten sub-steps a step."""
    current = StepInput("I", ["n"], 5.0, 0.02, 0.04)
    data = simulate(alone(cls, ML, initV=-46.08, initn=0.3525), inputs=current, **host(cls))
    rows = {0: -46.08, 1: -46.07930507, 201: -45.66930181, 300: -45.00766162, 401: -45.44731824,
            999: -46.12571291}  # fmt: skip
    assert_rows(data, "V", rows)


@pytest.mark.parametrize("cls", WAYS["AlphaSynapse"])
def test_golden_alpha(cls: type[NDComponent]) -> None:
    """Conductance after four spikes; the first one shows in row 2."""
    spikes = np.zeros((1000, 1))
    spikes[[0, 40, 41, 400]] = 1.0
    given = ArrayInput({"spike_state": (["n"], spikes)})
    data = simulate(alone(cls, ALPHA), inputs=given, record=[("g", None)], **host(cls))
    rows = {1: 0.0, 2: 6.27e-06, 3: 1.254e-05, 40: 1.407193376e-04, 42: 1.497779352e-04,
            100: 4.594214743e-04, 999: 1.105787787e-06}  # fmt: skip
    assert_rows(data, "g", rows)


@pytest.mark.parametrize("name", ["LeakyIAF", "MorrisLecar"])
def test_templates_have_the_bits_of_the_shipped_models(name: str, dtype: str) -> None:
    """37 neurons with a ramp; in single precision ``dt * 1000`` rounds once more."""
    given: dict[str, Any] = dict(IAF if name == "LeakyIAF" else ML)
    given["initV"] = np.linspace(-70, -50, 37)
    uids = [f"n{i}" for i in range(37)]
    ramp = RampInput("I", uids, 0.0, 0.05, 0.0, 10.0)
    old, new = (
        simulate(
            Circuit.from_arrays([(cls, 37, given, uids)]), 2.5e-4, 300, ramp, dtype=dtype, threads=2
        )
        for cls in (WAYS[name][0], model(name))
    )
    if dtype == "float64":
        assert_same_bits(old, new)
    else:
        assert old["V"].dtype == np.float32
        np.testing.assert_allclose(old["V"], new["V"], rtol=3e-5)


def network(delay: float | None = None) -> Circuit:
    """Return neurons with delayed synapses, several inputs each; more than ten tiles.

    With one ``delay`` for all spikes their silent rows are not read.
    """
    circuit = spiking_network(TILE * 4 + 45, 3, seed=5, alpha=0.5)
    synapses = circuit.groups[0].count + np.arange(circuit.groups[1].count, dtype=np.int32)
    rng = np.random.default_rng(7)
    more = Connections(
        "spike_state", "spike_state",
        rng.integers(0, circuit.groups[0].count, len(synapses)).astype(np.int32), synapses,
        np.full(len(synapses), 7e-4),
    )  # fmt: skip
    assert circuit.groups[1].count > 6 * TILE
    links = [*circuit.connections, more]
    if delay is not None:
        equal = np.asarray(delay)
        links = [replace(c, delay=equal) if c.variable == "spike_state" else c for c in links]
    return circuit.with_parts(circuit.groups, links)


def run_network(circuit: Circuit, steps: int = 150, **settings: Any) -> Recorded:
    rng = np.random.default_rng(3)
    settings = {**host(*[g.model for g in circuit.groups]), **settings}
    uids = circuit.groups[0].uids.tolist()
    current = ArrayInput({"I": (uids, rng.uniform(1.0, 3.0, (1, len(uids))))}, mode=1)
    with started(circuit, 1e-4, current, EVERYTHING, **settings) as lpu:
        lpu.run(steps=steps)
        if settings.get("threads", 1) > 1 and not lpu.backend.stepwise:
            assert min(lpu.backend.worked()) > 0
        return recorded(lpu, steps)


@pytest.mark.parametrize("delay", [None, 3e-4])
def test_a_network_of_templates_has_the_bits_of_shipped_models(delay: float | None) -> None:
    """Delays and several inputs included, fused plans or not."""
    expected = run_network(network(delay), merge=False)
    assert expected["spike_state"].sum() > 100
    assert_same_bits(run_network(with_models(network(delay), OLD), merge=False), expected)
    assert_same_bits(run_network(with_models(network(delay), OLD), plans=False), expected)


@pytest.mark.parametrize(
    ("exchange", "dtype"), [(OLD, "float64"), (MIXED, "float32")], ids=["templates", "mixed"]
)
def test_threads_and_chunks_change_no_bits(exchange: Any, dtype: str) -> None:
    """One to three threads, single steps or all at once."""
    circuit = with_models(network(), exchange)
    one = run_network(circuit, 60, dtype=dtype, threads=1, chunk=60)
    for threads, chunk in [(2, 60), (3, 7), (3, 1)]:
        other = run_network(circuit, 60, dtype=dtype, threads=threads, chunk=chunk)
        assert_same_bits(one, other)


@pytest.mark.parametrize("delay", [None, 3e-4])
def test_raw_and_shipped_models_mix(delay: float | None) -> None:
    """numpy's exp may differ in its last place, so a network of raw neurons is close, not equal."""
    expected = run_network(network(delay), 100)
    for exchange in (MIXED, {"LeakyIAF": RawLeaky}, {"AlphaSynapse": RawAlpha}):
        got = run_network(with_models(network(delay), exchange), 100)
        assert np.array_equal(got["spike_state"], expected["spike_state"])
        assert got["spike_state"].sum() > 50
        for variable in ("V", "g"):
            np.testing.assert_allclose(got[variable], expected[variable], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", [RawAlpha, OldAlpha])
def test_raw_synapse_gives_the_bits_of_the_shipped_one(cls: type[NDComponent]) -> None:
    """Where no elementary function is called, numpy has the same bits."""
    expected = run_network(network(), 100)
    assert_same_bits(run_network(with_models(network(), {"AlphaSynapse": cls}), 100), expected)


def expressible(cls: type[NDComponent]) -> bool:
    """Whether a template can say what a model does."""
    return not cls.draws_random() and not any(a.each for a in cls.accesses)


@pytest.mark.parametrize("name", [n for n, m in shipped().items() if expressible(m)])
def test_template_of_a_shipped_model_is_that_model(name: str) -> None:
    """What `get_update_template` of a shipped model returns runs, with the same bits."""
    shown = model(name)

    def text(self: Any) -> str:
        return shown.get_update_template(self)

    own = type(name, (shown,), {"get_update_template": text, "__doc__": "As shipped."})
    assert own.runtime.kernel
    rng = np.random.default_rng(2)
    known = {**IAF, **HH2, **ML, **ALPHA, **AMPA, "Mg": 1.0, "power": 2.0, "slope": 0.05,
             "saturation": 0.4, "scale": 1.0, "n": 0.3, "m": 0.05, "h": 0.6, "a": 0.5, "b": 0.1,
             "time_constant": 20.0, "refractory_period": 2.0, "bias_current": 0.1}  # fmt: skip
    given = {p: known.get(p, 1.0) for p, r in shown.params.items() if r.default is None}
    data: list[Recorded] = []
    for cls in (own, shown):
        rng = np.random.default_rng(2)
        rows: dict[str, Any] = {}
        for access in shown.accesses:
            low, high = (-80.0, 0.0) if access.variable == "V" else (0.0, 20.0)
            values = rng.uniform(low, high, (200, 3))
            if access.variable == "spike_state":
                values = (values > 15.0).astype(float)
            rows[access.variable] = (["a", "b", "c"], values)
        circuit = Circuit.from_arrays([(cls, 3, given, ["a", "b", "c"])])
        record = [(v, None) for v in shown.updates if v != "spike_state" or len(shown.updates) < 2]
        data.append(simulate(circuit, 1e-4, 200, ArrayInput(rows), record))
    assert_same_bits(*data)


def test_what_no_template_can_say() -> None:
    """Random numbers and sums of their own are told, not left out."""
    names = [n for n, m in shipped().items() if not expressible(m)]
    assert "Aggregator" in names
    for name in names:
        with pytest.raises(ModelError, match=f"{name}: no template can say"):
            model(name).get_update_template(object.__new__(model(name)))


def test_subclass_of_a_shipped_model_with_its_own_template() -> None:
    """Placeholders are named after the old library: `internalV` beside the updated `V`."""

    class MyLIF(model("LeakyIAF")):  # type: ignore[misc]
        """LeakyIAF that counts twice every current."""

        def get_update_template(self) -> str:
            text = OldLeaky.get_update_template(self)
            assert "%(input_I)s I = g_I[i];" in text
            return text.replace("I = g_I[i];", "I = 2 * g_I[i];")

    assert list(MyLIF.internals) == ["internalV"]
    doubled = StepInput("I", ["n"], 4.0, 0.0, 0.1)
    plain = StepInput("I", ["n"], 8.0, 0.0, 0.1)
    expected = simulate(alone(OldLeaky, IAF), inputs=plain, record=EVERYTHING[:2])
    for given in ({}, {"initV": -60.0}):
        got = simulate(alone(MyLIF, IAF, **given), inputs=doubled, record=EVERYTHING[:2])
        assert got["V"][0, 0] == given.get("initV", -70.0)
        if not given:
            assert_same_bits(got, expected)


def test_run_step_around_a_kernel() -> None:
    """`super().run_step` launches the kernel: of a template, and of a shipped model."""
    seen: list[float] = []

    def run_step(self: Any, update_pointers: Any) -> None:
        super(type(self), self).run_step(update_pointers)
        from neurodriver import host_array

        V = host_array(update_pointers["V"], self.num_comps, self.dtype)
        spikes = host_array(update_pointers["spike_state"], self.num_comps, self.dtype)
        seen.append(float(V[0]))
        if len(seen) % 50 == 49:
            spikes[0] = 1  # one that the kernel knows nothing of, and has to clear

    current = StepInput("I", ["n"], 2.0, 0.0, 0.1)  # it never fires by itself
    expected = simulate(alone(OldLeaky, IAF), 1e-4, 300, current, EVERYTHING[:1])
    for base in (OldLeaky, model("LeakyIAF")):
        seen.clear()
        cls = type("Watched", (base,), {"run_step": run_step})
        nodes = {"n": node("Watched", IAF), "m": node("Watched", IAF, threshold=0.0)}
        nodes |= {"t": node("SynapseAMPA", AMPA), "s": node("SynapseAMPA", AMPA)}
        # not in order, so that silent rows are not read
        circuit = build(nodes, [("n", "s"), ("m", "t")], [cls])
        record = [("V", ["n"]), ("spike_state", ["n"]), ("g", ["s"])]
        data = simulate(circuit, 1e-4, 300, current, record, backend="cpu")
        assert_same_bits({"V": data["V"]}, expected)
        assert seen[:299] == data["V"][1:, 0].tolist()
        assert spike_rows(data) == [49, 99, 149, 199, 249, 299]
        jumps = np.flatnonzero(np.diff(data["g"][:, 0]) > 0) + 1
        assert jumps.tolist() == [50, 100, 150, 200, 250]  # and no spike is seen twice


def test_weighted_access_in_a_template() -> None:
    """Edge weights multiply where a template's access is declared so."""

    class Sum(OldMorrisLecar):
        """Publishes the sum of its inputs."""

        accesses = [Weighted("V")]
        updates = ["I"]
        params = ["gain"]
        internals: Any = []

        def get_update_template(self) -> str:
            return (
                "__global__ void update(int n, %(dt)s dt, int steps, %(input_V)s *V,"
                "%(param_gain)s *gain, %(update_I)s *I) {"
                "for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x)"
                "I[i] = gain[i] * V[i] + i % 3; }"
            )

    circuit = build(
        {
            **{f"n{i}": node("LeakyIAF", IAF, initV=-60.0 - i) for i in range(3)},
            "s0": node("Sum", {"gain": 2}),
            "s1": node("Sum", {"gain": 3}),
        },
        [("n0", "s0", {"weight": 0.5}), ("n1", "s0", {"weight": -1.0}), ("n2", "s1")],
        [Sum],
    )
    data = simulate(circuit, 1e-4, 5, record=[("I", ["s0", "s1"]), ("V", ["n0", "n1", "n2"])])
    V = data["V"]
    expected = np.stack([2 * (0.5 * V[:, 0] - V[:, 1]), 3 * V[:, 2] + 1], axis=1)
    np.testing.assert_array_equal(data["I"][1:], expected[:-1])


def test_every_way_is_loaded_by_name() -> None:
    """Old base classes are no models, their subclasses are."""
    circuit = build({c.__name__: node(c.__name__, {**IAF, **ML, **ALPHA}) for c in TEMPLATES + RAW},
                    models=[TEMPLATES, (RAW,)])  # fmt: skip
    assert sorted(g.name for g in circuit.groups) == sorted(c.__name__ for c in TEMPLATES + RAW)


def test_a_declared_model_may_have_methods() -> None:
    """`pre_run` and `maximum_dt_allowed` of a class with declared mathematics count."""
    made: list[Any] = []

    class Ready(model("LeakyIAF")):  # type: ignore[misc]
        """Starts 5 mV below its threshold, in steps of 50 us."""

        @property
        def maximum_dt_allowed(self) -> float:
            return self.dt / 2

        def pre_run(self, update_pointers: Any) -> None:
            made.append(self)
            start = self.params_dict["threshold"] - 5.0
            self._link.store(update_pointers["V"], start)

    assert Ready.substeps(1e-4) == 2
    current = StepInput("I", ["n"], 10.0, 0.0, 0.1)
    got = simulate(alone(Ready, IAF), 1e-4, 100, current, EVERYTHING[:2])
    expected = simulate(
        build({"n": node("LeakyIAF", IAF, initV=-50.0)}), 5e-5, 200, current, EVERYTHING[:1]
    )
    assert len(made) == 1 and got["V"][0, 0] == -50.0
    np.testing.assert_allclose(got["V"][:, 0], expected["V"][::2, 0], rtol=1e-12)


def test_inheritance_decides_what_runs() -> None:
    """The nearest class decides; a later kernel replaces an earlier `run_step`, and back."""
    leaky = model("LeakyIAF")

    def run_step(self: Any, update_pointers: Any) -> None: ...

    def get_update_template(self: Any) -> str:
        return ""

    raw = type("Raw", (NDComponent,), {"updates": ["V"], "run_step": run_step})
    assert raw.runtime == Runtime(methods=frozenset({"run_step"}))
    assert raw.runtime.opaque and raw.runtime.instance and raw.runtime.stepwise
    text = type("Text", (raw,), {"states": {"V": 0.0}, "update": "V = 1;"})
    assert text.runtime == Runtime(declared=True)
    assert not (text.runtime.opaque or text.runtime.instance or text.runtime.stepwise)
    again = type("Again", (text,), {"run_step": run_step})
    assert again.runtime == Runtime(declared=True, methods=frozenset({"run_step"}))
    assert again.runtime.stepwise and not again.runtime.opaque
    mixin = type("Mixin", (), {"get_update_template": get_update_template})
    mixed = type("Mixed", (mixin, leaky), {})
    assert (mixed.runtime.kernel, list(mixed.internals)) == (True, ["internalV"])
    assert mixed.runtime.opaque and mixed.runtime.states == {"internalV": 0.0}
    assert list(mixed.params) == list(leaky.params)
    assert mixed.params["resistance"].unit == "kOhm cm^2"
    fewer = type("Fewer", (mixed,), {"params": ["resistance", "tau"]})
    assert list(fewer.params) == ["resistance", "tau"]
    assert fewer.params["resistance"].unit == "kOhm cm^2"
    assert list(type("Most", (fewer,), {}).params) == ["resistance", "tau"]
    more = type(
        "More",
        (mixed,),
        {
            "params": leaky.params + ["bias"],  # noqa: RUF005
            "accesses": leaky.accesses + ["spike_state"],  # noqa: RUF005
            "updates": leaky.updates + ["I"],  # noqa: RUF005
            "internals": dict(leaky.internals, u=1.0),
        },
    )
    assert list(more.params) == [*leaky.params, "bias"] and leaky.params[0] == "resting_potential"
    assert [a.name for a in more.accesses] == ["I", "spike_state"]
    assert list(more.updates) == ["spike_state", "V", "I"]
    assert list(more.internals) == ["internalV", "u"]
    with pytest.raises(KeyError):
        leaky.params["bias"]
    assert list(leaky.internals) == ["internalV"] and leaky.extra_params == ["initV"]
