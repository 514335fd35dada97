"""Delivery of spikes on a GPU: the plan of an access -> CUDA text.

Each target has a ring of slots, one slot for each step at which something may arrive. The warp
that computes a spike does two things:

* It adds the weights of the connections that are due in the next step to the slots of their
  targets, with atomic additions.
* It appends the other connections to a list in memory, cut into pieces of ``PIECE`` connections
  (``nd_piece``).

After the next barrier all delivering warps take pieces from the list, whichever warp wrote them. So
a source with many connections does not keep a single warp busy. Weights are integers; the order
of the additions does not change a sum. Where every source has at most ``FEW`` connections, there
are no pieces: each thread adds the connections of its own component.

Where connections are sorted by delay (`plan.spikes.due`), the warp that computes a spike adds it to
a history. While some warps compute, others look through the history of earlier steps, list what
is due one step after the next one, and deliver the list of the next step. After the next barrier
they deliver what is due of the new spikes.

Sources on regular axes may share their connections (`plan.spikes.stencil_rows`). Then the slots of
a connection are counted from the home of its source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...model.text import block, indent
from ...plan.spikes.computed_rows import ComputedThere
from ...plan.spikes.due import BEFORE, BEGINS, CONNECTION_BITS, LISTED, MOST, TURNS, is_due
from ..cpu.sums import SumText
from ..kernel import Arguments, Kernel
from .computed_rows import ComputedConnections

if TYPE_CHECKING:
    from ...plan.sums.gather import Gather
    from ...plan.unit import Delivery

FEW = 8
"""Largest number of connections of a source that its own thread delivers."""

Sent = tuple[int, int, str]
"""Number of a delivery, first source of a group there, and who delivers: ``thread``, ``pieces`` or
``due``."""

SentFrom = tuple[int, str, str]
"""The same, with the expression of the first source."""

_NOTHING = "nd_outgoing{0, 0, 0, 0, 0}"

_C_TYPES = {"int8": "signed char", "int16": "short", "int32": "int"}


def few(gather: Gather) -> bool:
    """Whether all sources have so few targets that each thread delivers its own spikes."""
    return gather.limits.get("most", 0) <= FEW


def sent_by(gather: Gather) -> str:
    """Return who delivers the spikes of a plan, as `Sent` says it."""
    if is_due(gather):
        return "due"
    return "thread" if few(gather) else "pieces"


def delivery_kernel(delivery: Delivery) -> Kernel:
    """Return the struct ``delivery``, which finds the connections of an access by their source."""
    a = Arguments()
    lines = ["struct delivery {", *indent(_members(delivery, a)), "};"]
    tables = tuple(a.pointers), tuple(a.integers), tuple(a.scalars)
    name = f"{delivery.spec.model.__name__} {delivery.part}"
    by = sent_by(delivery.gather)
    return Kernel(name, "\n".join(lines), *tables, delivers=by == "pieces", due=by == "due")


class _Connections:
    """Writes where the connections of a delivery are.

    Parameters
    ----------
    arguments : Arguments
        Get what is read.
    """

    def __init__(self, delivery: Delivery, arguments: Arguments) -> None:
        self.gather, self.spec, self.part = delivery.gather, delivery.spec, delivery.part
        self.arguments = arguments

    def pointer(self, name: str) -> str:
        """Return the address of an array."""
        kinds = dict.fromkeys(("begin", "near", "bins"), "long long")
        kinds |= {"exact": "double", "per_unit": "double"}
        kind = kinds.get(name) or _C_TYPES[self.gather.arrays[name].dtype.name]
        return self.arguments.pointer(self.spec.connection(self.part, name), f"const {kind}")

    def element(self, name: str, place: str, load: str = "__ldg") -> str:
        """Return an element of an array, or four."""
        return f"{load}({self.pointer(name)} + {place})"

    def of_source(self) -> list[str]:
        """Return the lines of ``outgoing``."""
        row, home, own = "nd_source", "0", "1"
        if self.gather.form == "stencil":
            row, home = self.element("stencil", "nd_source"), self.element("home", "nd_source")
        if "of_source" in self.gather.arrays:
            own = f"(int){self.element('of_source', 'nd_source')}"
        elif not {"multiple", "shift"} & {*self.gather.arrays, *self.gather.limits}:
            own = f"(int){self.arguments.scalar(self.spec.connection(self.part, 'weight'))}"
        if is_due(self.gather):
            return [
                f"const long long nd_of = {row};",
                f"const int nd_low = {self.element('low', 'nd_of')};",
                f"return {{nd_of, nd_low, nd_low >= 0, {own}, {home}}};",
            ]
        if self.gather.limits.get("one each"):
            return [f"return {{nd_source, 1, 0, {own}, {home}}};"]
        return [
            f"const long long nd_of = {row};",
            f"const long long nd_begin = {self.element('begin', 'nd_of')};",
            f"const long long nd_end = {self.element('begin', 'nd_of + 1')};",
            f"const long long nd_due = {self._due()};",
            "return {nd_begin, (int)(nd_due - nd_begin), (int)(nd_end - nd_due), "
            f"{own}, {home}}};",
        ]

    def _due(self) -> str:
        """Return the end of the connections that are due in the next step: all, of an input."""
        if self.gather.form == "injected":
            return "nd_end"
        return f"ND_WINDOW ? nd_begin : {self.element('near', 'nd_of')}"

    def history(self) -> dict[str, list[str]]:
        """Return the member functions by which spikes wait until they are due."""
        spec, a = self.spec, self.arguments
        sizes = "room", "rows", "entries", TURNS
        room, rows, entries, turns = (a.integer(spec.size(self.part, n)) for n in sizes)
        word = "unsigned long long"
        kinds = {"due": "int", "sent": "uint4", "heads": word, "listed": "uint4"}
        kinds |= {"offsets": "unsigned"}
        kinds |= {"homes": "int"} if "homes" in self.gather.blanks else {}
        where = {n: a.pointer(spec.connection(self.part, n), k) for n, k in kinds.items()}
        words = {"most": MOST, "begins": BEGINS, "before": BEFORE}
        lasting = {"first": "begin", "bin": "bins"}
        return {
            **{f"{kinds[n]} *{n}()": [f"return {text};"] for n, text in where.items()},
            **({} if "homes" in kinds else {"int *homes()": ["return nullptr;"]}),
            **{f"{word} *{n}()": [f"return {where['heads']} + {at};"] for n, at in words.items()},
            f"{word} *reserved(long long nd_row)": [
                f"return {where['heads']} + {LISTED} + (nd_row & 3);"
            ],
            f"{word} entries()": [f"return ({word}){entries};"],
            f"uint4 *fresh({word} nd_n)": [
                f"return {where['listed']} + (2 * {entries} + (long long)(nd_n & ({entries} - 1)));"
            ],
            f"unsigned place({word} nd_n)": [f"return (unsigned)nd_n & (unsigned)({room} - 1);"],
            f"{word} room()": [f"return ({word}){room};"],
            "int turn(long long nd_row)": [f"return (int)(nd_row & ({rows} - 1));"],
            "int oldest(long long nd_row)": [f"return turn(nd_row + 2 - {turns});"],
            **{
                f"long long {n}(long long nd_source)": [
                    f"return {self.element(name, 'nd_source')};"
                ]
                for n, name in lasting.items()
            },
            "int end(long long nd_bin)": [f"return {self.element('ends', 'nd_bin')};"],
        }

    def codes(self) -> tuple[str, str]:
        """Return the expressions of ``code`` and ``codes``."""
        one, four = self.element("code", "nd_p"), self.element("code", "nd_p", "nd_take_four")
        if shift := self.gather.limits.get("shift"):
            return f"(unsigned){one} & {(1 << shift) - 1}u", f"nd_below({four}, {shift})"
        return f"(unsigned){one}", four

    def multiples(self, ahead: str) -> tuple[list[str], list[str]]:
        """Return the lines of ``multiple`` and ``multiples``; ``ahead`` is the slots of a row."""
        one, four = ["(void)nd_q;"], ["(void)nd_now, (void)nd_codes;"]
        if "exact" in self.gather.arrays:
            plain = self.arguments.integer(self.spec.size(self.part, "plain"))
            exact, per_unit = f"{self.pointer('exact')} + (nd_p - {plain})", "per_unit"
            given = f"{exact}, {self.pointer(per_unit)}, (unsigned){ahead}"
            one.append(f"if (nd_p >= {plain}) return nd_in_units({given}, nd_q);")
            four.append(f"if (nd_p >= {plain}) return nd_four_in_units({given}, nd_now, nd_codes);")
        if shift := self.gather.limits.get("shift"):
            one.append(f"return {self.element('code', 'nd_p')} >> {shift};")
            four.append(
                f"return nd_above({self.element('code', 'nd_p', 'nd_take_four')}, {shift});"
            )
        elif "multiple" in self.gather.arrays:
            one.append(f"return {self.element('multiple', 'nd_p')};")
            four.append(f"return {self.element('multiple', 'nd_p', 'nd_take_four')};")
        else:
            one.append("return 1;")
            four.append("return make_int4(1, 1, 1, 1);")
        return one, four


def _members(delivery: Delivery, arguments: Arguments) -> list[str]:
    """Return the member functions of the struct."""
    spec, access = delivery.spec, delivery.access
    slot = "long long" if spec.gathers[access].limits["wide"] else "int"
    shared = int(delivery.gather.form == "stencil")
    turns, ahead = (arguments.integer(spec.size(access, n)) for n in ("depth", "ahead"))
    slots = arguments.pointer(spec.connection(access, "slots"), slot)
    functions = {
        "unsigned now_at(long long nd_row)": [
            f"return {_first_slot('nd_row', turns, ahead)};",
        ],
        **_connections(delivery, arguments, ahead),
        "slot *at(unsigned nd_q)": [  # q or q - end: of the two, the one that is not too large
            f"const unsigned nd_end = (unsigned)({turns} * {ahead});",
            f"return {slots} + umin(nd_q, nd_q - nd_end);",
        ],
    }  # fmt: skip
    computed = int(isinstance(delivery.gather, ComputedThere))
    numbers = f"number = ND_DELIVERY, shared = {shared}, computed = {computed}"
    if is_due(delivery.gather):
        numbers += f", connection_bits = {CONNECTION_BITS}"
    lines = [f"typedef {slot} slot;", f"enum {{ {numbers} }};"]
    for head, body in functions.items():
        needs = any("nd_a->" in line for line in body)
        table = ["const auto *nd_a = nd_steady;"] if needs else []
        lines += block(f"static ND_MEMBER {head}", [*table, *body])
    return lines


def _connections(delivery: Delivery, arguments: Arguments, ahead: str) -> dict[str, list[str]]:
    """Return the member functions that say where connections lead, and with what weights."""
    gather = delivery.gather
    if isinstance(gather, ComputedThere):
        return ComputedConnections(gather, arguments, delivery.spec, delivery.part).functions()
    find = _Connections(delivery, arguments)
    outgoing, (code, codes), (one, four) = find.of_source(), find.codes(), find.multiples(ahead)
    functions = {
        "nd_outgoing outgoing(long long nd_source)": outgoing,
        "unsigned code(long long nd_p)": [f"return {code};"],
        "int multiple(long long nd_p, unsigned nd_q)": one,
        "int4 codes(long long nd_p)": [f"return {codes};"],
        "int4 multiples(long long nd_p, unsigned nd_now, int4 nd_codes)": four,
    }
    return functions | (find.history() if is_due(gather) else {})


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
            *self._reached(),
        ]

    def _reached(self) -> list[str]:
        """Declare which slices of components spikes reach, where they do not reach all."""
        if "reached" not in self.gather.arrays:
            return []
        pointer = self._pointer("reached", "const unsigned char")
        return [f"const unsigned char *const nd_reached_{self.access.name} = {pointer};"]

    def row(self) -> str:
        """Return where the slots of step ``nd_k`` begin."""
        return _first_slot("nd_k", self.size("depth"), self.size("ahead"))


def sender(variable: str, deliveries: Sequence[SentFrom], kept: bool = False) -> list[str]:
    """Return the function by which the threads of a warp send the spikes of their components.

    And the struct ``nd_outgoing_of_<variable>``: where the outgoing connections of a component lie.

    Parameters
    ----------
    variable : str
    deliveries : sequence of SentFrom
    kept : bool
        Whether it is always given where the connections lie; by default, where ``ND_KEEPS``.
    """
    outgoing = f"nd_outgoing_of_{variable}"
    head = f"template <int N> ND_FN void nd_send_{variable}"
    given = f"(long long nd_row, const nd_sent<N, {outgoing}> &nd_e)"
    ask = ["const bool nd_mine = nd_e.bits[nd_j] >> nd_lane() & 1;",
           "const int nd_count = nd_mine ? nd_spikes(nd_e.value[nd_j]) : 0;",
           f"nd_outgoing_of_{variable} nd_l = nd_e.outgoing[nd_j];",
           *([] if kept else ["if (!ND_KEEPS && nd_mine) nd_l.ask(nd_e.at[nd_j]);"])]  # fmt: skip
    for n, *_ in deliveries:
        ask.append(f"nd_outgoing_{n}[nd_j] = nd_mine ? nd_l.of_{n} : {_NOTHING};")
        ask.append(f"nd_outgoing_{n}[nd_j].more *= nd_count;")
        ask += [f"if (ND_LOOKAHEAD) nd_all_later(nd_outgoing_{n}[nd_j]);"] * (not kept)
    body = _sends([(n, by) for n, _, by in deliveries], ask, early=not kept)
    return [*_outgoing_struct(outgoing, deliveries), *block(head + given, body)]


def queued_sender(senders: Sequence[Sequence[SentFrom]]) -> list[str]:
    """Return the function that sends the spikes in the queue of a warp.

    Parameters
    ----------
    senders : sequence of sequence of SentFrom
        The deliveries of each sender; its index is its number in the queue.
    """
    who = {n: by for deliveries in senders for n, _, by in deliveries}
    cases = []
    for number, deliveries in enumerate(senders):
        lines = [
            f"nd_outgoing_{n}[nd_j] = nd_part_{n}::delivery::outgoing({first} + nd_q.at);"
            for n, first, _ in deliveries
        ]
        cases += block(f"case {number}:", [*lines, "break;"])
    ask = [f"nd_outgoing_{n}[nd_j] = {_NOTHING};" for n in who]
    ask += block("if (nd_q.spikes) switch (nd_sender(nd_q.who))", [*cases, "default: break;"])
    ask += [f"nd_outgoing_{n}[nd_j].more *= nd_q.spikes;" for n in who]
    take = ["enum { N = 1 };", "const nd_queued nd_q = nd_take_queued();"]
    head = "static __device__ __noinline__ void nd_send_queued(long long nd_row)"
    return block(head, [*take, *_sends(sorted(who.items()), ask)])


def _outgoing_struct(name: str, deliveries: Sequence[SentFrom]) -> list[str]:
    """Return the struct of a component's outgoing connections, which shared memory may cache."""
    numbers = [n for n, *_ in deliveries]
    asked = [
        f"of_{n} = nd_part_{n}::delivery::outgoing({first} + nd_at);" for n, first, _ in deliveries
    ]
    before = f"nd_i * {len(deliveries)}"  # those of a thread's components before component i
    places = [
        (n, f"nd_outgoing_cache[nd_cache_index({before} + {j})]") for j, n in enumerate(numbers)
    ]
    members = [f"nd_outgoing of_{n};" for n in numbers]
    methods = {
        "ask(int nd_at)": ["(void)nd_at;", *asked],
        "put(int nd_i)": ["(void)nd_i;", *[f"{place} = of_{n};" for n, place in places]],
        "take(int nd_i)": ["(void)nd_i;", *[f"of_{n} = {place};" for n, place in places]],
    }
    for method, body in methods.items():
        cached = "nd_outgoing_cache" in "".join(body)
        text = block(f"ND_MEMBER void {method}", body)
        members += ["#if ND_CACHED", *text, "#endif"] if cached else text
    return [*block(f"struct {name}", members), ";"]


