"""Rules of place connect whom a plain search connects: on all kinds of axes, masks and points."""

from __future__ import annotations

import itertools
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.circuit.drawn import Drawn
from neurodriver.circuit.least_pairs import least_connections
from neurodriver.circuit.nearest import nearest
from neurodriver.errors import CircuitError, CircuitWarning

SHEETS = Path(__file__).parents[3] / "shared" / "data" / "layers" / "sheet.json"
CELL = {"bias": 0.0, "time_constant": 50.0}
Pairs = dict[tuple[int, int], Any]


def population(name: str, space: dict[str, Any]) -> nd.Population:
    return nd.Population("GradedNeuron", name=name, **space, **CELL)


def found(source: nd.Population, target: nd.Population, rule: Any, **more: Any) -> Pairs:
    """Return (source, target) -> weight as the engine has it, checked for the order."""
    both = [source] if source is target else [source, target]
    circuit = nd.Circuit(both, [nd.Projection(source, target, rule, name="p", **more)])
    columns = circuit.connections[0].expanded()
    first = 0 if source is target else source.count
    weight = np.broadcast_to(columns.data["weight"], (len(columns),))
    pairs = list(zip(columns.source.tolist(), (columns.target - first).tolist(), strict=True))
    assert len(pairs) == circuit.edges and pairs == sorted(pairs)
    out = dict(zip(pairs, weight.tolist(), strict=True))
    assert len(out) == len(pairs)
    return out


def distance(a: float, b: float, period: float | None) -> float:
    way = abs(b - a)
    return way if period is None else min(way % period, period - way % period)


def axes_of(rng: np.random.Generator, count: int, kind: int) -> nd.Axis:
    places = np.sort(rng.choice(400, count, replace=False)) / 100.0
    return [
        lambda: nd.Axis.span(count, 0, 4),
        lambda: nd.Axis.at(places),
        lambda: nd.Axis.span(count, 0, 4, period=4),
        lambda: nd.Axis.at(places, period=4.0),
    ][kind]()


def cells_of(one: nd.Population) -> list[tuple[int, ...]]:
    """Return the index of each cell, by plain counting."""
    mask = one.space.mask
    points = itertools.product(*(range(axis.count) for axis in one.axes.values()))
    return [p for p in points if mask is None or mask[p]]


def by_runs(source: nd.Population, target: nd.Population, how: dict[str, Any], what: str) -> Pairs:
    """Connect by one look-up for each target and axis."""
    out: Pairs = {}
    for t, at in enumerate(cells_of(target)):
        index = dict(zip(target.axes, at, strict=True))
        allowed = {}
        for name, axis in source.axes.items():
            reach = how.get(name)
            if reach == "same":
                allowed[name] = {index[name]}
            elif reach is not None:
                run = getattr(axis, what)(target.axes[name].positions[index[name]], reach)
                allowed[name] = {i % axis.count for i in run.valid}
            else:
                allowed[name] = set(range(axis.count))
        for s, where in enumerate(cells_of(source)):
            if all(i in allowed[n] for n, i in zip(source.axes, where, strict=True)):
                out[s, t] = 1.0
    return out


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("what", ["near", "within"])
def test_runs_along_axes(kind: int, what: str) -> None:
    for trial in range(3):
        rng = np.random.default_rng(10 * kind + trial)
        y, x = axes_of(rng, 5, kind), axes_of(rng, 1 + 3 * trial, (kind + trial) % 4)
        mask = rng.random((2, 5, x.count)) < 0.7 if trial else None
        a = population("a", {"axes": {"theta": 2, "y": y, "x": x}, "mask": mask})
        b = population("b", {"axes": {"y": axes_of(rng, 4, trial), "theta": 2, "x": x}})
        how: dict[str, Any] = {"theta": "same", "y": 2 if what == "near" else 0.8}
        if trial == 1:
            how["x"] = 3 if what == "near" else 5.0
        rule = (nd.Near if what == "near" else nd.Within)(**how)
        assert found(a, b, rule) == by_runs(a, b, how, what)
        assert found(b, a, rule) == by_runs(b, a, how, what)


def by_distance(source: nd.Population, target: nd.Population, r: float, period: list[Any]) -> Pairs:
    out: Pairs = {}
    for t, here in enumerate(target.positions):
        for s, there in enumerate(source.positions):
            ways = [distance(*ends) for ends in zip(there, here, period, strict=True)]
            d2 = ways[0] * ways[0] + ways[1] * ways[1]
            if d2 <= r * r:
                out[s, t] = d2
    return out


