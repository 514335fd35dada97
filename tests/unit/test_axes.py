"""Axes, look-ups by position, and populations on them; the rules once more, by plain search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.errors import CircuitError

LOOK_UPS = Path(__file__).parents[3] / "shared" / "data" / "layers" / "hmax_a.npz"
CELLS = {"bias": 0.0, "time_constant": 50.0}


def _axes(rng: np.random.Generator, count: int) -> list[nd.Axis]:
    places = np.sort(rng.uniform(0, 5, count))
    return [
        nd.Axis.span(count, -1, 2.3),
        nd.Axis.at(places),
        nd.Axis.span(count, 0, 7, period=7),
        nd.Axis.at(places, period=5.5),
    ]


def _place(axis: nd.Axis, i: int) -> float:
    """Return the position of an index, one by one."""
    x, n = axis.positions, axis.count
    if axis.period is not None:
        return x[i % n] + (i // n) * axis.period
    if 0 <= i < n:
        return x[i]
    if n == 1:
        return x[0] + i * axis.step
    return x[0] + i * (x[1] - x[0]) if i < 0 else x[-1] + (i - n + 1) * (x[-1] - x[-2])


@pytest.mark.parametrize("count", [1, 2, 7])
def test_look_ups_are_those_of_a_plain_search(count: int) -> None:
    rng = np.random.default_rng(count)
    for axis in _axes(rng, count):
        h, far = axis.step, range(-60, 61)
        places = [*rng.uniform(-3, 8, 30), *axis.positions, *(axis.positions + 0.5 * h)]
        for p in places:
            n, r = int(rng.integers(1, count + 1)), rng.uniform(0, 2)
            at = {i: _place(axis, i) for i in range(-70, 71)}
            run = axis.near(p, n)
            assert run.first == min(i for i in far if at[i] + at[i + n] >= 2 * p - 2**-19 * h)
            assert run.last == run.first + n - 1
            there = [i for i in range(run.first, run.last + 1) if axis.period or 0 <= i < count]
            assert list(run.valid) == there
            assert run.complete == (len(there) == n)
            run = axis.within(p, r)
            close = [i for i in far if p - r - 2**-20 * h <= at[i] <= p + r + 2**-20 * h]
            close = close[:count] if axis.period else [i for i in close if 0 <= i < count]
            assert list(run.valid) == close


@pytest.mark.skipif(not LOOK_UPS.exists(), reason="needs ../shared")
def test_look_ups_and_axes_are_those_of_the_reference() -> None:
    data = np.load(LOOK_UPS)
    uneven = data["uneven_positions"]
    axes = [
        nd.Axis.span(10, 0, 1),
        nd.Axis.at(uneven),
        nd.Axis.span(16, 0, 16, period=16),
        nd.Axis.at(uneven, period=12.5),
    ]
    columns = [data[f"look_up_{name}"].tolist() for name in ("axis", "p", "n", "r")]
    for row, (axis, p, n, r) in enumerate(zip(*columns, strict=True)):
        for name, run in (("near", axes[axis].near(p, n)), ("within", axes[axis].within(p, r))):
            assert [run.first, run.last] == data[f"look_up_{name}"][row].tolist()
    image = nd.Axis.span(64, 0, 1)
    layers = {"image": image}
    for k in range(3):
        layers[f"s0_{k}"] = image.scaled(2 ** (0.25 * k))
        layers[f"s1_{k}"] = layers[f"s0_{k}"].windows(11)
    for b in range(2):
        layers[f"c1_{b}"] = layers[f"s1_{b}"].windows(8, step=4)
        layers[f"s2_{b}"] = layers[f"c1_{b}"].windows(3)
    for name, axis in layers.items():
        want = data[f"axis_{name}_y"]
        assert [axis.count, *axis.positions[:1], axis.step] == pytest.approx(want, rel=1e-15)
    for b, k in ((0, 0), (0, 1), (1, 1), (1, 2)):
        places, reach = layers[f"c1_{b}"].positions, 4 * layers[f"s1_{b}"].step
        source = layers[f"s1_{k}"]
        runs = source.runs_near(places, 8) if b == k else source.runs_within(places, reach)
        found = np.stack(source.valid(*runs), axis=1)
        assert (found == data[f"pool_c1_{b}_s1_{k}_y"]).all()


def test_derived_axes() -> None:
    y = nd.Axis.span(64, 0, 1)
    windows = y.windows(11, step=2)
    assert windows.count == 27
    assert windows.positions[0] == pytest.approx(np.mean(y.positions[:11]))
    assert windows.spread(11, 2).positions == pytest.approx(y.positions[:63])
    assert y.whole().positions == pytest.approx([0.5])
    assert y.whole().step == 1
    scaled = y.scaled(2**0.5)
    assert scaled.count == 45
    assert scaled.middle == pytest.approx(0.5)
    assert nd.Axis.regular(3, 0.5, 1.0) == nd.Axis.at([0.5, 1.5, 2.5])
    assert nd.Axis(3) != nd.Axis(4)


def test_populations_on_axes() -> None:
    y = nd.Axis.span(6, 0, 1)
    cells = nd.Population("GradedNeuron", axes={"theta": 2, "y": y, "x": 5}, name="s1", **CELLS)
    assert cells.shape == (2, 6, 5)
    assert cells.count == 60
    assert cells.y is y
    assert [*cells.axes] == ["theta", "y", "x"]
    assert cells.uid(1, 2, 3) == "s1/43"
    part = cells[:, 1:3]
    assert part.shape == (2, 2, 5)
    assert part[1, 0, 4].uids.tolist() == ["s1/39"]
    assert part.name == "s1[:, 1:3]"
    assert cells.positions[43].tolist()[1] == y.positions[2]
    assert np.isnan(cells.positions[:, [0, 2]]).all()
    assert cells.near({"y": 0.5}, 2)["y"].valid == range(2, 4)
    with pytest.raises(CircuitError, match="no axis 'z'; there are theta, y, x"):
        cells.within({"z": 0.5}, 2)
    with pytest.raises(AttributeError, match="no attribute or axis 'z'"):
        _ = cells.z


def test_masks_and_points() -> None:
    mask = np.eye(3, 4) > 0
    cells = nd.Population("GradedNeuron", axes={"y": 3, "x": 4}, mask=mask, name="m", **CELLS)
    assert (cells.count, cells.shape) == (3, (3,))
    assert cells[1:, :].uids.tolist() == ["m/1", "m/2"]
    assert cells.uid(2, 2) == "m/2"
    assert cells.space.point_of_cell.tolist() == [0, 5, 10]
    assert cells.space.cell_of_point.tolist() == [0, *[-1] * 4, 1, *[-1] * 4, 2, -1]
    axes = {"y": 3, "x": 4}
    alike, other = (
        nd.Population("GradedNeuron", axes=axes, mask=one, name="n", **CELLS)
        for one in (mask.copy(), mask[::-1])
    )
    assert alike.space.cell_of_point is cells.space.cell_of_point  # kept once
    assert other.space.point_of_cell.tolist() == [2, 5, 8]
    places = np.array([[0.0, 1.0], [2.0, 3.0]])
    points = nd.Population("GradedNeuron", positions=places, period=4.0, name="p", **CELLS)
    assert points.space.names == ("x", "y")
    assert (points.positions == places).all()
    named = {"v": places[:, 0], "u": places[:, 1]}
    same = nd.Population("GradedNeuron", positions=named, name="q", **CELLS)
    assert same.space.names == ("v", "u")


def test_coordinates_are_part_of_the_digest() -> None:
    digests = set()
    ways = [
        {"axes": {"y": 2, "x": 2}},
        {"axes": {"y": 2, "z": 2}},
        {"axes": {"y": nd.Axis.span(2, 0, 1), "x": 2}},
        {"axes": {"y": nd.Axis.span(2, 0, 1, period=1), "x": 2}},
        {"axes": {"y": 4, "x": 4}, "mask": np.eye(4) > 0},
        {"positions": dict(zip("abcd", np.eye(4), strict=True))},
        {"positions": np.eye(4, 2)},
        {"positions": np.eye(4, 2), "period": {"x": 2.0}},
    ]
    for way in ways:
        cells = nd.Population("GradedNeuron", name="cells", **way, **CELLS)
        digests.add(nd.Circuit([cells]).digest)
    plain = nd.Circuit([nd.Population("GradedNeuron", 4, name="cells", **CELLS)])
    assert len({*digests, plain.digest}) == len(ways) + 1


def test_numbers_come_in_the_shape_of_the_population() -> None:
    bias = np.arange(6.0).reshape(2, 3)
    ways = [bias, bias.ravel()]
    circuits = [
        nd.Circuit([nd.Population("GradedNeuron", axes={"y": 2, "x": 3}, name="c",
                                  bias=way, time_constant=50.0)])
        for way in ways
    ]  # fmt: skip
    assert circuits[0].digest == circuits[1].digest
    with pytest.raises(CircuitError, match="bias"):
        nd.Population("GradedNeuron", axes={"y": 2, "x": 3}, bias=bias.T, time_constant=50.0)


FAULTS = [
    (lambda: nd.Axis(0), "must be whole, 1 to 2"),
    (lambda: nd.Axis(True), "must be whole"),
    (lambda: nd.Axis.span(3, 1, 1), "'high' must be above 'low'"),
    (lambda: nd.Axis.regular(3, 0, -1), "'step' must be positive"),
    (lambda: nd.Axis.at([]), "at least one"),
    (lambda: nd.Axis.at([[1, 2]]), r"shape \(1, 2\)"),
    (lambda: nd.Axis.at("abc"), "row of numbers"),
    (lambda: nd.Axis.at([1, 3, 2]), "position 1 is 3.0, position 2 is 2.0"),
    (lambda: nd.Axis.at([1, 1]), "position 0 is 1.0, position 1 is 1.0"),
    (lambda: nd.Axis.at([1, np.nan]), "position 1 is nan"),
    (lambda: nd.Axis.at([1, 4], period=3), "position 0 is 1.0, position 1 is 4.0"),
    (lambda: nd.Axis.span(4, 0, 1).windows(5), "more than the 4 .* largest window has 4"),
    (lambda: nd.Axis.span(4, 0, 1).windows(2, step=0), "'step' must be whole, at least 1"),
    (lambda: nd.Axis.span(4, 0, 1).windows(2.0), "'size' must be whole"),
    (lambda: nd.Axis.span(4, 0, 1).scaled(5), "at most 4"),
    (lambda: nd.Axis(4).near(0, 1), "near needs positions"),
    (lambda: nd.Axis.span(4, 0, 1, period=1).near(0, 5), "5.* 4 cells of a closed axis"),
    (lambda: nd.Axis.span(4, 0, 1).near(0, 0), "'n' must be whole, at least 1"),
    (lambda: nd.Axis.span(4, 0, 1).within(0, -1), "at least 0 .got -1"),
    (lambda: nd.Axis.span(4, 0, 1).within(np.nan, 1), "'place' must be a finite number"),
]


@pytest.mark.parametrize(("make", "text"), FAULTS)
def test_axes_refuse_what_does_not_fit(make: object, text: str) -> None:
    with pytest.raises(CircuitError, match=text):
        make()  # type: ignore[operator]


WAYS = [
    ({"axes": {"x y": 2}}, "must be an identifier"),
    ({"axes": {}}, "at least one"),
    ({"axes": {"y": "two"}}, "axis 'y': expected an Axis or a number of cells, got 'two'"),
    ({"axes": {"y": 2**20, "x": 2**20}}, r"2\^31 - 1"),
    ({"axes": {"y": 2}, "mask": [True]}, r"booleans of shape \(2,\).*got bool of shape \(1,\)"),
    ({"axes": {"y": 2}, "mask": [False, False]}, "the mask has no cell"),
    ({"axes": {"y": 2}, "period": 3}, "'period' belongs to positions="),
    ({"axes": {"y": 2}, "positions": [[1.0]]}, "got axes and positions"),
    ({}, "got none of them"),
    ({"positions": [1.0, 2.0]}, r"\(cells, coordinates\)"),
    ({"positions": [[1.0], [np.inf]]}, "x of cell 1 is inf"),
    ({"positions": [[1.0], [5.0]], "period": 3.0}, "cell 0 is at 1.0, cell 1 at 5.0"),
    ({"positions": [[1.0], [5.0]], "period": {"z": 9.0}}, "no coordinate 'z'"),
]


@pytest.mark.parametrize(("way", "text"), WAYS)
def test_populations_refuse_what_does_not_fit(way: dict[str, object], text: str) -> None:
    with pytest.raises(CircuitError, match=text):
        nd.Population("GradedNeuron", name="cells", **way, **CELLS)


def test_an_index_must_fit_the_axes() -> None:
    cells = nd.Population("GradedNeuron", axes={"y": 2, "x": 3}, name="c", **CELLS)
    with pytest.raises(CircuitError, match=r"fit the axes y \(2\), x \(3\)"):
        _ = cells[2]
    with pytest.raises(CircuitError, match="names cell 1 twice"):
        _ = cells[0, [1, 1]]


def test_the_model_may_declare_axes() -> None:
    model = type("Sheet", (nd.NDComponent,), {
        "axes": ("y", "x"), "updates": {"r": ""}, "states": {"r": 0.0}, "update": "r = r;",
    })  # fmt: skip
    assert nd.Population(model, axes={"y": 2, "x": 3}).shape == (2, 3)
    with pytest.raises(CircuitError, match="the axes are x, y, but the model has y, x"):
        nd.Population(model, axes={"x": 3, "y": 2})
    with pytest.raises(CircuitError, match=r"give axes=.* with y, x"):
        nd.Population(model, 6)
