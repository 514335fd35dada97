"""Sums over patches of columns -> CUDA text: see `plan.sums.patches`.

An item is a population of a patch: ``nd_first`` is where its cells begin in the table of cells, and
``nd_end`` the number of the population. Before the items of a patch its block does ``stage``: all
threads copy the values that the patch reads into shared memory. The offsets are there from the
beginning of a launch, which does ``open``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.text import block
from ...plan.arrays import depth, width
from ...plan.sums.gather import Gather
from ...plan.sums.patches import TOGETHER, begins_bytes
from ..cpu.stored_inputs import DATUM
from ..cpu.sums import SumText
from .thread_events import each
from .thread_sums import ThreadSum

if TYPE_CHECKING:
    from .threads import ThreadText

_UNROLL = "ND_UNROLL"
_OWN = "for (int nd_i = 0; nd_i < ND_OWN; ++nd_i)"
_EACH = f"for (int nd_b = 0; nd_b < {TOGETHER}; ++nd_b)"


class PatchText(SumText):
    """Writes where the tables of an access are, in memory and in shared memory."""

    def head(self) -> list[str]:
        """Declare the row that is read, and the tables."""
        a, name, variable = self.component.arguments, self.access.name, self.access.variable
        ring = a.pointer(self.component.spec.ring(variable), "real")
        number, length = a.integer(depth(variable)), a.integer(width(variable))
        row = f"nd_row({ring}, nd_k - {self.size('back')}, {number}, {length})"
        lines = [f"const real *__restrict nd_in_{name} = {row};"]
        tables = ("cell", "source", "begin", "delta")
        return lines + [self._array(one, "int") for one in tables] + self.storage()

    @property
    def shared(self) -> dict[str, int]:
        """The byte of shared memory at which each table begins."""
        limits = self.gather.limits
        delta = limits["at"] + begins_bytes(limits["targets"])
        weight = delta + 4 * limits["offsets"]
        varied = len(self.varied) * self.word * limits["offsets"]
        return {"begin": limits["at"], "delta": delta, "weight": weight, "plane": weight + varied}

    @property
    def word(self) -> int:
        """Bytes of a number."""
        return 4 if self.component.spec.dtype == "float32" else 8

    def at(self, table: str, kind: str) -> str:
        """Return the expression of a table in shared memory."""
        return f"nd_patch_memory<{kind}>({self.shared[table]})"

    def open(self) -> list[str]:
        """Return the copies of what no step changes."""
        name, limits = self.access.name, self.gather.limits
        sizes = {"begin": limits["targets"] + 1, "delta": limits["offsets"]}
        lines = [
            f"nd_patch_copy({self.at(n, 'int')}, nd_{n}_{name}.at, {sizes[n]});" for n in sizes
        ]
        source = f"nd_{DATUM.format('weight')}_{name}.at"
        weights = f"{self.at('weight', 'real')}, {source}, {limits['offsets']}"
        lines += [f"nd_patch_copy({weights});"] if self.varied else []
        given = f"{limits['patches']}, {limits['before']}, nd_source_{name}.at, {limits['slots']}"
        return [*lines, f"nd_keep_sources({given});"]

    def stage(self) -> str:
        """Return the copy of the values that patch ``nd_patch`` reads."""
        name, slots = self.access.name, self.gather.limits["slots"]
        source = f"nd_source_{name}.at + nd_patch * {slots}"
        given = f"{self.at('plane', 'real')}, nd_in_{name}, {source}"
        return f"nd_patch_values<{slots}, {self.gather.limits['before']}>({given});"


class PatchThreadSum(ThreadSum):
    """Writes how a thread sums an access of all its components, which share the offsets."""

    s: PatchText

    def sum(self) -> list[str]:
        """Return nothing: `sum_all` sums for all components of a thread."""
        return []

    def sum_all(self) -> list[str]:
        """Return the lines that give all ``nd_x_<access>`` their values."""
        name, limits = self.name, self.s.gather.limits
        wide, pitch = limits["wide"], limits["pitch"]
        place = f"nd_lane() / {wide} * {pitch} + nd_lane() % {wide}"
        turn = f"(32 * nd_i / {wide} * {pitch} + 32 * nd_i % {wide})"
        columns = [("delta", "int"), *((DATUM.format(n), "real") for n in self.s.varied)]
        table = {DATUM.format(n): self.s.at(n, "real") for n in self.s.varied}
        table["delta"] = self.s.at("delta", "int")
        ask = [f"nd_four({table[n]} + nd_p + {{}}, nd_{{}}_{n});" for n, _ in columns]
        loads = f"nd_h[nd_b][nd_i] = *((const real *)(nd_mine + nd_e_delta[nd_b]) + {turn});"
        add = [
            f"const real {self.s.access.variable} = nd_h[nd_b][nd_i];",
            *self.data("nd_e_{}[nd_b]"),
            f"nd_acc[nd_i] = nd_acc[nd_i] + {self.s.each()};",
        ]
        kept = [f"nd_e_{n}[nd_b] = nd_f_{n}[nd_b];" for n, _ in columns]
        loop = [
            f"real nd_h[{TOGETHER}][ND_OWN];",
            _UNROLL, *block(_EACH, [_UNROLL, *block(_OWN, [loads])]),
            f"const int nd_next = nd_p + {TOGETHER} < nd_stop ? {TOGETHER} : 0;",
            *[f"{kind} nd_f_{n}[{TOGETHER}];" for n, kind in columns],
            *[one.format("nd_next", "f") for one in ask],
            _UNROLL, *block(_EACH, [_UNROLL, *block(_OWN, add)]),
            _UNROLL, *block(_EACH, kept),
        ]  # fmt: skip
        body = [
            f"typedef {self.s.kind} nd_sum_t;",
            "nd_sum_t nd_acc[ND_OWN];",
            _UNROLL, *block(_OWN, ["nd_acc[nd_i] = 0;"]),
            f"const char *nd_mine = (const char *)({self.s.at('plane', 'real')} + {place});",
            f"int nd_p = {self.s.at('begin', 'int')}[nd_target];",
            f"const int nd_stop = {self.s.at('begin', 'int')}[nd_target + 1];",
            *[f"{kind} nd_e_{n}[{TOGETHER}];" for n, kind in columns],
            *block("if (nd_p < nd_stop)", [one.format("0", "e") for one in ask]),
            *block(f"for (; nd_p < nd_stop; nd_p += {TOGETHER})", loop),
            _UNROLL, *block(_OWN, [f"nd_x_{name}[nd_i] = (real)nd_acc[nd_i];"]),
        ]  # fmt: skip
        return block("", body)


def patched(sums: list[SumText]) -> list[PatchText]:
    """Return the accesses that are summed by patches."""
    return [one for one in sums if isinstance(one, PatchText)]


def own_cells(first: PatchText) -> list[str]:
    """Return the lines that find out which components are the thread's, where patches are."""
    body = [
        f"const int nd_found = nd_cell_{first.access.name}[nd_first + nd_lane() + 32 * nd_i];",
        "nd_live[nd_i] = nd_found >= 0;",
        "nd_c[nd_i] = nd_found >= 0 ? nd_found : 0;",
    ]
    return ["nd_target = nd_end;", _UNROLL, *block(_OWN, body)]


