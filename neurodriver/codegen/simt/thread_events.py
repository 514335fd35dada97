"""The events of the components of a GPU's threads -> CUDA text.

In most steps no component of a warp has an event, and the row that is overwritten holds none: then
there is nothing to store. Otherwise the warp stores the events, updates the dirty bitmap (a byte
for each slice of ``LANES`` elements of a row), and sends the spikes to their targets.

Where a thread keeps its components in registers (``ND_HOLDS``):

* It caches the dirty bits of all rows, or loads them one step ahead (``nd_dirty_rows``).
* Events are recorded late, so that no warp waits for that at a barrier. With one barrier a step
  they are recorded in the next step. With windows they are recorded between the two barriers.

Where a thread advances other components in turn, it records each event at once, which takes fewer
registers. Spikes wait in a queue until the warp has done its components (``queued_spikes.cuh``).
With windows it does as a thread that keeps its components, for the steps of a turn (``ND_TURNS``).
It reads the dirty bytes of the turn at once (``nd_dirty_turn``).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.text import block
from ...plan.arrays import Kind, activity, depth
from ..component import ComponentText

OWN = "for (int nd_i = 0; nd_i < ND_OWN; ++nd_i)"


def each(body: list[str]) -> list[str]:
    """Return what is done for each component of a thread, ``nd_at``."""
    return ["ND_UNROLL", *block(OWN, ["const int nd_at = nd_c[nd_i]; (void)nd_at;", *body])]


def _either(which: str, lines: Sequence[str], others: Sequence[str]) -> list[str]:
    return [f"#if {which}", *lines, *(["#else", *others] if others else []), "#endif"]


def held(lines: Sequence[str], streamed: Sequence[str] = ()) -> list[str]:
    """Return lines for threads that keep their components for several steps, and for others."""
    return _either("ND_TURNS", lines, streamed)


def sent_across(
    component: ComponentText, name: str, what: str, given: Sequence[str], behind: str = ""
) -> str:
    """Return the line that sends a variable to other GPUs.

    Parameters
    ----------
    what : {"spikes", "values"}
    given : sequence of str
        What the function gets between the row and the first element of the group.
    behind : str
        What is added to that element.
    """
    rows = component.arguments.pointer(component.spec.ring(name), "const real")
    own = component.arguments.integer(component.spec.segment(name, "start"))
    every = ", ".join([rows, "nd_k + 1", *given, f"(int){own}{behind}"])
    return f"if (!nd_lost) nd_send_{what}({every});"


def stored(component: ComponentText, name: str, value: str) -> list[str]:
    """Return the lines that store a value of component ``nd_at`` that is no event, and send it."""
    sent = sent_across(component, name, "values", ["nd_live[nd_i]", value], " + nd_at")
    store = f"if (nd_live[nd_i]) nd_new_{name}[nd_at] = {value};"
    return [store, "#if ND_GATES", sent, "#endif"]


def within_a_step(lines: Sequence[str], windows: Sequence[str] = ()) -> list[str]:
    """Return lines for one barrier a step, and for windows."""
    return _either("ND_WINDOW < 2", lines, windows)


class ThreadEvents:
    """Writes the text for one variable of events.

    Parameters
    ----------
    name : str
        The variable.
    spread : bool
        Whether the threads of a warp share a component. Then several warps share a slice, and the
        slice has no dirty byte.
    crosses : bool
        Whether a warp has 32 components in a row, so that it can send their spikes to other GPUs.
    ahead : bool
        Whether it sends them a step early where ``ND_LOOKAHEAD``.
    """

    def __init__(
        self,
        component: ComponentText,
        name: str,
        spread: bool,
        crosses: bool = False,
        ahead: bool = False,
    ) -> None:
        self.component, self.name, self.spread = component, name, spread
        self.crosses, self.ahead = crosses, ahead

    def members(self) -> list[str]:
        """Declare what a thread keeps."""
        n = self.name
        kept = [f"nd_outgoing_of_{n} nd_l_{n}[ND_OWN];", f"unsigned nd_late_{n}[ND_OWN];"]
        if self.spread:
            return held(kept)
        return held([*kept, f"ND_DIRTY_ROWS<ND_OWN> nd_was_{n};"])

    def load(self) -> list[str]:
        """Return the loads of what is kept, of component ``nd_at``."""
        n = self.name
        lines = [f"nd_late_{n}[nd_i] = 0;", f"if (ND_KEEPS) nd_l_{n}[nd_i].ask(nd_at);",
                 "#if ND_CACHED", f"nd_l_{n}[nd_i].put(nd_i);", "#endif"]  # fmt: skip
        if self.spread:
            return held(lines)
        dirty, given = self._dirty(), f"{self._depth()}, nd_k + 1, {self._slices()}"
        return held([*lines, f"nd_was_{n}.load(nd_i, {dirty}, {given}, nd_at, nd_live[nd_i]);"])

    def old(self) -> list[str]:
        """Read the dirty byte of the row that is overwritten; load that of the next row."""
        if self.spread:
            return []
        n = self.name
        given = f"nd_i, {self._dirty()}, {self._depth()}, nd_k + 1, {self._slices()}, nd_at"
        kept = f"nd_o_{n}[nd_i] = nd_was_{n}.take({given});"
        body = held([kept], [f"nd_o_{n}[nd_i] = {self._dirty_at('nd_k + 1')};"])
        return [f"unsigned nd_o_{n}[ND_OWN];", *each(body)]

    def record_late(self) -> list[str]:
        """Record the pending events of row ``nd_k`` of component ``nd_at``."""
        return held(within_a_step([self._record(f"nd_late_{self.name}[nd_i]", "nd_k")]))

    def record_window(self) -> list[str]:
        """Record the pending events of a window; bit t of the mask is step t of the window."""
        n = self.name
        left = f"unsigned nd_left = nd_late_{n}[nd_i]; nd_ballot(nd_left); nd_left &= nd_left - 1"
        row = "nd_k / (ND_WINDOW + !ND_WINDOW) * ND_WINDOW + __ffs((int)nd_left)"
        body = block(f"for ({left})", [self._record_event("nd_left", row)])
        return held(within_a_step([], [*body, f"nd_late_{n}[nd_i] = 0;"]))

    def begin(self) -> list[str]:
        """Declare the flags and values that are computed for all components first."""
        n = self.name
        found = [f"unsigned nd_e_{n}[ND_OWN];", f"real nd_y_{n}[ND_OWN];"]
        return [*found, *held([f"bool nd_busy_{n} = false;"])]

    def find(self, output: str) -> list[str]:
        """Check whether component ``nd_at`` has an event; if it is not kept, store and queue it.

        Its value is the expression ``output``.
        """
        n, bits = self.name, f"nd_e_{self.name}[nd_i]"
        value = f"nd_y_{n}[nd_i]"
        plain = f"if (nd_live[nd_i]) nd_new_{n}[nd_at] = {value};"
        busy = f"{value} != 0"
        if not self.spread:
            busy = f"({busy} || (nd_was_{n}.apart({self._depth()}) && nd_o_{n}[nd_i] != 0))"
        kept = [
            f"{value} = {output};", f"{bits} = 0;",
            *([plain] if self.spread else []),
            f"nd_busy_{n} |= {busy};",
        ]  # fmt: skip
        sender, given = f"nd_sender_of_{n}", f"nd_k + 1, {bits}, {value}, nd_at"
        put = f"if ({sender} >= 0) nd_put(nd_who({sender}), {given});"
        turn = [
            f"{value} = {output};", f"{bits} = nd_ballot(nd_live[nd_i] && {value} != 0);",
            *([plain] if self.spread else self._change(bits, value)),
            *block(f"if ({bits})", [put, self._mark()]),
        ]  # fmt: skip
        return held(kept, block("", turn))

    def end(self) -> list[str]:
        """Store, send and record the events of all components."""
        n = self.name
        bits, value = f"nd_e_{n}[nd_i]", f"nd_y_{n}[nd_i]"
        changed = [f"{bits} = nd_ballot(nd_live[nd_i] && {value} != 0);"]
        if not self.spread:
            dirty = f"if (!ND_HOLDS) nd_o_{n}[nd_i] = {self._dirty_at('nd_k + 1')};"
            changed = [dirty, *changed, *self._change(bits, value)]
            changed.append(f"nd_was_{n}.mark(nd_i, {bits} != 0, {self._depth()}, nd_k + 1);")
        sent = self._each_pair([f"if (!ND_LOOKAHEAD) {self._send('nd_k + 1')}", self._mark()])
        record = each([self._record(bits, "nd_k + 1")])
        bit = "1u << (unsigned)nd_k % (ND_WINDOW + !ND_WINDOW)"
        later = each([f"if ({bits} >> nd_lane() & 1) nd_late_{n}[nd_i] |= {bit};"])
        busy = f"nd_ballot(nd_busy_{n})"
        busy += "" if self.spread else f" || nd_was_{n}.some({self._depth()}, nd_k + 1)"
        late = within_a_step(each([f"nd_late_{n}[nd_i] = {bits};"]))
        stores = f"nd_stores_{n}"
        across = self._across()
        gates = "#if ND_GATES && !ND_LOOKAHEAD" if self.ahead else "#if ND_GATES"
        stop = [gates, "}", *across, f"if ({stores}) {{", "#endif"] if across else []
        found = [*each(changed), *stop, *sent, *within_a_step([], later)]
        return held(
            [f"const bool {stores} = {busy};", *block(f"if ({stores})", found), *late],
            [*_either("ND_GATES", across, []), *block("if (nd_chunk.events)", record)],
        )

    def sends_ahead(self) -> list[str]:
        """Send the events of step ``nd_k``, ``nd_y``, which nothing stores yet."""
        n = self.name
        bits = each([f"nd_e_{n}[nd_i] = nd_ballot(nd_y_{n}[nd_i] != 0);"])
        return [*bits, *_either("ND_GATES", self._across(), []),
                *self._each_pair([self._send("nd_k + 1")])]  # fmt: skip

    def _across(self) -> list[str]:
        """Send the events of row ``nd_k + 1`` to other GPUs, and that there are no others."""
        n = self.name
        given = f"nd_e_{n}", f"nd_y_{n}", "nd_c", "nd_live"
        return [sent_across(self.component, n, "spikes", given)] if self.crosses else []

    def _each_pair(self, lines: list[str]) -> list[str]:
        """Return lines for each pair of components of which one has an event, ``nd_e``."""
        n = self.name
        take = [
            f"nd_e.bits[nd_j] = nd_e_{n}[nd_i + nd_j];",
            f"nd_e.value[nd_j] = nd_y_{n}[nd_i + nd_j];",
            "nd_e.at[nd_j] = nd_c[nd_i + nd_j];",
            "#if ND_CACHED", "nd_e.outgoing[nd_j].take(nd_i + nd_j);", "#else",
            f"if (ND_KEEPS) nd_e.outgoing[nd_j] = nd_l_{n}[nd_i + nd_j];", "#endif",
        ]  # fmt: skip
        some = [
            f"nd_sent<ND_PAIR, nd_outgoing_of_{n}> nd_e;", "ND_UNROLL",
            *block("for (int nd_j = 0; nd_j < ND_PAIR; ++nd_j)", take), *lines,
        ]  # fmt: skip
        pair = block(f"if (nd_e_{n}[nd_i] | nd_e_{n}[nd_i + ND_PAIR - 1])", some)
        return ["ND_UNROLL", *block("for (int nd_i = 0; nd_i < ND_OWN; nd_i += ND_PAIR)", pair)]

    def _send(self, row: str) -> str:
        return f"nd_send_{self.name}<ND_PAIR>({row}, nd_e);"

    def _dirty(self) -> str:
        """Return the pointer to the dirty bytes of the group's slices."""
        key = self.component.spec.segment(self.name, "dirty", Kind.ACTIVITY)
        return self.component.arguments.pointer(key, "unsigned char")

    def _depth(self) -> str:
        return self.component.arguments.integer(depth(self.name))

    def _slices(self) -> str:
        return self.component.arguments.integer(self.component.spec.segment(self.name, "slices"))

    def _dirty_at(self, row: str) -> str:
        """Return the dirty byte of a slice of a row."""
        given = f"{row}, {self._depth()}, {self._slices()}, nd_at"
        return f"{self._dirty()}[nd_dirty_at({given})]"

    def _change(self, bits: str, value: str) -> list[str]:
        """Store values where an event is or was, and set the dirty byte of the slice."""
        store = [
            f"nd_new_{self.name}[nd_at] = {value};",
            f"if (nd_at % ND_LANES == 0) {self._dirty_at('nd_k + 1')} = (unsigned char)nd_here;",
        ]
        return [
            f"const bool nd_here = ({bits} >> (nd_lane() & ND_LANES)) & 0xffffu;",
            *block(f"if (nd_live[nd_i] && (nd_here | nd_o_{self.name}[nd_i]))", store),
        ]

    def _mark(self) -> str:
        """Mark the row as active."""
        active = self.component.arguments.pointer(activity(self.name, "active"), "long long")
        return f"if (ND_MARKS && nd_lane() == 0) nd_mark({active}, nd_k + 1, {self._depth()});"

    def _record(self, bits: str, row: str) -> str:
        """Record the events of a row of component ``nd_at``."""
        return f"if ({bits}) {self._record_event(f'{bits} >> nd_lane() & 1', row)}"

    def _record_event(self, mine: str, row: str) -> str:
        a = self.component.arguments
        rows = a.pointer(self.component.spec.ring(self.name), "const real")
        own = a.integer(self.component.spec.segment(self.name, "start"))
        return f"nd_record_event({rows}, {row}, {mine}, (int){own} + nd_at);"
