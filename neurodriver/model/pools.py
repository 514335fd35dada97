"""Pools of a population: one number for each group of cells, computed from their values.

    class Inhibited(NDComponent):
        pools = {"activity": Reduce("mean", "r", over="y x"), "most": Reduce("max", "activity")}
        update = "... here.activity ..."

A pool divides a population into groups: along axes, by the value of a parameter, or into one group.
The members of a group are its cells. The variable of a pool may be another pool. Then the members
are the groups of that pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from ..errors import ModelError, near, quoted

REDUCTIONS = ("sum", "mean", "max", "min", "count", "any", "product", "argmax")
"""How a pool may reduce the values of its members."""

LEAST = 2.0**-64
"""Least number of which values may be multiples: in single precision sums stay within its range."""


class Reduce:
    """A number for each group of a population's cells, computed from the values of the members.

    Parameters
    ----------
    reduce : {"sum", "mean", "max", "min", "count", "any", "product", "argmax"}
        How the number is computed. ``count`` is the number of members whose value is not 0. ``any``
        is 1 if there is such a member, and 0 otherwise. ``argmax`` is the number of the first
        member with the greatest value; cells are numbered within the population. If a group has no
        members, ``product`` is 1, ``argmax`` is -1, and all others are 0.
    variable : str
        An updated variable, or a pool that is declared before this one.
    over : str or sequence of str, optional
        Axes along which it reduces, as in ``"y x"``. There is a group for each index along the
        other axes.
    by : str, optional
        A parameter with whole numbers. Cells with equal values are a group. Without ``over`` and
        ``by``, all cells are one group.
    doc : str
        Description.
    multiple_of : float, optional
        Of a ``sum`` or ``mean`` of a variable: each value counts as the nearest multiple of this
        number, from 2^-64 to 2^64. Then the sum is exact, whatever its order, so the members add to
        it themselves while they are computed. Values of 2^38 multiples and more count as 2^38.
    """

    def __init__(
        self,
        reduce: str,
        variable: str,
        over: str | Sequence[str] | None = None,
        by: str | None = None,
        doc: str = "",
        multiple_of: float | None = None,
    ) -> None:
        if reduce not in REDUCTIONS:
            hint = f"{near(str(reduce), REDUCTIONS)}; there are {', '.join(REDUCTIONS)}"
            raise ModelError(f"Reduce: no reduction {reduce!r}{hint}")
        if not isinstance(variable, str) or not variable.isidentifier():
            raise ModelError(f"Reduce: expected the name of a variable, got {variable!r:.60}")
        names = over.split() if isinstance(over, str) else over
        self.over: tuple[str, ...] = () if names is None else tuple(names)
        if over is not None and (not self.over or len({*self.over}) < len(self.over)):
            raise ModelError(f"Reduce: over= takes names of axes, each once (got {over!r:.60})")
        if by is not None and (over is not None or not isinstance(by, str)):
            got = f"over={over!r:.40} and by={by!r:.40}"
            raise ModelError(f"Reduce: takes axes, or the name of a parameter (got {got})")
        if multiple_of is not None:
            if reduce not in ("sum", "mean"):
                raise ModelError(f"Reduce: multiple_of= is for a sum or a mean (got {reduce!r})")
            given: Any = multiple_of
            real = isinstance(given, Real) and not isinstance(given, bool)
            if not real or not LEAST <= given <= 1 / LEAST:
                want, got = "2^-64 to 2^64", f"{given!r:.60}"
                raise ModelError(f"Reduce: multiple_of= is a number from {want} (got {got})")
        self.reduce, self.variable, self.by, self.doc = reduce, variable, by, doc
        self.multiple_of = None if multiple_of is None else float(multiple_of)

    def __repr__(self) -> str:
        more = f", over={' '.join(self.over)!r}" if self.over else ""
        more += f", by={self.by!r}" if self.by else ""
        more += f", multiple_of={self.multiple_of!r}" if self.multiple_of else ""
        return f"Reduce({self.reduce!r}, {self.variable!r}{more})"


def check_pools(cls: Any) -> None:
    """Raise ModelError where a pool of a class reads what the class does not have."""
    known: list[str] = [*cls.updates]
    for name, pool in cls.pools.items():
        where = f"{cls.__name__}.pools[{quoted(name)}]"
        if pool.variable not in known:
            hidden = " is a state of its own; name it in 'updates'"
            said = hidden if pool.variable in cls.states else _unknown(pool.variable, known)
            raise ModelError(f"{where}: {quoted(pool.variable)}{said}")
        if cls.axes:
            _check_axes(where, pool, cls.pools, cls.axes)
        if pool.by is not None and pool.variable in cls.pools:
            raise ModelError(f"{where}: a pool of pools has no parameters; leave out by=")
        if pool.multiple_of is not None and pool.variable in cls.pools:
            raise ModelError(f"{where}: multiple_of= is for pools of variables; leave it out")
        if pool.multiple_of is not None and cls.sub_units is not None:
            raise ModelError(f"{where}: a model with sub_units takes no multiple_of=; leave it out")
        if pool.by is not None and pool.by not in cls.params:
            hint = near(pool.by, cls.params)
            raise ModelError(f"{where}: no parameter {quoted(pool.by)}{hint}; declare it in params")
        if name in (*cls.axes, *cls.updates, "pos"):
            raise ModelError(f"{where}: the name is that of an axis or a variable; choose another")
        known.append(name)


def _unknown(name: str, known: Sequence[str]) -> str:
    among = ", ".join(known) or "nothing"
    return f" is no updated variable and no pool before it{near(name, known)}; there are {among}"


def _check_axes(where: str, pool: Reduce, pools: Mapping[str, Reduce], axes: Sequence[str]) -> None:
    left = remaining(pool, pools, axes)
    for name in pool.over:
        if name not in left:
            among = ", ".join(left) or "none"
            raise ModelError(f"{where}: no axis {quoted(name)}{near(name, left)}; it has {among}")


def remaining(pool: Reduce, pools: Mapping[str, Reduce], axes: Sequence[str]) -> list[str]:
    """Return the axes of the members of a pool: of the cells, or of the pool that it is made of."""
    below = pools.get(pool.variable)
    if below is None:
        return list(axes)
    if not below.over:
        return [] if below.by is None else [below.by]
    return [name for name in remaining(below, pools, axes) if name not in below.over]
