"""Quantities are accepted wherever a number has a unit, and refused where the dimension differs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import networkx as nx
import numpy as np
import pytest

import neurodriver as nd
from neurodriver.circuit.circuit import Connections
from neurodriver.errors import CircuitError, NeurodriverError, UnitError
from neurodriver.model.library import shipped
from neurodriver.model.units import Dimension, dimension
from neurodriver.quantities import is_quantity, magnitude, spelled
from neurodriver.run.given import whole_steps

pint = pytest.importorskip("pint")
u: Any = pint.UnitRegistry()


def units() -> Iterator[tuple[str, str]]:
    """Yield every unit that a shipped model declares, with its place."""
    for model in shipped().values():
        for name, parameter in model.params.items():
            yield f"{model.__name__}.{name}", parameter.unit
        for name, state in model.states.items():
            yield f"{model.__name__}.{name}", state.unit
        for name, unit in model.units.items():
            yield f"{model.__name__}.{name}", unit
        for access in model.accesses:
            yield f"{model.__name__}.{access.name}", access.unit
            for name, rule in access.connection.items():
                yield f"{model.__name__}.{access.name}.{name}", rule.unit


def test_pint_reads_the_units_of_all_models() -> None:
    """A quantity in the unit itself keeps its number; one of another dimension is refused."""
    every = list(units())
    assert len({unit for _, unit in every}) > 20 and len(every) > 200
    for name, unit in every:
        if "^power" in unit:  # the exponent is a parameter
            with pytest.raises(UnitError, match="is not fixed"):
                magnitude(2.0 * u.mV, unit, name)
            continue
        one = u.Quantity(2.5, spelled(unit))
        assert magnitude(one, unit, name) == 2.5, (name, unit)
        with pytest.raises(UnitError, match=re.escape(name)):
            magnitude(2.5 * u.candela, unit, name)


def test_numbers_arrays_and_lists() -> None:
    """Values are converted; what is no quantity comes back as the very same object."""
    row = np.arange(3.0)
    assert magnitude(row, "mV", "x") is row and not is_quantity(row) and not is_quantity("2 mV")
    assert magnitude(0.5 * u.V, "mV", "x") == 500.0
    assert magnitude(row * u.V, "mV", "x").tolist() == [0.0, 1000.0, 2000.0]
    assert magnitude([1 * u.V, 2.0], "mV", "x") == [1000.0, 2.0]
    assert magnitude(2 * u.S / u.m**2, "mS/cm^2", "x") == pytest.approx(0.2, rel=1e-15)
    assert magnitude(3 * u.dimensionless, "1", "x") == magnitude(3 * u.percent * 100, "", "x") == 3
    with pytest.raises(UnitError, match=r"^x: must be a quantity in mV \(got 3 second: .*\)$"):
        magnitude(3 * u.s, "mV", "x")
    with pytest.raises(UnitError, match=r"^x: must be a number without a unit \(got 3 second"):
        magnitude(3 * u.s, "1", "x")
    with pytest.raises(UnitError, match="its unit is not declared; give a plain number"):
        magnitude(3 * u.s, None, "x")


def test_other_packages() -> None:
    """The package quantities, astropy by its methods, and Brian2, which is refused."""
    pq = pytest.importorskip("quantities")
    assert magnitude(0.5 * pq.V, "mV", "x") == 500.0
    assert magnitude(2 * pq.S / pq.m**2, "mS/cm^2", "x") == pytest.approx(0.2)
    with pytest.raises(UnitError, match="x: must be a quantity in mV"):
        magnitude(0.5 * pq.s, "mV", "x")

    class Astropy:
        unit, value = "V", 0.5

        def to(self, unit: str) -> Any:
            assert unit == "mV"
            out = Astropy()
            out.value = 500.0
            return out

    assert magnitude(Astropy(), "mV", "x") == 500.0

    class Brian2(np.ndarray[Any, Any]):
        def get_best_unit(self) -> None: ...

    with pytest.raises(UnitError, match="x: quantities of Brian2 are not taken; give a number in"):
        magnitude(np.ones(2).view(Brian2), "mV", "x")


def test_parameters_and_first_values_of_arrays() -> None:
    """Scalars, arrays and initial values; a wrong dimension is a fault beside the others."""
    iaf = shipped()["LeakyIAFShiu"]
    given = {"threshold": [-0.045, -0.044] * u.V, "tau_syn": 5000 * u.us, "initV": -0.05 * u.V}
    names = set(iaf.params)
    given = {k: v for k, v in given.items() if k in names or k.startswith("init")}
    assert len(given) >= 2
    circuit = nd.Circuit.from_arrays([(iaf, 2, given, None)])
    params = circuit.groups[0].params
    assert np.allclose(params["threshold"], [-45.0, -44.0], rtol=1e-14) and params["initV"] == -50
    wrong = {"threshold": 3 * u.s, "initV": 2 * u.nS}
    with pytest.raises(CircuitError) as told:
        nd.Circuit.from_arrays([(iaf, 2, wrong, None)])
    assert "2 faults" in str(told.value)
    assert "LeakyIAFShiu.threshold: must be a quantity in mV (got 3 second" in str(told.value)
    assert "LeakyIAFShiu.initV: must be a quantity in mV (got 2 nanosiemens" in str(told.value)


class Jumps(nd.NDComponent):
    """Adds weights that are potentials."""

    accesses = (
        nd.Access(
            "spike_state",
            each="weight * spike_state",
            connection={"weight": nd.Parameter("mV", default=1.0)},
        ),
    )
    updates = ("V",)
    states = {"V": nd.State("mV", 0.0)}
    update = "V += spike_state;"


def test_connections_and_projections() -> None:
    """Weights where the access declares a unit, delays, and distributions of both."""
    groups = [(shipped()["SpikeSource"], 4, {}, None), (Jumps, 4, {}, None)]
    weights = {"weight": np.array([1.0, 2.0, 3.0, 4.0]) * u.uV}
    ends = np.arange(4), np.arange(4, 8)
    links = Connections("spike_state", "spike_state", *ends, 2.0 * u.ms, weights)
    circuit = nd.Circuit.from_arrays(groups, [links])
    made = circuit.connections[0]
    assert np.allclose(made.data["weight"], [1e-3, 2e-3, 3e-3, 4e-3]) and made.delay == 2e-3
    given = "spike_state", "spike_state", (0, 4), (4, 8), nd.AllToAll()
    for weight, same in (
        (0.5 * u.V, 500.0),
        (nd.Normal(0.5 * u.V, 10.0 * u.mV, low=0 * u.mV), nd.Normal(500.0, 10.0, low=0.0)),
        (nd.LogNormal(1.0, 0.5, factor=2.0 * u.V), nd.LogNormal(1.0, 0.5, factor=2000.0)),
    ):
        pair = [
            nd.Circuit.from_arrays(groups, [nd.Projection(*given, w, d)])
            for w, d in ((weight, nd.Uniform(1 * u.ms, 2 * u.ms)), (same, nd.Uniform(1e-3, 2e-3)))
        ]
        assert pair[0].digest == pair[1].digest
    wrong = nd.Projection(*given, nd.Normal(1 * u.s, 1.0), 2 * u.mV)
    with pytest.raises(CircuitError) as told:
        nd.Circuit.from_arrays(groups, [wrong])
    assert "'weight', 'mean': must be a quantity in mV (got 1 second" in str(told.value)
    assert "'delay': must be a quantity in s (got 2 millivolt" in str(told.value)
    lattice = nd.Lattice([[0]], [1.0] * u.mV, [[0], [1], [2], [3]], [[0], [1], [2], [3]])
    with pytest.raises(CircuitError, match="'weights' must be finite numbers"):
        nd.Circuit.from_arrays(groups, [nd.Projection(*given[:4], lattice)])
    links = Connections("spike_state", "spike_state", *ends, 1 * u.mV, {"weight": 1 * u.s})
    with pytest.raises(CircuitError, match=r"'delay': must be a quantity in s (.|\n)*'weight'"):
        nd.Circuit.from_arrays(groups, [links])


@pytest.mark.parametrize(("unit", "text"), [("mA", "mA"), ("kg", "1 kg"), ("kg/s", "1 kg s^-1")])
def test_units_are_told_by_usual_names(unit: str, text: str) -> None:
    assert str(dimension(unit)) == text


def test_weights_that_are_set() -> None:
    """In the unit of the access; without one, no quantity is taken."""
    sources, jumps = nd.Population("SpikeSource", 2, name="s"), nd.Population(Jumps, 2, name="j")
    links = nd.Projection(sources, jumps, nd.AllToAll(), "spike_state", name="own")
    exc = nd.Population("LeakyIAFShiu", 2, name="exc")
    plain = nd.Projection(sources, exc, nd.AllToAll(), "kick", name="plain")
    learns = nd.Projection(
        sources, exc, nd.AllToAll(), "syn", name="learns", plasticity=nd.PairSTDP(w_max=9.0)
    )
    with nd.LPU(nd.Circuit([sources, jumps, exc], [links, plain, learns]), 1e-3) as lpu:
        lpu.connections["own"].weight = 5.0 * u.uV
        assert lpu.connections["own"].weight == pytest.approx(5e-3)
        for name, say in (("own", "in mV"), ("plain", "without"), ("learns", "without")):
            with pytest.raises(UnitError, match=f"'{name}', 'weight': must be .*{say}.*4.0 second"):
                lpu.connections[name].weight = 4.0 * u.s


def test_graphs() -> None:
    """Attributes of nodes and edges."""
    graph = nx.MultiDiGraph()
    graph.add_node("a", **{"class": "SpikeSource"})
    graph.add_node("b", **{"class": "LeakyIAFShiu", "threshold": -0.045 * u.V, "initV": 2 * u.uV})
    graph.add_edge("a", "b", weight=5.0 * u.dimensionless, delay=1.8 * u.ms)
    circuit = nd.Circuit.from_graph(graph)
    group = next(g for g in circuit.groups if g.name == "LeakyIAFShiu")
    assert group.params["threshold"] == -45.0 and group.params["initV"] == 2e-3
    assert circuit.connections[0].delay == pytest.approx(1.8e-3, rel=1e-15)
    graph.nodes["b"]["threshold"] = 3 * u.s
    graph.add_edge("a", "b", weight=5.0 * u.mV, delay=1.8 * u.V)
    with pytest.raises(CircuitError) as told:
        nd.Circuit.from_graph(graph)
    text = str(told.value)
    assert (
        text.startswith("graph: 3 faults")
        and "attribute 'threshold' [mV]: must be a quantity in mV" in text
    )
    assert "edge 'a' -> 'b', attribute 'delay': must be a quantity in s (got 1.8 volt" in text
    assert "edge 'a' -> 'b', attribute 'weight': must be a number without a unit" in text


def test_tables(tmp_path: Path) -> None:
    """Delays and parameters; a weight of a table is a plain number."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv

    csv.write_csv(pa.table({"a": [1, 2], "b": [2, 1], "w": [3, 4]}), tmp_path / "e.csv")

    def read(**given: Any) -> nd.Circuit:
        ends = {"source": "a", "target": "b", "weight": "w", "receptor": "syn"}
        return nd.Circuit.from_tables(tmp_path / "e.csv", model="LeakyIAFShiu", **ends, **given)

    circuit = read(delay=1.8 * u.ms, params={"threshold": -0.045 * u.V})
    assert circuit.connections[0].delay == pytest.approx(1.8e-3, rel=1e-15)
    assert circuit.groups[0].params["threshold"] == -45.0
    columns = read(delay="w", delay_scale=1 * u.ms).connections[0].delay
    assert columns.tolist() == [3e-3, 4e-3]
    with pytest.raises(UnitError, match="delay and delay_scale: must be a quantity in s"):
        read(delay=1 * u.mV)
    with pytest.raises(UnitError, match="weight and weight_scale: must be a number without"):
        read(weight_scale=1 * u.mV)


