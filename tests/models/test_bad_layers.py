"""What bad input gets, row by row of the specification of layers and fields."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layered import Neighbours, Pixel

import neurodriver as nd
from neurodriver.circuit.cut import cut
from neurodriver.errors import CircuitError, ModelError, NeurodriverError, StateError

AXES = {"y": 3, "x": 4}
VARIED = np.linspace(-50.0, -40.0, 12)
CELL = {"resting_potential": -65, "reset_potential": -65, "threshold": -50, "time_constant": 10}


class Open(nd.NDComponent):
    """A base with a gap."""

    abstract = True
    axes, updates = ("y",), {"val": "1"}
    update = "$each"


class Filled(Open):
    parts = {"each": "val = 1;"}


class Framed(Pixel):
    """Has a field that is an array."""

    fields = {"frame": nd.Field(axes="y x", default=np.ones((3, 4)))}
    update = "val = frame[here.y, here.x];"


class Hidden(Pixel):
    """Has a state that others do not see."""

    states = {"secret": nd.State("1", 0.0)}
    update = "val = secret;"


def cell(update: str, **more: Any) -> nd.Population:
    """Return a population whose text is under test."""
    body = {"axes": ("y", "x"), "updates": {"val": "1"}, "update": update, **more}
    return nd.Population(type("Cell", (nd.NDComponent,), body), name="c", axes=AXES)


def compiled(population: nd.Population) -> None:
    nd.LPU(nd.Circuit([population]), 1e-3)


def image(name: str = "a", model: Any = Pixel) -> nd.Population:
    return nd.Population(model, name=name, axes=AXES)


def reader(**given: Any) -> nd.Population:
    return nd.Population(Neighbours, name="b", axes=AXES, **given)


def sheet() -> nd.Population:
    axis = nd.Axis.span(4, 0, 4)
    return nd.Population("LeakyIAFDelta", name="s", axes={"y": axis, "x": axis}, **CELL)


def linked(**given: Any) -> nd.Circuit:
    cells = sheet()
    return nd.Circuit([cells], [nd.Projection(cells, cells, nd.Within(2.0), name="p", **given)])


def loop() -> nd.Circuit:
    a, b = (nd.Population("GradedNeuron", 3, name=n, bias=0, time_constant=1.0) for n in "ab")
    links = [nd.Projection(a, b, nd.OneToOne()), nd.Projection(b, a, nd.OneToOne())]
    return nd.Circuit([a, b], links, order="derived")


def split() -> Any:
    """Cut a connection of delay 0 from one phase to the next."""
    a, b = (nd.Population("GradedNeuron", 3, name=n, bias=0, time_constant=1.0) for n in "ab")
    circuit = nd.Circuit([a, b], [nd.Projection(a, b, nd.OneToOne())], order="listed")
    return cut(circuit, np.repeat([0, 1], 3), ["one", "two"])


def reading(text: str, *reads: str, source: nd.Population) -> nd.Circuit:
    own = cell(text, sources={"src": nd.Source(*reads, many=True)})
    made = nd.Population(own.model, name="c", axes=AXES, src=[source])
    return nd.Circuit([source, made])


def around(text: str) -> nd.Population:
    """Return cells on a closed axis; ``many`` is a number that is not known before the run."""
    fields = {"many": nd.Field(whole=True, default=9)}
    body = {"axes": ("y",), "updates": {"val": "1"}, "fields": fields, "update": text}
    model = type("Around", (nd.NDComponent,), body)
    return nd.Population(model, name="c", axes={"y": nd.Axis.span(4, 0, 4, period=4)})


def debugged(population: nd.Population) -> None:
    with nd.LPU(nd.Circuit([population]), 1e-3, debug=True) as lpu:
        lpu.advance(1)


def reading_of(model: Any, source: nd.Population, name: str = "val") -> nd.Population:
    """Return cells whose source has to be of a model."""
    text = f"val = src.{name}[here.y, here.x];"
    body = {"axes": ("y", "x"), "updates": {"val": "1"}, "update": text}
    own = type("Own", (nd.NDComponent,), body | {"sources": {"src": nd.Source(name, model=model)}})
    return nd.Population(own, name="m", axes=AXES, src=source)


def on_axis(**more: Any) -> nd.Axis:
    return nd.Axis.span(5, 0, 1, **more)


Row = tuple[Callable[[], Any], type[Exception], tuple[str, ...]]
ROWS: dict[str, Row] = {
    "1 population of an abstract class": (
        lambda: nd.Population(Open, 3), ModelError, ("Open is a base", "subclasses: Filled"),
    ),
    "2 axes in another order": (
        lambda: nd.Population(Pixel, name="a", axes={"x": 3, "y": 4}), nd.CircuitError,
        ("the axes are x, y", "the model has y, x"),
    ),
    "3 a subclass with other axes": (
        lambda: type("Other", (Pixel,), {"axes": ("x", "y")}), ModelError, ("Pixel fixed them",),
    ),
    "4 two populations of one name": (
        lambda: nd.Circuit([image(), image("b"), image()]), nd.CircuitError,
        ("populations 0 (Pixel) and 2 (Pixel) have the name 'a'; each population needs its",),
    ),
    "4 names that several populations have": (
        lambda: nd.Circuit([image(name) for name in "aababbabb"]), nd.CircuitError,
        ("populations 0 (Pixel), 1 (Pixel), 3 (Pixel) and 6 (Pixel) have the name 'a'",
         "populations 2 (Pixel), 4 (Pixel), 5 (Pixel) and 2 others have the name 'b'"),
    ),
    "5 positions that fall": (
        lambda: nd.Axis.at([0, 2, 1]), nd.CircuitError, ("position 1 is 2.0, position 2 is 1.0",),
    ),
    "5 positions that repeat": (
        lambda: nd.Axis.at([0, 1, 1]), nd.CircuitError, ("position 1 is 1.0, position 2 is 1.0",),
    ),
    "5 positions that are NaN": (
        lambda: nd.Axis.at([0, np.nan]), nd.CircuitError, ("position 1 is nan",),
    ),
    "5 positions beyond the period": (
        lambda: nd.Axis.at([0, 5, 11], period=10), nd.CircuitError, ("less than the period 10",),
    ),
    "6 a window that is too large": (
        lambda: on_axis().windows(6), nd.CircuitError, ("the largest window has 5",),
    ),
    "6 a size of 0": (lambda: on_axis().windows(0), nd.CircuitError, ("at least 1 (got 0)",)),
    "6 a step of 0": (lambda: on_axis().windows(2, step=0), nd.CircuitError, ("at least 1",)),
    "6 a size that is not whole": (lambda: on_axis().windows(2.5), nd.CircuitError, ("2.5",)),  # type: ignore[arg-type]
    "two loops of one variable": (
        lambda: compiled(cell("for (i : near(here.y, 3)) for (i : near(here.x, 3)) val += 1;")),
        ModelError, ("Cell.update, line 1, column 27: 'i' is the variable of a loop around this",),
    ),
    "a variable in a loop of its name": (
        lambda: compiled(cell("for (i : near(here.y, 3)) if (i > 1) { int i = 9; val += i; }")),
        ModelError, ("Cell.update, line 1, column 44: 'i' is the variable of a loop around this",),
    ),
    "7 a look-up without positions": (
        lambda: compiled(cell("for (i : near(here.y, 3)) val += 1;")), ModelError,
        ("line 1, column 15", "loop over size(here.y)"),
    ),
    "8 near beyond a closed axis": (
        lambda: on_axis(period=1).near(0.1, 6), nd.CircuitError, ("take at most 5",),
    ),
    "8 a negative radius": (lambda: on_axis().within(0.1, -1), nd.CircuitError, ("got -1",)),
    "8 near beyond a closed axis, in a text": (
        lambda: compiled(around("for (i : near(here.y, 9)) val += 1;")), ModelError,
        ("column 10", "more than the 4 cells of a closed axis; take at most 4"),
    ),
    "8 near beyond a closed axis, computed": (
        lambda: debugged(around("for (i : near(here.y, many)) val += 1;")), NeurodriverError,
        ("c/0, step 1: near(9) on a closed axis of 4 cells",),
    ),
    "8 a negative radius, computed": (
        lambda: debugged(around("for (i : within(here.y, 2 - many)) val += 1;")), NeurodriverError,
        ("c/0, step 1: within has the radius -7; take one of at least 0",),
    ),
    "9 a field with too many axes": (
        lambda: reader(src=image(), w=np.zeros((2, 2))), nd.CircuitError,
        ("Neighbours.w: expected an array (k), got shape (2, 2)",),
    ),
    "9 a field of the wrong length": (
        lambda: reader(src=image(), w=[1, 2], v=[1, 2, 3]), nd.CircuitError,
        ("expected an array (i = 2), got shape (3,)",),
    ),
    "9 a field that is missing": (
        lambda: reader(src=image()), nd.CircuitError, ("field 'w' is missing, an array (k)",),
    ),
    "9 a field that is not whole": (
        lambda: reader(src=image(), w=[1, 2], n=1.5), nd.CircuitError, ("takes whole numbers",),
    ),
    "10 a field that the model does not have": (
        lambda: reader(src=image(), w=[1, 2], bais=3), nd.CircuitError, ("did you mean 'bias'?",),
    ),
    "10 a source that the model does not have": (
        lambda: reader(src=image(), sources=image("z"), w=[1, 2]), nd.CircuitError,
        ("no parameter 'sources'", "src, more"),
    ),
    "10 a part that the text does not have": (
        lambda: type("Broken", (Open,), {"parts": {"eech": "val = 1;"}}), ModelError,
        ("nobody fills in '$each' (did you mean 'eech'?)",),
    ),
    "11 a source of another model": (
        lambda: nd.Circuit([a := image(), reading_of(Hidden, a)]), nd.CircuitError,
        ("source 'src': 'a' is of Pixel, and has to be of Hidden",),
    ),
    "11 a source that does not update what is read": (
        lambda: nd.Circuit([a := sheet(), reader(src=a, w=[1, 2])]), nd.CircuitError,
        ("does not update 'val'", "it updates spike_state, V"),
    ),
    "11 a field of another population": (
        lambda: nd.Circuit([a := image(model=Framed), reading_of(None, a, "frame")]),
        nd.CircuitError, ("'a' (Framed) has 'frame' as a field, and a source reads variables",),
    ),
    "11 a field of another population by a path": (
        lambda: nd.LPU(
            reading("for (s : src) val = s.frame;", source=image(model=Framed)), 1e-3
        ),
        ModelError, ("population 'a' has no 'frame'", "give the array to this model, too, as a"),
    ),
    "12 a hidden state of another population": (
        lambda: reading("val = count(src);", "secret", source=image(model=Hidden)),
        nd.CircuitError, ("'secret': a state of its own", "in its 'updates'"),
    ),
    "13 a write to a parameter": (
        lambda: compiled(cell("p = 1;", params={"p": nd.Parameter("1", default=0.0)})), ModelError,
        ("column 1", "'p' is a parameter", "declare a state"),
    ),
    "13 a write to a field": (
        lambda: compiled(cell("w = 1;", fields={"w": nd.Field(default=0.0)})), ModelError,
        ("column 1", "'w' is a field", "set it from outside"),
    ),
    "13 a write to a source": (
        lambda: nd.LPU(reading("for (s : src) { s.val[0, 0] = 1; }", "val", source=image()), 1e-3),
        ModelError, ("column 17", "writes the states and updated variables of its own cell"),
    ),
    "13 a write to another cell": (
        lambda: compiled(cell("here.val[0, 0] = 1;")), ModelError,
        ("column 1", "writes the states and updated variables of its own cell"),
    ),
    "14 a wrong number of indices": (
        lambda: compiled(cell("val = here.val[0];")), ModelError, ("takes 2 indices (y, x)",),
    ),
    "14 an index that is real": (
        lambda: compiled(cell("val = here.val[0.5, 0];")), ModelError, ("is an integer",),
    ),
    "15 a part that nobody fills": (
        lambda: type("Broken", (Open,), {}), ModelError, ("nobody fills in '$each'",),
    ),
    "15 a part that contains itself": (
        lambda: type("Broken", (Open,), {"parts": {"each": "$each"}}), ModelError,
        ("$each -> $each",),
    ),
    "16 a function that calls itself": (
        lambda: compiled(cell("val = f(1);", functions={"f(x)": "f(x - 1)"})), ModelError,
        ("'f' calls itself",),
    ),
    "16 a function that hides a name": (
        lambda: compiled(cell("val = exp(1);", functions={"exp(x)": "x"})), ModelError,
        ("the name 'exp' is taken",),
    ),
    "16 a function that hides a state": (
        lambda: compiled(cell("val = V(1);", states={"V": nd.State("1", 0.0)},
                              functions={"V(x)": "x"})), ModelError,
        ("the function 'V' would hide what the model declares so",),
    ),
    "16 a wrong number of arguments": (
        lambda: compiled(cell("val = f(1, 2);", functions={"f(x)": "x"})), ModelError,
        ("'f' takes 1 argument, 2 given",),
    ),
    "17 an array of a size that is not constant": (
        lambda: compiled(cell("int n = 3; real g[n]; val = g[0];")), ModelError,
        ("the size of an array is a whole number",),
    ),
    "17 arrays that are too large together": (
        lambda: compiled(cell("real g[2000], h[100]; val = g[0] + h[0];")), ModelError,
        ("'h' have 16,800 bytes", "16,384 are allowed"),
    ),
    "18 an order that leaves one out": (
        lambda: nd.Circuit([image("a"), image("b")], order=[["a"]]), nd.CircuitError,
        ("'b' is left out",),
    ),
    "18 an order that repeats one": (
        lambda: nd.Circuit([image("a"), image("b")], order=[["a"], ["a", "b"]]), nd.CircuitError,
        ("'a' is named twice",),
    ),
    "18 an order that names none": (
        lambda: nd.Circuit([image("a")], order=[["a"], ["c"]]), nd.CircuitError,
        ("no population 'c'",),
    ),
    "19 an order of a loop": (loop, nd.CircuitError, ("'a' -> 'b' -> 'a'", "a delay")),
    "20 a link within a step from one part to another": (
        split, nd.CircuitError, ("has no delay", "a port takes a step"),
    ),
    "21 a formula with an unknown name": (
        lambda: linked(weight=nd.Formula("q * d")), nd.CircuitError, ("unknown name 'q'", "d2"),
    ),
    "21 a formula that is not finite": (
        lambda: linked(weight=nd.Formula("1 / d")).connections[0].expanded(), nd.CircuitError,
        ("Formula('1 / d')", "'s/0' -> 's/0': inf"),
    ),
    "21 a negative delay": (
        lambda: linked(delay=nd.Formula("-d")).connections[0].expanded(), nd.CircuitError,
        ("'s/0' -> 's/1': -1",),
    ),
    "25 a format that does not fit": (
        lambda: cell('PRINT("%d", 1, 2); val = 1;'), ModelError, ("1 values, 2 are given",),
    ),
    "25 too many numbers": (
        lambda: cell(f'PRINT("{"%d " * 9}", 1, 2, 3, 4, 5, 6, 7, 8, 9); val = 1;'), ModelError,
        ("9 values, 8 are allowed",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_row(row: str) -> None:
    make, error, said = ROWS[row]
    with pytest.raises(error) as caught:
        make()
    assert [text for text in said if text not in str(caught.value)] == []


def test_live_rows() -> None:
    """22 and 23: unknown names, wrong shapes, NaN, numbers that a parameter refuses."""
    with nd.LPU(nd.Circuit([sheet()]), 1e-3) as lpu:
        cells = lpu["s"]
        before = np.array(cells.V)
        wrong: dict[str, Callable[[], Any]] = {
            "(did you mean 'threshold'?)": lambda: cells.get("treshold"),
            "a number or 16 of them": lambda: cells.set("V", np.zeros(3)),
            "must be finite (got nan)": lambda: cells.set("V", np.nan),
            "must be finite and positive": lambda: cells.set("time_constant", -1),
            "no axis 'z'": lambda: cells.set("V", 0, at={"z": 1}),
        }  # fmt: skip
        for said, change in wrong.items():
            with pytest.raises(nd.NeurodriverError) as caught:
                change()
            assert said in str(caught.value)
        assert np.array_equal(cells.V, before)


def test_a_closed_lpu_has_no_values(tmp_path: Path) -> None:
    """Row 24: nothing is read, set or saved, also not by what was looked up before."""
    links = [nd.Projection(a := sheet(), a, nd.Near(y=2, x=2), name="near", weight=1.0)]
    lpu = nd.LPU(nd.Circuit([a], links), 1e-3, threads=1)
    with lpu:
        cells, near = lpu["s"], lpu.connections["near"]
        cells.set("V", -60.0)
        lpu.advance(2)
        view, step = cells.shared("V"), lpu.step
    uses: list[Callable[[], Any]] = [
        lambda: cells.get("V"),
        lambda: cells.set("V", -50.0),
        lambda: cells.shared("V"),
        cells.show,
        lambda: lpu["s"],
        lambda: lpu.get("V"),
        lambda: lpu.set("V", -50.0),
        lambda: near.get("weight"),
        lambda: near.set("weight", 2.0),
        lambda: lpu.save(tmp_path / "a.h5"),
        lambda: lpu.reset(step=0),
        lambda: lpu.advance(1),
    ]
    for use in uses:
        with pytest.raises(NeurodriverError, match="LPU: closed; "):
            use()
    assert lpu.step == step and view.size == 16 and not list(tmp_path.iterdir())


def test_memory_that_is_not_to_be_written() -> None:
    """Row 24: parameters and events are changed by `set` alone; a state can be written to."""
    cells = nd.Population("LeakyIAFDelta", name="cells", axes=AXES, **{**CELL, "threshold": VARIED})
    with nd.LPU(nd.Circuit([cells]), 1e-3) as lpu:
        for name in ("threshold", "spike_state"):
            shared = lpu["cells"].shared(name)
            before = np.array(shared)
            with pytest.raises(ValueError, match="read-only"):
                shared[0] = 1.0
            with pytest.raises(ValueError, match="read-only"):
                np.from_dlpack(shared)[0] = 1.0
            assert type(shared + 1) is np.ndarray and np.array_equal(shared, before)
            capsule = shared.__dlpack__()  # as libraries ask that know no newer version
            assert "dltensor" in repr(capsule)
        lpu["cells"].shared("V")[0, 3] = -60.0
        assert lpu["cells"].get("V")[0, 3] == -60.0


def test_more_cells_than_memory_holds() -> None:
    """Row 27: known before anything of that size is made."""
    huge = nd.Population("LeakyIAFDelta", name="huge", axes={"y": 40_000, "x": 50_000}, **CELL)
    circuit = nd.Circuit([huge])
    want = r"2,000,000,000 LeakyIAFDelta need [\d.]+ GiB: take fewer cells, or dtype='float32'"
    with pytest.raises(CircuitError, match=rf"GiB of memory are free; {want}"):
        nd.LPU(circuit, 1e-3)


class Grown(nd.NDComponent):
    """Has a number for each of its connections."""

    updates = {"val": "1"}
    accesses = (nd.Access("val", "exc", connection={"w": nd.State("1", 0.5)}),)
    update = "for (s : exc) s.w = 0.5 * s.w;"


def grown(rule: Any, **places: Any) -> nd.Circuit:
    model = type("Grown", (Grown,), {"axes": tuple(places.get("axes", ()))})
    cells = nd.Population(model, name="cells", **places)
    return nd.Circuit([cells], [nd.Projection(cells, cells, rule, receptor="exc", name="far")])


SQUARE = {"axes": {"y": nd.Axis.span(1000, 0, 1000), "x": nd.Axis.span(1000, 0, 1000)}}
POINTS = {"positions": np.random.default_rng(0).random((4000, 2))}
BOX = np.stack(np.meshgrid(np.arange(-150, 150), np.arange(-150, 150)), -1).reshape(-1, 2)
TOO_MANY: dict[str, tuple[Any, dict[str, Any], float, str]] = {
    "within": (nd.Within(150.0), SQUARE, 2.0**36,
               r"'w' of at least 61,9\d\d,\d{3},\d{3} connections 'far' need 461\.\d GiB, 64.0 GiB "
               ".* fewer cells or a shorter reach, or dtype"),
    "offsets": (nd.Offsets(BOX), SQUARE, 2.0**36,
                "'w' of at least 77,006,250,000 connections 'far' need 573.7 GiB"),
    "near": (nd.Near(50), POINTS, 1e6,
             "'w' of at least 200,000 connections 'far' need 0.0 GiB"),
    "near, as a list": (nd.Near(2000), POINTS, 5e7,
                        r"8,000,000 connections of Near\(2000\) need 0.2 GiB, .* or a smaller n"),
    "offsets, as a table": (nd.Offsets(np.arange(-90_000.0, 90_000)[:, None]),
                            {"axes": {"x": nd.Axis.span(10**6, 0, 10**6)}}, 2.0**36,
                            "1,000,000 sources at 180,000 steps .* or fewer offsets"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOO_MANY)
def test_more_connections_than_memory_holds(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 27: their number is bounded without a look at pairs of cells."""
    rule, places, free, said = TOO_MANY[case]
    circuit = grown(rule, **places) if case in ("within", "offsets", "near") else None
    monkeypatch.setattr("neurodriver.circuit.room.free_memory", lambda: free)
    with pytest.raises(CircuitError, match=said):
        nd.LPU(circuit or grown(rule, **places), 1e-3)