@pytest.mark.parametrize("kind", range(4))
def test_within_a_distance(kind: int) -> None:
    rng = np.random.default_rng(kind)
    y, x = axes_of(rng, 9, kind), axes_of(rng, 7, (kind + 1) % 4)
    a = population("a", {"axes": {"y": y, "x": x}, "mask": rng.random((9, 7)) < 0.8})
    b = population("b", {"axes": {"y": axes_of(rng, 6, 1), "x": axes_of(rng, 4, 1)}})
    for r in (0.3, 1.1, 9.0):
        periods = [y.period, x.period]
        got = found(a, b, nd.Within(r), weight=nd.Formula("d2"))
        want = by_distance(a, b, r, periods)
        assert got == pytest.approx(want, rel=1e-12) and [*got] == sorted(want)
        mine = found(a, a, nd.Within(r, autapses=False))
        assert {*mine} == {pair for pair in by_distance(a, a, r, periods) if pair[0] != pair[1]}


@pytest.mark.parametrize("period", [None, 4.0])
def test_points(period: float | None) -> None:
    rng = np.random.default_rng(5)
    places = [dict(zip("yx", rng.random((2, n)) * 4, strict=True)) for n in (70, 50)]
    a, b = (population(n, {"positions": p, "period": period})
            for n, p in zip("ab", places, strict=True))  # fmt: skip
    for r in (0.05, 0.7, 1.9, 7.0):
        want = by_distance(a, b, r, [period] * 2)
        got = found(a, b, nd.Within(r), weight=nd.Formula("d2"))
        assert got == pytest.approx(want, rel=1e-12) and [*got] == sorted(want)
    grid = population("c", {"axes": {"y": nd.Axis.span(5, 0, 4), "x": nd.Axis.span(6, 0, 4)}})
    for pair in ((a, grid), (grid, a)):
        periods = [period] * 2 if pair[0] is a else [None] * 2
        assert {*found(*pair, nd.Within(0.9))} == {*by_distance(*pair, 0.9, periods)}
    near = found(a, b, nd.Near(3))
    for t in range(50):
        d2 = {s: by for (s, at), by in by_distance(a, b, 99.0, [period] * 2).items() if at == t}
        assert {s for s, at in near if at == t} == {*sorted(d2, key=lambda s: (d2[s], s))[:3]}


@pytest.mark.parametrize("kind", ["anywhere", "on a grid", "in heaps", "on a line"])
def test_the_nearest_points_are_those_of_a_plain_search(kind: str) -> None:
    """Of equally near points those with lower numbers; open and closed axes, 1 to 3 of them."""
    rng = np.random.default_rng(11)
    for d in (1, 2, 3):
        points, places = rng.uniform(0, 10, (400, d)), rng.uniform(-3, 13, (90, d))
        if kind == "on a grid":
            points, places = np.floor(points), np.floor(places)
        elif kind == "in heaps":
            points = rng.normal(0, 1, (400, d)) ** 3
        elif kind == "on a line":
            points[:, 0] = places[:, 0] = 3.0
        period = np.where(rng.random(d) < 0.5, 0.0, rng.choice([10.0, 7.3]))
        away = np.abs(points - places[:, None])
        around = np.where(period > 0, away - period * np.floor(away / np.maximum(period, 1)), away)
        around = np.where(period > 0, np.minimum(around, period - around), around)
        squared = sum(around[:, :, i] * around[:, :, i] for i in range(d))
        for n in (1, 7, 60, 400):
            want = np.argsort(squared, axis=1, kind="stable")[:, :n]
            assert np.array_equal(nearest(points, places, period, n), np.sort(want, axis=1))


@pytest.mark.parametrize("masked", [False, True])
def test_offsets_have_a_least_number_of_connections(masked: bool) -> None:
    """It is exact without a mask; cells that are themselves at an offset may be left out."""
    axes = {"y": nd.Axis.span(9, 0, 9, period=9), "x": nd.Axis.span(8, 0, 8)}
    mask = {"mask": np.random.default_rng(0).random((9, 8)) < 0.9} if masked else {}
    a = population("a", {"axes": axes, **mask})
    for table in ([[0, 0], [1, -1], [4, 3], [0, 20]], [[0, 0], [0, 0], [9, 0], [1, 1]]):
        for autapses in (True, False):
            rule = nd.Offsets(np.array(table), autapses=autapses)
            links = nd.Circuit([a], [nd.Projection(a, a, rule)]).connections[0]
            assert isinstance(links, Drawn) and links.located is not None
            least, every = least_connections(links.located, links.ends), len(links.expanded())
            assert least == every or (masked and 0 <= least < every)


