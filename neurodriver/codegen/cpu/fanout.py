"""Delivery of spikes on a CPU: an access whose connections are stored by source -> C++ text.

Each target has a ring of slots, one slot for each step at which something may arrive. A step has
two parts:

* ``nd_deliver``: each thread adds the weights of the spikes that are due to the slots of its own
  targets. No other thread writes these slots.
* ``nd_update``: the kernel of the targets reads the slots of the step and clears them.

Where there are many targets, a dirty bitmap says which slots a spike has reached.
"""

from __future__ import annotations

from ...model.text import block
from ...plan.arrays import CUTS, THREADS, activity
from .spike_search import each_spike
from .sums import SumText

C_TYPES = {"int8": "signed char", "int16": "short", "int32": "int", "uint16": "unsigned short"}

_BELONGS = {"multiple": "ND_TO_EDGE", "of_source": "ND_TO_SOURCE"}
"""Array that holds the weights -> what one weight belongs to."""

NEAR = 1 << 20
"""Bytes of slots that fit into a near cache; larger sets of slots are prefetched."""


PAGE = 16
"""Bits of a slot's number within a page of a calendar: pages are as large as a near cache."""


class FanoutText(SumText):
    """Writes the delivery of the spikes of one access, and how its kernel reads the sums."""

    @property
    def may_skip(self) -> bool:
        """Whether the text has a second form for tiles whose sums are all zero."""
        return False

    @property
    def marks_dirty(self) -> bool:
        """Whether a dirty bitmap says which slots a spike has reached."""
        return "dirty" in self.gather.blanks

    @property
    def dated(self) -> bool:
        """Whether weights that arrive in later steps are queued in a calendar (``nd_calendar``)."""
        return "calendar" in self.gather.blanks and self.later

    @property
    def later(self) -> bool:
        """Whether connections reach slots of several steps."""
        return self.gather.limits["reach"] > self.gather.limits["ahead"]

    @property
    def loops(self) -> bool:
        """Whether the sums of a tile are copied out of the slots before its components are updated.

        This is the case where several sub-steps need them, and where a dirty bitmap says that few
        slots of the tile are not zero.
        """
        return self.marks_dirty or self.component.spec.substeps > 1

    def direct(self, component: str, lane: str) -> str:
        if self.loops:
            return super().direct(component, lane)
        return self.finished(f"nd_at_{self.access.name}[{lane}]", component)

    def waiting(self) -> list[str]:
        """Declare the sums of a tile; they stay zero where no slot is dirty."""
        return [f"real nd_sum_{self.access.name}[ND_TILE] = {{0}};"] if self.marks_dirty else []

    def tile(self) -> list[str]:
        """Declare the slots of a tile, and whether one of them is dirty."""
        name = self.access.name
        slots = f"nd_slot_{name} *__restrict nd_at_{name} = nd_slots_{name} + nd_now_{name} + nd_t;"
        if not self.marks_dirty:
            return [slots]
        dirty = f"nd_dirty_{name} + (nd_now_{name} + nd_t) / ND_LANES"
        return [
            slots,
            f"unsigned char *nd_dirty_at_{name} = {dirty};",
            f"const bool nd_reached_{name} = nd_any_dirty(nd_dirty_at_{name}, nd_m);",
        ]

    def after(self) -> list[str]:
        """Clear the slot of a component."""
        return [] if self.loops else [f"nd_at_{self.access.name}[nd_i] = 0;"]

    def after_tile(self) -> list[str]:
        """Clear the sums of a tile."""
        if not self.marks_dirty:
            return []
        name = self.access.name
        each = "for (int nd_i = 0; nd_i < ND_TILE; ++nd_i)"
        return [f"if (nd_reached_{name}) {each} nd_sum_{name}[nd_i] = 0;"]

    def head(self) -> list[str]:
        """Declare the slots."""
        name = self.access.name
        return [
            f"typedef {self.slot} nd_slot_{name};",
            *self.units(),
            f"nd_slot_{name} *__restrict nd_slots_{name} = "
            f"{self._pointer('slots', f'nd_slot_{name}')};",
            *self._dirty_map(),
            f"const int nd_ahead_{name} = {self._limit('ahead')};",
            f"const int nd_turns_{name} = {self._limit('depth')};",
            f"const int nd_now_{name} = (int)nd_rest(nd_k, nd_turns_{name}) * nd_ahead_{name};",
        ]

    def _dirty_map(self) -> list[str]:
        name = self.access.name
        if not self.marks_dirty:
            return []
        dirty = self._pointer("dirty", "unsigned char")
        return [f"unsigned char *__restrict nd_dirty_{name} = {dirty};"]

    def deliver(self) -> list[str]:
        """Return the lines that deliver the spikes that are due at step ``nd_k``."""
        name = self.access.name
        kinds = {"blocks": "long long", "parts": "long long"}
        kinds |= {
            n: C_TYPES[self.gather.arrays[n].dtype.name]
            for n in ("code", "multiple", "of_source")
            if n in self.gather.arrays
        }
        lines = [*self.slots_alone(), *(self._array(n, kind) for n, kind in kinds.items())]
        if "weight" not in self.gather.arrays and "weight" in self.gather.uniform:
            lines.append(f"const int nd_all_{name} = (int){self._number('weight')};")
        return block("", [*lines, *self._deliver_all()])

    def slots_alone(self) -> list[str]:
        """Declare the slots without their units."""
        return [line for line in self.head() if "nd_one_" not in line and "nd_unit_" not in line]

    def _limit(self, name: str) -> str:
        return f"(int){self.size(name)}"

    def _deliver_all(self) -> list[str]:
        """Return the lines that find the spikes of each block of sources and deliver them."""
        name, a = self.access.name, self.component.arguments
        cuts, threads = a.pointer(CUTS, "const long long"), a.integer(THREADS)
        count = self._limit("blocks")
        blocks = f"(nd_blocks_{name} + 4 * nd_u * {count})", 4, count
        call = "nd_delivery.add({source}, {count});"
        own, singles = "nd_begin, nd_end", self.gather.limits.get("singles", 0)
        if singles:
            place = f"nd_of[3] + ND_SINGLE + nd_e - nd_of[1], {{count}}, {own}"
            single = (
                f"if (nd_e >= nd_of[1] && nd_e < nd_of[2]) nd_add_single(nd_delivery, {place});"
            )
            call = f"if (nd_of[3] >= 0) {call} else {single}"
        listed = []
        if self.gather.limits.get("listed"):
            lists = a.pointer(activity(self.access.variable, "lists"), "const nd_list")
            given = f"nd_delivery, {lists}, {blocks[0]}, {count}, nd_k, {own}"
            listed = [f"nd_add_listed<{int(bool(singles))}>({given});"]
        found = each_spike(self.component.spec, a, self.access.variable, blocks, call)
        before, after = self._arrivals_before() if self.marks_dirty else ([], [])
        return [
            f"const int nd_u = nd_mine({cuts}, {threads}, nd_begin);",
            *self._delivery(threads),
            *before,
            *listed,
            *found,
            "nd_delivery.deliver();",
            *([f"nd_delivery.arrive(nd_begin, nd_end, nd_ahead_{name});"] if self.dated else []),
            *after,
        ]

    def _arrivals_before(self) -> tuple[list[str], list[str]]:
        """Return lines that carry a thread's number of arrivals from one step to the next."""
        before = [
            "static thread_local long long nd_before = 0;",  # changes how slots are marked, no sum
            f"nd_delivery.expect(nd_before, nd_begin, nd_end, nd_ahead_{self.access.name});",
        ]
        return before, ["nd_before = nd_delivery.arrivals;"]

    def _delivery(self, threads: str) -> list[str]:
        """Declare the ``nd_fanout`` that delivers the spikes."""
        name, arrays = self.access.name, self.gather.arrays
        of = next((n for n in _BELONGS if n in arrays), "")
        kinds = [C_TYPES[arrays[n].dtype.name] if n else "int" for n in ("code", of)]
        reach, size = self.gather.limits["reach"], 8 if self.gather.limits["wide"] else 4
        row = "" if self.later else f" + nd_now_{name}"
        given = {
            "slots": f"nd_slots_{name}{row}",
            "dirty": f"(nd_dirty_byte *)(nd_dirty_{name}{row and row + ' / ND_LANES'})",
            "parts": f"nd_parts_{name} + nd_u",
            "code": f"nd_code_{name}",
            "multiple": f"nd_{of}_{name}",
            "all": f"nd_all_{name}",
            "now": f"(unsigned)nd_now_{name}",
            "end": f"(unsigned)(nd_turns_{name} * nd_ahead_{name})",
            "stride": f"(int){threads} + 1",
        }
        unused = {"all"} if of else {"multiple"}
        unused |= set() if self.marks_dirty else {"dirty"}
        given |= dict.fromkeys(unused, "0")
        belongs = _BELONGS.get(of, "ND_TO_ALL")
        flags = [str(f).lower() for f in (self.later, self.marks_dirty, reach * size > NEAR)]
        flags.append(str(PAGE if self.dated else 0))
        kind = f"nd_fanout<nd_slot_{name}, {', '.join([*kinds, belongs, *flags])}>"
        return [
            f"{kind} nd_delivery;",
            *[f"nd_delivery.{n} = {value};" for n, value in given.items()],
            f"nd_delivery.foresee({self._limit('mean')}, {threads});",
            *(self._calendar(threads) if self.dated else []),
        ]

    def _calendar(self, threads: str) -> list[str]:
        """Open a thread's share of the calendar."""
        given = f"{self._pointer('calendar', 'void')}, {self._limit('postponed')}, {threads}, nd_u"
        return [f"nd_delivery.calendar.open({given}, nd_delivery.end);"]

    def loop(self, earlier: list[SumText]) -> list[str]:
        """Return the loop that copies the sums of a tile out of its slots, and clears the slots."""
        name = self.access.name
        if not self.marks_dirty:
            take = [
                f"nd_sum_{name}[nd_i] = {self.finished(f'nd_at_{name}[nd_i]', 'nd_t + nd_i')};",
                f"nd_at_{name}[nd_i] = 0;",
            ]
            each = block("for (int nd_i = 0; nd_i < nd_m; ++nd_i)", take)
            return [f"real nd_sum_{name}[ND_TILE];", "ND_SIMD", *each]
        at = "nd_s + nd_l"
        take = [
            f"nd_sum_{name}[{at}] = {self.finished(f'nd_at_{name}[{at}]', f'nd_t + {at}')};",
            f"nd_at_{name}[{at}] = 0;",
        ]
        some = [
            f"if (!nd_dirty_at_{name}[nd_s / ND_LANES]) continue;",
            f"nd_dirty_at_{name}[nd_s / ND_LANES] = 0;",
            "ND_SIMD",
            *block("for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)", take),
        ]
        slices = block("for (int nd_s = 0; nd_s < nd_m; nd_s += ND_LANES)", some)
        return block(f"if (nd_reached_{name})", slices)
