"""Sub-units that jump by reactions: their part of a kernel, as lines of text.

Every sub-unit keeps a clock: what is left of a unit-exponential random number until its next
reaction. A sub-step takes (sum of the rates) x (its length) off each clock, sixteen side by side,
without drawing anything; only where a clock runs out is the reaction chosen, the counts changed
and the clock set anew, by one draw of Philox for each reaction. As the rates do not change between
reactions within a sub-step, this is Gillespie's direct method with the waiting time carried over
from sub-step to sub-step (doi:10.1021/j100540a008; Anderson 2007, doi:10.1063/1.2799998).

Sub-units with a reaction due go into a list, which is advanced one reaction a round, in whole
vectors, and closed up after each round.
"""

from __future__ import annotations

from ..model.text import block
from ..model.texts import named
from ..native.buffers import LANES
from ..plan.arrays import Kind
from ..plan.unit import KernelSpec
from .component import ComponentText
from .cpu.events import plain_text
from .cpu.sums import tile_sums, variants
from .cpu.update import TILE, finish, tile_substeps
from .finite import RangeFinite, finding
from .kernel import Arguments, Kernel
from .translate import Translator

BATCH = 512
"""Sub-units that share a list: long enough for whole vectors, short enough for the first cache."""

TICK_BITS = 26
"""A clock counts in 2^-26: its largest first value, -log(2^-33), takes 31 bits."""

MOST_REACTIONS = 1 << 16
"""Reactions of one sub-unit in one sub-step; where there are more, the totals become NaN."""

_LANES = "for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)"


_OWN_KEY = "const nd_block nd_own = nd_draw(nd_key, nd_seed, -1, 65535, 255);"
"""The key of a component's sub-units, from a block that no draw of its own uses."""


def reaction_kernel(spec: KernelSpec) -> Kernel:
    """Return the kernel that advances one group of components with sub-units by one step."""
    arguments = Arguments()
    component = ComponentText(spec, arguments)
    units = SubUnitText(component)
    sums = [plain_text(component, a) for a in spec.model.accesses]
    head = component.head() + [line for s in sums for line in s.head()] + component.waiting()
    head += [*units.head(), *units.lists()]
    # sums need whole slices, wherever the threads' shares begin
    tiles = "for (long long nd_t = nd_begin / ND_LANES * ND_LANES; nd_t < nd_end; nd_t += ND_TILE)"
    tile = [TILE, "const int nd_0 = nd_begin > nd_t ? (int)(nd_begin - nd_t) : 0;"]
    tile += tile_sums(sums)
    tile += variants(sums, lambda: tile_substeps(component, sums, units))
    tile += component.write_events()
    once = component.constants(), [*component.initial(), *units.initial()]
    finite = RangeFinite(component)
    body = [*head, *finite.begin(), *block(tiles, tile), *finite.end()]
    find = finding(finite.record(), finite.find()) if finite.names else []
    return finish(spec.model.__name__, arguments, once, body, find=find)


