"""The sum over a component's inputs by a thread, or by the threads of a warp, as text.

Additions follow the order of the connections in every form, so the bits are those of ``sums``. What
takes time on a device is waiting for memory, so every form asks for many values before it adds the
first one, and for what it needs of the next connections before that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.text import block
from ...model.texts import named
from ...native.buffers import LANES
from ...plan.sums.gather import MANY, NEAR, Gather
from .. import reductions
from ..component import ComponentText
from ..cpu.stored_inputs import DATUM
from ..cpu.sums import SumText
from .slice_sums import sliced
from .warp_sums import KEPT_ROUNDS, all_records, event_rows, lattice, rows

KEPT_WORDS = NEAR
"""Registers of a thread that may hold what one access knows of its connections."""

ONE = "aligned", "single"
"""Forms of one connection, or of elements beside the component."""

_UNROLL = "ND_UNROLL"


def kept(gather: Gather, count: int, dtype: str) -> int:
    """Return for how many connections a thread keeps where their values stand.

    Parameters
    ----------
    gather : Gather
    count : int
        Components of the group.
    dtype : str
    """
    if gather.form != "sliced" or count > MANY:
        return 0
    words = 1 + ("back" in gather.arrays)
    floats = [n for n, a in gather.arrays.items() if a.dtype.kind == "f" and n != "unit"]
    words += len(floats) * (2 if dtype == "float64" else 1)
    most = int(inside(gather, count).max())
    return min(KEPT_WORDS // words, most)


def inside(gather: Gather, count: int) -> NDArray[Any]:
    """Return how many connections of each component are stored before the tail, (count,)."""
    if gather.form != "sliced":
        return np.zeros(1, np.int64)
    depth = np.diff(gather.arrays["start"].astype(np.int64)) // LANES
    return np.minimum(gather.arrays["degree"], np.repeat(depth, LANES))[:count].astype(np.int64)


def total(one: SumText) -> str:
    """Return the expression of a whole sum of component ``nd_i``."""
    name = one.access.name
    parts = [name, *one.component.spec.learned_parts(name)]
    return " + ".join(f"nd_x_{part}[nd_i]" for part in parts)


class ThreadSum:
    """Writes how a thread sums one access of its component ``nd_i``.

    Parameters
    ----------
    sums : list of SumText
        Of all accesses, in order.
    number : int
        Of this access.
    varied : list of str
        Numbers of the components that differ.
    """

    def __init__(
        self, component: ComponentText, sums: list[SumText], number: int, varied: list[str]
    ) -> None:
        self.s = sums[number]
        self.earlier = sums[:number]
        self.others = [*self.earlier, *sums[number + 1 :]]
        self.component, self.varied = component, varied
        self.name, self.form = self.s.access.name, self.s.gather.form
        spec = component.spec
        self.kept = kept(self.s.gather, spec.count, spec.dtype)
        degree = inside(self.s.gather, spec.count)
        self.least, self.most = int(degree.min()), int(degree.max())
        columns = [("element", "int")] if "element" in self.s.gather.arrays else []
        columns += [("back", "int")] if "back" in self.s.gather.arrays else []
        self.places = columns
        self.columns = columns + [(DATUM.format(n), "real") for n in self.s.varied]
        self.together = self.form == "rows" and not spec.is_event(self.s.access.variable)

    @property
    def part(self) -> bool:
        """Whether the sum is a part of another one, to which it is added as an integer."""
        return not self.s.symbol

    @property
    def kind(self) -> str:
        """Type of the sum of a component."""
        return "double" if self.part else "real"

    @property
    def record(self) -> int:
        """Bytes of what a thread shares with its warp in each round; 0 where it shares nothing."""
        word = 4 if self.component.spec.dtype == "float32" else 8
        if self.form == "lattice":
            return 8 + word * len(self.s.varied)
        return 8 if self.together else 0

    def members(self) -> list[str]:
        """Declare what a thread keeps of the access from step to step."""
        name = self.name
        if self.form in ONE:
            return [f"{kind} nd_k_{c}_{name}[ND_OWN];" for c, kind in self.columns]
        if self.form == "lattice":
            return [f"int nd_a_{name}[ND_OWN], nd_z_{name}[ND_OWN], nd_by_{name}[ND_OWN];"]
        if self.form == "rows":
            kept = self.places if self.together else []
            places = [f"{k} nd_k_{c}_{name}[ND_OWN][{KEPT_ROUNDS}];" for c, k in kept]
            return [f"long long nd_a_{name}[ND_OWN], nd_z_{name}[ND_OWN];", *places]
        if self.form == "sliced":
            lines = [f"long long nd_a_{name}[ND_OWN];", f"int nd_n_{name}[ND_OWN];"]
            for c, kind in self.columns if self.kept else ():
                lines.append(f"{kind} nd_k_{c}_{name}[ND_OWN][{self.kept}];")
            return lines
        return []

    def load(self) -> list[str]:
        """Return the loads of what is kept, of component ``nd_at``."""
        name = self.name
        if self.form in ONE:
            return [f"nd_k_{c}_{name}[nd_i] = nd_{c}_{name}[nd_at];" for c, _ in self.columns]
        place = {"lattice": "nd_at / ND_LANES", "rows": "nd_at"}.get(self.form)
        if place:
            ends = (("a", ""), ("z", " + 1"))
            lines = [f"nd_{e}_{name}[nd_i] = nd_start_{name}[{place}{more}];" for e, more in ends]
            if self.form == "lattice":
                lines.append(f"nd_by_{name}[nd_i] = nd_stride_{name}[{place}];")
                lines += all_records(self) if self.stays else []
            return lines + (self.first_places() if self.together else [])
        if self.form != "sliced":
            return []
        lines = [
            f"const long long nd_a0 = nd_start_{name}[nd_at / ND_LANES];",
            f"const long long nd_a1 = nd_start_{name}[nd_at / ND_LANES + 1];",
            "const int nd_most = (int)((nd_a1 - nd_a0) / ND_LANES);",
            f"const int nd_all = nd_degree_{name}[nd_at];",
            f"nd_a_{name}[nd_i] = nd_a0 + nd_at % ND_LANES;",
            f"nd_n_{name}[nd_i] = nd_all < nd_most ? nd_all : nd_most;",
        ]
        if self.kept:  # what is kept beyond the last connection may be read, and is not added
            body = [f"const bool nd_is = nd_j < nd_n_{name}[nd_i];"]
            body += [
                f"nd_k_{c}_{name}[nd_i][nd_j] = "
                f"nd_is ? ({kind})nd_{c}_{name}[nd_a_{name}[nd_i] + nd_j * ND_LANES] : 0;"
                for c, kind in self.columns
            ]
            head = f"for (int nd_j = 0; nd_j < {self.kept}; ++nd_j)"
            lines += [_UNROLL, *block(head, body)]
        return block("", lines)

    def first_places(self) -> list[str]:
        """Return the loads of the places of a component's first connections, 32 a round."""
        name = self.name
        last = f"(nd_z_{name}[nd_i] - 1)"
        body = [f"const long long nd_p = nd_a_{name}[nd_i] + nd_c * 32 + nd_lane();"]
        body += [
            f"nd_k_{c}_{name}[nd_i][nd_c] = nd_a_{name}[nd_i] <= {last} "
            f"? ({kind})nd_{c}_{name}[nd_p < {last} ? nd_p : {last}] : 0;"
            for c, kind in self.places
        ]
        return [_UNROLL, *block(f"for (int nd_c = 0; nd_c < {KEPT_ROUNDS}; ++nd_c)", body)]

    def sum(self) -> list[str]:
        """Return the lines that give ``nd_x_<access>[nd_i]`` its value."""
        name = self.name
        empty = reductions.EMPTY.get(self.s.access.reduce, "0")
        if self.form == "none":
            return [f"nd_x_{name}[nd_i] = {empty};"]
        if self.form in ONE and not self.s.access.connection:
            return [f"nd_x_{name}[nd_i] = {self.beside()};"]
        first = reductions.begin(self.s.access.reduce)
        body = [f"typedef {self.s.kind} nd_sum_t;", f"nd_sum_t nd_acc = {first};"]
        if self.s.access.reduce in reductions.RANKED:
            body.append("int nd_which = -1;")
        silent = f"if (!nd_silent_{name})" if self.s.may_skip and self.form not in ONE else ""
        body += block(silent, [*self.before(), *self.write()])
        done = "nd_acc" if self.part else self.s.finished("nd_acc", "nd_at")
        return block("", [*body, f"nd_x_{name}[nd_i] = {done};"])

    def sum_all(self) -> list[str]:
        """Return what is summed for all components of a thread at once, before ``sum``."""
        return []

    @property
    def stays(self) -> bool:
        """Whether records may stay in shared memory: the place there is for one access."""
        used = {s.gather.form for s in self.others}
        return self.form == "lattice" and not used & {"lattice", "rows"}

    @property
    def rounds(self) -> int:
        """Most rounds of records of a slice, if they may stay in shared memory."""
        return int(np.diff(self.s.gather.arrays["start"]).max()) // LANES if self.stays else 0

    def beside(self) -> str:
        """Return the value of the one connection, or the sum of several elements beside."""
        name = self.name
        if self.form == "single":
            return self.value(*[f"nd_k_{c}_{name}[nd_i]" for c, _ in self.places])
        values = [f"nd_in{end or ''}_{name}[nd_at]" for end in range(self.s.ends)]
        return values[0] if len(values) == 1 else f"(real)(({self.s.kind})0 + {' + '.join(values)})"

    def write(self) -> list[str]:
        """Return the lines that add all connections to ``nd_acc``."""
        if self.form in ONE:  # read in any case: that takes no longer than to look
            value = f"const real {self.s.access.variable} = {self.beside()};"
            return [value, *self.data(f"nd_k_{{}}_{self.name}[nd_i]"), *self.taken("0")]
        if self.form == "lattice":
            return lattice(self)
        if self.form == "rows":
            return rows(self) if self.together else event_rows(self)
        return sliced(self)

    def taken(self, rank: str) -> list[str]:
        """Return the lines that take a connection into ``nd_acc``; ``rank`` is its place."""
        if self.s.reduced:
            return reductions.taken(self.s.access.reduce, "", self.s.each(), "true", rank)
        return [f"nd_acc = nd_acc + {self.s.each()};"]

    def value(self, element: str, back: str = "") -> str:
        """Return the value at an element, ``back`` rows back where connections differ in that."""
        name = self.name
        if self.s.gather.back is not None:
            return f"nd_in_{name}[{element}]"
        row = f"nd_wrap(nd_now_{name} - {back}, nd_depth_{name})"
        return f"nd_ring_{name}[{row} * nd_width_{name} + {element}]"

    def before(self) -> list[str]:
        """Name earlier sums, and parameters, where ``each`` asks for them."""
        asked = self.s.asked
        lines = [
            f"const real {s.symbol} = {total(s)};"
            for s in self.earlier
            if s.symbol and named([s.symbol], asked)
        ]
        varied = [n for n in self.component.model.params if n in self.varied]
        return lines + [f"const real {n} = nd_v_{n}[nd_i];" for n in named(varied, asked)]

    def data(self, column: str) -> list[str]:
        """Declare the data of a connection; ``column`` is a format string for their names."""
        return [
            f"const real {n} = {column.format(DATUM.format(n))};" if n in self.s.varied
            else f"const real {n} = nd_u_{self.name}_{n};"
            for n in self.s.access.connection
        ]  # fmt: skip