def _sends(deliveries: Sequence[tuple[int, str]], ask: list[str], early: bool = False) -> list[str]:
    """Return the lines that deliver what is due in the next step, and list the rest in pieces.

    Parameters
    ----------
    deliveries : sequence of (int, str)
        Their numbers, and who delivers.
    ask : list of str
        Lines that find the connections of component ``nd_j`` of a thread.
    early : bool
        Whether these spikes are sent a step early where ``ND_LOOKAHEAD``.
    """
    each, unroll = "for (int nd_j = 0; nd_j < N; ++nd_j)", "ND_UNROLL"
    declare, send, count, far = [], [], [], []
    for n, by in deliveries:  # all are loaded before the first one is used
        delivery, outgoing, now = f"nd_part_{n}::delivery", f"nd_outgoing_{n}[nd_j]", f"nd_now_{n}"
        declare += [
            f"nd_outgoing nd_outgoing_{n}[N];",
            f"const unsigned {now} = {delivery}::now_at(nd_row);",
            f"(void){now};",
        ]
        if by == "due":
            send += [f"nd_remember<{delivery}>(nd_row, {outgoing});"]
        elif by == "thread":
            send += [f"nd_send_own<{delivery}>({now}, {outgoing});"]
        else:
            send += [f"nd_send_near<{delivery}>({now}, {outgoing}, nd_reserved);"]
            count += [f"nd_count += nd_pieces({outgoing});"]
            far += [f"nd_to = nd_send_far<{delivery}>(nd_to, {now}, {outgoing});"]
    if not deliveries:
        return []
    reserve, use = [], []
    if far:
        some = "nd_ballot(nd_count > 0) != 0"
        given = f"{{nd_list_of(nd_row, {int(early)}), nd_count, {some}, false, {{0, 0}}}}"
        reserve = ["int nd_count = 0;", unroll, *block(each, count),
                   f"nd_reservation nd_reserved = {given};"]  # fmt: skip
        room = "uint4 *nd_to = nd_reserved.room();"
        lines = ["nd_reserved();", room, unroll, *block(each, far)]
        use = block("if (nd_reserved.some)", lines)
    return [*declare, unroll, *block(each, ask), *reserve, unroll, *block(each, send), *use]


def piece_deliverer(deliveries: list[int]) -> list[str]:
    """Return the function that delivers a piece of any access, if some access has pieces."""
    if not deliveries:
        return []
    call = "nd_deliver<nd_part_{}::delivery>(begin, length, now, more)"
    cases = [f"case {n}: {call.format(n)}; break;" for n in deliveries]
    given = "int delivery, long long begin, int length, unsigned now, int more"
    head = f"ND_FN void nd_deliver_piece({given})"
    return block(head, block("switch (delivery)", [*cases, "default: break;"]))


def due_deliverer(deliveries: list[int]) -> list[str]:
    """Return the function that delivers what is due in a row, of all accesses."""
    call = "nd_deliver_when_due<nd_part_{}::delivery>(warp, warps, row, which, call);"
    kind = "ND_APART" if deliveries else "ND_FN"  # compiled once: it is called in many places
    given = "unsigned warp, unsigned warps, long long row, int which, long long call"
    head = f"{kind} void nd_deliver_due({given})"
    unused = "(void)warp, (void)warps, (void)row, (void)which, (void)call;"
    return block(head, [unused, *map(call.format, deliveries)])