def test_offsets_are_filters() -> None:
    rng = np.random.default_rng(3)
    u = nd.Axis.regular(7, start=-3, step=1)
    coarse = nd.Axis.regular(4, start=-3, step=2)
    a = population("a", {"axes": {"u": u, "v": u}, "mask": rng.random((7, 7)) < 0.8})
    b = population("b", {"axes": {"u": coarse, "v": u}, "mask": rng.random((4, 7)) < 0.8})
    offsets = np.array([[0, 0], [1, -1], [-2, 0], [9, 9], [1, 2]])
    weights = np.arange(1.0, 6.0)
    at = {tuple(p): i for i, p in enumerate(b.positions.astype(int).tolist())}
    want = {
        (s, at[moved]): 2 * w
        for s, p in enumerate(a.positions.astype(int))
        for offset, w in zip(offsets, weights, strict=True)
        if (moved := tuple((p + offset).tolist())) in at
    }
    assert found(a, b, nd.Offsets(offsets, weights), weight=2.0) == want
    named = nd.Offsets({"v": offsets[:, 1], "u": offsets[:, 0]}, weights)
    assert found(a, b, named, weight=2.0) == want
    ring = population("r", {"axes": {"u": nd.Axis.span(5, 0, 5, period=5)}})
    assert {*found(ring, ring, nd.Offsets([[1.0], [-7.0]]))} == {
        (s, (s + o) % 5) for s in range(5) for o in (1, -7)
    }


def test_closed_axes_on_which_nobody_is_near() -> None:
    """No connection, in the first turn of the axis and in later ones."""
    one = population("a", {"axes": {"x": nd.Axis.at([0.25, 0.75, 3.5], period=4.0)}})
    for at in ([1.25, 2.0], [0.0, 3.75], [0.0], [3.9]):
        other = population("b", {"axes": {"x": nd.Axis.at(at, period=4.0)}})
        for ends in ((one, other), (other, one)):
            assert not found(*ends, nd.Within(0.1))
    assert not found(one, one, nd.Within(0.1, autapses=False))


def test_parts_of_populations() -> None:
    y = nd.Axis.span(6, 0, 6)
    a = population("a", {"axes": {"y": y, "x": 3}})
    whole = found(a, a, nd.Near(y=3, x="same"))
    circuit = nd.Circuit(
        [population("other", {"axes": {"y": 4}}), a],
        [nd.Projection(a[1:4], a[2:], nd.Near(y=3, x="same"), name="part")],
    )
    part = circuit.connections[0].expanded()
    pairs = {*zip((part.source - 4).tolist(), (part.target - 4).tolist(), strict=True)}
    assert pairs == {(s, t) for s, t in whole if 3 <= s < 12 and t >= 6}


