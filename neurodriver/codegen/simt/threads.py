"""The kernel of one group for a device where a thread advances components of its own.

The text is a struct ``unit``: what a thread keeps of its ``ND_OWN`` components, which lie 32
apart, so that the threads of a warp read neighbours. ``load`` fetches what does not change and the
states, ``turn`` asks for what the next steps begin with, ``step`` sums the inputs of step k,
computes and writes row k + 1, ``save`` puts states back that have no row. Between ``load`` and
``save`` there may be one step or thousands. States bypass the L1 cache, where they would displace
what is read more often. Threads beyond the end of a group repeat its last component and store
nothing, so a warp is never divided there.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from ...model.text import block
from ...plan.unit import KernelSpec
from ..component import ComponentText
from ..cpu.by_place import UnstoredText
from ..cpu.sums import SumText
from ..cpu.update import finish_with
from ..finite import ThreadFinite
from ..kernel import Arguments, Kernel
from ..learned_sums import LearnedSumText
from ..listed import ListedText
from .learned_sums import LearnedThreadSum
from .listed import ListedThreadSum
from .patch_sums import (
    PatchText,
    PatchThreadSum,
    block_methods,
    end_of,
    kept_cells,
    own_cells,
    patched,
)
from .place_sums import PlaceThreadSum
from .spike_delivery import SlotText
from .thread_cells import SideBySideText, SplitText
from .thread_draws import ThreadDraws
from .thread_events import OWN, ThreadEvents, each, stored, within_a_step
from .thread_lookahead import Lookahead
from .thread_pace import ThreadPace
from .thread_pools import ThreadPools
from .thread_rest import ThreadRest
from .thread_slots import ThreadSlots
from .thread_sums import ThreadSum, total

DIVISION = "/ nd_by() /"
"""See ``division.cuh``."""

LOST = ("#if ND_GATES", "bool nd_lost;", "#endif")
"""Whether a step cannot be done, as another process has failed: a member of each unit."""

MOST_COMPARED = 16
"""Hidden states that are compared with those of before; more would need many registers."""

_SUMS: dict[str, type[SumText]] = {
    "fanout": SlotText, "learned": LearnedSumText, "listed": ListedText, "by_place": UnstoredText,
    "patches": PatchText,
}  # fmt: skip
"""Form of a plan -> what writes where its arrays are; all others have ``SumText``."""

THREAD_SUMS: dict[str, type[ThreadSum]] = {
    "fanout": ThreadSlots, "learned": LearnedThreadSum, "listed": ListedThreadSum,
    "by_place": PlaceThreadSum, "patches": PatchThreadSum,
}  # fmt: skip
"""Form of a plan -> what writes its sum; all others are written by ``ThreadSum``."""


def thread_kernel(spec: KernelSpec) -> Kernel:
    """Return the kernel that advances one group by one step."""
    text = ThreadText(spec)
    once = text.component.constants(), text.component.initial()
    kernel = finish_with(spec.model.__name__, text.arguments, once, text.unit())
    rounds = max([r.rounds for r in text.reads], default=0)
    patches = end_of([*spec.gathers.values()])
    own = {"record": text.record, "rounds": rounds, "kept": text.kept, "patches": patches}
    adds = bool(spec.adds)
    ahead = text.ahead.possible
    return replace(kernel, **own, crosses=_crosses(text), adds=adds, lookahead=ahead)  # type: ignore[arg-type]


def _crosses(text: ThreadText) -> tuple[str, ...]:
    """Return the variables that warps send to other GPUs as they compute them."""
    published = text.component.spec.published
    sent = {one.name: one.crosses for one in text.events}
    names = [n for n in text.model.updates if n in published and n not in text.unseen]
    return tuple(name for name in names if sent.get(name, True))


def _changed(name: str, compared: list[str]) -> str:
    """Return the condition for a state to be stored."""
    change = f" && nd_bits(nd_v_{name}[nd_i]) != nd_bits(nd_began_{name}[nd_i])"
    return f"nd_live[nd_i]{change if name in compared else ''}"


class ThreadText:
    """Writes the struct of one model."""

    def __init__(self, spec: KernelSpec) -> None:
        self.arguments = Arguments()
        self.component = ComponentText(spec, self.arguments)
        self.component.translator.division = DIVISION
        self.component.place, self.component.live = "nd_at", "nd_live[nd_i]"
        self.component.translator.live = self.component.live
        self.model = spec.model
        self.sums = [
            _SUMS.get(spec.gathers[a.name].form, SumText)(self.component, a) for a in spec.accesses
        ]
        self.varied = [n for n in self.component.numbers if n not in spec.uniform]
        self.reads = [
            THREAD_SUMS.get(one.gather.form, ThreadSum)(self.component, self.sums, i, self.varied)
            for i, one in enumerate(self.sums)
        ]
        self.patched = patched(self.sums)
        self.slots = [r for r in self.reads if isinstance(r, ThreadSlots)]
        self.spread = spec.shared_by_warp
        self.ahead = Lookahead(self.component)
        given = self.spread, not (self.spread or self.patched or spec.side), self.ahead.possible
        self.events = [ThreadEvents(self.component, n, *given) for n in self.component.events]
        self.unseen = [n for n in self.model.states if n in spec.unseen & {*self.model.updates}]
        drawn = spec.substeps == 1 and self.model.sub_units is None and self.model.draws_random()
        self.drawn = ThreadDraws(self.component) if drawn else None
        self.side = SideBySideText(self.component, spec.side, self._where) if spec.side else None
        self.split = SplitText(self.component) if spec.split else None
        self.pace = ThreadPace(self.component)
        self.pools = ThreadPools(self.component, self.pace)
        hidden = [name for name in self.model.states if name not in spec.published]
        self.rest = ThreadRest(self.component, hidden, MOST_COMPARED)
        self.hidden = [name for name in hidden if name not in self.rest.names]
        self.moved = [n for n in self.model.states if n not in self.rest.names]
        self.carried = [*self.moved, *self.component.flags()]
        self.compared = self.hidden if len(self.hidden) <= MOST_COMPARED else []

    def unit(self) -> list[str]:
        """Return the struct."""
        step = self.step()  # sets what is drawn
        methods = {
            "load(long long nd_k, int nd_first, int nd_end)": self.load(),
            "turn(long long nd_k)": self.turn(),
            "step(long long nd_k, bool nd_last)": ["(void)nd_last;", *step],
            "look_ahead(long long nd_k)": self.ahead.method(self.numbers(), self.events),
            "record(long long nd_k)": self.record_window(),
            "save(long long nd_k)": [*self.head(), *each(self.save())],
        }
        methods |= self.pools.methods(self.own())
        members = self.members()
        for head, body in methods.items():
            members += block(f"ND_MEMBER void {head}", ["const auto *nd_a = nd_steady;", *body])
        if self.patched:
            members += [*block_methods(self.patched), *kept_cells(self)]
        rules = [s.structure() for s in self.sums if isinstance(s, LearnedSumText)]
        return [*chain(*rules), *block("struct unit", members), ";"]

    def members(self) -> list[str]:
        """Declare what a thread keeps."""
        lines = [*LOST, "int nd_c[ND_OWN];", "bool nd_live[ND_OWN];"]
        lines += ["bool nd_full;"] * bool(self.slots) + ["int nd_target;"] * bool(self.patched)
        lines += [f"real nd_v_{name}[ND_OWN];" for name in [*self.varied, *self.moved]]
        lines += [*self.rest.members(), *(f"real nd_began_{n}[ND_OWN];" for n in self.compared)]
        lines += [line for r in self.reads for line in r.members()]
        if self.model.draws_random():
            lines.append("unsigned long long nd_v_key[ND_OWN];")
        lines += self.drawn.members() if self.drawn else []
        return lines + [line for e in self.events for line in e.members()]

    def head(self) -> list[str]:
        """Declare what does not depend on the component."""
        return self.component.head()

    @property
    def kept(self) -> int:
        """Numbers of a component that its thread keeps in registers."""
        return len(self.varied) + len(self.moved)

    @property
    def record(self) -> int:
        """Bytes a thread and round that the threads of a warp share."""
        return max([r.record for r in self.reads], default=0)

    def own(self) -> list[str]:
        """Return the lines that find out which components are the thread's."""
        if self.side:
            return self.side.cells()
        if self.patched:
            return own_cells(self.patched[0])
        place = "nd_first + nd_i" if self.spread else "nd_first + nd_lane() + 32 * nd_i"
        first = " && nd_lane() == 0" if self.spread else ""  # one thread stores for its warp
        body = [
            f"const int nd_row_index = {place};",
            "const bool nd_is = nd_row_index < nd_end;",
            f"nd_live[nd_i] = nd_is{first};",
            "nd_c[nd_i] = nd_is ? nd_row_index : nd_end - 1;",
            # a compiler keeps what it cannot compute again; else it would do so in each step
            "if (!ND_HOLDS) nd_c[nd_i] = nd_from(nd_c[nd_i], nd_lane());",
        ]
        return ["ND_UNROLL", *block(OWN, body)]

    def load(self) -> list[str]:
        """Return the loads of what no step changes, and of the states."""
        c = self.component
        body = [f"nd_v_{name}[nd_i] = nd_p_{name}[nd_at];" for name in self.varied]
        for name in self.moved:
            where = f"nd_old_{name}" if name in c.spec.published else f"nd_s_{name}"
            body.append(f"nd_v_{name}[nd_i] = __ldcg({where} + nd_at);")
        body += self.rest.load()
        body += [f"nd_began_{n}[nd_i] = nd_v_{n}[nd_i];" for n in self.compared]
        body += [line for r in self.reads for line in r.load()]
        if self.model.draws_random():
            body.append("nd_v_key[nd_i] = nd_keys[nd_at];")
        if self.drawn:
            body += [*self.numbers(), *self.drawn.load()]
        body += [line for e in self.events for line in e.load()]
        heads = [line for s in self.sums for line in s.head()]
        begin = [line for r in self.slots for line in r.begin()]
        begin += ["nd_full = nd_first + 32 * ND_OWN <= nd_end;"] if self.slots else []
        slots = [line for r in self.slots for line in r.prefetch()]
        return [*self.head(), *heads, *begin, *self.own(), *each(body),
                *(within_a_step([], slots) if slots else [])]  # fmt: skip

    def numbers(self) -> list[str]:
        """Give the numbers of a component their names."""
        lines = [f"const real {name} = nd_v_{name}[nd_i]; (void){name};" for name in self.varied]
        if self.model.draws_random():
            lines.append("const unsigned long long nd_key = nd_v_key[nd_i];")
        return [*lines, *self.component.here("nd_at")]

    def turn(self) -> list[str]:
        """Return the loads of what registers keep from step to step of a turn."""
        if not self.slots:
            return []
        heads = [line for s in self.sums for line in s.head()]
        ask = [line for r in self.slots for line in r.ask("now")]
        return within_a_step([], [*heads, *ask, "__syncwarp();"])

    def step(self) -> list[str]:
        """Return sums, sub-steps and stores of one step."""
        c = self.component
        heads = [line for s in self.sums for line in s.head()]
        lines = [*self.rest.late(self.head()), *self.pace.head(), *heads]
        lines += [line for e in self.events for line in e.old()]
        lines += [f"{r.kind} nd_x_{r.name}[ND_OWN];" for r in self.reads]
        # values that are only read are loaded before the first wait
        waits = ("lattice", "rows", "sliced")
        parts = [r for r in self.slots if r.other]
        reads = sorted(self.reads, key=lambda r: (r.form in waits) + 2 * (r in parts))
        lines += [line for r in reads for line in r.sum_all()]
        lines += self.pace.if_due(each([line for r in reads for line in r.sum()]))
        late = [line for e in self.events for line in e.record_late()]
        lines += each(late) if late else []
        lines += self._clear() if self.slots else []
        lines += [*self.rest.begin(), *(f"real nd_f_{name}[ND_OWN];" for name in c.flags())]
        flags = [f"nd_f_{name}[nd_i] = 0;" for name in c.flags()]
        lines += each(flags) if flags else []
        inside = self.side.lines() if self.side else each(self.advance())
        if self.drawn:
            lines += self.drawn.arrays()
            lines += self.pace.if_due(self.drawn.lines(self.numbers()))
        if c.spec.substeps == 1:
            lines += ["const int substep = 0; (void)substep;", *self.pace.if_due(inside)]
        else:
            head = f"for (int substep = 0; substep < {c.spec.substeps}; ++substep)"
            lines += self.pace.if_due(["ND_ROLLED", *block(head, inside)])
        given = [*self.numbers(), *self.states()]
        plain = self.store()
        lines += [*(each([*given, *plain]) if plain else []), *self.pools.step(given)]
        lines += [line for e in self.events for line in e.begin()]
        found = [line for e in self.events for line in e.find(self.pace.output(e.name))]
        lines += each([*given, *found]) if found else []
        lines += [line for e in self.events for line in e.end()]
        lines += [line for r in self.slots for line in r.next()]
        finite = ThreadFinite(c)  # last: while stores are on their way
        if finite.names:
            rested = "nd_rested" if self.rest.names else "0"
            lines += [*finite.begin(rested), *each([*given, *finite.add(self.rest.names)])]
            found = each([*given, *self.rest.states(), *finite.find()])
            lines += block("if (nd_is_odd(nd_odd))", found)
        return lines

    def _clear(self) -> list[str]:
        """Clear the slots that were read, and in a window ask for those of the next step.

        Where threads advance other components in turn, nothing arrives at most warps in most steps.
        """
        cleared = [line for r in self.slots for line in r.clear()]
        ask = [line for r in self.slots for line in r.ask("then")]
        found = " | ".join(f"nd_b_{r.name}[nd_i]" for r in self.slots)
        arrived = [r.converted() for r in self.slots if not r.other]
        # all threads of a warp that shares a component have read it by then; where it shares
        # none, fewer registers spill than without
        return within_a_step(
            ["__syncwarp();", *each(cleared)],
            [
                *block("if (ND_HOLDS && !nd_last)", ask),
                "bool nd_arrived = false;",
                *each([f"nd_arrived |= ({found}) != 0;"]),
                *block("if (ND_HOLDS || nd_ballot(nd_arrived))", each([*arrived, *cleared])),
                *block("if (!ND_HOLDS && !nd_last)", ask),
            ],
        )

    def record_window(self) -> list[str]:
        """Return what is done between the barriers of a window that began with step ``nd_k``."""
        lines = [line for e in self.events for line in e.record_window()]
        return ["(void)nd_k;", *(each(lines) if lines else [])]

    def advance(self) -> list[str]:
        """Return one sub-step of component ``nd_i``."""
        given = [*self.numbers(), *self.inputs(), *self.states()]
        text = self.rest.mathematics(self.component)
        if self.split:
            text = self.split.lines()
        return [*given, *text, *self.keep()]

    def inputs(self) -> list[str]:
        """Give the finished sums of a component their names."""
        own = [s for s in self.sums if s.symbol]
        return [f"const real {s.symbol} = {total(s)}; (void){s.symbol};" for s in own]

    def _where(self, name: str) -> str:
        return f"nd_v_{name}[nd_i]" if name in self.model.states else f"nd_f_{name}[nd_i]"

    def states(self) -> list[str]:
        """Load states and flags from what the thread keeps."""
        return [f"real {name} = {self._where(name)}; (void){name};" for name in self.carried]

    def keep(self) -> list[str]:
        """Put states and flags back."""
        return [f"{self._where(name)} = {name};" for name in self.carried]

    def store(self) -> list[str]:
        """Store the updated variables of component ``nd_i``, but for events."""
        c, elsewhere = self.component, {*self.component.events, *self.unseen}
        names = [n for n in self.model.updates if n in c.spec.published and n not in elsewhere]
        return [x for n in names for x in stored(c, n, self.pace.output(n, c.row(n)))]

    def save(self) -> list[str]:
        """Put states back that have changed and have no row, or whose row nobody reads yet."""
        lines = [
            f"if ({_changed(name, self.compared)}) nd_s_{name}[nd_at] = nd_v_{name}[nd_i];"
            for name in self.hidden
        ]
        lines += self.rest.save()
        lines += [
            f"if (nd_live[nd_i]) nd_new_{name}[nd_at] = nd_v_{name}[nd_i];" for name in self.unseen
        ]
        return lines + [line for e in self.events for line in e.record_late()]
