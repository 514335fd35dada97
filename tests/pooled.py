"""Models with pools, circuits of them, and what plain Python makes of the members."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import neurodriver as nd

KINDS = ("sum", "mean", "max", "min", "count", "any", "product", "argmax")
BLOCK = 256


def reduced(reduce: str, values: Sequence[float], numbers: Sequence[int], dtype: str) -> float:
    """Return what a reduction makes of some members, as the specification says it.

    Members are added in blocks of 256, and blocks in pairs of neighbours.
    """
    real = np.dtype(dtype).type
    if reduce in ("count", "any"):
        values = [float(v != 0) for v in values]
        reduce = {"count": "sum", "any": "max"}[reduce]
    if reduce in ("max", "min", "argmax"):
        if not len(values):
            return -1.0 if reduce == "argmax" else 0.0
        best = 0
        for place, value in enumerate(values):
            better = value < values[best] if reduce == "min" else value > values[best]
            best = place if better else best
        return float(numbers[best] if reduce == "argmax" else values[best])
    blocks = []
    for first in range(0, len(values), BLOCK):
        total = real(reduce == "product")
        for value in values[first : first + BLOCK]:
            total = total * real(value) if reduce == "product" else total + real(value)
        blocks.append(total)
    while len(blocks) > 1:
        pairs = [blocks[i : i + 2] for i in range(0, len(blocks), 2)]
        joined = [p[0] if len(p) == 1 else p[0] * p[1] if reduce == "product" else p[0] + p[1]
                  for p in pairs]  # fmt: skip
        blocks = joined
    total = blocks[0] if blocks else real(reduce == "product")
    return float(total / real(len(values)) if reduce == "mean" and len(values) else total)


def of_groups(reduce: str, values: np.ndarray, of: np.ndarray, dtype: str) -> np.ndarray:
    """Return a reduction for each group; ``of`` is the group of each value, -1 for none."""
    found = []
    for group in range(int(of.max()) + 1):
        mine = np.flatnonzero(of == group)
        found.append(reduced(reduce, values[mine].tolist(), mine.tolist(), dtype))
    return np.array(found, dtype)


def every_kind(**more: object) -> dict[str, nd.Reduce]:
    """Return a pool of each kind."""
    return {f"own_{kind}": nd.Reduce(kind, "V", **more) for kind in KINDS}


_WRITE = " ".join(f"p_{kind} = here.own_{kind};" for kind in KINDS)
_OUT = {f"p_{kind}": "1" for kind in KINDS}


class Flat(nd.NDComponent):
    """Cells with a number of their group; each keeps what its group has."""

    params = {"drive": nd.Parameter("1", 0.0), "column": nd.Parameter("1", 0.0)}
    states = {"V": nd.State("1", 0.0)}
    updates = {"V": "1", **_OUT}
    pools = every_kind(by="column")
    update = _WRITE + "V = V > 1.2 ? 0 : 0.9 * V + drive;"


class Sheet(Flat):
    """The same on axes, one group for each index along ``t`` and ``x``."""

    axes = ("t", "y", "x")
    pools = every_kind(over="y")


class Whole(Flat):
    """The same in one group, which is larger than a block."""

    pools = every_kind()


class Whole20(Flat):
    """Sums and means of whole multiples, of all cells and by a parameter; and the greatest mean."""

    updates = {"V": "1", "p_all": "1", "p_mine": "1", "p_top": "1"}
    pools = {
        "all": nd.Reduce("sum", "V", multiple_of=2.0**-20),
        "mine": nd.Reduce("mean", "V", by="column", multiple_of=0.001),
        "top": nd.Reduce("max", "mine"),
    }
    update = (
        "p_all = here.all; p_mine = here.mine; p_top = here.top; V = V > 1.2 ? 0 : 0.9 * V + drive;"
    )


class Rows20(nd.NDComponent):
    """Means of rows, on axes."""

    axes, updates = ("y", "x"), {"V": "1", "near": "1"}
    states = {"V": nd.State("1", 0.0)}
    params = {"drive": nd.Parameter("1", 0.0)}
    pools = {"row": nd.Reduce("mean", "V", over="x", multiple_of=2.0**-20)}
    update = "near = here.row; V = V - 0.1 * here.row + drive;"


class Reader20(nd.NDComponent):
    """Reads pools of two other populations."""

    axes, updates = ("k",), {"val": "1"}
    sources = {"one": nd.Source("V", model=Whole20), "two": nd.Source("V", model=Rows20)}
    update = "val = one.all + 2 * one.mine[here.k] + 3 * two.row[here.k];"


class Nested(nd.NDComponent):
    """Means of columns, the greatest of them, and a cell that is the first of its layer."""

    axes = ("py", "px", "y", "x")
    params = {"drive": nd.Parameter("1", 0.0)}
    states = {"V": nd.State("1", 0.0)}
    updates = {"V": "1", "a": "1", "b": "1", "c": "1", "d": "1"}
    pools = {
        "pool": nd.Reduce("mean", "V", over="y x"),
        "row": nd.Reduce("max", "pool", over="px"),
        "layer": nd.Reduce("sum", "row"),
        "first": nd.Reduce("argmax", "pool"),
    }
    update = """
        a = here.pool; b = here.row; c = here.layer;
        d = here.first + 100 * here.pool[here.py, 1] + here.row[0];
        V = V - 0.1 * here.pool + drive;
    """


class Reader(nd.NDComponent):
    """Reads pools of other populations, in loops over them, too."""

    axes, updates = ("k",), {"val": "1", "far": "1"}
    sources = {
        "one": nd.Source("V", model=Nested),
        "many": nd.Source("own_sum", "own_argmax", many=True),
    }
    update = """
        val = one.layer + one.pool[1, here.k];
        for (m : many) far += m.own_sum[here.k] + 2 * m.own_argmax[here.k];
    """


def flat(model: type[nd.NDComponent], count: int, seed: int = 0) -> nd.Population:
    """Return cells whose groups lie scattered; one number has none."""
    rng = np.random.default_rng(seed)
    column = rng.choice([0, 1, 3], count, p=[0.7, 0.2, 0.1])
    drive, start = rng.normal(0.2, 0.3, (2, count))
    start[rng.random(count) < 0.3] = 0
    return nd.Population(model, count, name=model.__name__.lower(), drive=drive, initV=start,
                         column=column)  # fmt: skip


def sheet(seed: int = 0, mask: bool = False) -> nd.Population:
    """Return cells on axes, or on a part of them."""
    rng = np.random.default_rng(seed)
    axes = {"t": 2, "y": 300, "x": 3}
    shape = (2, 300, 3)
    there = rng.random(shape) < 0.6
    there[1, :, 2] = False
    count = there.sum() if mask else shape
    more = {"mask": there} if mask else {}
    drive, start = (rng.normal(0.2, 0.3, count) for _ in range(2))
    return nd.Population(Sheet, name="sheet", axes=axes, drive=drive, initV=start, **more)


def nested(seed: int = 0) -> nd.Population:
    """Return pools of pools."""
    rng = np.random.default_rng(seed)
    shape = (3, 4, 5, 7)
    axes = dict(zip(("py", "px", "y", "x"), shape, strict=True))
    drive, start = rng.normal(0.0, 0.3, (2, *shape))
    return nd.Population(Nested, name="nested", axes=axes, drive=drive, initV=start)


def read(order: object = None) -> nd.Circuit:
    """Return a circuit in which another population reads pools, of this step or of the last."""
    a, b, c = nested(), flat(Flat, 700), sheet()
    del c
    other = nd.Population(Reader, name="reader", axes={"k": 4}, one=a, many=[b])
    return nd.Circuit([a, b, other], order=order, seed=1)


def multiples(order: object = None) -> nd.Circuit:
    """Return pools whose members add to them, and what reads them."""
    one, rng = flat(Whole20, 700), np.random.default_rng(3)
    drive, start = rng.normal(0.0, 0.3, (2, 5, 70))
    two = nd.Population(Rows20, name="rows", axes={"y": 5, "x": 70}, drive=drive, initV=start)
    reader = nd.Population(Reader20, name="reader", axes={"k": 4}, one=one, two=two)
    return nd.Circuit([one, two, reader], order=order, seed=1)


CIRCUITS = {
    "by a parameter": lambda: nd.Circuit([flat(Flat, 3000)]),
    "along axes": lambda: nd.Circuit([sheet()]),
    "under a mask": lambda: nd.Circuit([sheet(mask=True)]),
    "one group": lambda: nd.Circuit([flat(Whole, 70_000)]),
    "pools of pools": lambda: nd.Circuit([nested()]),
    "of others": read,
    "of this step": lambda: read("listed"),
    "of multiples": multiples,
    "of multiples of this step": lambda: multiples("listed"),
}
