"""Fields, sources, look-ups, parts, numbers: what texts of models read beside their own cells."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import layered
import numpy as np
import pytest
from layered import CIRCUITS, IMAGE, Looking, Neighbours, Pixel, Row, windows

import neurodriver as nd
from neurodriver.errors import ModelError
from neurodriver.model.language import to_text
from neurodriver.model.texts import texts_of


def neighbours(
    image: np.ndarray, w: Any, gain: float, bias: float, v: float, p: Any, n: int, old: np.ndarray
) -> np.ndarray:
    """Return what the class above computes, cell by cell."""
    out = np.zeros_like(image)

    def at(values: np.ndarray, y: int, x: int) -> float:
        inside = 0 <= y < image.shape[0] and 0 <= x < image.shape[1]
        return float(values[y, x]) if inside else 0.0

    for y, x in np.ndindex(image.shape):
        seen = at(image, y, x) * w[0] + at(image, y + 1, x - 1) * w[1]
        out[y, x] = gain * seen + bias + v + p[y, x] + n + at(old, y, x + 1)
    return out


def test_fields_of_each_scope_are_read_and_set() -> None:
    axes = {"y": 3, "x": 4}
    a = nd.Population(Pixel, name="a", axes=axes, initval=IMAGE)
    bank, p = nd.Value([2.0, 1.0], name="bank"), np.where(IMAGE == 0, 1.0, 0.0)
    b = nd.Population(Neighbours, name="b", axes=axes, src=a, w=bank, p=p)
    c = nd.Population(Neighbours, name="c", axes=axes, src=a, w=bank, bias=0.25, p=IMAGE, more=[b])
    circuit = nd.Circuit([a, b, c], shared={"gain": 2.0})
    old = other = np.zeros_like(IMAGE)
    with nd.LPU(circuit, dt=1e-3) as lpu:
        for _ in range(2):
            lpu.advance(1)
            old = neighbours(IMAGE, [2, 1], 2, 0.5, 0, p, 3, old)
            other = neighbours(IMAGE, [2, 1], 2, 0.25, 0, IMAGE, 3, other) + 0.5 * 3 + 1
            assert np.array_equal(np.reshape(lpu["b"].get("val"), (3, 4)), old)
            assert np.array_equal(np.reshape(lpu["c"].get("val"), (3, 4)), other)
        lpu.set("bank", [1.0, 3.0])
        lpu.set("gain", 0.5)
        lpu["b"].set("v", 9.0, at={"i": 1})
        lpu["b"].set("n", 5)
        lpu["b"].set("bias", 1.5)
        lpu["b"].set("p", 7.0, at={"y": 1, "x": slice(1, 3)})
        lpu["a"].set("val", 100.0, at={"y": 0})
        image, p = IMAGE.copy(), p.copy()
        image[0], p[1, 1:3] = 100, 7
        assert np.array_equal(lpu.get("bank"), [1, 3]) and lpu.get("gain") == 0.5
        assert lpu["b"].get("n") == 5 and lpu["c"].get("n") == 3
        for _ in range(2):
            lpu.advance(1)
            old = neighbours(image, [1, 3], 0.5, 1.5, 9, p, 5, old)
            other = neighbours(image, [1, 3], 0.5, 0.25, 0, IMAGE, 3, other) + 1.5 * 3 + 1
            assert np.array_equal(np.reshape(lpu["b"].get("val"), (3, 4)), old)
            assert np.array_equal(np.reshape(lpu["c"].get("val"), (3, 4)), other)
        wrong: dict[str, Callable[[], None]] = {
            "'bank': expected shape (2,), got (3,)": lambda: lpu.set("bank", [1, 2, 3]),
            "takes whole numbers": lambda: lpu["b"].set("n", 1.5),
            "must be finite": lambda: lpu["b"].set("w", np.nan),
            "no axis 'k'; its axes are i": lambda: lpu["b"].set("v", 1, at={"k": 0}),
            "(did you mean 'bias'?)": lambda: lpu["b"].set("bia", 1),
            "no axis 'z'; its axes are y, x": lambda: lpu["b"].set("p", 1, at={"z": 0}),
            "out of bounds": lambda: lpu["b"].set("p", 1, at={"y": 5}),
        }
        for said, change in wrong.items():
            with pytest.raises(nd.NeurodriverError) as caught:
                change()
            assert said in str(caught.value)
        assert np.array_equal(lpu.get("bank"), [1, 3]) and lpu["b"].get("n") == 5


@pytest.mark.parametrize("period", [None, 9.5])
@pytest.mark.parametrize("even", [True, False])
def test_look_ups_of_texts_are_those_of_axes(even: bool, period: float | None) -> None:
    """Tables, searches in the kernel, and places that a text computes."""
    n = np.arange(8)
    axis = nd.Axis.at(n + (0 if even else 0.3 * np.sin(1.7 * n)), period=period)
    about = nd.Axis.at(np.linspace(-0.75, 8.1, 9)) if even else nd.Axis.regular(9, -0.75, 1.0)
    val = 1.0 + n**2
    image = nd.Population(Row, name="image", axes={"y": axis}, initval=val)
    cells = nd.Population(Looking, name="cells", axes={"y": about}, image=image, r=1.25, many=3)
    with nd.LPU(nd.Circuit([image, cells]), dt=1e-3) as lpu:
        lpu.advance(1)
        found = {name: np.array(lpu["cells"].get(name)) for name in Looking.updates}
    assert about.positions is not None
    for cell, p in enumerate(about.positions.tolist()):
        inside = axis.within(p, 1.25)
        assert found["n"][cell] == len(inside.valid)
        assert found["sum"][cell] == sum(val[i % 8] for i in inside.valid)
        run = axis.near(p, 3)
        each = [(i - run.first) * val[i % 8] + run.first for i in run.valid]
        assert found["near3"][cell] == sum(each)
        ends = axis.within(p, 1.5)
        extra = 0.5 if period or axis.near(p, 2).complete else 0.0
        assert found["ends"][cell] == 100 * ends.first + ends.last + extra
        assert found["far"][cell] == axis.position(axis.near(2.5, 3).first) + p


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("width", [1, 17, 70])
def test_strips_of_neighbours_have_the_bits_of_single_cells(dtype: str, width: int) -> None:
    circuit, found = windows(width), []
    for plans, threads in ((True, 1), (True, 3), (False, 1)):
        with nd.LPU(circuit, 1e-3, dtype=dtype, plans=plans, threads=threads) as lpu:
            lpu.advance(2)
            both = "cells", "apart"
            found.append([np.array(lpu[one].get(name)) for one in both for name in "abcd"])
    assert all(len(np.unique(one)) > width for one in found[0][:4])
    for other_way in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other_way, strict=True))


class Tapered(nd.NDComponent):
    """Reads fields at the places that a look-up finds."""

    axes, updates = ("y", "x"), {"val": "1"}
    sources, fields = {"image": nd.Source("val")}, {"f": nd.Field(axes="k n")}
    update = """
        for (x : near(image.x, 3)) val += f[0, x] + f[1, x] * image.val[here.y, x];
    """


@pytest.mark.parametrize("step", [1, 2, 3])
def test_strips_read_every_nth_element_of_a_field(step: int) -> None:
    axes = {"y": nd.Axis.span(3, 0, 1), "x": nd.Axis.span(40, 0, 1)}
    image = nd.Population(Pixel, name="image", axes=axes, initval=2.0)
    f = np.random.default_rng(step).random((2, 40))
    few = {"y": image.y, "x": image.x.windows(3, step=step)}
    cells = nd.Population(Tapered, name="cells", axes=few, image=image, f=f)
    for plans in (True, False):
        with nd.LPU(nd.Circuit([image, cells]), 1e-3, plans=plans) as lpu:
            lpu.advance(1)
            sums = np.lib.stride_tricks.sliding_window_view(f[0] + 2 * f[1], 3)
            runs = [few["x"].count, image.x.near(few["x"].positions[0], 3).first]
            wanted = sums[runs[1] :: step].sum(axis=1)[: runs[0]]
            assert np.allclose(lpu["cells"].val, np.broadcast_to(wanted, cells.shape), rtol=1e-13)


class Counted(nd.NDComponent):
    """Counts the steps, and from step 2 on adds what a cell of another population has."""

    axes, updates, states = ("x",), {"val": "1"}, {"val": nd.State("1", 1.0)}
    sources = {"other": nd.Source("val")}
    update = "val = step >= 2 ? step + other.val[here.x] : step;"


def test_strips_know_the_step() -> None:
    """A text without loops, and without inputs, may read it."""
    first = nd.Population(Counted, axes={"x": 20}, name="first", other="second")
    second = nd.Population(Counted, axes={"x": 20}, name="second", other="first")
    found = []
    for plans in (True, False):
        with nd.LPU(nd.Circuit([first, second]), 1e-3, plans=plans) as lpu:
            lpu.advance(4)
            found.append(np.array(lpu["first"].get("val")))
    assert all((one == 3 + 2 + 1).all() for one in found)


class Base(nd.NDComponent):
    abstract, updates = True, {"val": "1"}
    params = {"tau": nd.Parameter("ms", default=3.0)}
    numbers = {"n": 3}
    update = "val = default(tau) + n; $each"


class Half(Base):
    parts = {"each": "val += $more;", "more": "bell(n)"}
    numbers, functions = {"sharp": 4.0}, {"bell(d2)": "exp(-sharp * d2)"}


class Whole(Half):
    parts, numbers = {"more": "twice(2)"}, {"n": -5}
    functions = {"twice(x)": "real y = x; return y + bell(0) * x;"}


def test_parts_numbers_and_functions_are_inherited() -> None:
    circuit = nd.Circuit(
        [nd.Population(Half, 2, name="half"), nd.Population(Whole, 2, name="whole")]
    )
    with nd.LPU(circuit, dt=1e-3) as lpu:
        lpu.advance(1)
        assert lpu["half"].val == pytest.approx(6 + np.exp(-12.0))
        assert np.array_equal(lpu["whole"].val, [2, 2])
    assert Whole.numbers == {"n": -5, "sharp": 4.0} and Base.abstract and not Half.abstract


def test_variables_of_a_class_without_a_text_stay() -> None:
    class Held(nd.NDComponent):
        updates = {"val": "1"}

    with nd.LPU(nd.Circuit([nd.Population(Held, 3, name="h", initval=[1, 2, 3])]), 1e-3) as lpu:
        lpu.advance(5)
        assert np.array_equal(lpu["h"].val, [1, 2, 3])
        lpu["h"].val = [4, 5, 6]
        lpu.advance(5)
        assert np.array_equal(lpu["h"].val, [4, 5, 6])


class Prepared(nd.NDComponent):
    axes, updates, update = ("y",), {"val": "1"}, "val = table[here.y] + scale;"
    fields = {"table": nd.Field(axes="y"), "factor": nd.Field(default=2.0), "scale": nd.Field()}

    @classmethod
    def prepare(cls, population: Any) -> dict[str, Any]:
        return {"table": population.factor * np.arange(population.y.count), "scale": 1.0}


class PreparedMore(Prepared):
    @classmethod
    def prepare(cls, population: Any) -> dict[str, Any]:
        return {**super().prepare(population), "scale": 10.0}


def test_prepare_computes_fields() -> None:
    a = nd.Population(Prepared, name="a", axes={"y": 3}, factor=3.0)
    b = nd.Population(PreparedMore, name="b", axes={"y": 3}, factor=1.0, table=[0.0, 0.0, 7.0])
    with nd.LPU(nd.Circuit([a, b]), dt=1e-3) as lpu:
        lpu.advance(1)
        assert np.array_equal(lpu["a"].val, [1, 4, 7])
        assert np.array_equal(lpu["b"].val, [10, 10, 17])


def test_prepare_that_gives_nothing() -> None:
    """It is a class method, and returns values by name."""
    body = {"axes": ("y",), "updates": {"val": "1"}, "update": "val = 1;"}
    with pytest.raises(ModelError, match=r"^Bare: prepare: must be a class method"):
        type("Bare", (nd.NDComponent,), {**body, "prepare": lambda population: {}})
    empty = type("Empty", (nd.NDComponent,), {**body, "prepare": classmethod(lambda *_: None)})
    with pytest.raises(nd.CircuitError, match=r"Empty.prepare: must return values .* \(got None\)"):
        nd.Population(empty, name="a", axes={"y": 3})


def test_an_axis_may_be_called_count() -> None:
    body = {"axes": ("count",), "updates": {"val": "1"}}
    text = "val = 10 * here.count + size(here.count);"
    model = type("Counted", (nd.NDComponent,), {**body, "update": text})
    cells = nd.Population(model, name="c", axes={"count": 3})
    with nd.LPU(nd.Circuit([cells]), dt=1e-3) as lpu:
        lpu.advance(1)
        assert np.array_equal(lpu["c"].val, [3, 13, 23])


def test_a_field_is_not_shared_as_an_array() -> None:
    cells = nd.Population(Prepared, name="a", axes={"y": 3}, factor=3.0)
    with nd.LPU(nd.Circuit([cells]), dt=1e-3) as lpu:
        with pytest.raises(
            nd.errors.NeurodriverError, match="'factor' is a field, which no compon"
        ):
            lpu["a"].shared("factor")


# -- what bad input gets ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"each": "$each"}, "a part contains itself: $each -> $each"),
        ({"each": "$a", "a": "$b", "b": "$a"}, "a part contains itself: $a -> $b -> $a"),
        ({}, "nobody fills in '$each'"),
        ({"each": "$more;", "mor": ""}, "(in $each) (did you mean 'mor'?)"),
    ],
)
def test_parts_that_nobody_fills_in(parts: dict[str, str], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        type("Broken", (Base,), {"parts": parts})
    assert message in str(caught.value) and "Broken.update" in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"axes": ("x", "y")}, "Pixel fixed them as (y, x)"),
        ({"numbers": {"n": "3"}, "update": "val = n;"}, "expected a finite number, got '3'"),
        ({"numbers": {"n": 3}, "update": "n = 4;"}, "'n' is a number of the model"),
        ({"numbers": {"n": 3}, "update": "real n = 4;"}, "'n' is the name of a number"),
        ({"update": "val = default(tau);"}, "default(...) takes a parameter that has one"),
        ({"fields": {"val": nd.Field()}}, "the name 'val' is declared twice"),
    ],
)
def test_declarations_that_contradict_each_other(body: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        texts = type("Broken", (Pixel,), body)
        nd.Circuit([nd.Population(texts, name="b", axes={"y": 2, "x": 2})])
    assert message in str(caught.value)


TEXTS = {
    "val = src.val[here.y];": "'src.val' takes 2 (y, x), 1 given",
    "val = src.vla[here.y, here.x];": "'vla' of 'src' is not read (known: val); if its model "
    "updates it, write nd.Source('val', 'vla'); arrays and parameters of another population cannot "
    "be read: give the array to this model, too, as a field",
    "val = src.val[0.5, here.x];": "the index of an array is an integer",
    "val = w[0, 1];": "'w' takes 1 index (k), 2 given",
    "val = here.z;": "the cell itself has no 'z'",
    "val = here.val;": "'val' has a value for each cell; say which cell: here.val[y, x]",
    "val = src.val;": "'val' has a value for each cell; say which cell: src.val[y, x]",
    "src.val[0, 0] = 1;": "'src.val' belongs to another cell or population",
    "here.val[0, 0] = 1;": "'here.val' belongs to another cell or population",
    "w[0] = 1;": "'w' is a field, which the text cannot change; set it from outside",
    "gain = 1;": "'gain' is a field, which the text cannot change; set it from outside",
    "val = near(src.y, 3);": "'near' finds several cells; write for (i : near(...))",
    "for (i : near(src.z, 3)) val += 1;": "no place on 'z'",
    "for (i : near(src.y, 3)) val += 1;": "near needs positions, and 'y' of 'a' has none",
    "for (i : src) val += 1;": "a loop goes over near(image.y, 11)",
    "val = place(p);": "'place' takes the variable of a loop over a look-up",
    "val = more.val[0, 0];": "'more' stands for several populations; loop over them",
    "val = size(w.j);": "'w' has no axis 'j'",
    "val = src;": "'src' is a source; say what of it: src.val[y, x]",
    "val = src.gian;": "population 'a' has no 'gian'",
    "val = other.val[0, 0];": "unknown name 'other'",
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts_that_reach_for_what_is_not_there(text: str) -> None:
    made = type("Broken", (Neighbours,), {"update": text})
    a = nd.Population(Pixel, name="a", axes={"y": 3, "x": 4})
    b = nd.Population(made, name="b", axes={"y": 3, "x": 4}, src=a, w=[1, 2])
    with pytest.raises(ModelError) as caught:
        nd.LPU(nd.Circuit([a, b]), dt=1e-3)
    assert TEXTS[text] in str(caught.value) and "line 1, column" in str(caught.value)


def test_private_fields_are_not_read_by_others() -> None:
    private = {"secret": nd.Field(default=1.0, private=True)}
    owner = type("Owner", (Pixel,), {"fields": private})
    reads = type("Reads", (Neighbours,), {"update": "val = src.secret;"})
    a = nd.Population(owner, name="a", axes={"y": 3, "x": 4})
    b = nd.Population(reads, name="b", axes={"y": 3, "x": 4}, src=a, w=[1, 2])
    with pytest.raises(ModelError, match=r"population 'a' has no 'secret'.*its fields none"):
        nd.LPU(nd.Circuit([a, b]), dt=1e-3)


def test_a_base_has_no_population() -> None:
    with pytest.raises(ModelError, match=r"Base is a base of models.*subclasses: .*Half, Whole"):
        nd.Population(Base, 3)


def test_a_graph_has_no_populations_with_axes() -> None:
    with pytest.raises(nd.CircuitError, match=r"Row reads axes, fields or sources.*nd\.Population"):
        nd.Circuit.from_arrays([(Row, 3, {}, None)], [])


@pytest.mark.parametrize("name", ["mask", "period", "columns", "model"])
def test_fields_cannot_be_called_as_what_a_population_takes(name: str) -> None:
    with pytest.raises(ModelError, match=f"the name '{name}' belongs to populations"):
        type("Broken", (Pixel,), {"fields": {name: nd.Field()}})


def test_all_faults_of_a_population_come_at_once() -> None:
    axes = {"y": 3, "x": 4}
    a = nd.Population(Pixel, name="a", axes=axes)
    with pytest.raises(nd.CircuitError) as caught:
        nd.Population(Neighbours, name="b", axes=axes, w=[[1]], v=[1, 2, 3], n=1.5, gain=3, bais=1)
    for said in (
        "source 'src' is missing",
        "Neighbours.w: expected an array (k), got shape (1, 1)",
        "Neighbours.v: expected an array (i = 2), got shape (3,)",
        "Neighbours.n: takes whole numbers",
        "Neighbours.gain: belongs to the circuit",
        "no parameter 'bais' (did you mean 'bias'?)",
    ):
        assert said in str(caught.value)
    b = nd.Population(Neighbours, name="b", axes=axes, src=a, w=[1, 2])
    with pytest.raises(nd.CircuitError, match=r"no population 'a'.*add it to the circuit"):
        nd.Circuit([b])
    with pytest.raises(nd.CircuitError, match=r"no model has a field 'gian' \(did you mean 'gain'"):
        nd.Circuit([a, b], shared={"gian": 2})
    other = nd.Population(
        Looking, name="o", axes={"y": nd.Axis.span(3, 0, 1)}, image=a, r=1, many=2
    )
    wrong = nd.Population(Neighbours, name="w", axes=axes, src=other, w=[1, 2])
    with pytest.raises(nd.CircuitError, match=r"'o' \(Looking\) does not update 'val'"):
        nd.Circuit([a, other, wrong])
    first, second = nd.Value([1.0, 2], name="bank"), nd.Value([2.0, 1], name="bank")
    some = [nd.Population(Neighbours, axes=axes, src=a, w=w) for w in (first, second)]
    with pytest.raises(nd.CircuitError, match="two values have the name 'bank'"):
        nd.Circuit([a, *some])


def test_values_without_a_text_take_what_is_injected() -> None:
    """A picture in each step; cells into which nothing is injected keep their values."""
    a = nd.Population(Pixel, name="a", axes={"y": 3, "x": 4}, initval=IMAGE)
    b = nd.Population(Neighbours, name="b", axes={"y": 3, "x": 4}, src=a, w=[1.0, 0.0])
    pictures = np.random.default_rng(0).random((10, 6))
    source = nd.ArrayInput({"val": (a[:, :2], pictures)})
    with nd.LPU(nd.Circuit([a, b]), 1e-3, [source]) as lpu:
        for step in range(5):
            lpu.advance(1)
            val = np.reshape(lpu["a"].get("val"), (3, 4))
            assert np.array_equal(val[:, :2], pictures[step].reshape(3, 2))
            assert np.array_equal(val[:, 2:], IMAGE[:, 2:])
    recorder = nd.MemoryRecorder([("val", a)])
    with nd.LPU(nd.Circuit([a, b]), 1e-3, [source], [recorder]) as lpu:
        lpu.run(10)
    rows = np.asarray(recorder.get("val")).reshape(-1, 3, 4)
    assert np.array_equal(rows[1:, :, :2].reshape(-1, 6), pictures[: len(rows) - 1])


@pytest.mark.parametrize("name", CIRCUITS)
def test_files_keep_fields_and_sources(name: str, tmp_path: Path) -> None:
    circuit = CIRCUITS[name]()
    circuit.save(tmp_path / "saved.h5")
    again = nd.Circuit.from_file(tmp_path / "saved.h5", models=layered)
    assert again.digest == circuit.digest
    found = []
    for one in (circuit, again):
        with nd.LPU(one, 1e-3) as lpu:
            lpu.advance(2)
            found.append([lpu.get(v) for v in sorted({*one.groups[-1].model.updates})])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    with pytest.raises(nd.CircuitError, match=r"which a graph does not keep; save it as \.h5"):
        circuit.save(tmp_path / "saved.gexf")


def test_files_with_wrong_fields_are_told(tmp_path: Path) -> None:
    path = tmp_path / "saved.h5"
    CIRCUITS["fields"]().save(path)
    with h5py.File(path, "r+") as file:
        number = next(n for n, g in file["groups"].items() if g["layer"].attrs["population"] == "b")
        layer = file[f"groups/{number}/layer"]
        del layer["fields/n"], layer["fields/v"], layer["sources/src"]
        layer["fields/v"] = np.zeros(3)
        layer["fields/u"] = 1.0
        layer["sources/src"] = np.array([b"nobody"])
        layer["sources/src"].attrs["dtype"] = "<U6"
    with pytest.raises(nd.CircuitError) as caught:
        nd.Circuit.from_file(path, models=layered)
    for said in (
        "'n' of Neighbours is missing",
        "Neighbours has no field 'u'",
    ):
        assert said in str(caught.value)


class Counter(nd.NDComponent):
    axes, updates, states = ("y",), {"val": "1"}, {"val": nd.State("1", 0.0)}
    update = "val += 1 + here.y;"


class Late(nd.NDComponent):
    axes, updates = ("y",), {"now": "1", "late": "1", "own": "1"}
    sources = {"clock": nd.Source("val", history=5)}
    update = """
        now = clock.val[here.y];
        late = 100 * clock.val[here.y, ago=3] + clock.val[here.y, ago=here.y]
            + clock.val[here.y, ago=6 + here.y];
        own = here.now[here.y];
    """


def test_a_source_is_kept_for_its_history() -> None:
    made = type("Broken", (Late,), {"update": "now = clock.val[here.y, ago=6];"})
    with pytest.raises(ModelError, match=r"kept for 5 steps, and this is 6"):
        texts_of(made).check()


@pytest.mark.parametrize("order", [None, "listed"])
def test_earlier_steps_are_read(order: str | None) -> None:
    """Before the first step everything had its first value."""
    a = nd.Population(Counter, name="a", axes={"y": 5})
    b = nd.Population(Late, name="b", axes={"y": 5}, clock=a)
    y, seen = np.arange(5), 0 if order is None else 1
    with nd.LPU(nd.Circuit([a, b], order=order), dt=1e-3) as lpu:
        for k in range(12):
            lpu.advance(1)

            def row(ago: Any, k: int = k) -> Any:
                return np.maximum(k + seen - ago, 0) * (1 + y)

            assert np.array_equal(lpu["b"].get("now"), row(0))
            assert np.array_equal(lpu["b"].get("late"), 100 * row(3) + row(y))
            assert np.array_equal(lpu["b"].get("own"), row(1) if k else np.zeros(5))


class Plain(nd.NDComponent):
    updates, states, update = {"V": "mV"}, {"V": nd.State("mV", 0.0)}, "V += 1;"


class Around(nd.NDComponent):
    axes, updates = ("u", "v"), {"val": "1", "place": "1"}
    sources = {"hexagon": nd.Source("val"), "plain": nd.Source("V")}
    update = """
        for (u : near(hexagon.u, 3)) for (v : near(hexagon.v, 3)) val += hexagon.val[u, v];
        place = 10 * here.u + here.v + 1000 * plain.V[2];
    """


def test_cells_on_part_of_a_grid_and_without_axes_are_read() -> None:
    """Points without a cell give 0, of sources and of the own population."""
    axis = nd.Axis.regular(5, -2.0, 1.0)
    u, v = np.meshgrid(np.arange(-2, 3), np.arange(-2, 3), indexing="ij")
    mask, values = np.abs(u + v) <= 2, np.arange(25.0).reshape(5, 5)
    held = type("Held", (nd.NDComponent,), {"axes": ("u", "v"), "updates": {"val": "1"}})
    more = {"axes": {"u": axis, "v": axis}, "mask": mask}
    hexagon = nd.Population(held, name="hexagon", initval=values[mask], **more)
    first = nd.Population(Plain, 2, name="first", initV=7.0)
    plain = nd.Population(Plain, 4, name="plain", initV=[3.0, 4.0, 5.0, 6.0])
    around = nd.Population(Around, name="around", hexagon=hexagon, plain=plain, **more)
    with nd.LPU(nd.Circuit([hexagon, first, plain, around]), dt=1e-3) as lpu:
        lpu.advance(1)
        val, place = (np.array(lpu["around"].get(name)) for name in ("val", "place"))
    inside = np.pad(np.where(mask, values, 0), 1)
    sums = sum(inside[i : i + 5, j : j + 5] for i in range(3) for j in range(3))
    assert np.array_equal(val, sums[mask])
    assert np.array_equal(place, (10 * (u + 2) + v + 2)[mask] + 5000)


class Offset(nd.NDComponent):
    """A value that is set, and a parameter."""

    fields = {"gain": nd.Field(default=1.0)}
    params = {"b": nd.Parameter("1", default=0.0)}
    updates = {"val": "1"}
    update = "val = gain + b;"


def test_fields_of_copies_stay_when_a_batch_is_compiled_anew() -> None:
    """A parameter becomes one value for each component; what was set in a copy is still there."""
    circuit = nd.Circuit([nd.Population(Offset, 4, name="p")])
    with nd.LPU(circuit, dt=1e-3, batch=2, seed=range(2)) as lpu:
        lpu["p"].set("gain", 3.0)
        lpu.copies[1]["p"].set("gain", 5.0)
        lpu["p"].set("b", np.arange(8.0).reshape(2, 4))
        lpu.run(steps=1)
        expected = np.array([[3.0], [5.0]]) + np.arange(8.0).reshape(2, 4)
        assert np.array_equal(lpu["p"].val, expected)


def looking(many: Any, other: Any) -> nd.Circuit:
    """Return two populations that look at so many cells of a row."""
    row = nd.Population(Row, name="row", axes={"y": nd.Axis.span(9, 0, 9)})
    both = [
        nd.Population(Looking, name=name, axes={"y": row.y}, image=row, r=1.0, many=given)
        for name, given in (("one", many), ("two", other))
    ]
    return nd.Circuit([row, *both])


@pytest.mark.parametrize("step", ["run", "advance"])
def test_constants_are_set_between_calls(step: str) -> None:
    """The circuit is compiled anew, and is as one that was built so; values stay as they are."""
    shared = nd.Value(3, name="many")
    with nd.LPU(looking(shared, shared), dt=1e-3) as lpu:
        lpu["row"].set("val", np.arange(9.0) ** 2)
        getattr(lpu, step)(1)
        for change, expected in (
            (lambda: lpu.set("many", 5), (5, 5)),
            (lambda: lpu["two"].set("many", 2), (2, 2)),
        ):
            change()
            getattr(lpu, step)(1)
            with nd.LPU(looking(*expected), dt=1e-3) as built:
                built["row"].set("val", np.arange(9.0) ** 2)
                built.advance(1)
                for name in ("one", "two"):
                    assert np.array_equal(lpu[name].get("near3"), built[name].get("near3"))
                near = built["one"].get("near3")
            assert lpu["one"].get("many") == expected[0]
        for value, said in ((1.5, "takes whole numbers"), ([1, 2], "expected a number")):
            with pytest.raises(nd.NeurodriverError, match=said):
                lpu["one"].set("many", value)
        lpu.run(steps=1)
        assert np.array_equal(lpu["one"].get("near3"), near)


class Unrolled(nd.NDComponent):
    """Loops of all forms, some of whose passes are written out."""

    axes, updates = ("y", "x"), {"val": "1", "more": "1"}
    sources = {"image": nd.Source("val")}
    params = {"p": nd.Parameter("1", default=1.0)}
    update = """
        unroll(4) for (y : near(image.y, 3)) unroll(3) for (x : near(image.x, 5))
            val += p * image.val[y, x];
        unroll(2) for (int i = 0; i < 9; ++i) { if (i > 6) break; more += i * val; }
        int n = 0;
        unroll(2) while (n < 3) { ++n; more -= n; }
        unroll(4) do { n -= 1; more += 0.5 * n; } while (n > 0);
    """


def test_loops_are_unrolled_and_keep_their_bits() -> None:
    class Rolled(Unrolled):
        update = re.sub(r"unroll\(\d\) ", "", Unrolled.update)

    axes = {"y": nd.Axis.span(9, 0, 1), "x": nd.Axis.span(37, 0, 1)}
    found = []
    for model in (Unrolled, Rolled):
        image = nd.Population(Pixel, name="image", axes=axes, initval=nd.Uniform(0, 1))
        cells = nd.Population(model, name="cells", axes=axes, image=image, p=nd.Uniform(0, 1))
        for plans in (True, False):
            with nd.LPU(nd.Circuit([image, cells], seed=1), 1e-3, plans=plans) as lpu:
                lpu.advance(2)
                found.append([np.array(lpu["cells"].get(name)) for name in ("val", "more")])
                texts = [task.kernel.text for task in lpu.backend.generated.tasks]
        assert any("ND_UNROLL_BY(2)" in text for text in texts) == (model is Unrolled)
    for other in found[1:]:
        assert all(map(np.array_equal, found[0], other))
    assert "unroll(2)\nfor (int i = 0;" in to_text(texts_of(Unrolled)["update"].tree)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("unroll(0) for (int i = 0; i < 3; ++i) val += i;", "a whole number, 1 to 1024"),
        ("unroll(val) for (int i = 0; i < 3; ++i) val += i;", "a whole number, 1 to 1024"),
        ("unroll(2.5) for (int i = 0; i < 3; ++i) val += i;", "a whole number, 1 to 1024"),
        ("unroll(4) val = 3;", "unroll stands before a loop: unroll(4) for (...)"),
        ("unroll(4", "unroll stands before a loop"),
        ("val = unroll(4);", "unknown name 'unroll'"),
    ],
)
def test_bad_unrolling(text: str, said: str) -> None:
    body = {"axes": ("y",), "updates": {"val": "1"}, "update": text}
    with pytest.raises(ModelError) as caught:
        cells = nd.Population(type("Cell", (nd.NDComponent,), body), name="c", axes={"y": 3})
        nd.LPU(nd.Circuit([cells]), 1e-3)
    assert said in str(caught.value)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_limits_of_numbers(dtype: str) -> None:
    """Those of the working type, and of integers of 32 bits, on which integers are exact."""
    names = ("least_real", "greatest_real", "least_int", "greatest_int")
    texts = [f"{n[:-4]} = {n};" if n.endswith("real") else "" for n in names]
    ints = "int low = least_int; int high = greatest_int; both = low + high; half = high / 2;"
    body = {"updates": dict.fromkeys(("least_", "greatest_", "both", "half"), "1"),
            "update": " ".join([*texts, ints])}  # fmt: skip
    with nd.LPU(nd.Circuit([nd.Population(type("Ends", (nd.NDComponent,), body), 1, name="e")]),
                1e-3, dtype=dtype, nonfinite="off") as lpu:  # fmt: skip
        lpu.advance(1)
        found = [float(lpu["e"].get(name)[0]) for name in body["updates"]]
    ends = np.finfo(dtype)
    assert found == [
        float(ends.min),
        float(ends.max),
        -1.0,
        float(np.dtype(dtype).type(2**30 - 0.5)),
    ]