def test_times_and_values_of_inputs() -> None:
    """Spans, rates, pulses, rows and events; values where all models agree on the unit."""
    step = nd.StepInput("V", ["n"], 0.5 * u.V, start=2 * u.ms, stop=0.1 * u.minute)
    assert (step.value, step.start, step.stop) == (500.0, 2e-3, 6.0)
    ramp = nd.RampInput("V", ["n"], 1 * u.ms, 2 * u.ms, 0.0, 1 * u.V)
    assert (ramp.start, ramp.duration, ramp.stop_value) == (1e-3, 2e-3, 1000.0)
    pulses = nd.PulseInput("V", ["n"], [1, 2] * u.ms, [1.5 * u.ms, 2.5 * u.ms], 3 * u.uV)
    assert pulses.starts.tolist() == [1e-3, 2e-3] and np.allclose(pulses.stops, [1.5e-3, 2.5e-3])
    assert (pulses.values == 3e-3).all()
    nd.PulseInput.periodic("V", ["n"], 1 * u.mV, 20 * u.ms, 1 * u.ms, start=0.1 * u.s)
    poisson = nd.PoissonInput("spike_state", ["n"], 0.1 * u.kHz, stop=10 * u.ms)
    assert poisson.rate == 100.0 and poisson.stop == 1e-2
    assert nd.NoiseInput("I", ["n"], tau=5 * u.ms).tau == 5e-3
    events = nd.ArrayInput({"spike_state": (["n"], ([1, 2] * u.ms, [0, 0]))})
    assert events.contents()[0]["time"].tolist() == [1e-3, 2e-3]
    rows = nd.ArrayInput({"V": (["n"], [[1.0], [2.0]] * u.V)})
    assert rows.contents()[0].tolist() == [[1000.0], [2000.0]]
    for make, message in (
        (lambda: nd.StepInput("V", ["n"], 5 * u.nA), r"StepInput 'V': must be a quantity in mV"),
        (
            lambda: nd.StepInput("I", ["n"], 5, start=1 * u.mV),
            "'I': start: must be a quantity in s",
        ),
        (lambda: nd.PoissonInput("spike_state", ["n"], 5 * u.ms), "must be a quantity in Hz"),
        (lambda: nd.NoiseInput("I", ["n"], tau=5 * u.mV), "tau: must be a quantity in s"),
    ):
        with pytest.raises(UnitError, match=message):
            make()


