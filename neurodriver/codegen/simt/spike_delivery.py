"""How spikes reach the slots of their targets on a GPU, as text.

Whoever computes a spike, a warp, adds it to the slots of those targets at which it is due at once,
and lists the other connections of its component in pieces (``nd_piece``). After the next barrier
all warps that deal take pieces from the list, whoever computed them, so that a component with many
connections keeps none of them waiting. Sums are of whole numbers: their order means nothing. A
component whose sources all have few connections is not worth a piece: each thread adds its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...model.text import block, indent
from ..cpu.sums import SumText
from ..kernel import Arguments, Kernel

if TYPE_CHECKING:
    from ...plan.sums.gather import Gather
    from ...plan.unit import Delivery

FEW = 8
"""Connections of a source at most that its own thread deals out."""

Sent = tuple[int, int, bool]
"""Number of a fan, a group's first source there, whether threads deal out their own."""

_C_TYPES = {"int8": "signed char", "int16": "short", "int32": "int"}


def few(gather: Gather) -> bool:
    """Whether all sources have so few connections that each thread deals out its own."""
    return gather.limits["most"] <= FEW


def fan_kernel(delivery: Delivery) -> Kernel:
    """Return what says where the connections of an access are: a struct ``fan``."""
    a = Arguments()
    lines = ["struct fan {", *indent(_members(delivery, a)), "};"]
    tables = tuple(a.pointers), tuple(a.integers), tuple(a.scalars)
    name = f"{delivery.spec.model.__name__} {delivery.access}"
    return Kernel(name, "\n".join(lines), *tables, deals=not few(delivery.gather))


def _members(delivery: Delivery, arguments: Arguments) -> list[str]:
    """Return the functions of a fan."""
    gather, spec, access = delivery.gather, delivery.spec, delivery.access
    slot = "long long" if gather.limits["wide"] else "int"

    def array(name: str, place: str, load: str = "__ldg") -> str:
        kind = {"begin": "long long", "near": "long long", "code": "int"}.get(name)
        kind = kind or _C_TYPES[gather.arrays[name].dtype.name]
        pointer = arguments.pointer(spec.connection(access, name), f"const {kind}")
        return f"{load}({pointer} + {place})"

    own = "1"
    if "of_source" in gather.arrays:
        own = f"(int){array('of_source', 'nd_source')}"
    elif "multiple" not in gather.arrays:
        own = f"(int){arguments.scalar(spec.connection(access, 'weight'))}"
    one, four = "1", "make_int4(1, 1, 1, 1)"
    if "multiple" in gather.arrays:
        one, four = array("multiple", "nd_p"), array("multiple", "nd_p", "nd_take_four")
    turns, ahead = (arguments.integer(spec.size(access, n)) for n in ("depth", "ahead"))
    slots = arguments.pointer(spec.connection(access, "slots"), slot)
    functions = {
        "unsigned now_at(long long nd_row)": [
            f"return {_first_slot('nd_row', turns, ahead)};",
        ],
        "nd_letter letter(long long nd_source)": [
            f"const long long nd_begin = {array('begin', 'nd_source')};",
            f"const long long nd_end = {array('begin', 'nd_source + 1')};",
            f"const long long nd_due = ND_WINDOW ? nd_begin : {array('near', 'nd_source')};",
            "return {nd_begin, (int)(nd_due - nd_begin), (int)(nd_end - nd_due), "
            f"{own}}};",
        ],
        "unsigned code(long long nd_p)": [f"return (unsigned){array('code', 'nd_p')};"],
        "int multiple(long long nd_p)": [f"return {one};"],
        "int4 codes(long long nd_p)": [f"return {array('code', 'nd_p', 'nd_take_four')};"],
        "int4 multiples(long long nd_p)": [f"return {four};"],
        "slot *at(unsigned nd_q)": [  # q or q - end: of the two, the one that is not too large
            f"const unsigned nd_end = (unsigned)({turns} * {ahead});",
            f"return {slots} + umin(nd_q, nd_q - nd_end);",
        ],
    }  # fmt: skip
    lines = [f"typedef {slot} slot;", "enum { number = ND_FAN };"]
    for head, body in functions.items():
        needs = any("nd_a->" in line for line in body)
        table = ["const nd_args *nd_a = nd_steady;"] if needs else []
        lines += block(f"static ND_MEMBER {head}", [*table, *body])
    return lines


def _first_slot(row: str, turns: str, ahead: str) -> str:
    """Return where the slots of a row begin; in 32 bits: few instructions an address."""
    return f"(unsigned)((unsigned long long){row} % {turns}) * (unsigned){ahead}"


