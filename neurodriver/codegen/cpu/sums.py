"""The sum over a component's inputs, as text: one small loop for each form of ``Gather``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...model.component import Access
from ...model.text import block
from ...model.texts import named
from .. import reductions
from ..component import ComponentText
from .stored_inputs import StoredInputs


class SumText(StoredInputs):
    """Writes how one access is read."""

    def __init__(self, component: ComponentText, access: Access) -> None:
        super().__init__(component, access)
        self.parts: Sequence[SumText] = ()  # what is added to the sum
        self.silent = False  # set while the text for a silent row is written
        self.tiled = False  # set once a tile has declared where its values begin

    @property
    def kind(self) -> str:
        """Type of the running sum: integers are exact in double precision."""
        return "double" if self.access.accumulate == "double" or self.gather.integer else "real"

    def finished(self, sum_: str, component: str) -> str:
        """Return a component's sum in the working type."""
        name = self.access.name
        if self.reduced:
            which = sum_.replace("nd_acc", "nd_which")
            degree = f"nd_degree_{name}[{component}]"
            division = self.component.translator.division
            return reductions.finished(self.access.reduce, sum_, which, degree, division)
        if not self.gather.integer:
            return f"(real){sum_}"
        varied = "unit" in self.gather.arrays
        unit = f"nd_unit_{name}[{component}]" if varied else f"nd_one_{name}"
        return f"(real)({sum_}) * {unit}"

    def direct(self, component: str, lane: str) -> str:
        """Return the expression of the finished sum inside the loop over components."""
        parts = (f"nd_sum_{part.access.name}[{lane}]" for part in self.parts)
        return " + ".join([self._alone(component, lane), *parts])

    def _alone(self, component: str, lane: str) -> str:
        """Return the expression of the sum without its parts."""
        form, name = self.gather.form, self.access.name
        if form == "none" or (self.silent and not self.loops):
            return reductions.EMPTY.get(self.access.reduce, "0")
        if form == "aligned":
            return self._aligned(component, lane)
        if form == "single":
            return self.read(component)
        return f"nd_sum_{name}[{lane}]"

    def _aligned(self, component: str, lane: str) -> str:
        """Return the value of the element beside a component, or the sum of several."""
        values = [
            f"nd_here{end}_{self.access.name}[{lane}]"
            if self.tiled and self.of_input(end)
            else f"nd_in{end or ''}_{self.access.name}[{component}]"
            for end in range(self.ends)
        ]
        return values[0] if self.ends == 1 else f"(real)(({self.kind})0 + {' + '.join(values)})"

    @property
    def loops(self) -> bool:
        """Whether the sum needs a loop of its own before the components are updated."""
        return self.gather.form in ("sliced", "lattice")

    def waiting(self) -> list[str]:
        """Declare what all tiles share."""
        return []

    def tile(self) -> list[str]:
        """Declare what belongs to one tile: where values are equal, all read the first ones."""
        self.tiled, name = True, self.access.name
        return [
            f"const real *__restrict nd_here{end}_{name} = nd_in{end or ''}_{name} + "
            f"(nd_level_{name}[{self.size(f'input {end}')}] ? 0 : nd_t);"
            for end in range(self.ends)
            if self.of_input(end)
        ]

    def after(self) -> list[str]:
        """Return what follows when a component's sum has been used."""
        return []

    def after_tile(self) -> list[str]:
        """Return what follows when all sums of a tile have been used."""
        return []

    def each(self) -> str:
        """Return what one connection adds."""
        if self.gather.integer:
            return f"(nd_sum_t)weight * (nd_sum_t)nd_spikes({self.access.variable})"
        value = self.access.variable
        for part in self.asked:
            value = self.component.translator.value(part.name)
        return f"(nd_sum_t)({value})" if self.access.accumulate == "double" else f"({value})"

    def add(self, value: str, place: str, live: str, rank: str = "") -> list[str]:
        """Return the lines that add one connection to lane ``nd_l`` where ``live`` holds."""
        return [
            f"const real {self.access.variable} = {value};",
            *self.data(place),
            *reductions.taken(self.access.reduce, "[nd_l]", self.each(), live, rank),
        ]

    def loop(self, earlier: list[SumText]) -> list[str]:
        """Return the loop that fills ``nd_sum_<access>`` for one tile."""
        name = self.access.name
        kind = self.kind
        body = [
            "const long long nd_slice = (nd_t + nd_s) / ND_LANES;",
            f"{kind} nd_acc[ND_LANES] = {{0}};",
            *self.accumulators(),
        ]
        body += self.slice_loop(earlier)
        done = self.finished("nd_acc[nd_l]", "nd_t + nd_s + nd_l")
        store = f"nd_sum_{name}[nd_s + nd_l] = {done};"
        body += ["for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)", f"    {store}"]
        head = "for (int nd_s = 0; nd_s < nd_m; nd_s += ND_LANES)"
        declared = f"real nd_sum_{name}[ND_TILE];"
        if self.may_skip:
            clear = f"for (int nd_i = 0; nd_i < ND_TILE; ++nd_i) nd_sum_{name}[nd_i] = 0;"
            rest = block(f"else {head}", body)
            return [
                declared,
                *block("", [f"typedef {kind} nd_sum_t;", f"if (nd_silent_{name}) {clear}", *rest]),
            ]
        return [declared, *block("", [f"typedef {kind} nd_sum_t;", *block(head, body)])]

    def accumulators(self) -> list[str]:
        """Return what else the sums of a slice begin with."""
        lines = []
        each = "for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)"
        if (first := reductions.begin(self.access.reduce)) != "0":
            lines.append(f"{each} nd_acc[nd_l] = {first};")
        if self.access.reduce in reductions.RANKED:
            lines.append(f"int nd_which[ND_LANES]; {each} nd_which[nd_l] = -1;")
        return lines

    def slice_loop(self, earlier: list[SumText]) -> list[str]:
        """Return the loop over the stored connections of one slice."""
        name = self.access.name
        given = self.before(earlier)
        lane = "for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)"
        if self.gather.form == "lattice":
            value = "nd_x[nd_l]"
            inner = [*given, *self.add(value, "nd_r", "((nd_bits >> nd_l) & 1)")]
            lines = [f"const real *nd_x = nd_in_{name} + nd_element_{name}[nd_r];",
                     f"const int nd_bits = nd_mask_{name}[nd_r];",
                     "ND_SIMD", *block(lane, inner)]  # fmt: skip
            head = (f"for (int nd_r = nd_start_{name}[nd_slice]; "
                    f"nd_r < nd_start_{name}[nd_slice + 1]; ++nd_r)")  # fmt: skip
            return block(head, lines)
        live = f"(nd_j < nd_degree_{name}[nd_slice * ND_LANES + nd_l])"
        inner = [*given, *self.add(self.read("nd_p + nd_l"), "nd_p + nd_l", live, "nd_j")]
        head = (f"for (long long nd_p = nd_start_{name}[nd_slice], nd_j = 0; "
                f"nd_p < nd_start_{name}[nd_slice + 1]; nd_p += ND_LANES, ++nd_j)")  # fmt: skip
        lines = block(head, ["ND_SIMD", *block(lane, inner)])
        if self.gather.tail:
            full = f"(nd_start_{name}[nd_slice + 1] - nd_start_{name}[nd_slice]) / ND_LANES"
            rank = f"({full} + nd_p - nd_tail_{name}[nd_slice * ND_LANES + nd_l])"
            rest = [*given, *self.add(self.read("nd_p"), "nd_p", "true", rank)]
            tail = (f"for (long long nd_p = nd_tail_{name}[nd_slice * ND_LANES + nd_l]; "
                    f"nd_p < nd_tail_{name}[nd_slice * ND_LANES + nd_l + 1]; ++nd_p)")  # fmt: skip
            lines += block(lane, block(tail, rest))
        return lines

    def before(self, earlier: list[SumText]) -> list[str]:
        """Load the sums of the accesses before this one, and parameters, where ``each`` asks."""
        component = self.component
        lines = []
        for other in earlier:
            if named([other.symbol], self.asked):
                where = other.direct("(nd_t + nd_s + nd_l)", "nd_s + nd_l")
                lines.append(f"const real {other.symbol} = {where};")
        varied = [n for n in component.model.params if n not in component.spec.uniform]
        for n in named(varied, self.asked):
            lines.append(f"const real {n} = nd_p_{n}[nd_t + nd_s + nd_l];")
        return lines


def variants(sums: list[SumText], write: Callable[[], list[str]]) -> list[str]:
    """Return what ``write`` gives, once more without the reads of rows that are silent.

    Indexed reads cost most of a synapse's step, and most rows of spikes are empty.
    """
    skipping = [s for s in sums if s.may_skip and not s.loops]
    if not skipping:
        return write()
    whole = write()
    for s in skipping:
        s.silent = True
    short = write()
    for s in skipping:
        s.silent = False
    condition = " && ".join(f"nd_silent_{s.access.name}" for s in skipping)
    return [*block(f"if ({condition})", short), *block("else", whole)]


def tile_sums(sums: list[SumText]) -> list[str]:
    """Return the loops of all accesses that need one, in the order of declaration."""
    lines = [line for one in sums for line in one.tile()]
    for i, one in enumerate(sums):
        for part in [*one.parts, *([one] if one.loops else [])]:
            lines += part.loop(sums[:i])
    return lines