def assert_current(model: str, given: Any, plain: float) -> None:
    """Every input that injects a current gets a plain number from a quantity."""
    circuit = nd.Circuit.from_arrays([(shipped()[model], 2, {}, None)])
    uids = circuit.uids

    def inputs(value: Any) -> list[Any]:
        return [
            nd.StepInput("I", uids, value),
            nd.RampInput("I", uids, 0.0, 1e-3, 0 * value, value),
            nd.PulseInput("I", uids, [0.0], [1.0], [value, 2 * value][:1]),
            nd.PulseInput.periodic("I", uids, value, 2e-3, 1e-3),
            nd.NoiseInput("I", uids, value, 0.1 * value),
            nd.ArrayInput({"I": (uids, [[1.0, 2.0]] * value)})
            if hasattr(value, "units")
            else nd.ArrayInput({"I": (uids, np.array([[1.0, 2.0]]) * value)}),
        ]

    made = inputs(given)
    with nd.LPU(circuit, 1e-4, made) as lpu:
        found, expected = lpu.inputs, inputs(plain)
        for name, a, b in (
            ("value", 0, 0), ("start_value", 1, 1), ("stop_value", 1, 1), ("values", 2, 2),
            ("values", 3, 3), ("mean", 4, 4), ("sigma", 4, 4),
        ):  # fmt: skip
            assert np.allclose(getattr(found[a], name), getattr(expected[b], name), rtol=1e-14)
        rows = [found[5].contents()[0], expected[5].contents()[0]]
        assert np.allclose(*rows, rtol=1e-14) and found[0].value[0] == pytest.approx(plain)
        lpu.run(5)


