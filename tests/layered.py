"""Models whose texts read other cells and fields, and circuits of them."""

from __future__ import annotations

import numpy as np

import neurodriver as nd

IMAGE = np.arange(12.0).reshape(3, 4)


class Pixel(nd.NDComponent):
    axes, updates = ("y", "x"), {"val": "1"}


class Neighbours(nd.NDComponent):
    """Reads two cells of an image and one of its own; has fields of each scope."""

    axes, updates = ("y", "x"), {"val": "1"}
    sources = {"src": nd.Source("val"), "more": nd.Source("val", many=True)}
    shared = {"gain": nd.Field(default=1.0)}
    fields = {
        "w": nd.Field(axes="k"),
        "bias": nd.Field("1", default=0.5),
        "v": nd.Field(size=2, default=0.0),
        "n": nd.Field(whole=True, default=3),
    }
    params = {"p": nd.Parameter("1", default=0.0)}
    update = """
        val = src.val[here.y, here.x] * w[0] + src.val[here.y + 1, here.x - 1] * w[1];
        val = gain * val + bias + v[1] + p + n + here.val[here.y, here.x + 1];
        for (m : more) val += m.bias * size(m.y);
        val += count(more);
    """


class Looking(nd.NDComponent):
    """Adds up what look-ups of all kinds find."""

    axes, updates = ("y",), {"n": "1", "sum": "1", "ends": "1", "near3": "1", "far": "1"}
    sources = {"image": nd.Source("val")}
    fields = {"r": nd.Field(), "many": nd.Field(whole=True, constant=True)}
    update = """
        for (i : within(image.y, r)) { n += 1; sum += image.val[i]; }
        for (i : near(image.y, many)) { near3 += place(i) * image.val[i] + first(i); }
        ends = 100 * first(within(image.y, 1.5)) + last(within(image.y, 1.5));
        if (complete(near(image.y, 2))) ends += 0.5;
        far = position(image.y, first(near(image.y, 2.5, 3))) + here.pos.y;
    """


class Row(nd.NDComponent):
    axes, updates = ("y",), {"val": "1"}


class Windows(nd.NDComponent):
    """Loops of all forms that strips of neighbours know, and some that they do not."""

    axes, updates = ("f", "y", "x"), {"a": "1", "b": "1", "c": "1", "d": "1"}
    sources = {"image": nd.Source("val"), "others": nd.Source("val", many=True)}
    fields = {"w": nd.Field(axes="f dy dx")}
    params = {"p": nd.Parameter("1", default=1.0)}
    update = """
        real least = greatest_real;
        for (y : near(image.y, size(w.dy))) for (x : near(image.x, size(w.dx))) {
            real v = image.val[y, x];
            if (place(y) != 1) a += w[here.f, place(y), place(x)] * v - p / (1 + v * v);
            b = v > 0.5 && v < 0.9 ? b + sqrt(v) : b - exp(v);
            if (v < least) least = v;
        }
        for (o : others)
            for (y : within(o.y, 0.3)) for (x : within(o.x, 0.21)) {
                const real v = o.val[y, x];
                c += v * p;
                d = fmax(d, v - image.val[here.y, here.x + 1]);
            }
        c = c + least;
        for (int i = 0; i < size(image.y); ++i) d += image.val[i, here.x] * i;
    """


class Maps(nd.NDComponent):
    axes, updates = ("f", "y", "x"), {"val": "1"}


class Extremes(nd.NDComponent):
    """The greatest and the least of what several populations have, by loops of all forms."""

    axes, updates = ("f",), {"most": "1", "least": "1", "near2": "1"}
    sources = {"maps": nd.Source("val", many=True)}
    update = """
        most = least_real; least = greatest_real;
        for (m : maps) {
            for (int y = 0; y < size(m.y); ++y) for (int x = 0; x < size(m.x); ++x)
                most = fmax(most, m.val[here.f, y, x]);
            for (y : within(m.y, 0.5, 0.3)) for (x : near(m.x, 0.5, 4))
                least = fmin(least, m.val[here.f, y, x] - 1);
        }
        for (m : maps) for (x : near(m.x, 2, 3)) near2 = fmax(near2, m.val[here.f, 0, x]);
    """


def extremes() -> nd.Circuit:
    """Return a circuit with loops that the threads of a warp share, and seven features."""
    maps = [
        nd.Population(
            Maps,
            name=name,
            axes={"f": 7, "y": nd.Axis.span(n, 0, 1), "x": nd.Axis.span(7, 0, 1)},
            initval=nd.Uniform(-1, 1),
        )
        for name, n in (("fine", 40), ("coarse", 13))
    ]
    most = nd.Population(Extremes, name="most", axes={"f": 7}, maps=maps)
    return nd.Circuit([*maps, most], seed=1)