class SlotText(SumText):
    """Writes where the slots of an access are, of which a thread reads one a step."""

    def head(self) -> list[str]:
        """Declare the slots of step ``nd_k``, and what the weights are multiples of."""
        name = self.access.name
        turns, ahead = self.size("depth"), self.size("ahead")
        end, then = f"(unsigned)({turns} * {ahead})", f"nd_now_{name} + (unsigned){ahead}"
        return [
            f"{self.slot} *const nd_slots_{name} = {self._pointer('slots', self.slot)};",
            f"const unsigned nd_now_{name} = nd_r_{name}; (void)nd_now_{name};",
            f"const unsigned nd_then_{name} = {then} == {end} ? 0 : {then}; (void)nd_then_{name};",
            *self.units(),
        ]

    def row(self) -> str:
        """Return where the slots of step ``nd_k`` begin."""
        return _first_slot("nd_k", self.size("depth"), self.size("ahead"))


def sender(variable: str, fans: Sequence[Sent]) -> list[str]:
    """Return the function by which the threads of a warp send the spikes of their components.

    And where the connections of a component are: ``nd_letters_<variable>``.

    Parameters
    ----------
    variable : str
    fans : sequence of Sent
    """
    letters = f"nd_letters_{variable}"
    head = f"template <int N> ND_FN void nd_send_{variable}"
    given = f"(long long nd_row, const nd_sent<N, {letters}> &nd_e)"
    return [*_letters(letters, fans), *block(head + given, _sends(variable, fans))]


def _letters(name: str, fans: Sequence[Sent]) -> list[str]:
    """Return the struct of a component's letters, and of how they get on and off the shelf."""
    numbers = [n for n, *_ in fans]
    asked = [f"of_{n} = nd_part_{n}::fan::letter({first}ll + nd_at);" for n, first, _ in fans]
    before = f"nd_i * {len(fans)}"  # those of a thread's components before component i
    places = [(n, f"nd_shelf[nd_on_shelf({before} + {j})]") for j, n in enumerate(numbers)]
    members = [f"nd_letter of_{n};" for n in numbers]
    methods = {
        "ask(int nd_at)": ["(void)nd_at;", *asked],
        "put(int nd_i)": ["(void)nd_i;", *[f"{place} = of_{n};" for n, place in places]],
        "take(int nd_i)": ["(void)nd_i;", *[f"of_{n} = {place};" for n, place in places]],
    }
    for method, body in methods.items():
        shelf = "nd_shelf" in "".join(body)
        text = block(f"ND_MEMBER void {method}", body)
        members += ["#if ND_SHELF", *text, "#endif"] if shelf else text
    return [*block(f"struct {name}", members), ";"]


def _sends(variable: str, fans: Sequence[Sent]) -> list[str]:
    """Return the lines that deal spikes out where they are due at once, and list the others."""
    each, unroll = "for (int nd_j = 0; nd_j < N; ++nd_j)", "ND_UNROLL"
    ask = ["const bool nd_mine = nd_e.bits[nd_j] >> nd_lane() & 1;",
           "const int nd_count = nd_mine ? nd_spikes(nd_e.value[nd_j]) : 0;",
           f"nd_letters_{variable} nd_l = nd_e.letters[nd_j];",
           "if (!ND_KEEPS && nd_mine) nd_l.ask(nd_e.at[nd_j]);"]  # fmt: skip
    declare, send, count, far = [], [], [], []
    for n, _, alone in fans:  # all are asked for before the first one is used
        fan, letter = f"nd_part_{n}::fan", f"nd_letter_{n}[nd_j]"
        declare += [f"nd_letter nd_letter_{n}[N];",
                    f"const unsigned nd_now_{n} = {fan}::now_at(nd_row);"]  # fmt: skip
        ask += [f"{letter} = nd_mine ? nd_l.of_{n} : nd_letter{{0, 0, 0, 0}};",
                f"{letter}.more *= nd_count;"]  # fmt: skip
        if alone:
            send += [f"nd_send_own<{fan}>(nd_now_{n}, {letter});"]
        else:
            send += [f"nd_send_near<{fan}>(nd_now_{n}, {letter});"]
            count += [f"nd_count += nd_pieces({letter});"]
            far += [f"nd_to = nd_send_far<{fan}>(nd_to, nd_now_{n}, {letter});"]
    lines = [*declare, unroll, *block(each, ask), unroll, *block(each, send)] if fans else []
    if far:
        some = ["uint4 *nd_to = nd_room(nd_row, nd_count);", unroll, *block(each, far)]
        lines += ["int nd_count = 0;", unroll, *block(each, count),
                  *block("if (nd_ballot(nd_count > 0))", some)]  # fmt: skip
    return lines
