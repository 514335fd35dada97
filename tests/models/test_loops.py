"""Texts that loop over connections and keep variables of synapses, against plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from looped import DT, STEPS, Measuring, Placed, Rewarded, Tonic, circuit, measured, plain

import neurodriver as nd
from neurodriver.errors import ModelError

REWARDS = [0.003] * 30 + [-0.002] * 30
VARIED, EQUAL = "spike_state -> exc", "spike_state -> exc (2)"


def found(lpu: nd.LPU) -> dict[str, np.ndarray]:
    """Return states, and variables of synapses by set."""
    cells, links = lpu["cells"], lpu.connections
    names = {"0": VARIED, "1": EQUAL}
    tables = {
        f"{v}{i}": np.array(links[n].get(v)) for i, n in names.items() for v in ("w", "trace")
    }
    return {**{v: np.array(cells.get(v)) for v in ("V", "post", "seen")}, **tables}


def run(made: nd.Circuit, chunk: int = STEPS, **settings: Any) -> dict[str, np.ndarray]:
    """Return what a run gives whose reward is changed in its middle."""
    with nd.LPU(made, DT, **settings) as lpu:
        for first in range(0, STEPS, STEPS // 2):
            lpu.set("reward", REWARDS[first])
            for begin in range(0, STEPS // 2, chunk):
                lpu.advance(min(chunk, STEPS // 2 - begin))
        return found(lpu)


@pytest.mark.parametrize("delays", [True, False])
def test_plain_python(delays: bool) -> None:
    """States, weights and traces, connection by connection; spikes of all steps."""
    made = circuit(delays=delays)
    wanted = plain(made, STEPS, REWARDS)
    got = run(made, threads=2)
    assert_equal(got, wanted)
    assert len(np.unique(got["w0"])) > 50 and wanted["spikes"][:, 23:].sum() > 20
    assert (got["seen"] > 10).any() and np.ptp(got["trace1"]) > 0


def test_bits_do_not_depend_on_how_it_runs() -> None:
    """Threads, chunks, plans and both precisions."""
    made = circuit()
    for dtype in ("float64", "float32"):
        first = run(made, threads=1, plans=False, dtype=dtype)
        for more in ({"threads": 3}, {"threads": 2, "chunk": 7}):
            for name, values in run(made, dtype=dtype, **more).items():
                assert values.tobytes() == first[name].tobytes(), (name, more)


def test_variables_of_synapses_are_saved_and_set(tmp_path: Path) -> None:
    """A run that goes on from a file; a change of some of them; back to the beginning."""
    made = circuit()
    wanted = plain(made, STEPS, REWARDS)
    with nd.LPU(made, DT, threads=2) as lpu:
        lpu.advance(30)
        lpu.save(tmp_path / "state.h5")
        half = lpu.connections[VARIED].get("trace").copy()
        assert lpu.connections[VARIED].names == ("w", "kind", "trace")
        lpu.set("reward", REWARDS[-1])
        lpu.advance(30)
        assert_equal(found(lpu), wanted)
        lpu.finish()
        lpu.reset()
        assert np.array_equal(lpu.connections[VARIED].get("w"), made.connections[0].data["w"])
    with nd.LPU.restore(tmp_path / "state.h5", models=[Tonic, Rewarded]) as lpu:
        assert np.array_equal(lpu.connections[VARIED].get("trace"), half) and half.any()
        lpu.set("reward", REWARDS[-1])
        lpu.advance(30)
        assert_equal(found(lpu), wanted)
        lpu.connections[EQUAL].set("w", 0.25)
        after = found(lpu)
        assert (after["w1"] == 0.25).all() and np.array_equal(after["w0"], wanted["w0"])
        assert np.array_equal(after["trace0"], wanted["trace0"])
        with pytest.raises(nd.NeurodriverError, match="must be finite"):
            lpu.connections[EQUAL].set("w", np.nan)
        lpu.finish()
        lpu.connections[VARIED].set("kind", 0.0)  # compiled anew: variables stay
        assert_equal(found(lpu), after)
        lpu.advance(1)
        assert np.ptp(lpu.connections[EQUAL].get("w")) > 0
    with nd.LPU(made, DT) as lpu:
        lpu.set("reward", REWARDS[-1])
        lpu.resume(tmp_path / "state.h5")
        lpu.advance(30)
        assert np.array_equal(lpu.connections[VARIED].get("w"), wanted["w0"])


def test_declared_numbers_of_connections_are_read_and_set() -> None:
    """Those that the connections do not carry are what their accesses declare."""

    class Whole(Rewarded):
        accesses = [
            nd.Access(
                "spike_state",
                "exc",
                connection={
                    "w": nd.State("mV", 0.5),
                    "kind": nd.Parameter("1", default=1.0, whole=True),
                    "gain": nd.Parameter("1", default=3.0, at_least=0.0),
                },
            )
        ]
        update = "for (s : exc) if (s.kind == 1) V += s.w * s.gain * s.spike_state;"

    source = nd.Population(Tonic, 3, name="source")
    cells = nd.Population(Whole, 4, name="cells")
    link = nd.Projection(source, cells, nd.AllToAll(), receptor="exc", name="p")
    columns = nd.Circuit([source, cells], [link]).connections[0].expanded()
    for links in (link, columns):
        with nd.LPU(nd.Circuit([source, cells], [links]), DT) as lpu:
            one = next(iter(lpu.connections.values()))
            assert one.names == ("weight", "kind", "gain", "w")
            assert (one.get("kind") == 1).all() and (one.get("gain") == 3).all()
            lpu.advance(3)
            before = lpu["cells"].V[0]
            one.set("gain", np.where(one.targets == "cells/0", 5.0, 3.0))
            one.set("kind", np.where(one.targets == "cells/1", 2.0, 1.0))
            assert one.get("gain").tolist() == [5.0, 3.0, 3.0, 3.0] * 3
            lpu.advance(4)
            V = lpu["cells"].V
            assert V[1] == before < V[2] == V[3] < V[0]
            for name, value, said in (("kind", 1.5, "whole"), ("gain", -1.0, "at least 0")):
                with pytest.raises(nd.NeurodriverError, match=said):
                    one.set(name, value)
            with pytest.raises(
                nd.NeurodriverError, match=r"you mean 'gain'.*weight, gain, kind, w"
            ):
                one.get("gian")


def assert_equal(got: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    for name, values in got.items():
        assert np.array_equal(values, wanted[name]), name


def of_class(update: str, **access: Any) -> nd.Circuit:
    """Return a circuit of one cell whose text is under test."""
    given = {"connection": {"w": nd.State("mV", 0.5)}, **access}
    body = {"accesses": [nd.Access("r", "exc", **given)], "updates": {"r": "1"}, "update": update}
    model = type("Looping", (nd.NDComponent,), body)
    return nd.Circuit([nd.Population(model, 2, name="cells")])


@pytest.mark.parametrize(
    ("update", "access", "said"),
    [
        ("for (s : exc) s.r = 1;", {}, "'s.r' belongs to another cell"),
        ("for (s : exc) r += s.v;", {}, "a connection of 'exc' has no 'v'"),
        ("for (s : exc) r += s;", {}, "say what of it"),
        ("for (s : exc) r += s.w; r += exc;", {}, "'exc' is an access; say what of it"),
        ("for (s : ex) r += s.w;", {"connection": {}}, "a loop goes over"),
        ("r = exc;", {}, "'w' is a variable of synapses, which a loop reads and writes"),
        ("for (s : exc) r += s.w;", {"reduce": "max"}, "leave out each=, reduce= and single="),
        ("for (s : exc) r += s.w[0];", {}, "is not read"),
    ],
)
def test_bad_loops(update: str, access: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError) as caught, nd.LPU(of_class(update, **access), DT):
        pass
    assert said in str(caught.value)


def test_what_else_is_refused() -> None:
    """A variable that starts at a parameter; connections that learn by a rule, too."""
    with pytest.raises(ModelError, match="starts at a number"):
        nd.Access("r", connection={"w": nd.State("mV", "tau")})
    cells = nd.Population(Rewarded, 2, name="cells")
    rule = nd.PairSTDP()
    link = nd.Projection(cells, cells, nd.OneToOne(), receptor="exc", plasticity=rule, delay=DT)
    with pytest.raises(nd.CircuitError), nd.LPU(nd.Circuit([cells], [link]), DT):
        pass


def test_no_connections() -> None:
    """A cell without any: its loops do nothing."""
    cells = nd.Population(Rewarded, 3, name="cells", initV=1.0)
    with nd.LPU(nd.Circuit([cells]), DT) as lpu:
        lpu.advance(1)
        assert (lpu["cells"].V == 0.9).all() and (lpu["cells"].seen == -1).all()


class Placing(nd.NDComponent):
    """Adds up where its sources are."""

    accesses = [nd.Access("val", "exc", connection={"w": nd.Parameter("1", 1.0)}, model=Placed)]
    updates = {"n": "1", "rows": "1", "columns": "1"}
    update = "for (s : exc) { n += 1; rows += s.y * s.w; columns += s.x; }"


@pytest.mark.parametrize("masked", [False, True])
def test_places_of_sources(masked: bool) -> None:
    """Indices along the axes of the model of the sources, whatever the population's mask."""
    mask = {"mask": np.arange(12).reshape(3, 4) % 5 > 0} if masked else {}
    a = nd.Population(Placed, name="a", axes={"y": 3, "x": 4}, **mask)
    b = nd.Population(Placing, 5, name="b")
    link = nd.Projection(a, b, nd.FixedInDegree(4), receptor="exc", delay=1e-3, name="l")
    circuit = nd.Circuit([a, b], [link], seed=2)
    columns, space = circuit.connections[0].expanded(), circuit.spaces["a"]
    rows, cols = space.indices[columns.source].T
    for threads in (1, 2):
        with nd.LPU(circuit, 1e-3, threads=threads) as lpu:
            lpu.advance(1)
            for name, each in (("n", 1), ("rows", rows), ("columns", cols)):
                wanted = np.zeros(5)
                np.add.at(wanted, columns.target - a.count, each)
                assert np.array_equal(lpu["b"].get(name), wanted) and wanted.any()