def windows(width: int) -> nd.Circuit:
    """Return a circuit with loops over windows of an image, rows of ``width`` cells."""
    rng = np.random.default_rng(width)
    span = {"y": nd.Axis.span(9, 0, 1), "x": nd.Axis.span(width + 4, 0, 1)}
    uneven = np.sort(rng.uniform(0, 1, 12))
    some = {"y": nd.Axis.at(uneven), "x": nd.Axis.span(2 * width, -0.1, 1.3)}
    image = nd.Population(Pixel, name="image", axes=span, initval=nd.Uniform(0, 1))
    other = nd.Population(Pixel, name="other", axes=some, initval=nd.Uniform(-1, 1))
    axes = {"f": 2, "y": image.y.windows(3), "x": image.x.windows(5)}
    more = {"w": rng.normal(size=(2, 3, 5)), "p": rng.normal(size=(2, 7, width)), "image": image}
    cells = nd.Population(Windows, name="cells", axes=axes, others=[other, image], **more)
    far = {"f": 2, "y": image.y.windows(3, step=2), "x": image.x.windows(5, step=3)}
    more |= {"p": 0.5, "image": image, "others": [other]}
    apart = nd.Population(Windows, name="apart", axes=far, **more)
    return nd.Circuit([image, other, cells, apart], seed=1)


def neighbours() -> nd.Circuit:
    """Return a circuit with fields of each scope."""
    axes = {"y": 3, "x": 4}
    a = nd.Population(Pixel, name="a", axes=axes, initval=IMAGE)
    bank = nd.Value([2.0, 1.0], name="bank")
    b = nd.Population(Neighbours, name="b", axes=axes, src=a, w=bank)
    c = nd.Population(Neighbours, name="c", axes=axes, src=a, w=bank, p=IMAGE, more=[b])
    return nd.Circuit([a, b, c], shared={"gain": 2.0})


def looking(period: float | None) -> nd.Circuit:
    """Return a circuit with look-ups of all kinds."""
    n = np.arange(8)
    axis = nd.Axis.at(n + 0.3 * np.sin(1.7 * n), period=period)
    image = nd.Population(Row, name="image", axes={"y": axis}, initval=1.0 + n**2)
    about = {"y": nd.Axis.at(np.linspace(-0.75, 8.1, 9))}
    cells = nd.Population(Looking, name="cells", axes=about, image=image, r=1.25, many=3)
    return nd.Circuit([image, cells])


CIRCUITS = {
    "fields": neighbours,
    "windows": lambda: windows(37),
    "extremes": extremes,
    "look-ups": lambda: looking(None),
    "look-ups on a closed axis": lambda: looking(9.5),
}


class Banked(nd.NDComponent):
    """Multiplies windows, whose sizes differ between features, with filters of a list."""

    axes, updates = ("e", "y", "x"), {"val": "1", "sizes": "1"}
    sources = {"image": nd.Source("val")}
    shared = {"offsets": nd.Field(size=2, many=True, whole=True)}
    fields = {"banks": nd.Field(axes="dy dx", many=True)}
    update = """
        for (y : near(image.y, size(banks[here.e].dy)))
            for (x : near(image.x, size(banks[here.e].dx)))
                val += banks[here.e][place(y), place(x)] * image.val[y, x];
        for (y : near(image.y, size(banks[1].dy)))
            for (x : near(image.x, size(banks[1].dx)))
                val += banks[1][place(y), place(x)] * image.val[y, x];
        for (int e = 0; e < count(banks); ++e) sizes += 10 * sizes + size(banks[e].dx);
        sizes += 1000 * size(banks[here.e + 1].dy) + offsets[here.e][1] + banks[here.e + 1][0, 0];
    """


def banks(seed: int = 0) -> list[np.ndarray]:
    """Return filters of three sizes."""
    rng = np.random.default_rng(seed)
    return [rng.random(shape) for shape in ((3, 3), (1, 5), (5, 3))]


OFFSETS = [[1, 2], [3, 4], [5, 6]]


def banked() -> nd.Circuit:
    """Return a circuit with a list of filters; the last feature reads one that there is not."""
    axes = {"y": nd.Axis.span(9, 0, 1), "x": nd.Axis.span(37, 0, 1)}
    image = nd.Population(Pixel, name="image", axes=axes, initval=nd.Uniform(0, 1))
    bank = nd.Value(banks(), name="bank")
    cells = nd.Population(Banked, name="cells", axes={"e": 3, **axes}, image=image, banks=bank)
    return nd.Circuit([image, cells], shared={"offsets": OFFSETS}, seed=1)


