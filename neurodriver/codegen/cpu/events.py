"""Sums over the spikes of a step -> C++ text: connections of silent sources are not read.

A sliced access keeps a second copy of its connections, sorted by source. In each step the kernel

1. collects the spikes of the step in a list (at most ``MOST``);
2. builds a linked list of arriving connections for each target (at most ``LISTED`` in all);
3. lets the tiles add the connections of each list, in the order of the sliced sum.

A step with more spikes takes the sliced sum. Both give the same bits.
"""

from __future__ import annotations

from ...model.component import Access
from ...model.text import block
from ...plan.arrays import activity, depth, width
from ...plan.sums.events import MOST
from ..component import ComponentText
from ..listed import ListedText
from .by_place import UnstoredText
from .fanout import FanoutText
from .stored_inputs import DATUM
from .sums import SumText

LISTED = 4096
"""Largest number of arriving connections of one call."""

_DATUM = f"event_{DATUM}"

_LANE = "for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)"


SUM_TEXTS: dict[str, type[SumText]] = {
    "by_place": UnstoredText, "fanout": FanoutText, "listed": ListedText,
}  # fmt: skip
"""Form of a plan -> what writes it; all others are written by ``SumText``."""


def sum_text(component: ComponentText, access: Access) -> SumText:
    """Return what writes how an access is read."""
    if "event_first" in component.spec.gathers[access.name].arrays:
        return EventText(component, access)
    return plain_text(component, access)


def plain_text(component: ComponentText, access: Access) -> SumText:
    """Return what writes how an access is read, in a kernel that collects no events first."""
    form = component.spec.gathers[access.name].form
    return SUM_TEXTS.get(form, SumText)(component, access)


def delivery_lines(sums: list[SumText]) -> list[str]:
    """Return the lines that deliver the spikes of all accesses of the form ``fanout``."""
    return [line for s in sums if isinstance(s, FanoutText) for line in s.deliver()]