@pytest.mark.parametrize("model", ["GradedNeuron", "LeakyIAFDelta"])
def test_connections_that_are_to_be_stored(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 27: refused as columns and in a run, by default and where the user asks for it."""
    monkeypatch.setattr("neurodriver.circuit.room.free_memory", lambda: 2.0**36)
    given = {"bias": 0, "time_constant": 1.0} if model == "GradedNeuron" else CELL
    cells = nd.Population(model, name="c", **SQUARE, **given)
    said = r"at least 61,9\d\d,.* connections 'far' need 230.\d GiB, 64.0 .* try stored=False"
    for stored in (True, "auto"):
        link = nd.Projection(cells, cells, nd.Within(150.0), name="far", delay=1e-3, stored=stored)
        circuit = nd.Circuit([cells], [link])
        for use in (circuit.connections[0].expanded, partial(nd.LPU, circuit, 1e-3)):
            with pytest.raises(CircuitError, match=said):
                use()


def test_a_checkpoint_of_another_circuit(tmp_path: Path) -> None:
    """Row 26: both digests, and what is different."""

    def made(
        first: int = 4, threshold: float = -50.0, weight: float = 1.0, seed: int = 1, **more: Any
    ) -> nd.LPU:
        axes = {"y": nd.Axis.span(first, 0, 4), "x": nd.Axis.span(4, 0, 4)}
        s = nd.Population("LeakyIAFDelta", name="s", axes=axes, **{**CELL, "threshold": threshold})
        link = nd.Projection(s, s, nd.Near(y=2, x=2), name="near", weight=weight)
        return nd.LPU(nd.Circuit([s], [link], seed=seed), 1e-3, **more)

    with made() as lpu:
        lpu.save(tmp_path / "a.h5")
    for given, said in (
        ({"first": 5}, "it had 16 LeakyIAFDelta, and has 20 here"),
        ({"threshold": -40.0}, "'threshold' of LeakyIAFDelta"),
        ({"weight": 2.0}, "the connections 'near'"),
        ({"seed": 2}, "the seed of the connections 'near'"),
    ):
        with made(**given) as lpu, pytest.raises(StateError) as found:
            lpu.resume(tmp_path / "a.h5")
        assert f"the first difference is: {said}; take" in str(found.value)
        assert lpu.circuit.digest[:12] in str(found.value)
    with made(dtype="float32") as lpu, pytest.raises(StateError, match=r"dtype .*float64.*float32"):
        lpu.resume(tmp_path / "a.h5")