def test_currents_have_the_unit_of_the_model() -> None:
    """Per area, of a whole cell, and of a potential in time."""
    weak = {"resting_potential": -70.0, "threshold": -50.0, "reset_potential": -60.0}
    weak |= {"time_constant": 10.0, "capacitance": 250.0}
    assert_current("Rinzel", 0.05 * u.A / u.m**2, 5.0)
    assert_current("Izhikevich", 10 * u.V / u.s, 10.0)
    circuit = nd.Circuit.from_arrays([(shipped()["LeakyIAFDelta"], 2, weak, None)])
    with nd.LPU(circuit, 1e-4, nd.StepInput("I", circuit.uids, 0.3 * u.nA)) as lpu:
        assert lpu.inputs[0].value == pytest.approx(300.0)
    wrong = nd.StepInput("I", circuit.uids, 3 * u.uA / u.cm**2)
    with pytest.raises(UnitError, match=r"StepInput 'I': must be a quantity in pA \(got 3"):
        nd.LPU(circuit, 1e-4, wrong)
    rate = nd.StepInput("rate", ["p/0"], 0.2 * u.kHz)
    source = nd.Circuit.from_arrays([(shipped()["PoissonSource"], 1, {"rate": 0.0}, ["p/0"])])
    with nd.LPU(source, 1e-4, rate) as lpu:
        assert lpu.inputs[0].value == 200.0


