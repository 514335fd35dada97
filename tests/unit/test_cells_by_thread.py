"""Which cells a thread of a GPU has side by side, which loops a warp shares, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.plan.cells_by_thread import FEW
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.stages import earliest_stages, stages_of
from neurodriver.plan.target import CUDA
from neurodriver.plan.unit import Unit


class Map(nd.NDComponent):
    axes, updates = ("f", "y", "x"), {"val": "1"}


class Line(nd.NDComponent):
    axes, updates = ("f",), {"val": "1"}


def unit(text: str, base: type[nd.NDComponent] = Map, cells: int = 6) -> Unit:
    """Return the unit of cells with a text that reads two maps."""
    maps = [nd.Population(Map, name=n, axes={"f": 6, "y": 5, "x": 4}) for n in ("a", "b")]
    sources = {"src": nd.Source("val"), "more": nd.Source("val", many=True)}
    fields = {"w": nd.Field(axes="k")}
    given: dict[str, Any] = {"update": text, "sources": sources, "fields": fields}
    if "here.all" in text:
        given["pools"] = {"all": nd.Reduce("mean", "val", over="y x")}
    model = type("Made", (base,), given)
    axes = {"f": cells, "y": 5, "x": 4} if base is Map else {"f": cells}
    made = nd.Population(model, name="c", axes=axes, src=maps[0], more=maps, w=np.ones(3))
    program = compile_circuit(nd.Circuit([*maps, made]), 1e-3, "float64", target=CUDA)
    return program.units[-1]


LOOP = "for (int i = 0; i < size(w.k); ++i)"


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        (f"{LOOP} val += here.all * w[i];", "f"),
        (f"{LOOP} {{ int n = here.all; while (n > 0) --n; val += n; }}", None),
        (f"{LOOP} val += w[i] * src.val[here.f, i, here.x];", "f"),
        ("for (int i = 0; i < here.f; ++i) val += src.val[i, 0, 0];", "y"),
        (f"int n = 0; if (here.f > 2) n = 1; {LOOP} if (i < n) val += 1;", "f"),
        (f"int n = here.f; n += here.y; {LOOP} {{ while (n > 0) --n; }}", None),
        (f"real g[3]; {LOOP} g[i] = src.val[here.f, i, 0]; val = g[1];", "y"),
        (f"{LOOP} {{ if (here.f > 2) break; val += 1; }}", "y"),
        ("val = src.val[here.f, 0, 0];", None),
    ],
)
def test_axis_along_which_cells_lie(text: str, axis: str | None) -> None:
    """No loop may depend on it; the last axis is that of neighbouring threads."""
    side = unit(text).side
    assert (side.axis if side else None) == axis
    if side is not None:
        assert (side.cells, side.stride) == ((6, 20) if axis == "f" else (5, 4))
        assert [side.turns(120, own) for own in (1, 4, 8)] == (
            [120, 40, 20] if axis == "f" else [120, 48, 24]
        )


def test_what_differs_between_cells_side_by_side() -> None:
    text = f"real a = 0, b = 0, c = 0; {LOOP} {{ a += w[i]; b += src.val[here.f, i, 0]; }} c = b;"
    side = unit(f"{text} val = a + c;").side
    assert side is not None and side.varied == {"b", "c", "val"}


ALL = "for (int y = 0; y < size(m.y); ++y) for (int x = 0; x < size(m.x); ++x)"


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        (f"for (m : more) {ALL} val = fmax(val, m.val[here.f, y, x]);", True),
        (f"for (m : more) {ALL} val = fmin(val, 2 * m.val[0, y, x] + here.f);", True),
        (f"for (m : more) {ALL} val += m.val[here.f, y, x];", False),
        (f"for (m : more) {ALL} val = fmax(m.val[here.f, y, x], val);", False),
        (f"for (m : more) {ALL} val = fmax(val, val - m.val[here.f, y, x]);", False),
        (f"for (m : more) {ALL} {{ val = fmax(val, 1); val = fmax(val, 2); }}", False),
        (f"int n = 0; for (m : more) {ALL} n = fmax(n, m.val[here.f, y, x]); val = n;", False),
        ("for (int y = 1; y < 5; ++y) val = fmax(val, src.val[here.f, y, 0]);", False),
        ("val = src.val[here.f, 0, 0];", False),
    ],
)
def test_loops_that_a_warp_shares(text: str, shared: bool) -> None:
    """Those that take the greatest or the least, in the order of the loop."""
    made = unit(text, Line)
    assert made.specs[0].split is made.spread is shared and not made.idle
    assert not unit(text, Line, FEW + 1).spread


def test_earliest_stages() -> None:
    """A population waits for those that it reads, not for all of earlier phases."""
    chains = []
    for name in ("a", "b", "c"):
        first = nd.Population(Map, name=name, axes={"f": 1, "y": 2, "x": 2})
        model = type("Reader", (Map,), {"sources": {"src": nd.Source("val")}})
        second = nd.Population(model, name=f"{name}2", axes=first.axes, src=first)
        chains += [first, second]
    circuit = nd.Circuit(chains, order="listed")
    assert stages_of(circuit) == (0, 1, 1, 2, 2, 3)
    assert earliest_stages(circuit) == (0, 1, 0, 1, 0, 1)