def test_sizes_of_the_populations_of_sources() -> None:
    """Each connection knows those of its own source; an input has none."""
    made = measured()
    a, c = (made.populations[name] for name in "ac")
    columns = made.connections
    x = np.concatenate([made.spaces[one].indices[:, 1] for one in ("a", "c")])
    rows, after = np.zeros(5), np.zeros(5)
    for one, (size, wide) in zip(columns, ((304, 4), (205, 5)), strict=True):
        each = one.expanded()
        np.add.at(rows, each.target - a.count - c.count, size)
        np.add.at(after, each.target - a.count - c.count, (x[each.source] + 1) % wide)
    for threads in (1, 2):
        with nd.LPU(made, 1e-3, threads=threads) as lpu:
            lpu.advance(1)
            assert np.array_equal(lpu["b"].rows, rows) and np.array_equal(lpu["b"].after, after)
            assert len(np.unique(after)) > 1 and (lpu["b"].n == 8).all()
    alone = nd.Population(Measuring, 5, name="b")
    driven = nd.StepInput("val", alone, 1.0)
    with nd.LPU(nd.Circuit([alone]), 1e-3, inputs=[driven]) as lpu:
        lpu.advance(2)
        assert (lpu["b"].n == 1).all() and (lpu["b"].rows == 0).all()


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("s.source.z_size", "; there are s.source.y_size, s.source.x_size"),
        ("s.source", "'s.source' cannot be read; there are"),
        ("s.source.y_size.x", "'s.source.y_size.x' cannot be read"),
        ("s.source.y_siz", "did you mean 'y_size'"),
    ],
)
def test_bad_sizes_of_sources(read: str, said: str) -> None:
    with (
        pytest.raises(ModelError) as caught,
        nd.LPU(of_class(f"for (s : exc) r += {read};", connection={}, model=Placed), DT),
    ):
        pass
    assert said in str(caught.value)
    with (
        pytest.raises(ModelError, match="has too many points"),
        nd.LPU(of_class("for (s : exc) r += s.source.y_size;", connection={}), DT),
    ):
        pass


