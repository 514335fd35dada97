"""How spikes reach the slots of their targets on a GPU, as text.

Whoever computes a spike, a warp, adds it to the slots of those targets at which it is due at once,
and lists the other connections of its component in pieces (``nd_piece``). After the next barrier
all warps that deal take pieces from the list, whoever computed them, so that a component with many
connections keeps none of them waiting. Sums are of whole numbers: their order means nothing. A
component whose sources all have few connections is not worth a piece: each thread adds its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..compile.fanout import PIECE
from .kernel import Arguments, Kernel, block
from .sums import SumText

if TYPE_CHECKING:
    from ..compile.gather import Gather

FEW = 8
"""Connections of a source at most that its own thread deals out."""

Sent = tuple[int, int, bool]
"""Number of a fan, a group's first source there, whether threads deal out their own."""

_C_TYPES = {"int8": "signed char", "int16": "short", "int32": "int"}
_ROUNDS = PIECE // 32
_UNROLL = "ND_UNROLL"


def few(gather: Gather) -> bool:
    """Whether all sources have so few connections that each thread deals out its own."""
    return gather.limits["most"] <= FEW


def fan_kernel(name: str, gather: Gather) -> Kernel:
    """Return what deals out the spikes that reach one access.

    Parameters
    ----------
    name : str
    gather : Gather
        Of the form ``fanout``, as it is for a GPU.
    """
    text = FanText(gather)
    lines = [*text.add(), *(text.send_few() if few(gather) else [*text.deal(), *text.send()])]
    a = text.arguments
    tables = tuple(a.pointers), tuple(a.integers), tuple(a.scalars)
    return Kernel(name, "\n".join(lines), *tables, deals=not few(gather))


class FanText:
    """Writes the functions that deal out the spikes that reach one access.

    Parameters
    ----------
    gather : Gather
    """

    def __init__(self, gather: Gather) -> None:
        self.gather, self.arguments = gather, Arguments()
        self.slot = "long long" if gather.limits["wide"] else "int"

    def _array(self, name: str, kind: str) -> str:
        return f"ND_FIXED({kind}) nd_{name} = {self.arguments.pointer(name, f'const {kind}')};"

    def _head(self, *names: str) -> list[str]:
        kinds = {"begin_of": "long long", "near": "long long", "code": "int"}
        kinds |= {n: _C_TYPES[self.gather.arrays[n].dtype.name] for n in ("multiple", "of_source")
                  if n in self.gather.arrays}  # fmt: skip
        used = [self._array(n, kinds[n]) for n in names if n in kinds]
        return ["const nd_args *nd_a = nd_steady;", *used]

    def _more(self) -> str:
        """Return what a source's spikes are worth at each connection, but for its own multiple."""
        if "of_source" in self.gather.arrays:
            return "nd_count * (int)nd_of_source[nd_source]"
        if "multiple" in self.gather.arrays:
            return "nd_count"
        return f"nd_count * (int){self.arguments.scalar('weight')}"

    def add(self) -> list[str]:
        """Return the function that adds to a slot, and the one that finds a row of slots."""
        turns, ahead = self.arguments.integer("turns"), self.arguments.integer("ahead")
        wide = "unsigned long long" if self.gather.limits["wide"] else "int"
        slots = self.arguments.pointer("slots", self.slot)
        body = [
            "const nd_args *nd_a = nd_steady;",
            f"const unsigned nd_end = (unsigned)({turns} * {ahead});",
            "nd_q -= nd_q >= nd_end ? nd_end : 0;",
            f"atomicAdd(({wide} *){slots} + nd_q, ({wide})nd_more);",
        ]
        now = [
            "const nd_args *nd_a = nd_steady;",
            f"return (unsigned)(int)(nd_row % {turns}) * (unsigned){ahead};",
        ]
        return [
            f"typedef {self.slot} nd_slot_t;",
            *block("ND_FN void nd_add(unsigned nd_q, nd_slot_t nd_more)", body),
            *block("ND_FN unsigned nd_now_at(long long nd_row)", now),
        ]

    def _value(self) -> str:
        if "multiple" in self.gather.arrays:
            return "(nd_slot_t)nd_multiple[nd_p] * nd_more"
        return "nd_more"

    def deal(self) -> list[str]:
        """Return the function by which a warp deals out a piece."""
        each = f"for (int nd_j = 0; nd_j < {_ROUNDS}; ++nd_j)"
        ask = [
            "const int nd_i = nd_j * 32 + nd_lane();",
            "const long long nd_p = nd_begin + (nd_i < nd_length ? nd_i : 0);",
            "nd_q[nd_j] = nd_now + (unsigned)nd_code[nd_p];",
            f"nd_v[nd_j] = {self._value()};",
        ]
        add = ["if (nd_j * 32 + nd_lane() < nd_length) nd_add(nd_q[nd_j], nd_v[nd_j]);"]
        body = [
            *self._head("code", "multiple"),
            f"unsigned nd_q[{_ROUNDS}];",
            f"nd_slot_t nd_v[{_ROUNDS}];",
            _UNROLL, *block(each, ask), _UNROLL, *block(each, add),
        ]  # fmt: skip
        head = "ND_FN void nd_deal(long long nd_begin, int nd_length, unsigned nd_now, int nd_more)"
        return block(head, body)

    def send(self) -> list[str]:
        """Return the function by which a warp sends the spikes of one source."""
        near = [
            f"const int nd_length = nd_near_end - nd_p < {PIECE} ? (int)(nd_near_end - nd_p) : "
            f"{PIECE};",
            "nd_deal(nd_p, nd_length, nd_now, nd_more);",
        ]
        body = [
            *self._head("begin_of", "near", "of_source"),
            "const long long nd_begin = nd_begin_of[nd_source], nd_end = nd_begin_of[nd_source + 1];",
            "const long long nd_near_end = ND_WINDOW ? nd_begin : nd_near[nd_source];",
            "const unsigned nd_now = nd_now_at(nd_row);",
            f"const int nd_more = {self._more()};",
            *block(f"for (long long nd_p = nd_begin; nd_p < nd_near_end; nd_p += {PIECE})", near),
            "nd_list_pieces(nd_row, ND_FAN, nd_near_end, nd_end, nd_now, nd_more);",
        ]
        return block(
            "ND_FN void nd_send(long long nd_row, long long nd_source, int nd_count)", body
        )

    def send_few(self) -> list[str]:
        """Return the function by which a thread sends the spikes of its own source."""
        each = "for (long long nd_p = nd_begin_of[nd_source]; nd_p < nd_end; ++nd_p)"
        body = [
            *self._head("begin_of", "code", "multiple", "of_source"),
            "const long long nd_end = nd_begin_of[nd_source + 1];",
            "const unsigned nd_now = nd_now_at(nd_row);",
            f"const int nd_more = {self._more()};",
            *block(each, [f"nd_add(nd_now + (unsigned)nd_code[nd_p], {self._value()});"]),
        ]
        return block(
            "ND_FN void nd_send(long long nd_row, long long nd_source, int nd_count)", body
        )