def of_current(model: Any) -> list[Dimension]:
    """The units that a current has in the equations of a model, as its parameters tell them."""
    found = []
    mV, ms = dimension("mV"), dimension("ms")
    assert mV is not None and ms is not None
    for rule in model.params.values():
        one = dimension(rule.unit)
        if one is None:
            continue
        for kind, made in (("F", one * mV / ms), ("S", one * mV), ("Ohm", mV / one), ("A", one)):
            for more in ("", "/cm^2") if kind != "Ohm" else ("", " cm^2"):
                like = dimension(kind + more)
                assert like is not None
                if one.alike(like):
                    found.append(made)
    return found


def test_units_of_accesses_follow_from_the_equations() -> None:
    """Capacitances, conductances, resistances and currents of a model tell that of its current."""
    others = {
        "ConnorStevens": "uA/cm^2", "HodgkinHuxley": "uA/cm^2", "Rinzel": "uA/cm^2",  # constants
        "PhotoreceptorModel": "uA/cm^2", "GradedNeuron": "1",  # a current in units of V
        "Izhikevich": "mV/ms", "IzhikevichEuler": "mV/ms", "IzhikevichNoisy": "mV/ms",  # dV/dt
        "NIRCubaLI": "1", "NIRCubaLIF": "1", "NIRIF": "1", "NIRLI": "1", "NIRLIF": "1",
    }  # fmt: skip
    told = 0
    for name, model in shipped().items():
        for access in model.accesses:
            unit = dimension(access.unit)
            assert unit is not None, f"{name}.{access.name} has no unit"
            if access.variable != "I":
                continue
            expected = of_current(model)
            told += len(expected) > 0
            if not expected:
                assert access.unit == others.pop(name)
            assert all(unit.same(one) for one in expected), name
    assert not others and told > 15