def test_sources_of_another_model() -> None:
    """The access names the model; its axes are no names of the connection."""
    plain = nd.Population("GradedNeuron", 3, name="g", bias=0, time_constant=1.0)

    class Other(nd.NDComponent):
        updates, states, update = {"val": "1"}, {"val": nd.State("1", 0.0)}, "val = 1;"

    b, other = nd.Population(Placing, 5, name="b"), nd.Population(Other, 3, name="o")
    link = nd.Projection(other, b, nd.AllToAll(), receptor="exc", delay=1e-3)
    with pytest.raises(nd.CircuitError, match="'exc' of Placing has a source in 'Other'; it has"):
        nd.LPU(nd.Circuit([other, b, plain], [link]), 1e-3)
    for given, said in (
        ({"model": 3}, "takes a model with axes, got 3"),
        ({"model": Other}, "takes a model with axes"),
        ({"model": Placed, "connection": {"y": nd.Parameter()}}, "'y' is a name of a connection"),
        ({"connection": {"w": 1.0}}, r"connection\['w'\] takes an nd.Parameter, .* got 1.0"),
        ({"connection": ["w"]}, r"connection= takes the numbers .* by their names, .* got \['w'\]"),
        ({"connection": {1: nd.Parameter()}}, "connection= takes the numbers .* by their names"),
    ):
        with pytest.raises(ModelError, match=said):
            nd.Access("val", "exc", **given)  # type: ignore[arg-type]