def test_formulas_know_the_way() -> None:
    y, x = nd.Axis.at([0.0, 1.0, 3.5], period=5.0), nd.Axis.span(3, 0, 3)
    a = population("a", {"axes": {"y": y, "x": x}})
    got = found(a, a, nd.Within(9.0), weight=nd.Formula("a * dx + dy * (d > 1 ? 1 : 0)", a=10.0))
    for (s, t), value in got.items():
        way = y.positions[t // 3] - y.positions[s // 3]
        dy = way if abs(way) <= 2.5 else way - 5 * np.sign(way)
        dx = x.positions[t % 3] - x.positions[s % 3]
        assert value == pytest.approx(10 * dx + (dy if np.hypot(dx, dy) > 1 else 0))


@pytest.mark.skipif(not SHEETS.exists(), reason="needs ../shared")
@pytest.mark.parametrize("torus", [True, False])
@pytest.mark.parametrize("kind", ["uneven", "scattered"])
def test_sheets_are_those_of_the_reference(kind: str, torus: bool) -> None:
    period = 100.0 if torus else None
    if kind == "uneven":
        i = np.arange(100)
        y, x = (nd.Axis.at(i + 0.3 * np.sin(f * i), period=period) for f in (2.3, 1.7))
        space: dict[str, Any] = {"axes": {"y": y, "x": x}}
    else:
        a, i = 1 / 1.324717957244746, np.arange(10_000)
        places = {"y": 100 * ((0.5 + i * a) % 1.0), "x": 100 * ((0.5 + i * (a * a)) % 1.0)}
        space = {"positions": places, "period": period}
    sheet = population("sheet", space)
    weight = nd.Formula("1.2 * exp(-d2 / 8) - 0.5 * exp(-d2 / 50)")
    delay = "5e-4 + 1e-4 * d"
    rule = nd.Within(12.0, autapses=False)
    dog = nd.Projection(sheet, sheet, rule, name="dog", weight=weight, delay=delay)
    circuit = nd.Circuit([sheet], [dog])
    want = json.loads(SHEETS.read_text())[f"{kind}, {'torus' if torus else 'open'}"]
    columns = circuit.connections[0].expanded()
    degree = np.bincount(columns.target, minlength=sheet.count)
    assert circuit.edges == len(columns) == want["edges"]
    assert [degree.min(), degree.max()] == want["degree"]
    assert columns.data["weight"].sum() == pytest.approx(want["weights"], rel=1e-12)
    assert columns.delay.max() * 1e3 == pytest.approx(want["longest_delay_ms"], rel=1e-12)
    for cell, (count, total) in want["cells"].items():
        mine = columns.target == int(cell)
        assert mine.sum() == count
        assert columns.data["weight"][mine].sum() == pytest.approx(total, rel=1e-12)
        inputs = circuit.inputs_of(f"sheet/{cell}")
        assert inputs["uid"].tolist() == circuit.uids[columns.source[mine]].tolist()
        assert np.array_equal(inputs["weight"], columns.data["weight"][mine])


def test_a_text_is_a_formula() -> None:
    """As a weight and as a delay; a rule without places has no use for one."""
    axis = nd.Axis.span(5, 0, 4)
    sheet = population("sheet", {"axes": {"y": axis, "x": axis}})
    texts = {"weight": "2 * d", "delay": "1e-3 * (1 + d)"}
    formulas = {name: nd.Formula(text) for name, text in texts.items()}
    made = [
        nd.Circuit([sheet], [nd.Projection(sheet, sheet, nd.Within(1.5), **given)])
        for given in (texts, formulas)
    ]
    one, other = (circuit.connections[0].expanded() for circuit in made)
    assert len(one) and np.array_equal(one.delay, other.delay) and np.ptp(one.delay) > 0
    assert np.array_equal(one.data["weight"], other.data["weight"])
    wrong = nd.Projection(sheet, sheet, nd.FixedProbability(0.5), delay="d")
    with pytest.raises(nd.CircuitError, match="'delay': a formula of places needs a rule of place"):
        nd.Circuit([sheet], [wrong])


class Placed(nd.NDComponent):
    """Keeps its values."""

    axes, updates = ("y", "x"), {"val": "1"}


def test_a_run_goes_on_with_points_of_a_model_with_axes(tmp_path: Path) -> None:
    """The coordinates have the names that the model declares."""
    places = {name: np.random.default_rng(1).random(5) for name in ("y", "x")}
    circuit = nd.Circuit([nd.Population(Placed, name="p", positions=places)])
    with nd.LPU(circuit, 1e-3) as lpu:
        lpu["p"].set("val", np.arange(5.0))
        lpu.run(steps=2)
        lpu.save(tmp_path / "p.h5")
    with nd.LPU(circuit, 1e-3) as lpu:
        lpu.resume(tmp_path / "p.h5")
        assert lpu.step == 2 and np.array_equal(lpu["p"].val, np.arange(5.0))


def test_files_keep_rules_and_places(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y, x = nd.Axis.span(5, 0, 1), nd.Axis.at([0.0, 0.2, 0.7], period=1.0)
    mask = rng.random((2, 5, 3)) < 0.7
    a = population("a", {"axes": {"theta": 2, "y": y, "x": x}, "mask": mask})
    points = population("p", {"positions": rng.random((8, 2)), "period": {"y": 2.0}})
    ways = [
        nd.Projection(a, a[1:], nd.Near(theta="same", y=2, x=2, autapses=False), name="near",
                      weight=nd.Formula("s * dx", s=2.0), delay=nd.Formula("1e-3 * d")),
        nd.Projection(a, a, nd.Within(0.3, theta="same"), name="within"),
        nd.Projection(a, a, nd.Offsets({"y": [0.0, 0.2], "theta": [0, 1], "x": [0, 0]}, [1.0, 2.0]),
                      name="offsets"),
        nd.Projection(points, points, nd.Near(3), name="near points"),
    ]  # fmt: skip
    circuit = nd.Circuit([a, points], ways)
    circuit.save(tmp_path / "c.h5")
    again = nd.Circuit.from_file(tmp_path / "c.h5")
    assert again.digest == circuit.digest
    assert again.spaces["a"].axes == a.axes and (again.spaces["a"].mask == mask).all()
    assert again.spaces["p"].period == (None, 2.0)
    for one, other in zip(circuit.connections, again.connections, strict=True):
        assert len(one) and "source" not in vars(other)  # the rule, and no columns
        for name in ("source", "target", "delay"):
            assert (getattr(one, name) == getattr(other, name)).all()
        assert (one.data["weight"] == other.data["weight"]).all()


Y = nd.Axis.span(6, 0, 6)
GRID = {"axes": {"theta": 2, "y": Y}}
POINTS = {"positions": np.arange(8.0).reshape(4, 2)}
REFUSED = [
    (GRID, nd.Near(z=3), {}, "source has no axis 'z'.*it has theta, y"),
    (GRID, nd.Near(y=0), {}, "axis 'y': a number of cells must be whole, at least 1"),
    (GRID, nd.Near(theta=2), {}, "axis 'theta' has no positions at both ends"),
    (GRID, nd.Near(), {}, r"say how far it reaches, such as Near\(y=3, x=3\)"),
    (GRID, nd.Near(4), {}, r"for axes write Near\(y=3, x=3\)"),
    (GRID, nd.Within(-1.0), {}, "a distance must be a number, at least 0"),
    (GRID, nd.Within(y=np.inf), {}, "axis 'y': a distance must be a number"),
    ({"axes": {"theta": 2}}, nd.Within(1.0), {}, "no axis with positions at both ends"),
    ({"axes": {"y": nd.Axis.span(3, 0, 3, period=3)}}, nd.Near(y=4), {}, "more than the 3 cells"),
    (POINTS, nd.Near(5), {}, "n = 5 is more than the 4 sources"),
    (POINTS, nd.Within(x=1.0), {}, r"found by distance; write Within\(r\)"),
    (POINTS, nd.Near(x=2), {}, r"found by distance; write Near\(n\) or Within\(r\)"),
    (POINTS, nd.Offsets([[1, 1]]), {}, "offsets need populations on axes"),
    (GRID, nd.Offsets([[1]]), {}, "a column for each of the axes theta, y"),
    (GRID, nd.Offsets({"y": [1]}), {}, "say nothing of the axis 'theta'"),
    (GRID, nd.Offsets({"theta": 0, "y": [1, 2]}, [1.0]), {}, "a finite number or 2 of them"),
    (
        GRID,
        nd.Offsets({"theta": 0, "y": [1, 2]}),
        {"weight": nd.Formula("d")},
        r"'weight': offsets have no distances, which Formula\('d'\) asks for; give Near",
    ),
    ({"count": 4}, nd.Within(1.0), {}, "'source' has no places.*give a population with axes="),
    (GRID, nd.AllToAll(), {"weight": nd.Formula("d")}, "needs a rule of place.*got AllToAll"),
    (GRID, nd.Within(3.0), {"weight": nd.Formula("q + d")}, "unknown name 'q'.*there are d, d2"),
    (GRID, nd.Within(3.0), {"weight": nd.Formula("d +")}, "Formula"),
    (GRID, nd.Within(3.0), {"weight": nd.Formula("exp(d, 2)")}, "exp"),
    (GRID, nd.Within(3.0), {"weight": nd.Formula("a", a=np.nan)}, "'a' must be a finite number"),
    (GRID, nd.Within(3.0), {"weight": nd.Formula("1 / dy")}, r"must be finite \('c/0' -> 'c/0': "),
    (GRID, nd.Within(3.0), {"delay": nd.Formula("dy")}, r"not negative \('c/1' -> 'c/0': -1\)"),
]


@pytest.mark.parametrize(("space", "rule", "more", "text"), REFUSED)
def test_what_does_not_fit_is_refused(
    space: dict[str, Any], rule: Any, more: dict[str, Any], text: str
) -> None:
    given = dict(space)
    count = [given.pop("count")] if "count" in given else []
    cells = nd.Population("GradedNeuron", *count, name="c", **given, **CELL)
    with pytest.raises(CircuitError, match=text):
        nd.Circuit([cells], [nd.Projection(cells, cells, rule, name="p", **more)])


@pytest.mark.parametrize(
    ("axis", "offset", "said"),
    [
        (nd.Axis.span(8, 0, 1), 1, r"offsets are in units of positions .*apart by 'y': 0.125\)"),
        (nd.Axis.span(8, 0, 1), 0.05, "in units of positions"),
        (nd.Axis(8), 9, "in indices"),
        (nd.Axis.span(8, 0, 1), 0.125, ""),
        (nd.Axis(8), 7, ""),
    ],
)
def test_offsets_that_lead_to_no_cell(axis: nd.Axis, offset: float, said: str) -> None:
    """A warning names their unit."""
    cells = population("cells", {"axes": {"y": axis}})
    links = [nd.Projection(cells, cells, nd.Offsets({"y": [offset, -offset]}), name="p")]
    if not said:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert nd.Circuit([cells], links).edges
        return
    with pytest.warns(CircuitWarning, match=f"projection 'p' has no connections: .*{said}"):
        circuit = nd.Circuit([cells], links)
    assert circuit.edges == 0


@pytest.mark.parametrize("rule", [nd.Near(y=2), nd.Near(3), nd.Within(y=1.0)])
def test_lines_to_scattered_cells_are_found_by_distance(rule: Any) -> None:
    """Whatever the rule says of the axes of the source."""
    line = population("line", {"axes": {"y": nd.Axis.span(6, 0, 6)}})
    cells = nd.Population("GradedNeuron", name="c", positions={"y": np.arange(3.0)}, **CELL)
    with pytest.raises(CircuitError, match=r"write Within\(r\)"):
        nd.Circuit([line, cells], [nd.Projection(line, cells, rule)])
    assert nd.Circuit([line, cells], [nd.Projection(line, cells, nd.Within(0.6))]).edges == 5


def test_inputs_and_outputs_of_a_cell() -> None:
    """Of connections by place, drawn ones and columns; nothing is expanded for places."""
    y = nd.Axis.span(6, 0, 6)
    a = population("a", {"axes": {"y": y, "x": 3}})
    b = nd.Population("GradedNeuron", 9, name="b", **CELL)
    place = nd.Projection(a, a, nd.Within(y=1.5, x="same"), name="near", weight=nd.Formula("dy"),
                          delay=2e-3)  # fmt: skip
    drawn = nd.Projection(b, a, nd.FixedInDegree(4), name="drawn", weight=nd.Uniform(0, 1))
    columns = nd.Connections("r", "r", np.array([0, 3], np.int32), np.array([7, 19], np.int32))
    circuit = nd.Circuit([a, b], [place, drawn, columns])
    found = circuit.inputs_of("a/7")
    assert "_columns" not in vars(circuit.connections[0])
    assert found["uid"].tolist()[:3] == ["a/4", "a/7", "a/10"]
    assert found["weight"].tolist()[:3] == [1.0, 0.0, -1.0] and found["delay"][0] == 2e-3
    assert {*found["variable"]} == {*found["access"]} == {"r"}
    outputs = circuit.outputs_of("a/0")
    assert outputs["uid"].tolist() == ["a/0", "a/3", "a/7"]
    assert "_columns" not in vars(circuit.connections[0])
    every = [(link.source, link.target, link.data.get("weight", np.ones(()))) for link in
             (one.expanded() for one in circuit.connections)]  # fmt: skip
    for n, uid in enumerate(circuit.uids.tolist()):
        for of, end in ((circuit.inputs_of(uid), 1), (circuit.outputs_of(uid), 0)):
            wanted = [
                (str(circuit.uids[ends[1 - end][i]]), float(weight[i]))
                for ends in every
                for weight in [np.broadcast_to(ends[2], len(ends[0]))]
                for i in np.flatnonzero(ends[end] == n)
            ]
            assert list(zip(of["uid"].tolist(), of["weight"].tolist(), strict=True)) == wanted
    with pytest.raises(CircuitError, match="no component 'a/99'"):
        circuit.inputs_of("a/99")


@pytest.mark.parametrize("period", [None, 12.0])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "rule",
    [nd.Within(3.1, autapses=False), nd.Within(y=2.0, x=3.0), nd.Near(y="same", x=3),
     nd.Within(4.0, axes={"x": 2.0}), nd.Within(0.0)],
)  # fmt: skip
def test_rules_are_asked_for_one_cell_and_for_their_size(
    rule: nd.Within | nd.Near, masked: bool, period: float | None
) -> None:
    """Sources of single cells and a bound of the number of connections, without all pairs."""
    uneven = nd.Axis.at(np.sort(np.random.default_rng(3).random(12)) * 12, period=period)
    axes = {"y": uneven, "x": nd.Axis.span(12, 0, 12, period=period)}
    around = (np.arange(12) - 5.5) ** 2
    mask = {"mask": np.add.outer(around, around) < 40} if masked else {}
    a = population("a", {"axes": axes, **mask})
    circuit = nd.Circuit([a], [nd.Projection(a, a, rule)])
    links = circuit.connections[0]
    assert isinstance(links, Drawn) and links.located is not None
    every = links.expanded()
    least = least_connections(links.located, links.ends)
    assert 0 <= least <= len(every) and (masked or least > 0.99 * len(every))
    for cell in (0, 17, a.count // 2, a.count - 1):
        want = every.source[every.target == cell]
        assert circuit.inputs_of(f"a/{cell}")["uid"].tolist() == circuit.uids[want].tolist()


def test_graphs_keep_places_as_attributes(tmp_path: Path) -> None:
    a = population("a", {"axes": {"t": 2, "y": nd.Axis.span(3, 0, 3)}})
    circuit = nd.Circuit([a], [nd.Projection(a, a, nd.Near(t="same", y=2), name="p")])
    with pytest.warns(CircuitWarning, match="1 rules of place become 10 edges in a graph"):
        circuit.save(tmp_path / "c.gexf")
    again = nd.Circuit.from_file(tmp_path / "c.gexf")
    assert again.edges == 10
    assert again.select().column("pos.y").tolist() == [0.5, 1.5, 2.5] * 2
    assert "pos.t" not in again.select().columns


def test_graphs_of_rules_have_the_same_bits(tmp_path: Path) -> None:
    """Closed axes, a mask, scattered cells: edges, delays, and places."""
    cell = {"resting_potential": -65.0, "reset_potential": -65.0, "threshold": -50.0,
            "time_constant": 10.0, "drive_rate": 4000.0, "drive_weight": 1.3}  # fmt: skip
    ring = {name: nd.Axis.span(n, 0, 9, period=9) for name, n in (("y", 7), ("x", 9))}
    rng = np.random.default_rng(3)
    where: list[dict[str, Any]] = [
        {"axes": ring},
        {"axes": ring, "mask": np.arange(63).reshape(7, 9) % 5 > 0},
        {"positions": {"y": rng.random(50) * 9, "x": rng.random(50) * 9}},
    ]
    a, b, c = (
        nd.Population("LeakyIAFDeltaDriven", name=name, **cell, **one)
        for name, one in zip("abc", where, strict=True)
    )
    weight, delay = nd.Formula("1.2 * exp(-d2 / 8) - 0.3 * dx"), nd.Formula("2e-4 + 1e-4 * d")
    links = [
        nd.Projection(one, other, nd.Within(2.5), weight=weight, delay=delay, name=f"p{i}")
        for i, (one, other) in enumerate([(a, b), (b, c), (c, a)])
    ]
    circuit = nd.Circuit([a, b, c], links, seed=1)
    with pytest.warns(CircuitWarning, match="3 rules of place become"):
        circuit.save(tmp_path / "c.gexf.gz")
    again = nd.Circuit.from_file(tmp_path / "c.gexf.gz")
    assert again.edges == circuit.edges > 1000
    bits = []
    for one in (circuit, again):
        with nd.LPU(one, dt=1e-4, seed=1) as lpu:
            lpu.advance(300)
            bits.append([np.asarray(lpu[name].get("V")).tobytes() for name in "abc"])
        assert any(np.ptp(np.frombuffer(v)) > 1 for v in bits[-1])
    assert bits[0] == bits[1]
    for name in "abc":
        cells = again.select(population=name)
        got = np.column_stack([cells.column(f"pos.{axis}") for axis in ("y", "x")])
        assert np.array_equal(got, circuit.spaces[name].positions)
