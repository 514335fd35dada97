"""The forms of a sum: each one holds exactly the edges it was made from, in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from neurodriver.native.buffers import LANES
from neurodriver.plan.sums.choice import plan
from neurodriver.plan.sums.gather import LATTICE_GAIN, Edges, Gather, lattice_plan

WIDTH = 400
"""Elements of the row that the edges read; this one is always zero."""

Connection = tuple[float, ...]


def made(
    target: object,
    element: object,
    back: object = 0,
    data: dict[str, object] | None = None,
) -> Edges:
    """Return edges sorted by target, with the order within a target kept."""
    to = np.asarray(target, dtype=np.int64)
    order = np.argsort(to, kind="stable")

    def placed(column: object, dtype: type) -> np.ndarray:
        array = np.asarray(column, dtype=dtype)
        return array[order] if array.ndim else array

    columns = {name: placed(column, np.float64) for name, column in (data or {}).items()}
    return Edges(to[order], placed(element, np.int64), placed(back, np.int64), columns)


def per_component(edges: Edges, count: int) -> list[list[Connection]]:
    """Return the connections of each component: element, rows back, data."""
    out: list[list[Connection]] = [[] for _ in range(count)]
    m = len(edges.target)
    columns = [edges.element, edges.back, *edges.data.values()]
    for target, *rest in zip(
        edges.target, *[np.broadcast_to(c, (m,)) for c in columns], strict=True
    ):
        out[target].append(tuple(float(x) for x in rest))
    return out


def held(gather: Gather, count: int, names: list[str]) -> list[list[Connection]]:
    """Return what a form holds, read as a kernel reads it."""
    a = gather.arrays
    out: list[list[Connection]] = [[] for _ in range(count)]

    def note(component: int, place: int, element: int) -> None:
        back = a["back"][place] if gather.back is None else gather.back
        data = [a[n][place] if n in a else gather.uniform[n] for n in names]
        out[component].append((float(element), float(back), *map(float, data)))

    if gather.form == "aligned":
        for i in range(count):
            for first in a["first"].tolist():
                note(i, i, first + i)
    elif gather.form == "single":
        assert len(a["element"]) % LANES == 0
        assert np.all(a["element"][count:] == WIDTH)
        for i in range(count):
            if a["element"][i] != WIDTH:
                note(i, i, a["element"][i])
    elif gather.form == "lattice":
        for i in range(count):
            for record in range(a["start"][i // LANES], a["start"][i // LANES + 1]):
                if a["mask"][record] >> (i % LANES) & 1:
                    stride = a["stride"][i // LANES] if "stride" in a else 1
                    note(i, record, a["element"][record] + stride * (i % LANES))
    elif gather.form == "sliced":
        for i in range(count):
            lane, first = i % LANES, int(a["start"][i // LANES])
            rounds = (int(a["start"][i // LANES + 1]) - first) // LANES
            for j in range(min(rounds, int(a["degree"][i]))):
                place = first + j * LANES + lane
                note(i, place, a["element"][place])
            if gather.tail:
                for place in range(int(a["tail"][i]), int(a["tail"][i + 1])):
                    note(i, place, a["element"][place])
    return out


def assert_whole(edges: Edges, count: int, lattice: bool = True, threads: bool = False) -> Gather:
    """Plan, and fail unless the form holds the edges in order."""
    gather = plan(edges, count, WIDTH, lattice, threads)
    assert gather.edges == len(edges.target)
    assert held(gather, count, list(edges.data)) == per_component(edges, count)
    assert gather.cost.shape == (-(-count // LANES),)
    assert (gather.cost >= 0).all()
    assert np.all(gather.arrays.get("element", np.zeros(1)) > -LANES)  # guards are that wide
    if "place" in gather.arrays:
        place = gather.place
        assert len(np.unique(place)) == len(edges.target)
        assert np.array_equal(gather.arrays["element"][place], edges.element)
    return gather


@st.composite
def random_edges(draw: st.DrawFn) -> tuple[Edges, int]:
    """Return edges with delays and data that are shared or not, to some components."""
    count = draw(st.integers(1, 70))
    size = draw(st.integers(0, 200))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    skew = draw(st.sampled_from([0.0, 1.0, 4.0]))
    chance = rng.random(count) ** skew
    target = rng.choice(count, size, p=chance / chance.sum())
    back = draw(st.sampled_from(["zero", "same", "own"]))
    backs = {"zero": 0, "same": 3, "own": rng.integers(0, 9, size)}[back]
    data: dict[str, object] = {}
    for name in ("weight", "reverse"):
        kind = draw(st.sampled_from(["none", "same", "own"]))
        if kind != "none":
            data[name] = rng.integers(-3, 3, size) if kind == "own" else 1.5
    return made(target, rng.integers(0, WIDTH, size), backs, data), count


@st.composite
def grid_edges(draw: st.DrawFn) -> tuple[Edges, int]:
    """Return one filter at every place of a line, as far as its sources exist."""
    count = draw(st.integers(1, 100))
    sources = draw(st.integers(1, WIDTH))
    offsets = draw(st.lists(st.integers(-40, 40), min_size=1, max_size=9, unique=True))
    weights = draw(st.sampled_from([None, "same", "own"]))
    target, element, weight = [], [], []
    for i in range(count):
        for number, offset in enumerate(sorted(offsets)):
            if 0 <= i + offset < sources:
                target.append(i)
                element.append(i + offset)
                weight.append(float(number))
    data = {None: {}, "same": {"weight": 2.0}, "own": {"weight": weight}}[weights]
    return made(target, element, draw(st.integers(0, 3)), data), count


@given(random_edges())
def test_random_edges_are_held_in_order(case: tuple[Edges, int]) -> None:
    """Whatever form is chosen, it is complete and ordered."""
    assert_whole(*case)
    assert assert_whole(*case, lattice=False).form != "lattice"


@given(grid_edges())
def test_filters_are_held_in_order(case: tuple[Edges, int]) -> None:
    """The edges of filters, with the lattice form and without."""
    edges, _ = case
    gather = assert_whole(*case)
    assert assert_whole(*case, lattice=False).form != "lattice"
    if gather.form == "lattice":
        assert len(gather.arrays["mask"]) * LATTICE_GAIN <= len(edges.target)


def test_no_edges() -> None:
    """Nothing is stored."""
    gather = assert_whole(made([], []), 50)
    assert gather.form == "none"
    assert gather.nbytes(8) == 0


@pytest.mark.parametrize("back", [0, 4])
def test_aligned(back: int) -> None:
    """Neighbours read neighbours: only the first element is stored."""
    gather = assert_whole(made(np.arange(50), np.arange(50) + 7, np.full(50, back)), 50)
    assert (gather.form, gather.back, gather.nbytes(8)) == ("aligned", back, 8)


@pytest.mark.parametrize(
    "edges",
    [
        made(np.arange(50), np.arange(50)[::-1]),
        made(np.arange(0, 50, 2), np.arange(25)),
        made(np.arange(50), np.arange(50), np.arange(50) % 3),
        made([49], [0]),
    ],
    ids=["permuted", "not all", "delays", "one"],
)
def test_single(edges: Edges) -> None:
    """At most one connection each, but not side by side."""
    assert assert_whole(edges, 50).form == "single"


def test_shared_numbers_are_stored_once() -> None:
    """A column of equal values becomes one number."""
    rng = np.random.default_rng(1)
    target, element = rng.integers(0, 100, (2, 500))
    edges = made(target, element, np.full(500, 5), {"weight": np.full(500, 0.5)})
    gather = plan(edges, 100, WIDTH)
    assert (gather.back, gather.uniform) == (5, {"weight": 0.5})
    assert "weight" not in gather.arrays
    assert "back" not in gather.arrays


def grid(side: int, radius: int, own: bool = False) -> tuple[Edges, int]:
    """Return a square filter on a square grid, rows one after the other."""
    target, element, weight = [], [], []
    rng = np.random.default_rng(2)
    steps = range(-radius, radius + 1)
    for y in range(side):
        for x in range(side):
            for dy in steps:
                for dx in steps:
                    if 0 <= y + dy < side and 0 <= x + dx < side:
                        target.append(side * y + x)
                        element.append(side * (y + dy) + x + dx)
                        weight.append(rng.random() if own else 10.0 * dy + dx)
    return made(target, element, 0, {"weight": weight}), side * side


def test_lattice_on_a_grid() -> None:
    """The same filter everywhere is stored once for many components."""
    edges, count = grid(19, 2)
    gather = assert_whole(edges, count)
    assert gather.form == "lattice"
    assert gather.nbytes(8) < plan(edges, count, WIDTH, lattice=False).nbytes(8) / 3
    assert gather.cost.sum() < len(edges.target)


def on_a_device(edges: Edges, count: int) -> Gather | None:
    """Return the lattice form for a device; what it reads of a row lies within the guards."""
    names = [name for name, column in edges.data.items() if column.ndim]
    found = lattice_plan(edges, names, -(-count // LANES), WIDTH)
    if found is not None:
        assert held(found, count, list(edges.data)) == per_component(edges, count)
        records = np.diff(found.arrays["start"])
        assert (records % LANES == 0).all()
        stride = np.repeat(found.arrays["stride"], records)
        first = found.arrays["element"][: len(stride)]
        assert (first > -LANES).all()
        assert (first + (LANES - 1) * stride < WIDTH + 2 * LANES).all()
    return found


@settings(deadline=None)
@given(
    st.integers(1, 6), st.integers(8, 60), st.integers(1, 3), st.integers(0, 40), st.integers(1, 6)
)
def test_filters_on_a_device(height: int, width: int, coarse: int, shift: int, reach: int) -> None:
    """Filters on grids of any step, also where they begin and end with the row."""
    edges, count = filters(height, width, coarse, shift, reach)
    found = on_a_device(edges, count)
    event(f"lattice with strides {found and sorted(set(found.arrays['stride'].tolist()))}")


def filters(height: int, width: int, coarse: int, shift: int, reach: int) -> tuple[Edges, int]:
    """Return cells on every ``coarse``-th column, fed by all of a square around them."""
    target, element, weight = [], [], []
    columns = -(-width // coarse)
    for number, (y, x) in enumerate(np.ndindex(height, columns)):
        for dy in range(-reach, reach + 1):
            for dx in range(-reach, reach + 1):
                at = width * (y + dy) + coarse * x + dx + shift
                inside = 0 <= y + dy < height and 0 <= coarse * x + dx < width
                if inside and 0 <= at < WIDTH:
                    target.append(number)
                    element.append(at)
                    weight.append(100.0 * dy + dx)
    return made(target, element, 0, {"weight": weight}), height * columns


@pytest.mark.parametrize("coarse", [1, 2, 3])
def test_a_coarser_grid(coarse: int) -> None:
    """Cells of which there is one for every second or third column share records, too."""
    edges, count = filters(8, 48, coarse, 0, 3)
    found = on_a_device(edges, count)
    assert found is not None and coarse in found.arrays["stride"]
    plain = lattice_plan(edges, ["weight"], -(-count // LANES), None)
    if coarse > 1:  # without strides there are too many records
        assert plain is None
    else:
        assert plain is not None and plain.nbytes(8) <= found.nbytes(8)


@pytest.mark.parametrize("shift", [0, WIDTH - 144])
def test_strides_stay_within_the_guards(shift: int) -> None:
    """Cells whose record would begin or end too far beyond a row keep the stride 1."""
    edges, count = filters(3, 48, 3, shift, 2)
    assert on_a_device(edges, count) is not None


def test_no_lattice_where_it_would_not_pay() -> None:
    """Filters of their own, random graphs, delays of their own, unordered sources: sliced."""
    assert assert_whole(*grid(12, 2, own=True)).form == "sliced"
    rng = np.random.default_rng(3)
    for data in ({}, {"weight": 1.0}, {"weight": rng.random(900)}):
        target, element = rng.integers(0, 100, 900), rng.integers(0, WIDTH, 900)
        assert assert_whole(made(target, element, 0, data), 100).form == "sliced"
    edges, count = grid(12, 2)
    late = Edges(edges.target, edges.element, np.arange(len(edges.target)) % 4, edges.data)
    assert assert_whole(late, count).form == "sliced"
    backwards = made(edges.target[::-1], edges.element[::-1], 0, {"weight": 1.0})
    assert assert_whole(backwards, count).form == "sliced"


@pytest.mark.parametrize("hub", [0, 500, 996])
def test_a_hub_goes_to_the_tail(hub: int) -> None:
    """One component with very many connections does not pad its neighbours."""
    rng = np.random.default_rng(4)
    target = np.concatenate([np.repeat(np.arange(997), 3), np.full(5000, hub)])
    edges = made(rng.permutation(target), rng.integers(0, WIDTH, len(target)))
    gather = assert_whole(edges, 997)
    assert gather.tail
    assert len(gather.arrays["element"]) < 1.1 * len(target)
    assert gather.cost[hub // LANES] == gather.cost.max()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 17, 33])
def test_a_hub_beside_nothing(count: int) -> None:
    """Also the last slice, which has few components, is not padded much for a hub."""
    rng = np.random.default_rng(5)
    target = np.concatenate([np.arange(count), np.full(2000, count - 1)])
    edges = made(target, rng.integers(0, WIDTH, len(target)))
    gather = assert_whole(edges, count)
    assert len(gather.arrays["element"]) < 2.1 * len(target)


@pytest.mark.parametrize("count", [49, 50, 51, 52, 63, 64])
def test_equal_degrees_need_no_tail(count: int) -> None:
    """The last slice of a circuit without hubs is like the others, however few it has."""
    target = np.repeat(np.arange(count), 40)
    rng = np.random.default_rng(6)
    gather = assert_whole(made(target, rng.integers(0, WIDTH, len(target))), count)
    assert gather.form == "sliced"
    assert not gather.tail
    assert np.all(np.diff(gather.arrays["start"]) == 40 * LANES)


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_skewed_degrees(spread: float) -> None:
    """Log-normal degrees: complete, with little padding."""
    rng = np.random.default_rng(7)
    degree = rng.lognormal(2.0, spread, 333).astype(int)
    target = rng.permutation(np.repeat(np.arange(333), degree))
    edges = made(target, rng.integers(0, WIDTH, len(target)), rng.integers(0, 9, len(target)))
    gather = assert_whole(edges, 333)
    assert gather.form == "sliced"
    assert len(gather.arrays["element"]) < 2.5 * len(target)
