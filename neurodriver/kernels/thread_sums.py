"""The sum over a component's inputs by a thread, or by the threads of a warp, as text.

Additions follow the order of the connections in every form, so the bits are those of ``sums``. What
takes time on a device is waiting for memory, so every form asks for many values before it adds the
first one, and for what it needs of the next connections before that.
"""

from __future__ import annotations

from ..compile.gather import MANY, NEAR, Gather
from .component import ComponentText
from .kernel import block
from .language import used
from .sums import SumText

BATCH = 8
"""Connections of a thread whose values are asked for at once."""

KEPT_WORDS = NEAR
"""Registers of a thread that may hold what one access knows of its connections."""

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
    most = int(gather.arrays["degree"].max())
    return min(KEPT_WORDS // words, -(-most // 4) * 4)


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
        columns = [("element", "int")]
        columns += [("back", "int")] if "back" in self.s.gather.arrays else []
        self._places = columns
        self.columns = columns + [(n, "real") for n in self.s.varied]

    def members(self) -> list[str]:
        """Declare what a thread keeps of the access from step to step."""
        name = self.name
        if self.form == "single":
            return [f"{kind} nd_k_{c}_{name}[ND_OWN];" for c, kind in self.columns]
        if self.form == "lattice":
            return [f"int nd_a_{name}[ND_OWN], nd_z_{name}[ND_OWN];"]
        if self.form == "rows":
            return [f"long long nd_a_{name}[ND_OWN], nd_z_{name}[ND_OWN];"]
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
            return [f"nd_{e}_{name}[nd_i] = nd_start_{name}[{place}{more}];" for e, more in ends]
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
        if self.kept:
            last = f"(nd_n_{name}[nd_i] > 0 ? nd_n_{name}[nd_i] - 1 : 0)"
            body = [f"const int nd_q = nd_j < {last} ? nd_j : {last};"]
            body += [
                f"nd_k_{c}_{name}[nd_i][nd_j] = "
                f"nd_n_{name}[nd_i] ? ({kind})nd_{c}_{name}[nd_a_{name}[nd_i] + nd_q * ND_LANES] "
                f": 0;"
                for c, kind in self.columns
            ]
            head = f"for (int nd_j = 0; nd_j < {self.kept}; ++nd_j)"
            lines += [_UNROLL, *block(head, body)]
        return block("", lines)

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
                   f"if (nd_j < nd_n) nd_acc = nd_acc + {self.s.each()};"]  # fmt: skip
            read = f"nd_b[nd_j] = nd_j < nd_n ? {self.value(*place)} : (real)0;"
            lines += block("", [f"real nd_b[{self.kept}];", _UNROLL, *block(each, [read]),
                                _UNROLL, *block(each, add)])  # fmt: skip
        lines += self.batches()
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
        """Return the sum over the records of a slice, which half a warp reads together."""
        name = self.name
        columns = [("element", "int"), ("mask", "int"), *[(n, "real") for n in self.s.varied]]
        read = [f"nd_h_{c} = nd_r + nd_l < nd_z ? ({kind})nd_{c}_{name}[nd_r + nd_l] : 0;"
                for c, kind in columns]  # fmt: skip
        each = "for (int nd_b = 0; nd_b < ND_LANES; ++nd_b)"
        ask = [
            "const int nd_e = nd_shared_half(nd_h_element, nd_b);",
            f"nd_h[nd_b] = nd_b < nd_n ? nd_in_{name}[nd_e + nd_at % ND_LANES] : (real)0;",
        ]
        add = [f"const real {self.s.access.variable} = nd_h[nd_b];",
               "const int nd_bits = nd_shared_half(nd_o_mask, nd_b);",
               *self.data("nd_shared_half(nd_o_{}, nd_b)"),
               f"const nd_sum_t nd_more = nd_acc + {self.s.each()};",
               "nd_acc = (nd_bits >> (nd_at % ND_LANES)) & 1 ? nd_more : nd_acc;"]  # fmt: skip
        old = [f"const {kind} nd_o_{c} = nd_h_{c};" for c, kind in columns[1:]]
        loop = ["const int nd_n = nd_z - nd_r < ND_LANES ? nd_z - nd_r : ND_LANES;",
                "real nd_h[ND_LANES];", _UNROLL, *block(each, ask), *old, "nd_r += ND_LANES;",
                *read, _UNROLL, *block(each, add)]  # fmt: skip
        return [
            f"int nd_r = nd_a_{name}[nd_i];", f"const int nd_z = nd_z_{name}[nd_i];",
            "const int nd_l = nd_lane() % ND_LANES;",
            *[f"{kind} nd_h_{c};" for c, kind in columns], *read,
            *block("while (nd_r < nd_z)", loop),
        ]  # fmt: skip

    def rows(self) -> list[str]:
        """Return the sum over the connections of one component, 32 of which a warp reads at once.

        Places, then values, are asked for one and two rounds ahead.
        """
        name = self.name
        places, data = [c for c, _ in self._places], self.columns[len(self._places) :]
        last = "(nd_p + {} < nd_z ? nd_p + {} : nd_z - 1)"

        def ask(ahead: int, to: str) -> list[str]:
            at = last.format(f"{ahead} + nd_lane()", f"{ahead} + nd_lane()")
            return [f"{to}_{c} = nd_{c}_{name}[{at}];" for c in places]

        def values(ahead: int, to: str, of: str) -> list[str]:
            at = last.format(f"{ahead} + nd_lane()", f"{ahead} + nd_lane()")
            lines = [f"{to} = {self.value(*[f'{of}_{c}' for c in places])};"]
            return lines + [f"{to}_{c} = nd_{c}_{name}[{at}];" for c, _ in data]

        each = f"const nd_sum_t nd_each = {self.s.each()};"
        add = [f"const real {self.s.access.variable} = nd_h;", *self.data("nd_h_{}"), each]
        whole = ["ND_UNROLL", *block("for (int nd_b = 0; nd_b < 32; ++nd_b)",
                                     ["nd_acc = nd_acc + nd_shared(nd_each, nd_b);"])]  # fmt: skip
        part = ["for (int nd_b = 0; nd_b < (int)(nd_z - nd_p); ++nd_b)",
                "    nd_acc = nd_acc + nd_shared(nd_each, nd_b);"]  # fmt: skip
        loop = [
            *values(32, "nd_g", "nd_e"), *ask(64, "nd_e"),
            *block("", [*add, *block("if (nd_z - nd_p >= 32)", whole), *block("else", part)]),
            "nd_h = nd_g;", *[f"nd_h_{c} = nd_g_{c};" for c, _ in data],
        ]  # fmt: skip
        declared = [f"int {', '.join(f'nd_e_{c}' for c in places)};", "real nd_h, nd_g;"]
        declared += [f"{k} nd_h_{c}, nd_g_{c};" for c, k in data]
        body = [f"long long nd_p = nd_a_{name}[nd_i];", *declared, *ask(0, "nd_e"),
                *values(0, "nd_h", "nd_e"), *ask(32, "nd_e"),
                *block("for (; nd_p < nd_z; nd_p += 32)", loop)]  # fmt: skip
        return [f"const long long nd_z = nd_z_{name}[nd_i];",
                *block(f"if (nd_a_{name}[nd_i] < nd_z)", body)]  # fmt: skip