class SubUnitText:
    """Writes the sub-units of one model."""

    def __init__(self, component: ComponentText) -> None:
        assert component.model.sub_units is not None
        self.component = component
        self.model = component.model
        self.units = component.model.sub_units
        self.translator = Translator(component.model, "float32")
        own = [n for n in component.names if n not in component.flags()]
        self.known = [*own, *self.model.terms]
        self.outside = named(
            [*self.known, "dt_ms"], map(component.texts.__getitem__, self.units.texts())
        )
        changed = [name for r in self.units.reactions for name in r.change]
        self.moving = [name for name in self.units.species if name in changed]

    def kind(self, name: str) -> str:
        """Return the type that the counts of a species are stored in."""
        return "unsigned char" if self.units.species[name].most < 256 else "unsigned short"

    def head(self) -> list[str]:
        """Declare the arrays of the sub-units."""
        key = self.component.spec.key
        counts = [(f"nd_y_{n}", key(Kind.SUB_UNIT, n), self.kind(n)) for n in self.units.species]
        totals = [(f"nd_z_{n}", key(Kind.SUM, n), "long long") for n in self.units.totals]
        arrays = [
            *counts,
            *totals,
            ("nd_clock", key(Kind.RANDOM, "clock"), "int"),
            ("nd_firsts", key(Kind.INDEX, "first sub-unit"), "const long long"),
            ("nd_counts", key(Kind.INDEX, "sub-units"), "const long long"),
        ]
        pointer = self.component.arguments.pointer
        return [f"{kind} *__restrict {n} = {pointer(k, kind)};" for n, k, kind in arrays]

    def lists(self) -> list[str]:
        """Declare the counts of a batch as numbers, and the list of the sub-units that react."""
        lines = [f"enum {{ ND_BATCH = {BATCH} }};", "int nd_due[ND_BATCH];"]
        lines += [f"float nd_b_{name}[ND_BATCH];" for name in self.units.species]
        lines += [f"float nd_w_{name}[ND_BATCH] = {{0}};" for name in self.units.species]
        lines += [f"float nd_w{name}[ND_BATCH] = {{0}};" for name in ("left", "time")]
        lines += [f"int nd_w{name}[ND_BATCH] = {{0}};" for name in ("place", "more", "ticks")]
        return lines + [f"unsigned int nd_w{i}[ND_BATCH] = {{0}};" for i in range(4)]

    def initial(self) -> list[str]:
        """Return the lines that set counts and clocks before step 0."""
        c = self.component
        kinds = self.units.species.items()
        place = "nd_firsts[nd_c] + nd_j"
        body = [f"nd_y_{name}[{place}] = {kind.initial};" for name, kind in kinds]
        body.append("const nd_block nd_r = nd_unit_draw(nd_own, 0, 0, nd_j, -1);")
        body.append(f"nd_clock[{place}] = nd_ticks(nd_exponential(nd_r.w0));")
        each = [*c.numbers_of("nd_c"), _OWN_KEY]
        each += block("for (long long nd_j = 0; nd_j < nd_counts[nd_c]; ++nd_j)", body)
        for total, name in self.units.totals.items():
            first = self.units.species[name].initial
            each.append(f"nd_z_{total}[nd_c] = nd_counts[nd_c] * {first};")
        loop = block(f"ND_EACH(nd_c, {c.count})", each)
        return block("", ["const long long nd_k = 0;", *c.head(), *self.head(), *loop])

    def begin(self, index: str) -> list[str]:
        """Declare what the sub-units of one component share in a sub-step.

        What the rates read of the component is declared already.
        """
        lines = [f"const float nd_f_{n} = (float){n};" for n in self.outside]
        lines += [
            _OWN_KEY,
            f"const long long nd_first = nd_firsts[{index}], nd_count = nd_counts[{index}];",
            "const float nd_span = (float)(dt_ms * (real)0.001);",
            f"const float nd_speed = nd_span * 0x1p{TICK_BITS}f;",
            # clocks are whole: what is cut off them is shifted from step to step, and evens out
            f"const float nd_shift = nd_dither(nd_k * {self.component.spec.substeps} + substep);",
            "bool nd_failed = false;",
        ]
        return lines + [f"long long nd_d_{name} = 0;" for name in self.units.totals]

    def before(self, index: str) -> list[str]:
        """Return the lines that advance the sub-units of one component by one sub-step."""
        batch = [
            "const long long nd_base = nd_first + nd_b;",
            "const int nd_n = (int)(nd_count - nd_b < ND_BATCH ? nd_count - nd_b : ND_BATCH);",
            "const int nd_wide = (nd_n + ND_LANES - 1) / ND_LANES * ND_LANES;",
            "int nd_live = 0;",
            *self._widen(),
            *self._clocks(),
            *block("if (nd_live)", self._rounds()),
        ]
        head = "for (long long nd_b = 0; nd_b < nd_count && !nd_failed; nd_b += ND_BATCH)"
        lines = [*self.begin(index), *block(head, batch)]
        for name in self.units.totals:
            lines.append(f"nd_z_{name}[{index}] += nd_d_{name};")
            value = f"nd_failed ? (real)ND_NAN_D : (real)nd_z_{name}[{index}]"
            lines.append(f"nd_t_{name}[nd_i] = {value};")
        return lines

    def totals(self) -> list[str]:
        """Declare where the totals of a tile wait for the update."""
        return [f"real nd_t_{name}[ND_TILE];" for name in self.units.totals]

    def load_totals(self) -> list[str]:
        """Load the totals of one component."""
        return [f"const real {n} = nd_t_{n}[nd_i]; (void){n};" for n in self.units.totals]

    def _widen(self) -> list[str]:
        """Convert the counts of a batch to the type of the rates."""
        lines = []
        for name in self.units.species:
            store = f"nd_b_{name}[nd_j] = (float)nd_y_{name}[nd_base + nd_j];"
            lines += ["ND_SIMD", *block("for (int nd_j = 0; nd_j < nd_wide; ++nd_j)", [store])]
        return lines

    def rates(self, source: str) -> list[str]:
        """Compute the rates ``nd_a<i>`` of one sub-unit; ``source`` holds its count of ``{}``."""
        lines = [f"const float {n} = nd_f_{n}; (void){n};" for n in self.outside]
        lines += [f"const float {n} = {source.format(n)};" for n in self.units.species]
        for name in self.units.terms:
            value = self.translator.value(f"sub_units.terms['{name}']")
            lines.append(f"const float {name} = {value};")
        for i in range(len(self.units.reactions)):
            value = self.translator.value(f"sub_units.reactions[{i}]")
            lines.append(f"const float nd_a{i} = nd_positive({value});")
        return lines

    @property
    def _last(self) -> int:
        return len(self.units.reactions) - 1

    def _sum(self, first: int, end: int) -> str:
        """Return the sum of some rates, added in pairs, as a chain would be waited for."""
        if end - first == 1:
            return f"nd_a{first}"
        middle = (first + end + 1) // 2
        return f"({self._sum(first, middle)} + {self._sum(middle, end)})"

    def clock(self, place: str) -> list[str]:
        """Advance the clock of one sub-unit; it runs out where it is below ``nd_off``."""
        return [
            f"const float nd_x = {self._sum(0, self._last + 1)} * nd_speed + nd_shift;",
            "const int nd_off = (int)(nd_x < 2147483520.0f ? nd_x : 2147483520.0f);",
            f"const int nd_on = nd_clock[{place}];",
            f"nd_clock[{place}] = nd_on < nd_off ? nd_on : nd_on - nd_off;",
        ]

    def _clocks(self) -> list[str]:
        """Advance the clocks of a batch; list the sub-units whose clock runs out."""
        body = [
            *self.rates("nd_b_{}[nd_j]"),
            *self.clock("nd_base + nd_j"),
            "nd_due[nd_j] = (nd_on < nd_off) & (nd_j < nd_n);",
        ]
        listed = ["nd_wplace[nd_live] = nd_s + nd_l;", "nd_live += nd_due[nd_s + nd_l];"]
        here = " | ".join(f"nd_due[nd_s + {i}]" for i in range(LANES))
        scan = [f"const int nd_here = {here};", *block("if (nd_here)", block(_LANES, listed))]
        each = "for (int nd_j = 0; nd_j < nd_wide; ++nd_j)"
        return [
            "ND_SIMD",
            *block(each, body),
            "int nd_any = 0;",
            *block(each, ["nd_any |= nd_due[nd_j];"]),
            "if (nd_any)",
            *block("for (int nd_s = 0; nd_s < nd_wide; nd_s += ND_LANES)", scan),
        ]

    def _rounds(self) -> list[str]:
        """Let the listed sub-units react until their sub-step is over."""
        species = self.units.species
        enter = ["const int nd_j = nd_wplace[nd_p];"]
        enter += [f"nd_w_{name}[nd_p] = nd_b_{name}[nd_j];" for name in species]
        enter.append("nd_wleft[nd_p] = nd_span;")
        enter.append(f"nd_wtime[nd_p] = (float)nd_clock[nd_base + nd_j] * 0x1p-{TICK_BITS}f;")
        keep = ["nd_wplace", "nd_wleft", "nd_wtime", "nd_w2", "nd_w3"]
        keep += [f"nd_w_{name}" for name in species]
        leave = ["const int nd_j = nd_wplace[nd_p];", "nd_clock[nd_base + nd_j] = nd_wticks[nd_p];"]
        for name in self.moving:
            value = f"({self.kind(name)})nd_w_{name}[nd_p]"
            leave.append(f"nd_y_{name}[nd_base + nd_j] = {value};")
        for total, name in self.units.totals.items():
            leave.append(f"nd_d_{total} += (int)(nd_w_{name}[nd_p] - nd_b_{name}[nd_j]);")
        stay = [f"{name}[nd_next] = {name}[nd_p];" for name in keep]
        sort = [*block("if (nd_wmore[nd_p])", [*stay, "++nd_next;"]), *block("else", leave)]
        each = "for (int nd_p = 0; nd_p < nd_live; ++nd_p)"
        round_ = [
            *self._words(),
            *self._each_listed(self.reaction("[nd_p]")),
            "int nd_next = 0;",
            *block(each, sort),
            "nd_live = nd_next;",
            f"nd_failed = nd_round == {MOST_REACTIONS};",
        ]
        head = "for (int nd_round = 0; nd_live && !nd_failed; ++nd_round)"
        return [*block(each, enter), *block(head, round_)]

    @staticmethod
    def _each_listed(body: list[str]) -> list[str]:
        inside = ["ND_SIMD", *block(_LANES, ["const int nd_p = nd_s + nd_l;", *body])]
        return block("for (int nd_s = 0; nd_s < nd_live; nd_s += ND_LANES)", inside)

    def _words(self) -> list[str]:
        """Draw two random words for each listed sub-unit: a block of four serves two rounds."""
        draw = [
            "const long long nd_j = nd_b + nd_wplace[nd_p];",
            "const nd_block nd_r = nd_unit_draw(nd_own, nd_k, substep, nd_j, nd_round >> 1);",
            *[f"nd_w{i}[nd_p] = nd_r.w{i};" for i in range(4)],
        ]
        saved = ["nd_w0[nd_p] = nd_w2[nd_p];", "nd_w1[nd_p] = nd_w3[nd_p];"]
        odd = block("if (nd_round & 1)", self._each_listed(saved))
        return [*odd, *block("else", self._each_listed(draw))]

    def reaction(self, at: str) -> list[str]:
        """Let one sub-unit react, or take the rest of the sub-step off its clock.

        ``at`` stands behind the name of each of its numbers.
        """
        lines = [*self.rates(f"nd_w_{{}}{at}"), "const float nd_c0 = nd_a0;"]
        lines += [f"const float nd_c{i} = nd_c{i - 1} + nd_a{i};" for i in range(1, self._last + 1)]
        total = f"nd_c{self._last}"
        lines += [
            f"const float nd_off = {total} * nd_wleft{at};",
            f"const int nd_is = nd_wtime{at} < nd_off;",
            # below the sum for every draw, so the reaction found has a rate above 0
            f"const float nd_at = nd_fraction(nd_w0{at}) * {total};",
        ]
        past = [f"(nd_at >= nd_c{i})" for i in range(self._last)]
        lines += _joined("nd_which", past, "+", "0")
        inside = ["nd_is"]
        for name in self.moving:
            steps = [
                f"(nd_which == {i} ? {r.change[name]:.1f}f : 0.0f)"
                for i, r in enumerate(self.units.reactions)
                if r.change.get(name)
            ]
            lines.append(f"const float nd_n_{name} = {name} + {' + '.join(steps) or '0.0f'};")
            most = float(self.units.species[name].most)
            inside += [f"(nd_n_{name} >= 0.0f)", f"(nd_n_{name} <= {most}f)"]
        lines += _joined("nd_may", inside, "&", "1")
        for name in self.moving:
            lines.append(f"nd_w_{name}{at} = nd_may ? nd_n_{name} : {name};")
        return [
            *lines,
            f"const float nd_rest = nd_wleft{at} - nd_wtime{at} / {total};",
            f"const float nd_kept = nd_wtime{at} - nd_off;",
            f"nd_wticks{at} = nd_ticks(nd_kept);",
            f"nd_wleft{at} = nd_is & (nd_rest > 0.0f) ? nd_rest : 0.0f;",
            f"nd_wtime{at} = nd_exponential(nd_w1{at});",
            f"nd_wmore{at} = nd_is;",
        ]


def _joined(name: str, parts: list[str], sign: str, empty: str) -> list[str]:
    """Declare ``name``, several parts joined by a sign, in lines of four parts."""
    lines = []
    for i in range(0, len(parts), 4):
        lines.append(f"const int {name}_{i} = {f' {sign} '.join(parts[i : i + 4])};")
    names = [f"{name}_{i}" for i in range(0, len(parts), 4)]
    return [*lines, f"const int {name} = {f' {sign} '.join(names) or empty};"]