class Indexing(nd.NDComponent):
    """Reads with indices that parameters give: of sources, fields, pools, arrays, the past."""

    axes, updates = ("y", "x"), {"val": "1"}
    sources = {
        "src": nd.Source("val", history=3),
        "one": nd.Source("val", by_number=True),
        "many": nd.Source("val", many=True),
    }
    fields = {"w": nd.Field(axes="k l"), "v": nd.Field(size=3, default=1.0)}
    params = {n: nd.Parameter(default=0.0) for n in ("up", "ago", "cell", "k", "at", "row", "each")}
    pools = {"rows": nd.Reduce("sum", "val", over="x")}
    update = """
        real kept[4];
        kept[(int)at] = 1 + here.y;
        val = src.val[here.y + (int)up, here.x] + src.val[here.y, here.x, ago=(int)ago];
        val += one.val[(int)cell] + w[1, (int)k] + v[(int)k] + kept[(int)at];
        val += here.rows[(int)row];
        for (m : many) val += m.val[(int)each];
    """


def indexing(**bad: float) -> nd.Circuit:
    """Return a circuit of one whose cells, (2, 1), has the indices that are given."""
    axes = {"y": 3, "x": 4}
    a = nd.Population(Pixel, name="a", axes=axes, initval=IMAGE)
    row, ring = (
        nd.Population(Row, name=n, axes={"y": nd.Axis.span(c, 0, c, period=p)}, initval=c)
        for n, c, p in (("row", 5, None), ("ring", 2, 2))
    )
    place = np.zeros((3, 4))
    place[2, 1] = 1
    given = {name: value * place for name, value in bad.items()}
    sources = {"src": a, "one": a, "many": [ring, row]}
    cells = nd.Population(Indexing, name="c", axes=axes, w=np.ones((2, 3)), **sources, **given)
    return nd.Circuit([a, row, ring, cells])


INDICES: dict[str, tuple[float, str]] = {
    "up": (
        1,
        "line 4: src.val[here.y + (int)up, here.x]: here.y + (int)up is 3, and has to be 0 to 2",
    ),
    "ago": (
        4,
        "line 4: src.val[here.y, here.x, ago=(int)ago]: 'ago' ((int)ago) is 4, and has to be 0 "
        "to 3",
    ),
    "cell": (12, "line 5: one.val[(int)cell]: (int)cell is 12, and has to be 0 to 11"),
    "k": (3, "line 5: w[1, (int)k]: (int)k is 3, and has to be 0 to 2"),
    "at": (-1, "line 3: kept[(int)at]: (int)at is -1, and has to be 0 to 3"),
    "row": (3, "line 6: here.rows[(int)row]: (int)row is 3, and has to be 0 to 2"),
    "each": (5, "line 7: m.val[(int)each]: (int)each is 5, and has to be 0 to 4"),
}
"""Parameter of `Indexing` -> a value out of range, and what is said of it under ``debug``."""


class Filtered(nd.NDComponent):
    """Adds up an image through connections whose weights are a field."""

    axes, updates = ("theta", "y", "x"), {"out": "1"}
    accesses = [nd.Weighted("val", "g")]
    fields = {
        "filters": nd.Field(axes="theta dy dx"),
        "gain": nd.Field(default=1.0),
        "rows": nd.Field(axes="y", default=np.ones(9), whole=True),
    }
    update = "out = g;"


class Scene(Pixel):
    """An image with a field of its own."""

    fields = {"bright": nd.Field(axes="y x", default=np.ones((9, 12)))}


FILTERS = np.random.default_rng(5).normal(size=(2, 3, 5))


def filtered(
    weight: object = "filters[theta, dy, dx]",
    period: float | None = None,
    step: int = 1,
    stored: object = "auto",
    mask: np.ndarray | None = None,
    **more: object,
) -> nd.Circuit:
    """Return a circuit with an image of 9 x 12 cells, whose windows have 3 x 5."""
    spans = {n: nd.Axis.span(c, 0, 1, period=period) for n, c in (("y", 9), ("x", 12))}
    scene = nd.Population(Scene, name="scene", axes=spans, initval=nd.Uniform(0, 1), mask=mask)
    axes = {"theta": 2, **spans}
    if period is None:
        axes = {"theta": 2, "y": scene.y.windows(3), "x": scene.x.windows(5, step=step)}
        more.setdefault("rows", np.ones(7, int))
    cells = nd.Population(Filtered, name="cells", axes=axes, filters=FILTERS, **more)
    link = nd.Projection(scene, cells, nd.Near(y=3, x=5), weight=weight, name="link", stored=stored)
    return nd.Circuit([scene, cells], [link], seed=3)


FIELD_WEIGHTS = {
    "an array": {},
    "an array on a torus": {"period": 1.0},
    "every second window": {"step": 2},
    "not stored": {"stored": False},
    "not stored on a torus": {"stored": False, "period": 1.0},
    "a formula with fields of both ends": {
        "weight": nd.Formula("k * gain * filters[theta, dy, dx] * bright[0, 1] * rows[y]", k=0.5),
        "gain": 3.0,
        "rows": np.arange(7),
        "stored": False,
    },
}
"""Circuits with weights by fields: arguments of `filtered`."""
