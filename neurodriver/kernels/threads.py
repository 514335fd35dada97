"""The kernel of one group for a device where a thread advances components of its own.

The text is a struct ``unit``: what a thread keeps of its ``ND_OWN`` components, which lie 32
apart, so that the threads of a warp read neighbours. ``load`` fetches what does not change and the
states, ``step`` sums the inputs of step k, computes and writes row k + 1, ``save`` puts states back
that have no row. Between ``load`` and ``save`` there may be one step or thousands. Threads beyond
the end of a group repeat its last component and store nothing, so a warp is never divided there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .component import ComponentText, Shape
from .kernel import Arguments, Kernel, block
from .mail import SlotText
from .sums import SumText
from .thread_sums import ThreadSum
from .update import finish_with

OWN = "for (int nd_i = 0; nd_i < ND_OWN; ++nd_i)"


def spread(shape: Shape) -> bool:
    """Whether the threads of a warp share one component: its sums are long, or it has sub-units."""
    if shape.model.sub_units is not None:
        return True
    return any(gather.form == "rows" for gather in shape.gathers.values())


def _either(which: str, lines: Sequence[str], others: Sequence[str]) -> list[str]:
    if not lines and not others:
        return []
    return [f"#if {which}", *lines, *(["#else", *others] if others else []), "#endif"]


def held(lines: list[str], streamed: Sequence[str] = ()) -> list[str]:
    """Return what is done where a thread keeps its components, and where it has others in turn."""
    return _either("ND_HOLDS", lines, streamed)


def within_a_step(late: list[str], at_once: Sequence[str] = ()) -> list[str]:
    """Return what is done where warps meet at each step, and where they do not.

    There, events are recorded a step late: nobody waits for that at the barrier.
    """
    return _either("ND_WINDOW < 2", late, at_once)


def thread_kernel(shape: Shape) -> Kernel:
    """Return the kernel that advances one group by one step.

    Parameters
    ----------
    shape : Shape
    """
    text = ThreadText(shape)
    once = text.component.constants(), text.component.initial()
    kernel = finish_with(shape.model.__name__, text.arguments, once, text.unit())
    return replace(kernel, record=text.record)


class ThreadText:
    """Writes the struct of one model.

    Parameters
    ----------
    shape : Shape
    """

    def __init__(self, shape: Shape) -> None:
        self.arguments = Arguments()
        self.component = ComponentText(shape, self.arguments)
        self.model = shape.model
        self.sums = [
            (SlotText if shape.gathers[a.name].form == "fanout" else SumText)(self.component, a)
            for a in shape.model.accesses
        ]
        self.varied = [n for n in self.component.numbers if n not in shape.uniform]
        self.reads = [
            ThreadSum(self.component, self.sums, i, self.varied) for i in range(len(self.sums))
        ]
        self.spread = spread(shape)
        self.carried = [*self.model.states, *self.component.flags()]
        self.unseen = [n for n in self.model.states if n in shape.unseen & {*self.model.updates}]

    def unit(self) -> list[str]:
        """Return the struct."""
        methods = {
            "load(long long nd_k, int nd_first, int nd_end)": self.load(),
            "turn(long long nd_k)": self.turn(),
            "step(long long nd_k, bool nd_last)": self.step(),
            "save(long long nd_k)": [*self.head(), *self._each(self.save())],
        }
        members = self.members()
        for head, body in methods.items():
            table = "const nd_args *nd_a = nd_steady;"
            flags = ["(void)nd_last;"] if "nd_last" in head else []
            members += block(f"ND_MEMBER void {head}", [table, *flags, *body])
        return [*block("struct unit", members), ";"]

    def members(self) -> list[str]:
        """Declare what a thread keeps."""
        lines = ["int nd_c[ND_OWN];", "bool nd_live[ND_OWN];"]
        lines += [f"real nd_v_{name}[ND_OWN];" for name in [*self.varied, *self.model.states]]
        lines += [line for r in self.reads for line in r.members()]
        if self.model.draws_random():
            lines.append("unsigned long long nd_v_key[ND_OWN];")
        kept: list[str] = []
        for name in self.component.events:
            kept += [f"nd_letters_{name} nd_l_{name}[ND_OWN];", f"unsigned nd_late_{name}[ND_OWN];"]
            kept += [] if self.spread else [f"unsigned char nd_was_{name}[ND_OWN];"]
        lines += held(kept)
        return lines

    def head(self) -> list[str]:
        """Declare what does not depend on the component."""
        return self.component.head()

    @staticmethod
    def _each(body: list[str]) -> list[str]:
        return ["ND_UNROLL", *block(OWN, ["const int nd_at = nd_c[nd_i]; (void)nd_at;", *body])]

    @property
    def record(self) -> int:
        """Bytes a thread and round that the threads of a warp share."""
        return max([r.record for r in self.reads], default=0)

    def own(self) -> list[str]:
        """Return the lines that find out which components are the thread's."""
        place = "nd_first + nd_i" if self.spread else "nd_first + nd_lane() + 32 * nd_i"
        first = " && nd_lane() == 0" if self.spread else ""  # one thread stores for its warp
        body = [
            f"const int nd_place = {place};",
            "const bool nd_is = nd_place < nd_end;",
            f"nd_live[nd_i] = nd_is{first};",
            "nd_c[nd_i] = nd_is ? nd_place : nd_end - 1;",
        ]
        return ["ND_UNROLL", *block(OWN, body)]

    def load(self) -> list[str]:
        """Return the loads of what no step changes, and of the states."""
        c = self.component
        body = [f"nd_v_{name}[nd_i] = nd_p_{name}[nd_at];" for name in self.varied]
        for name in self.model.states:
            where = f"nd_old_{name}" if name in c.shape.published else f"nd_s_{name}"
            body.append(f"nd_v_{name}[nd_i] = {where}[nd_at];")
        body += [line for r in self.reads for line in r.load()]
        if self.model.draws_random():
            body.append("nd_v_key[nd_i] = nd_keys[nd_at];")
        kept: list[str] = []
        for name in c.events:
            kept += [f"nd_late_{name}[nd_i] = 0;", "#if ND_SHELF",
                     f"nd_shelf_of<nd_letters_{name}>(nd_i)->ask(nd_at);", "#else",
                     f"if (ND_KEEPS) nd_l_{name}[nd_i].ask(nd_at);", "#endif"]  # fmt: skip
            note = self._note(name, "nd_k + 1")
            kept += [] if self.spread else [f"nd_was_{name}[nd_i] = {note};"]
        body += held(kept)
        heads = [line for s in self.sums for line in s.head()]
        begin = [line for r in self.reads for line in r.begin()]
        return [*self.head(), *heads, *begin, *self.own(), *self._each(body)]

    def numbers(self) -> list[str]:
        """Give the numbers of a component their names."""
        lines = [f"const real {name} = nd_v_{name}[nd_i]; (void){name};" for name in self.varied]
        if self.model.draws_random():
            lines.append("const unsigned long long nd_key = nd_v_key[nd_i];")
        return lines

    def turn(self) -> list[str]:
        """Return the loads of what is kept at hand from step to step of a turn."""
        heads = [line for s in self.sums for line in s.head()]
        body = [line for r in self.reads for line in r.turn()]
        return [*heads, *self._each(body)] if body else []

    def step(self) -> list[str]:
        """Return sums, sub-steps and stores of one step."""
        c = self.component
        heads = [line for s in self.sums for line in s.head()]
        lines = [*self.head(), *heads, *self.old_events()]
        lines += [f"real nd_x_{s.access.name}[ND_OWN];" for s in self.sums]
        lines += self._each([line for r in self.reads for line in r.sum()])
        for name in c.events:
            late = self._each([self.note(name, f"nd_late_{name}[nd_i]", "nd_k")])
            lines += held(within_a_step(late))
        cleared = [line for r in self.reads for line in r.clear()]
        if cleared:  # all threads of a warp that shares a component have it by then; where it
            # shares none, fewer registers spill than without
            sync = ["__syncwarp();"]
            lines += sync if self.spread else within_a_step(sync)
        lines += self._each(cleared) if cleared else []
        lines += [f"real nd_f_{name}[ND_OWN];" for name in c.flags()]
        flags = [f"nd_f_{name}[nd_i] = 0;" for name in c.flags()]
        lines += self._each(flags) if flags else []
        inside = self._each(self.advance())
        if c.shape.substeps == 1:
            lines += ["const int substep = 0; (void)substep;", *inside]
        else:
            head = f"for (int substep = 0; substep < {c.shape.substeps}; ++substep)"
            lines += ["ND_ROLLED", *block(head, inside)]
        for name in c.events:
            found = [f"unsigned nd_e_{name}[ND_OWN], nd_busy_{name} = 0;"]
            lines += held([*found, f"real nd_y_{name}[ND_OWN];"])
        lines += self._each([*self.numbers(), *self.states(), *self.store()])
        lines += [line for name in c.events for line in held(self.send(name))]
        return [*lines, *[line for r in self.reads for line in r.next()]]

    def advance(self) -> list[str]:
        """Return one sub-step of component ``nd_i``."""
        given = [*self.numbers(), *self.inputs(), *self.states()]
        return [*given, *self.component.mathematics(), *self.keep()]

    def inputs(self) -> list[str]:
        """Give the finished sums of a component their names."""
        return [
            f"const real {s.symbol} = nd_x_{s.access.name}[nd_i]; (void){s.symbol};"
            for s in self.sums
        ]

    def _where(self, name: str) -> str:
        return f"nd_v_{name}[nd_i]" if name in self.model.states else f"nd_f_{name}[nd_i]"

    def states(self) -> list[str]:
        """Load states and flags from what the thread keeps."""
        return [f"real {name} = {self._where(name)}; (void){name};" for name in self.carried]

    def keep(self) -> list[str]:
        """Put states and flags back."""
        return [f"{self._where(name)} = {name};" for name in self.carried]

    def old_events(self) -> list[str]:
        """Tell where the row that is written held events before; ask the same of the next one."""
        lines = []
        for name in [] if self.spread else self.component.events:
            now, then = self._note(name, "nd_k + 1"), self._note(name, "nd_k + 2")
            old = [f"nd_o_{name}[nd_i] = nd_was_{name}[nd_i];", f"nd_was_{name}[nd_i] = {then};"]
            body = held(old, [f"nd_o_{name}[nd_i] = {now};"])
            lines += [f"unsigned char nd_o_{name}[ND_OWN];", *self._each(body)]
        return lines

    def _note(self, name: str, row: str) -> str:
        """Return the place of the note on a slice of a row, which nobody else changes."""
        c, a = self.component, self.arguments
        written = a.pointer(c.key(f"written:{name}"), "unsigned char")
        depth, slices = a.integer(f"depth:{name}"), a.integer(c.key(f"slices:{name}"))
        begin = f"(unsigned)nd_place({row}, {depth}) * (unsigned){slices}"
        return f"{written}[{begin} + (unsigned)nd_at / ND_LANES]"

    def store(self) -> list[str]:
        """Store the updated variables of component ``nd_i``."""
        c = self.component
        lines = []
        for name in self.model.updates:
            if name in c.events:
                lines += self._store_event(name)
            elif name in c.shape.published and name not in self.unseen:
                lines.append(f"if (nd_live[nd_i]) nd_new_{name}[nd_at] = {c.output(name)};")
        return lines

    def _store_event(self, name: str) -> list[str]:
        """Store an event and send it; where it is held, look whether there is anything to do."""
        value = f"nd_y_{name}[nd_i]"
        kept = [f"{value} = {self.component.output(name)};", f"nd_e_{name}[nd_i] = 0;"]
        plain = [f"if (nd_live[nd_i]) nd_new_{name}[nd_at] = {{}};"] if self.spread else []
        changes = f"{value} != 0" if self.spread else f"({value} != 0 || nd_o_{name}[nd_i] != 0)"
        kept += [line.format(value) for line in plain]
        kept.append(f"nd_busy_{name} |= nd_ballot(nd_live[nd_i] && {changes});")
        turn = [
            f"const real nd_value = {self.component.output(name)};",
            "const unsigned nd_bits = nd_ballot(nd_live[nd_i] && nd_value != 0);",
            *[line.format("nd_value") for line in plain],
            *([] if self.spread else self._changed(name, "nd_bits", "nd_value")),
            *block("if (nd_bits)", [
                f"nd_sent<1, nd_letters_{name}> nd_e;",
                "nd_e.bits[0] = nd_bits, nd_e.value[0] = nd_value, nd_e.at[0] = nd_at;",
                *self._sent(name, "1"),
                self.note(name, "nd_bits", "nd_k + 1"),
            ]),
        ]  # fmt: skip
        return held(kept, block("", turn))

    def _sent(self, name: str, count: str) -> list[str]:
        """Return the lines that send ``nd_e``, and tell of the row."""
        a = self.arguments
        active, depth = a.pointer(f"active:{name}", "long long"), a.integer(f"depth:{name}")
        return [
            f"nd_send_{name}<{count}>(nd_k + 1, nd_e);",
            f"if (ND_MARKS && nd_lane() == 0) nd_mark({active}, nd_k + 1, {depth});",
        ]

    def send(self, name: str) -> list[str]:
        """Return the lines that store, send and record the events of a warp."""
        each = "for (int nd_j = 0; nd_j < ND_PAIR; ++nd_j)"
        take = [
            f"nd_e.bits[nd_j] = nd_e_{name}[nd_i + nd_j];",
            f"nd_e.value[nd_j] = nd_y_{name}[nd_i + nd_j];",
            "nd_e.at[nd_j] = nd_c[nd_i + nd_j];",
            "#if ND_SHELF",
            f"nd_e.letters[nd_j] = *nd_shelf_of<nd_letters_{name}>(nd_i + nd_j);", "#else",
            f"if (ND_KEEPS) nd_e.letters[nd_j] = nd_l_{name}[nd_i + nd_j];", "#endif",
        ]  # fmt: skip
        some = [
            f"nd_sent<ND_PAIR, nd_letters_{name}> nd_e;", "ND_UNROLL", *block(each, take),
            *self._sent(name, "ND_PAIR"),
        ]  # fmt: skip
        pair = f"if (nd_e_{name}[nd_i] | nd_e_{name}[nd_i + ND_PAIR - 1])"
        sent = block("for (int nd_i = 0; nd_i < ND_OWN; nd_i += ND_PAIR)", block(pair, some))
        at_once = self._each([self.note(name, f"nd_e_{name}[nd_i]", "nd_k + 1")])
        bits = f"nd_e_{name}[nd_i]"
        changed = [f"{bits} = nd_ballot(nd_live[nd_i] && nd_y_{name}[nd_i] != 0);"]
        changed += [] if self.spread else self._changed(name, bits, f"nd_y_{name}[nd_i]")
        busy = [*self._each(changed), "ND_UNROLL", *sent]
        late = self._each([f"nd_late_{name}[nd_i] = nd_e_{name}[nd_i];"])
        return [
            *block(f"if (nd_busy_{name})", [*busy, *within_a_step([], at_once)]),
            *within_a_step(late),
        ]

    def _changed(self, name: str, bits: str, value: str) -> list[str]:
        """Return the lines that store an event, but no zeros over zeros, and note the slice."""
        store = [
            f"nd_new_{name}[nd_at] = {value};",
            f"if (nd_at % ND_LANES == 0) {self._note(name, 'nd_k + 1')} = (unsigned char)nd_here;",
        ]
        return [
            f"const bool nd_here = ({bits} >> (nd_lane() & ND_LANES)) & 0xffffu;",
            *block(f"if (nd_live[nd_i] && (nd_here | nd_o_{name}[nd_i]))", store),
        ]

    def note(self, name: str, bits: str, row: str) -> str:
        """Return the line that records the events of a row, of component ``nd_i``."""
        ring = self.arguments.pointer(f"ring:{name}", "const real")
        own = self.arguments.integer(self.component.key(f"segment:{name}"))
        mine = f"{bits} >> nd_lane() & 1, (int){own} + nd_at"
        return f"if ({bits}) nd_note({ring}, {row}, {mine});"

    def save(self) -> list[str]:
        """Put states back that have no row, or one that nobody looks at meanwhile."""
        hidden = [name for name in self.model.states if name not in self.component.shape.published]
        places = [(f"nd_s_{name}", name) for name in hidden]
        places += [(f"nd_new_{name}", name) for name in self.unseen]
        lines = [f"if (nd_live[nd_i]) {at}[nd_at] = nd_v_{name}[nd_i];" for at, name in places]
        for name in self.component.events:
            lines += held(within_a_step([self.note(name, f"nd_late_{name}[nd_i]", "nd_k")]))
        return lines