def test_one_input_into_several_units() -> None:
    """Models that differ are told by name; so are two LPUs, and a variable without a unit."""
    hh, iz = shipped()["Rinzel"], shipped()["Izhikevich"]
    both = nd.Circuit.from_arrays([(hh, 1, {}, ["h"]), (iz, 1, {}, ["i"])])
    current = nd.StepInput("I", ["h", "i"], 1 * u.uA / u.cm**2)
    message = r"'I' in uA/cm\^2 \(Rinzel\) and in mV/ms \(Izhikevich\)"
    with pytest.raises(UnitError, match=message):
        nd.LPU(both, 1e-4, current)
    nd.LPU(both, 1e-4, nd.StepInput("I", ["h", "i"], 1.0)).close()
    one = nd.StepInput("I", ["h"], 1 * u.uA / u.cm**2)
    nd.LPU(both, 1e-4, one).close()
    other = nd.Circuit.from_arrays([(iz, 1, {}, ["h"])])
    with pytest.raises(UnitError, match="one LPU takes it in uA/cm\\^2, another one in mV/ms"):
        nd.LPU(other, 1e-4, one)

    class Dosed(nd.NDComponent):
        """Adds up a dose."""

        accesses = ("dose",)
        updates = ("total",)
        states: ClassVar = {"total": nd.State("1")}
        update = "total += dose;"

    dosed = nd.Circuit.from_arrays([(Dosed, 1, {}, ["d"])])
    with pytest.raises(UnitError, match="StepInput 'dose': its unit is not declared"):
        nd.LPU(dosed, 1e-4, nd.StepInput("dose", ["d"], 1 * u.mole))


def test_runs_have_the_bits_of_plain_numbers() -> None:
    """Step, duration and type of an LPU."""
    circuit = nd.Circuit.from_arrays([(shipped()["Izhikevich"], 2, {}, None)])
    rows = []
    for dt, duration, dtype in ((0.1 * u.ms, 10 * u.ms, np.float32), (1e-4, 0.01, "float32")):
        recorder = nd.MemoryRecorder([("V", None)])
        current = nd.StepInput("I", circuit.uids, 10.0)
        with nd.LPU(circuit, dt, [current], [recorder], dtype=dtype) as lpu:
            lpu.run(duration=duration)
        rows.append(recorder.get("V"))
    assert rows[0].dtype == np.float32 and rows[0].shape == (100, 2)
    assert rows[0].tobytes() == rows[1].tobytes() and np.ptp(rows[0]) > 10
    with pytest.raises(UnitError, match=r"dt: must be a quantity in s \(got 1 millivolt"):
        nd.LPU(circuit, 1 * u.mV)
    with pytest.raises(UnitError, match="duration: must be a quantity in s"):
        whole_steps(None, 1 * u.mV, 1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float32"), "f4", np.dtype("<f4")])
def test_types_of_numpy(dtype: Any) -> None:
    """Each of them means "float32", also in the attributes of recordings."""
    circuit = nd.Circuit.from_arrays([(shipped()["Izhikevich"], 2, {}, None)])
    with nd.LPU(circuit, 1e-4, dtype=dtype) as lpu:
        assert lpu.settings.dtype == lpu.attributes["dtype"] == lpu.program.dtype.name == "float32"


@pytest.mark.parametrize("dtype", [None, int, "float16", "double precision", 4, np.complex128])
def test_types_that_are_none(dtype: Any) -> None:
    """The message says what is allowed."""
    circuit = nd.Circuit.from_arrays([(shipped()["Izhikevich"], 2, {}, None)])
    with pytest.raises(NeurodriverError, match="dtype must be 'float64' or 'float32', got"):
        nd.LPU(circuit, 1e-4, dtype=dtype)


def test_no_package_of_units_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain numbers need none of them."""
    for name in ("pint", "quantities", "astropy", "brian2"):
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    assert isinstance(nd, ModuleType)
    circuit = nd.Circuit.from_arrays([(shipped()["Izhikevich"], 2, {"a": 0.02}, None)])
    with nd.LPU(circuit, 1e-4, [nd.StepInput("I", circuit.uids, 10.0)]) as lpu:
        lpu.run(steps=3)
        assert lpu.step == 3