class EventText(SumText):
    """Writes the sum of a sliced access whose connections are stored by source, too."""

    @property
    def may_skip(self) -> bool:
        """Whether the text has a form for rows that are all zero."""
        return True

    def head(self) -> list[str]:
        """Declare arrays, list the spikes of the step, link their connections to the targets."""
        name = self.access.name
        in_order = "event_rank" not in self.gather.arrays
        kinds = {"element": "int", "first": "long long", "target": "int"}
        kinds |= {"back": "int", "block": "int"} | ({} if in_order else {"rank": "int"})
        lines = super().head()
        lines += [self._array(f"event_{array}", kind) for array, kind in kinds.items()]
        lines += [self._array(f"event_{n}", "real", _DATUM.format(n)) for n in self.varied]
        heads = self._pointer("event_head", "int")
        if self.gather.back is None:
            lines.append(f"bool nd_silent_{name} = true;")
        most = self.size("event_most")
        few = f"nd_spikes_{name} <= {most} && nd_edges_{name} <= {LISTED}"
        return [
            *lines,
            f"int *__restrict nd_list_{name} = {heads};",
            f"long long nd_spikes_{name} = 0, nd_edges_{name} = 0;",
            f"real nd_spike_{name}[{MOST}];",
            f"long long nd_from_{name}[{MOST}], nd_to_{name}[{MOST}];",
            f"long long nd_edge_{name}[{LISTED}];",
            f"int nd_of_{name}[{LISTED}], nd_after_{name}[{LISTED}];",
            *self._search(most),
            f"const bool nd_few_{name} = {few};",
            *block(f"if (!nd_silent_{name} && nd_few_{name})", self._link_edges(in_order)),
        ]

    def _search(self, most: str) -> list[str]:
        """List the spikes of the rows that are not silent, while they are few."""
        name, variable, a = self.access.name, self.access.variable, self.component.arguments
        spikes, below = f"nd_spikes_{name}", f"nd_not_below(nd_event_target_{name}"
        ring, active = self.component.spec.ring(variable), activity(variable, "active")
        rows = a.pointer(ring, "real")
        number, length = a.integer(depth(variable)), a.integer(width(variable))
        value = f"nd_row_{name}[nd_event_element_{name}[nd_e + nd_l]]"
        spike_entry = [
            f"const long long *nd_first = nd_event_first_{name} + nd_e + nd_l;",
            f"const long long nd_from = {below}, nd_first[0], nd_first[1], nd_begin);",
            f"const long long nd_to = {below}, nd_from, nd_first[1], nd_end);",
            f"nd_spike_{name}[{spikes}] = {value};",
            f"nd_from_{name}[{spikes}] = nd_from;",
            f"nd_to_{name}[{spikes}] = nd_to;",
            f"nd_edges_{name} += nd_to - nd_from;",
        ]
        found = [*block(f"if ({spikes} < {most})", spike_entry), f"++{spikes};"]
        sources = [
            "int nd_here = 0;",
            "ND_SIMD_ANY",
            f"{_LANE} nd_here |= {value} != 0;",
            *block(f"if (nd_here) {_LANE}", block(f"if ({value} != 0)", found)),
        ]
        row = [
            f"const long long nd_past = nd_k - nd_event_back_{name}[nd_b];",
            f"if (nd_silent({a.pointer(active, 'const long long')}, nd_past, {number})) continue;",
            *([f"nd_silent_{name} = false;"] if self.gather.back is None else []),
            f"const real *nd_row_{name} = nd_row({rows}, nd_past, {number}, {length});",
            *block(
                f"for (int nd_e = nd_event_block_{name}[nd_b]; "
                f"nd_e < nd_event_block_{name}[nd_b + 1] && {spikes} <= {most}; nd_e += ND_LANES)",
                sources,
            ),
        ]
        loop = f"for (int nd_b = 0; nd_b < {self.size('event_latencies')}; ++nd_b)"
        return block(loop, row)

    def _link_edges(self, in_order: bool) -> list[str]:
        """Insert each connection into the linked list of its target, in reverse order."""
        name = self.access.name
        edge = [
            f"int *nd_link = nd_list_{name} + nd_event_target_{name}[nd_p];",
            f"nd_edge_{name}[nd_c] = nd_p;",
            f"nd_of_{name}[nd_c] = nd_j;",
            f"nd_after_{name}[nd_c] = *nd_link;",
            "*nd_link = nd_c++;",
        ]
        if not in_order:
            rank, link = f"nd_event_rank_{name}", f"nd_link = nd_after_{name} + *nd_link;"
            later = f"{rank}[nd_edge_{name}[*nd_link]] > {rank}[nd_p]"
            edge.insert(1, f"while (*nd_link >= 0 && {later}) {link}")
        edges = f"for (long long nd_p = nd_from_{name}[nd_j]; nd_p < nd_to_{name}[nd_j]; ++nd_p)"
        spikes = f"for (int nd_j = 0; nd_j < nd_spikes_{name}; ++nd_j)"
        return ["int nd_c = 0;", *block(spikes, block(edges, edge))]

    def loop(self, earlier: list[SumText]) -> list[str]:
        name = self.access.name
        kind = self.kind
        declared, *rest = super().loop(earlier)
        data = [
            f"const real {n} = nd_{_DATUM.format(n)}_{name}[nd_p];" if n in self.varied
            else f"const real {n} = nd_u_{name}_{n};"
            for n in self.access.connection
        ]  # fmt: skip
        edge = [
            f"const long long nd_p = nd_edge_{name}[nd_c];",
            f"const real {self.access.variable} = nd_spike_{name}[nd_of_{name}[nd_c]];",
            *self.before(earlier),
            *data,
            f"nd_acc = nd_acc + {self.each()};",
        ]
        turn = [
            f"const int nd_next = nd_after_{name}[nd_c];",
            f"nd_after_{name}[nd_c] = nd_turned;",
            "nd_turned = nd_c;",
            "nd_c = nd_next;",
        ]
        lane = [
            f"int nd_c = nd_list_{name}[nd_t + nd_l], nd_turned = -1;",
            f"{kind} nd_acc = 0;",
            f"nd_list_{name}[nd_t + nd_l] = -1;",
            *block("while (nd_c >= 0)", turn),
            *block(f"for (nd_c = nd_turned; nd_c >= 0; nd_c = nd_after_{name}[nd_c])", edge),
            f"nd_sum_{name}[nd_l] = {self.finished('nd_acc', 'nd_t + nd_l')};",
        ]
        few = [
            f"typedef {kind} nd_sum_t;",
            "const int nd_s = 0; (void)nd_s;",
            *block("for (int nd_l = 0; nd_l < nd_m; ++nd_l)", lane),
        ]
        return [declared, *block(f"if (!nd_silent_{name} && nd_few_{name})", few), "else", *rest]
