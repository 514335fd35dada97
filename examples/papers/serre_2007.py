"""A feed-forward model of the visual cortex: simple and complex cells, S1 -> C1 -> S2 -> C2.

Simple cells compare what they see with a filter or with a remembered pattern. Complex cells take
the greatest of many simple cells, at neighbouring places and scales.

Riesenhuber, M., Poggio, T. Nat Neurosci 2, 1019-1025 (1999). https://doi.org/10.1038/14819
Serre, T. et al. IEEE Trans Pattern Anal Mach Intell 29, 411-426 (2007).
https://doi.org/10.1109/TPAMI.2007.56
"""

from __future__ import annotations

from typing import Any

import neurodriver as nd


class Layer(nd.NDComponent):
    """Cells with a value, which look at an image."""

    abstract, axes, updates = True, ("feature", "y", "x"), {"val": "1"}
    sources = {"image": nd.Source("val")}


class Pixel(nd.NDComponent):
    axes, updates = ("y", "x"), {"val": "1"}


class Scaled(nd.NDComponent):
    """The image at another scale, by linear interpolation."""

    axes, updates, sources = ("y", "x"), {"val": "1"}, {"image": nd.Source("val")}
    update = """
        int y = (int)fmin(fmax(first(near(image.y, 2)), 0), size(image.y) - 2);
        int x = (int)fmin(fmax(first(near(image.x, 2)), 0), size(image.x) - 2);
        real v = (here.pos.y - position(image.y, y)) / step(image.y);
        real u = (here.pos.x - position(image.x, x)) / step(image.x);
        real left = image.val[y, x] * (1 - v) + image.val[y + 1, x] * v;
        real right = image.val[y, x + 1] * (1 - v) + image.val[y + 1, x + 1] * v;
        val = left * (1 - u) + right * u;
    """


class Simple(Layer):
    """The share of a filter in what a cell sees."""

    fields = {"filters": nd.Field(axes="feature dy dx")}
    update = """
        real sum = 0, length = 0;
        for (y : near(image.y, size(filters.dy)))
            for (x : near(image.x, size(filters.dx))) {
                real v = image.val[y, x];
                sum += filters[here.feature, place(y), place(x)] * v;
                length += v * v;
            }
        val = length > 0 ? fabs(sum) / sqrt(length) : 0;
    """


class Complex(Layer):
    """The greatest of neighbours of one feature, at several scales."""

    sources = {"coarser": nd.Source("val", many=True)}
    fields = {"pool": nd.Field(whole=True, constant=True)}
    update = """
        val = least_real;
        for (y : near(image.y, pool)) for (x : near(image.x, pool))
            val = fmax(val, image.val[here.feature, y, x]);
        for (s : coarser)
            for (y : within(s.y, 0.5 * pool * step(image.y)))
                for (x : within(s.x, 0.5 * pool * step(image.x)))
                    val = fmax(val, s.val[here.feature, y, x]);
    """


class Template(Layer):
    """How much the features look like a pattern, where its mask says that they count."""

    patterns = nd.Field(axes="feature f dy dx")
    fields = {"patterns": patterns, "counts": patterns, "beta": nd.Field(default=4.0)}
    update = """
        real sum = 0;
        for (int f = 0; f < size(patterns.f); ++f)
            for (y : near(image.y, size(patterns.dy)))
                for (x : near(image.x, size(patterns.dx))) {
                    real off = image.val[f, y, x] - patterns[here.feature, f, place(y), place(x)];
                    sum += counts[here.feature, f, place(y), place(x)] * off * off;
                }
        val = exp(-beta * sum);
    """


class Greatest(nd.NDComponent):
    axes, updates, sources = ("feature",), {"val": "1"}, {"maps": nd.Source("val", many=True)}
    update = """
        val = least_real;
        for (m : maps) for (int y = 0; y < size(m.y); ++y) for (int x = 0; x < size(m.x); ++x)
            val = fmax(val, m.val[here.feature, y, x]);
    """


def layers(case: Any, filters: Any, patterns: Any, counts: Any) -> list[nd.Population]:
    """Return the populations of a model, in order; ``case`` has sizes, scales and steps."""
    y, x = (nd.Axis.span(n, *ends) for n, ends in zip(case.shape, case.extent, strict=True))
    out, s1, s2 = [nd.Population(Pixel, name="image", axes={"y": y, "x": x})], [], []

    def add(model: Any, name: str, image: Any, y: nd.Axis, x: nd.Axis, **more: Any) -> Any:
        first = {} if model is Scaled else {"feature": len(more.get("patterns", filters))}
        axes = {**first, "y": y, "x": x}
        out.append(nd.Population(model, name=name, axes=axes, image=image, **more))
        return out[-1]

    for k in range(case.scales):
        f = case.factor**k
        s0 = add(Scaled, f"s0_{k}", out[0], y.scaled(f), x.scaled(f))
        places = (axis.windows(case.rf, case.s1_step) for axis in (s0.y, s0.x))
        s1.append(add(Simple, f"s1_{k}", s0, *places, filters=filters))
    for b in range(case.scales - case.bands + 1):
        places = (axis.windows(case.pool, case.pool_step) for axis in (s1[b].y, s1[b].x))
        coarser = s1[b + 1 : b + case.bands]
        c1 = add(Complex, f"c1_{b}", s1[b], *places, coarser=coarser, pool=case.pool)
        seen = {"patterns": patterns, "counts": counts, "beta": case.beta}
        s2.append(
            add(Template, f"s2_{b}", c1, c1.y.windows(case.rf2), c1.x.windows(case.rf2), **seen)
        )
    return [*out, nd.Population(Greatest, name="c2", axes={"feature": len(patterns)}, maps=s2)]
