"""Weights of projections that fields give: ``weight="filters[theta, dy, dx]"``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layered import FIELD_WEIGHTS, FILTERS, Filtered, Scene, filtered
from numpy.lib.stride_tricks import sliding_window_view

import neurodriver as nd
from neurodriver.errors import NeurodriverError

MODELS = [Scene, Filtered]


def answer(scene: np.ndarray, filters: np.ndarray, given: dict[str, Any]) -> np.ndarray:
    """Return the sums of the products of filters with windows of an image."""
    image = np.pad(scene, ((1, 1), (2, 2)), mode="wrap") if given.get("period") else scene
    windows = sliding_window_view(image, (3, 5))[:, :: given.get("step", 1)]
    return np.einsum("yxij,tij->tyx", windows, filters)


def forms(lpu: nd.LPU) -> set[str]:
    return {one.form for one in lpu.simulation.program.gathers.values()}


@pytest.mark.parametrize("name", [n for n in FIELD_WEIGHTS if "formula" not in n])
def test_sums_are_those_of_windows(name: str) -> None:
    """Also after the field has been set, as a whole and in part."""
    given = FIELD_WEIGHTS[name]
    with nd.LPU(filtered(**given), 1e-3) as lpu:
        assert ("by_place" in forms(lpu)) == ("not stored" in name)
        lpu.run(2)
        scene, filters = np.array(lpu["scene"].val), FILTERS.copy()
        assert np.allclose(lpu["cells"].out, answer(scene, filters, given), rtol=0, atol=1e-14)
        lpu["cells"].set("filters", -2 * filters)
        lpu.run(1)
        filters *= -2
        assert np.allclose(lpu["cells"].out, answer(scene, filters, given), rtol=0, atol=1e-14)
        lpu["cells"].set("filters", 0.5, at={"theta": 1, "dx": 2})
        filters[1, :, 2] = 0.5
        lpu.run(1)
        assert np.allclose(lpu["cells"].out, answer(scene, filters, given), rtol=0, atol=1e-14)
        assert np.array_equal(lpu["cells"].filters, filters)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", FIELD_WEIGHTS)
def test_bits_do_not_depend_on_how_it_runs(name: str, dtype: str) -> None:
    """Threads, plans, and connections that are listed one by one; a set field and a new circuit."""
    given, found = FIELD_WEIGHTS[name], []
    circuit = filtered(**given)
    columns = circuit.changed(connections=[one.expanded() for one in circuit.connections])
    for made, how in (
        (circuit, {}),
        (circuit, {"threads": 3}),
        (circuit, {"plans": False}),
        (columns, {"threads": 2}),
    ):
        with nd.LPU(made, 1e-3, dtype=dtype, **how) as lpu:
            lpu.run(2)
            found.append(np.array(lpu["cells"].out).tobytes())
    with nd.LPU(filtered(**{**given, "gain": 9.0}), 1e-3, dtype=dtype) as lpu:
        lpu["cells"].set("gain", given.get("gain", 1.0))
        lpu.run(2)
        found.append(np.array(lpu["cells"].out).tobytes())
    assert len({*found}) == 1


def test_formulas_read_both_ends() -> None:
    """Fields of source and target, indices, places and distances, connection by connection."""
    bright = np.random.default_rng(1).random((9, 12))
    rows = np.arange(7) - 3
    text = (
        "gain * bright[y, 2 * dx] + filters[theta, dy, dx] * rows[y] * exp(-d2) + place(x) + theta"
    )
    circuit = filtered(nd.Formula(text), gain=0.5, rows=rows)
    scene = circuit.spaces["scene"]
    axes = {n: scene.axes[n] for n in "yx"}
    made = nd.Population(Scene, name="scene", axes=axes, bright=bright)
    cells = nd.Population(
        Filtered, name="cells", axes=circuit.spaces["cells"].axes, filters=FILTERS, gain=0.5,
        rows=rows,
    )  # fmt: skip
    link = nd.Projection(made, cells, nd.Near(y=3, x=5), weight=nd.Formula(text))
    links = nd.Circuit([made, cells], [link]).connections[0].expanded()
    theta, y, x = np.unravel_index(links.target - 108, cells.shape)
    i, j = np.unravel_index(links.source, (9, 12))
    d2 = (axes["y"].positions[i] - cells.y.positions[y]) ** 2
    d2 = d2 + (axes["x"].positions[j] - cells.x.positions[x]) ** 2
    wanted = 0.5 * bright[y, 2 * (j - x)] + FILTERS[theta, i - y, j - x] * rows[y] * np.exp(-d2)
    assert len(links) == 2 * 7 * 8 * 15
    assert np.allclose(links.data["weight"], wanted + (j - x) + theta, rtol=1e-14, atol=1e-14)


def test_masks_parts_and_axes_of_one_end() -> None:
    """Points without a cell, a slice of the image, and an axis that the source alone has."""
    mask = np.ones((9, 12), bool)
    mask[4, 5:9] = False
    circuit = filtered(mask=mask)
    with nd.LPU(circuit, 1e-3) as lpu:
        lpu.run(2)
        scene = np.zeros((9, 12))
        scene[mask] = lpu["scene"].val
        assert np.allclose(lpu["cells"].out, answer(scene, FILTERS, {}), rtol=0, atol=1e-14)
    link = circuit.inputs_of("cells/5")
    assert len(link["weight"]) == 15 and np.allclose(link["weight"], FILTERS[0].ravel())
    scene, cells = (nd.Population(m, name=n, axes=circuit.spaces[n].axes, **more)
                    for m, n, more in ((Scene, "scene", {"initval": 1.0}),
                                       (Filtered, "cells", {"filters": FILTERS,
                                                            "rows": np.ones(7, int)})))  # fmt: skip
    rule = nd.Near(y=3, x=5)
    part = nd.Projection(scene[:5], cells[1], rule, weight="filters[theta, dy, dx]")
    links = nd.Circuit([scene, cells], [part]).connections[0].expanded()
    (theta, y, x), (i, j) = (
        np.unravel_index(links.target - 108, cells.shape),
        np.unravel_index(links.source, (9, 12)),
    )
    assert (theta == 1).all() and i.max() == 4
    assert np.array_equal(links.data["weight"], FILTERS[1, i - y, j - x])

    class Summed(nd.NDComponent):
        axes, updates, accesses = ("y", "x"), {"s": "1"}, [nd.Weighted("out", "g")]
        fields, update = {"share": nd.Field(axes="theta")}, "s = g;"

    summed = nd.Population(Summed, name="s", axes={"y": cells.y, "x": cells.x}, share=[2.0, 5.0])
    link = nd.Projection(cells, summed, nd.Near(y=1, x=1), weight="share[theta]", stored=False)
    links = nd.Circuit([cells, summed], [link]).connections[0].expanded()
    assert np.array_equal(links.data["weight"], np.repeat([2.0, 5.0], 56))


class Firing(nd.NDComponent):
    """Fires where its inputs are large, and each third step."""

    axes, updates = ("y", "x"), {"spike_state": "1", "V": "mV"}
    accesses = [nd.Weighted("spike_state", "exc")]
    fields = {"kernel": nd.Field(axes="dy dx"), "late": nd.Field(axes="dy", default=np.ones(3))}
    states = {"V": nd.State("mV", 0.0)}
    update = """
        V = 0.5 * V + exc;
        spike_state = V > 1.5 || (step + here.x * here.y) % 7 == 0;
    """


def test_spikes() -> None:
    """Weights and delays of spikes; expanded columns have the same bits."""
    axes = {n: nd.Axis.span(c, 0, c, period=c) for n, c in (("y", 8), ("x", 10))}
    kernel = np.random.default_rng(2).normal(0, 1, (3, 3))
    late = np.array([1.0, 2.0, 3.0])
    cells = nd.Population(Firing, name="c", axes=axes, kernel=kernel, late=late)
    link = nd.Projection(
        cells, cells, nd.Near(y=3, x=3), weight="kernel[dy, dx]",
        delay=nd.Formula("1e-3 * late[place(y)]"), name="link",
    )  # fmt: skip
    circuit = nd.Circuit([cells], [link])
    columns = circuit.connections[0].expanded()
    y, x = np.unravel_index(columns.target, (8, 10))
    i, j = np.unravel_index(columns.source, (8, 10))
    assert np.array_equal(columns.data["weight"], kernel[(i - y + 1) % 8, (j - x + 1) % 10])
    assert np.allclose(columns.delay, 1e-3 * late[(i - y + 1) % 8], rtol=1e-12)
    found = []
    for made, how in (
        (circuit, {"threads": 1}),
        (circuit, {"threads": 3}),
        (circuit.changed(connections=[columns]), {}),
    ):
        with nd.LPU(made, 1e-3, **how) as lpu:
            lpu.run(20)
            found.append(np.array(lpu["c"].V).tobytes())
            lpu["c"].set("kernel", 2 * kernel)
            if made is circuit:
                assert np.array_equal(lpu.connections["link"].get(), 2 * columns.data["weight"])
    assert len({*found}) == 1 and len({*np.frombuffer(found[0])}) > 20


def test_one_value_of_several_populations() -> None:
    """A `Value` and a field of the circuit: one set changes the weights of all."""

    class Shared(Filtered):
        shared = {"common": nd.Field(default=1.0)}

    base = filtered()
    bank = nd.Value(FILTERS, "bank")
    scene = nd.Population(Scene, name="scene", axes=base.spaces["scene"].axes, initval=1.0)
    two = [
        nd.Population(Shared, name=n, axes=base.spaces["cells"].axes, filters=bank,
                      rows=np.ones(7, int))
        for n in ("left", "right")
    ]  # fmt: skip
    weight = nd.Formula("common * filters[theta, dy, dx]")
    links = [nd.Projection(scene, one, nd.Near(y=3, x=5), weight=weight) for one in two]
    with nd.LPU(nd.Circuit([scene, *two], links, shared={"common": 2.0}), 1e-3) as lpu:
        lpu.set("bank", 3 * FILTERS)
        lpu.set("common", -1.0)
        lpu.run(2)
        wanted = np.broadcast_to(-3 * FILTERS.sum(axis=(1, 2))[:, None, None], (2, 7, 8))
        for name in ("left", "right"):
            assert np.allclose(lpu[name].out, wanted, rtol=1e-12)


def test_files_and_checkpoints(tmp_path: Path) -> None:
    circuit = filtered(**FIELD_WEIGHTS["a formula with fields of both ends"])
    circuit.save(tmp_path / "c.h5")
    again = nd.Circuit.from_file(tmp_path / "c.h5", models=MODELS)
    assert again.digest == circuit.digest
    with nd.LPU(again, 1e-3) as lpu, nd.LPU(circuit, 1e-3) as other:
        lpu["cells"].set("gain", -1.0)
        other["cells"].set("gain", -1.0)
        for one in (lpu, other):
            one.run(2)
        assert np.array_equal(lpu["cells"].out, other["cells"].out)
        lpu.save(tmp_path / "s.h5")
        wanted = np.array(other["cells"].out)
    with nd.LPU.restore(tmp_path / "s.h5", models=MODELS) as lpu:
        assert lpu["cells"].gain == -1.0
        lpu.run(2)
        assert np.array_equal(lpu["cells"].out, wanted) and lpu.connections["link"].get().any()


def test_copies_of_a_batch_share_weights() -> None:
    with nd.LPU(filtered(), 1e-3, batch=2) as lpu:
        with pytest.raises(NeurodriverError, match="needs another program"):
            lpu.copies[0]["cells"].set("filters", 2 * FILTERS)


Wrong = tuple[Callable[[], Any], str]
WRONG: dict[str, Wrong] = {
    "a field that there is not": (
        lambda: filtered("filter[theta, dy, dx]"), "'filter' (did you mean 'filters'?)",
    ),
    "too few indices": (lambda: filtered("filters[theta, dy]"), "takes 3 indices"),
    "an array without an index": (lambda: filtered("filters"), "is an array; say which element"),
    "a real index": (lambda: filtered("filters[theta, dy, d]"), "index of an array is an integer"),
    "an index out of range": (
        lambda: filtered("filters[theta, dy, dx + 3]"), "'scene/2' -> 'cells/0': nan",
    ),
    "a field smaller than the window": (
        lambda: filtered("bright[dy, 20]"), "must be finite, and its indices within the fields",
    ),
    "remainder of a division by 0": (
        lambda: filtered("bright[y % 0, 2]"), "must be finite, and its indices within the fields",
    ),
    "such a remainder outside an index": (
        lambda: filtered("bright[2, 2] * (y % 0)"), "must be finite, and its indices",
    ),
    "statements": (lambda: filtered("filters[theta, dy, dx];"), "an expression has no ';'"),
    "an array that is a number": (lambda: filtered("gain[theta]"), "is a field and no array"),
    "a name twice": (
        lambda: filtered(nd.Formula("gain * filters[theta, dy, dx]", gain=1.0)), "has a meaning",
    ),
    "a rule without places": (lambda: linked(nd.AllToAll()), "needs a rule of place"),
    "places of an axis that there is not": (lambda: filtered("place(z)"), "unknown name 'z'"),
    "offsets": (lambda: linked(nd.Offsets([[0.0, 0.0]], axes=("y", "x"))), "offsets"),
    "what is no text of a weight": (lambda: filtered("1 +"), "a value is missing"),
    "cells at positions": (
        lambda: scattered("kernel[dy, dx]"), "index of an array is an integer",
    ),
    "windows that differ along a row": (
        lambda: nd.LPU(filtered("filters[theta, dy, dx]", step=2, stored=False), 1e-3),
        "stored=False is possible",
    ),
}  # fmt: skip


def linked(rule: Any) -> nd.Circuit:
    made = filtered()
    scene, cells = (
        nd.Population(m, name=n, axes=made.spaces[n].axes, **more)
        for m, n, more in (
            (Scene, "scene", {}),
            (Filtered, "cells", {"filters": FILTERS, "rows": np.ones(7, int)}),
        )
    )
    link = nd.Projection(scene, cells, rule, weight="filters[theta, 0, 0]")
    return nd.Circuit([scene, cells], [link])


def scattered(weight: str) -> nd.Circuit:
    class Anywhere(nd.NDComponent):
        updates, accesses = {"r": "1"}, [nd.Weighted("r", "g")]
        fields, update = {"kernel": nd.Field(axes="a b")}, "r = g;"

    at = {"y": [0.0, 1.0], "x": [0.0, 2.0]}
    cells = nd.Population(Anywhere, name="c", positions=at, kernel=np.ones((2, 2)))
    return nd.Circuit([cells], [nd.Projection(cells, cells, nd.Within(5.0), weight=weight)])


@pytest.mark.parametrize("name", WRONG)
def test_bad_weights(name: str) -> None:
    make, said = WRONG[name]
    with pytest.raises(nd.CircuitError) as caught:
        make()
    assert said in str(caught.value)
