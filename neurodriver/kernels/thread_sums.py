"""The sum over a component's inputs by a thread, or by the threads of a warp, as text.

Additions follow the order of the connections in every form, so the bits are those of ``sums``. What
takes time on a device is waiting for memory, so every form asks for many values before it adds the
first one, and for what it needs of the next connections before that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compile.gather import MANY, NEAR, Gather
from ..compile.memory import LANES
from .component import ComponentText
from .kernel import block
from .language import used
from .sums import SumText

BATCH = 8
"""Connections of a thread whose values are asked for at once."""

KEPT_WORDS = NEAR
"""Registers of a thread that may hold what one access knows of its connections."""

KEPT_ROUNDS = 2
"""Rounds of records of a slice whose places are kept."""

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
    floats = [a for a in gather.arrays.values() if a.dtype.kind == "f"]
    words += len(floats) * (2 if dtype == "float64" else 1)
    most = int(inside(gather, count).max())
    return min(KEPT_WORDS // words, most)


def inside(gather: Gather, count: int) -> NDArray[Any]:
    """Return how many connections of each component are stored before the tail, (count,)."""
    if gather.form != "sliced":
        return np.zeros(1, np.int64)
    depth = np.diff(gather.arrays["start"].astype(np.int64)) // LANES
    return np.minimum(gather.arrays["degree"], np.repeat(depth, LANES))[:count].astype(np.int64)


class ThreadSum:
    """Writes how a thread sums one access of its component ``nd_i``.

    Parameters
    ----------
    component : ComponentText
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
        self.component, self.varied = component, varied
        self.name, self.form = self.s.access.name, self.s.gather.form
        shape = component.shape
        self.kept = kept(self.s.gather, shape.count, shape.dtype)
        number = inside(self.s.gather, shape.count)
        self.least, self.most = int(number.min()), int(number.max())
        columns = [("element", "int")] if "element" in self.s.gather.arrays else []
        columns += [("back", "int")] if "back" in self.s.gather.arrays else []
        self._places = columns
        self.columns = columns + [(n, "real") for n in self.s.varied]

    def members(self) -> list[str]:
        """Declare what a thread keeps of the access from step to step."""
        name = self.name
        if self.form == "single":
            return [f"{kind} nd_k_{c}_{name}[ND_OWN];" for c, kind in self.columns]
        if self.form == "lattice":
            rounds = f"int nd_k_element_{name}[ND_OWN][{KEPT_ROUNDS} * ND_LANES];"
            return [f"int nd_a_{name}[ND_OWN], nd_z_{name}[ND_OWN];", rounds]
        if self.form == "rows":
            places = [f"{k} nd_k_{c}_{name}[ND_OWN][{KEPT_WORDS}];" for c, k in self._places]
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
        if self.form == "single":
            return [f"nd_k_{c}_{name}[nd_i] = nd_{c}_{name}[nd_at];" for c, _ in self.columns]
        place = {"lattice": "nd_at / ND_LANES", "rows": "nd_at"}.get(self.form)
        if place:
            ends = (("a", ""), ("z", " + 1"))
            lines = [f"nd_{e}_{name}[nd_i] = nd_start_{name}[{place}{more}];" for e, more in ends]
            return lines + (self.first_rounds() if self.form == "lattice" else self.first_places())
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

    def first_rounds(self) -> list[str]:
        """Return the loads of the places of a slice's first rounds."""
        name = self.name
        body = [
            "int nd_h[ND_LANES];",
            f"nd_sixteen(nd_element_{name}, nd_a_{name}[nd_i] + nd_c * ND_LANES, nd_h);",
            _UNROLL, "for (int nd_b = 0; nd_b < ND_LANES; ++nd_b)",
            f"    nd_k_element_{name}[nd_i][nd_c * ND_LANES + nd_b] = nd_h[nd_b];",
        ]  # fmt: skip
        return [_UNROLL, *block(f"for (int nd_c = 0; nd_c < {KEPT_ROUNDS}; ++nd_c)", body)]

    def first_places(self) -> list[str]:
        """Return the loads of the places of a component's first connections, 32 a round."""
        name = self.name
        last = f"(nd_z_{name}[nd_i] - 1)"
        body = [f"const long long nd_p = nd_a_{name}[nd_i] + nd_c * 32 + nd_lane();"]
        body += [
            f"nd_k_{c}_{name}[nd_i][nd_c] = nd_a_{name}[nd_i] <= {last} "
            f"? ({kind})nd_{c}_{name}[nd_p < {last} ? nd_p : {last}] : 0;"
            for c, kind in self._places
        ]
        return [_UNROLL, *block(f"for (int nd_c = 0; nd_c < {KEPT_WORDS}; ++nd_c)", body)]

    def sum(self) -> list[str]:
        """Return the lines that give ``nd_x_<access>[nd_i]`` its value."""
        name = self.name
        value = {"none": "0", "aligned": f"nd_in_{name}[nd_at]"}.get(self.form)
        if self.form == "single":
            value = self.value(*[f"nd_k_{c}_{name}[nd_i]" for c, _ in self._places])
        if value is not None:
            return [f"nd_x_{name}[nd_i] = {value};"]
        kind = "double" if self.s.access.accumulate == "double" else "real"
        write = {"lattice": self.lattice, "rows": self.rows}.get(self.form, self.sliced)
        body = [f"typedef {kind} nd_sum_t;", "nd_sum_t nd_acc = 0;"]
        silent = f"if (!nd_silent_{name})" if self.s.may_skip else ""
        body += block(silent, [*self.before(), *write()])
        return block("", [*body, f"nd_x_{name}[nd_i] = (real)nd_acc;"])

    def value(self, element: str, back: str = "") -> str:
        """Return the value at an element, ``back`` rows back where connections differ in that."""
        name = self.name
        if self.s.gather.back is not None:
            return f"nd_in_{name}[{element}]"
        row = f"nd_wrap(nd_now_{name} - {back}, nd_depth_{name})"
        return f"nd_ring_{name}[{row} * nd_width_{name} + {element}]"

    def before(self) -> list[str]:
        """Name earlier sums, and parameters, where ``each`` asks for them."""
        asked = [self.s.access.each]
        lines = [
            f"const real {s.symbol} = nd_x_{s.access.name}[nd_i];"
            for s in self.earlier
            if used([s.symbol], asked)
        ]
        varied = [n for n in self.component.model.params if n in self.varied]
        return lines + [f"const real {n} = nd_v_{n}[nd_i];" for n in used(varied, asked)]

    def data(self, told: str) -> list[str]:
        """Give the data of a connection their names; ``told`` has a place for the name."""
        return [
            f"const real {n} = {told.format(n)};" if n in self.s.varied
            else f"const real {n} = nd_u_{self.name}_{n};"
            for n in self.s.access.connection
        ]  # fmt: skip

    def sliced(self) -> list[str]:
        """Return the sum over a component's own connections: kept ones, batches, the tail."""
        name, variable = self.name, self.s.access.variable
        lines = [f"const int nd_n = nd_n_{name}[nd_i];"]
        if self.kept:
            place = [f"nd_k_{c}_{name}[nd_i][nd_j]" for c, _ in self._places]
            each = f"for (int nd_j = 0; nd_j < {self.kept}; ++nd_j)"
            add = [f"const real {variable} = nd_b[nd_j];",
                   *self.data(f"nd_k_{{}}_{name}[nd_i][nd_j]"),
                   f"if (nd_j < {self.least} || nd_j < nd_n)",
                   f"    nd_acc = nd_acc + {self.s.each()};"]  # fmt: skip
            read = f"nd_b[nd_j] = {self.value(*place)};"
            lines += block("", [f"real nd_b[{self.kept}];", _UNROLL, *block(each, [read]),
                                _UNROLL, *block(each, add)])  # fmt: skip
        lines += self.batches() if self.most > self.kept else []
        if self.s.gather.tail:
            add = [f"const real {variable} = {self.s.read('nd_p')};", *self.s.data("nd_p")]
            add.append(f"nd_acc = nd_acc + {self.s.each()};")
            head = (f"for (long long nd_p = nd_tail_{name}[nd_at], "
                    f"nd_q = nd_tail_{name}[nd_at + 1]; nd_p < nd_q; ++nd_p)")  # fmt: skip
            lines += ["ND_UNROLL_SUM", *block(head, add)]
        return lines

    def batches(self) -> list[str]:
        """Return the sum over the connections that are not kept, several at a time.

        The places of a batch are asked for while the values of the one before are under way.
        """
        name = self.name
        places, data = self._places, self.columns[len(self._places) :]
        each = f"for (int nd_b = 0; nd_b < {BATCH}; ++nd_b)"

        def ask(columns: list[tuple[str, str]], ahead: int) -> list[str]:
            at = f"nd_j + {ahead} + nd_b"
            where = f"nd_a_{name}[nd_i] + ({at} < nd_n ? {at} : nd_n - 1) * ND_LANES"
            lines = [f"nd_h_{c}[nd_b] = nd_{c}_{name}[nd_p];" for c, _ in columns]
            return [f"const long long nd_p = {where};", *lines]

        value = self.value(*[f"nd_h_{c}[nd_b]" for c, _ in places])
        add = [f"const real {self.s.access.variable} = nd_h[nd_b];", *self.data("nd_h_{}[nd_b]"),
               f"if (nd_j + nd_b < nd_n) nd_acc = nd_acc + {self.s.each()};"]  # fmt: skip
        loop = [
            _UNROLL, *block(each, [f"nd_h[nd_b] = {value};", *(ask(data, 0) if data else [])]),
            _UNROLL, *block(each, ask(places, BATCH)),
            _UNROLL, *block(each, add),
        ]  # fmt: skip
        declared = [f"{kind} nd_h_{c}[{BATCH}];" for c, kind in self.columns]
        body = [f"real nd_h[{BATCH}];", *declared, f"int nd_j = {self.kept};",
                _UNROLL, *block(each, ask(places, 0)),
                *block(f"for (; nd_j < nd_n; nd_j += {BATCH})", loop)]  # fmt: skip
        return block(f"if (nd_n > {self.kept})", body)

    def lattice(self) -> list[str]:
        """Return the sum over the records of a slice, whose values half a warp reads together.

        Records lie in rounds of ``ND_LANES``. Values travel to shared memory, some rounds ahead,
        without a register for each; the places of the first rounds are kept.
        """
        name = self.name
        columns = [("mask", "int"), *[(n, "real") for n in self.s.varied]]
        each = "for (int nd_b = 0; nd_b < ND_LANES; ++nd_b)"

        def ask(round_: str, slot: str, place: str) -> list[str]:
            body = [f"nd_ask(nd_slot<real>({slot} * ND_LANES + nd_b), nd_row0 + {place});"]
            return [*block(f"if ({round_} < nd_n)", [_UNROLL, *block(each, body)]), "nd_asked();"]

        def read(columns: list[tuple[str, str]], round_: str) -> list[str]:
            at = f"nd_r + ({round_}) * ND_LANES"
            return [f"nd_sixteen(nd_{c}_{name}, {at}, nd_h_{c});" for c, _ in columns]

        add = [
            f"const real {self.s.access.variable} = nd_h[nd_b];",
            *self.data("nd_o_{}[nd_b]"),
            f"const nd_sum_t nd_more = nd_acc + {self.s.each()};",
            "nd_acc = nd_o_mask[nd_b] & nd_mine ? nd_more : nd_acc;",
        ]
        keep = [f"nd_o_{c}[nd_b] = nd_h_{c}[nd_b];" for c, _ in columns]
        fetch = "nd_h[nd_b] = *nd_slot<real>(nd_q * ND_LANES + nd_b);"
        loop = [
            *[f"{kind} nd_o_{c}[ND_LANES];" for c, kind in columns],
            "real nd_h[ND_LANES];", _UNROLL, *block(each, keep), *read(columns, "nd_c + 1"),
            "const int nd_q = nd_c % nd_ahead, nd_mine = nd_c < nd_n ? 1 << nd_l : 0;",
            "nd_await<nd_ahead - 1>();", _UNROLL, *block(each, [fetch]),
            _UNROLL, *block(each, add), *ask("nd_c + nd_ahead", "nd_q", "nd_h_element[nd_b]"),
            *read([("element", "int")], "nd_c + nd_ahead + 1"),
        ]  # fmt: skip
        early = f"nd_c < {KEPT_ROUNDS} ? nd_k_element_{name}[nd_i][nd_c * ND_LANES + nd_b] "
        early += ": nd_first[nd_c * ND_LANES + nd_b]"
        first = "nd_first[nd_c * ND_LANES + nd_b] = nd_h_element[nd_b];"
        more = [*read([("element", "int")], "nd_c"), _UNROLL, *block(each, [first])]
        rounds = "for (int nd_c = {}; nd_c < nd_ahead; ++nd_c)"
        return [
            "constexpr int nd_ahead = ND_AHEAD / ND_LANES;",
            f"const int nd_r = nd_a_{name}[nd_i], nd_n = (nd_z_{name}[nd_i] - nd_r) / ND_LANES;",
            "const int nd_l = nd_at % ND_LANES, nd_most = nd_largest(nd_n);",
            f"const real *nd_row0 = nd_in_{name} + nd_l;",
            "int nd_first[ND_AHEAD], nd_h_element[ND_LANES];",
            *[f"{kind} nd_h_{c}[ND_LANES];" for c, kind in columns],
            *block("if (nd_most > 0)", [
                _UNROLL, *block(rounds.format(KEPT_ROUNDS), more), *read(columns, "0"),
                _UNROLL, *block(rounds.format(0), ask("nd_c", "nd_c", f"({early})")),
                *read([("element", "int")], "nd_ahead"),
                "ND_TWO", *block("for (int nd_c = 0; nd_c < nd_most; ++nd_c)", loop),
            ]),
        ]  # fmt: skip

    def rows(self) -> list[str]:
        """Return the sum over the connections of one component, 32 of which a warp reads at once.

        Values travel to shared memory, many rounds ahead; the places of those rounds are kept.
        """
        name = self.name
        places, data = self._places, self.columns[len(self._places) :]

        def read(columns: list[tuple[str, str]], round_: str) -> list[str]:
            at = f"({round_}) * 32 + nd_lane()"
            place = f"nd_r + ({at} < nd_n ? {at} : nd_n - 1)"
            return [f"nd_h_{c} = nd_{c}_{name}[{place}];" for c, _ in columns]

        def ask(round_: str, slot: str, given: str) -> str:
            at = f"({round_}) * 32 + nd_lane()"
            told = [given.format(c) for c, _ in places]
            if "element" not in self.s.gather.arrays:
                told.insert(0, f"(nd_r + ({at} < nd_n ? {at} : nd_n - 1))")
            value = self.value(*told)
            return f"if (({round_}) * 32 < nd_n) nd_ask(nd_slot<real>({slot}), &{value});"

        each = [
            f"const real {self.s.access.variable} = *nd_slot<real>(nd_q);",
            *self.data("nd_h_{}"),
            f"*nd_team<nd_sum_t>(nd_lane()) = {self.s.each()};",
        ]
        add = "nd_acc = nd_acc + *nd_team<nd_sum_t>(nd_b);"
        left = "nd_n - nd_c * 32"
        loop = [
            f"const int nd_q = nd_c % {KEPT_WORDS};", f"nd_await<{KEPT_WORDS - 1}>();",
            *block("", each), ask(f"nd_c + {KEPT_WORDS}", "nd_q", "nd_h_{}"), "nd_asked();",
            *read(places, f"nd_c + {KEPT_WORDS + 1}"), *read(data, "nd_c + 1"),
            "__syncwarp();",
            *block(f"if ({left} >= 32)",
                   [_UNROLL, *block("for (int nd_b = 0; nd_b < 32; ++nd_b)", [add])]),
            *block("else", block(f"for (int nd_b = 0; nd_b < {left}; ++nd_b)", [add])),
            "__syncwarp();",
        ]  # fmt: skip
        first = ask("nd_c", "nd_c", f"nd_k_{{}}_{name}[nd_i][nd_c]")
        body = [
            *[f"{kind} nd_h_{c};" for c, kind in self.columns], _UNROLL,
            *block(f"for (int nd_c = 0; nd_c < {KEPT_WORDS}; ++nd_c)", [first, "nd_asked();"]),
            *read(data, "0"), *read(places, f"{KEPT_WORDS}"),
            *block("for (int nd_c = 0; nd_c * 32 < nd_n; ++nd_c)", loop),
        ]  # fmt: skip
        return [f"const long long nd_r = nd_a_{name}[nd_i];",
                f"const int nd_n = (int)(nd_z_{name}[nd_i] - nd_r);",
                *block("if (nd_n > 0)", body)]  # fmt: skip