class SlotText(SumText):
    """Writes where the slots of an access are, of which a thread reads one a step."""

    def head(self) -> list[str]:
        """Declare the slots of step ``nd_k``, and what the weights are multiples of."""
        name = self.access.name
        a, key = self.component.arguments, self.component.key
        turns, ahead = a.integer(key(f"{name}:depth")), a.integer(key(f"{name}:ahead"))
        slots = self._pointer("slots", self.slot)
        now = f"(long long)((int)(nd_k % {turns}) * (int){ahead})"
        return [f"{self.slot} *nd_slots_{name} = {slots} + {now};", *self.units()]


def sender(variable: str, fans: Sequence[Sent]) -> list[str]:
    """Return the function by which a group's warps send their spikes.

    Parameters
    ----------
    variable : str
    fans : sequence of Sent
    """
    count = "const int nd_count = nd_spikes({});"
    own = [f"nd_unit_{n}::nd_send(nd_row, {first}ll + nd_at, nd_count);"
           for n, first, alone in fans if alone]  # fmt: skip
    shared = [f"nd_unit_{n}::nd_send(nd_row, {first}ll + nd_place, nd_count);"
              for n, first, alone in fans if not alone]  # fmt: skip
    lines = []
    if own:
        mine = "if (nd_bits >> nd_lane() & 1)"
        lines += block(mine, [count.format("nd_value"), *own])
    if shared:
        each = [
            "const int nd_from = __ffs((int)nd_bits) - 1;",
            "const int nd_place = __shfl_sync(0xffffffffu, nd_at, nd_from);",
            count.format("__shfl_sync(0xffffffffu, nd_value, nd_from)"),
            *shared,
        ]
        lines += block("for (; nd_bits; nd_bits &= nd_bits - 1)", each)
    head = (f"static __device__ __noinline__ void nd_send_{variable}"
            "(long long nd_row, unsigned nd_bits, int nd_at, real nd_value)")  # fmt: skip
    return block(head, lines)


def fan_values(gather: Gather) -> dict[str, Any]:
    """Return what the arguments of a fan's kernel stand for."""
    values: dict[str, Any] = {**gather.arrays, **gather.blanks}
    values["begin_of"] = values.pop("begin")
    values |= {"turns": gather.limits["depth"], "ahead": gather.limits["ahead"]}
    return values | {"weight": gather.uniform.get("weight", 0.0)}