def block_methods(sums: list[PatchText]) -> list[str]:
    """Return what a block does at the beginning of a launch, and before each patch."""
    given = ["const auto *nd_a = nd_steady;", *[line for one in sums for line in one.head()]]
    begin = ["const long long nd_k = 0;", *given, *[line for one in sums for line in one.open()]]
    stage = [*given, "nd_patch_barrier();", *[one.stage() for one in sums], "nd_patch_arrived();"]
    head = "ND_MEMBER static void"
    return [
        *block(f"{head} open()", begin),
        *block(f"{head} stage(long long nd_k, int nd_patch)", stage),
    ]


def kept_cells(text: ThreadText) -> list[str]:
    """Return the methods that keep the cells of a thread in shared memory, and take them back."""
    varied, states = [[f"nd_v_{n}" for n in some] for some in (text.varied, text.model.states)]
    rest = [f"nd_began_{name}[nd_i] = nd_s_{name}[nd_at];" for name in text.compared]
    rest += [line for r in text.reads for line in r.load()]
    if text.drawn:
        rest += ["nd_v_key[nd_i] = nd_keys[nd_at];", *text.numbers(), *text.drawn.load()]
    heads = ["const auto *nd_a = nd_steady;", *text.head()]
    heads += [line for s in text.sums for line in s.head()]
    names = [*states, *varied]
    words = [f"nd_cells[{32 * n} * ND_OWN + 32 * nd_i]" for n in range(len(names))]
    cells = "real *nd_cells = nd_patch_memory<real>(nd_place) + nd_lane();"
    number = f"nd_patch_memory<int>(nd_place + {32 * len(names)} * ND_OWN * (int)sizeof(real))"
    numbers = f"int *nd_numbers = {number} + nd_lane();"
    pairs = list(zip(words, names, strict=True))
    always = [f"{word} = {name}[nd_i];" for word, name in pairs[: len(states)]]
    once = [f"{word} = {name}[nd_i];" for word, name in pairs[len(states) :]]
    once.append("nd_numbers[32 * nd_i] = nd_live[nd_i] ? nd_c[nd_i] : -1;")
    back = [
        "const int nd_found = nd_numbers[32 * nd_i];",
        "nd_live[nd_i] = nd_found >= 0;",
        "nd_c[nd_i] = nd_found >= 0 ? nd_found : 0;",
        *[f"{name}[nd_i] = {word};" for word, name in pairs],
    ]
    keep = [cells, _UNROLL, *block(_OWN, always)]
    keep += block("if (nd_all)", [numbers, _UNROLL, *block(_OWN, once)])
    take = ["nd_target = nd_end;", cells, numbers, _UNROLL, *block(_OWN, back)]
    return [
        *block("ND_MEMBER void keep(int nd_place, bool nd_all)", keep),
        *block(
            "ND_MEMBER void take(long long nd_k, int nd_place, int nd_end)",
            [*heads, "(void)nd_k;", *take, *each(rest)],
        ),
    ]


def end_of(gathers: list[Gather]) -> int:
    """Return the bytes of shared memory of a block for the patches of a unit."""
    return max((one.limits["end"] for one in gathers if one.form == "patches"), default=0)
