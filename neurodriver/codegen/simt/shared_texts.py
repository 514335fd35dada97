"""Units with the same text: it is compiled once, and each of them has a table of arguments.

A network of layers has many units whose kernels differ in sizes and places only. What differs is
read from the table of the unit that a warp advances; what is the same for all of them is part of
the text. A unit with a text of its own has all its integers in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...model.text import block
from ..kernel import Kernel

if TYPE_CHECKING:
    from .device import Part

CONSTANT_BYTES = 60 << 10
"""Constant memory for tables: a GPU has 64 KiB, and the rest of the text needs some of it."""

FEW = 32
"""Units of a circuit up to which each has a text of its own: so many compile in seconds."""


@dataclass(frozen=True)
class SharedText:
    """Units of a circuit with one text.

    Attributes
    ----------
    numbers : tuple of int
        Their numbers; the namespace has that of the first one.
    part : Part
        The first one, with the integers that are the same for all, and None for the others.
    firsts : mapping of (str, int) to tuple of int
        Variable and number of a delivery -> first source there of each unit.
    """

    numbers: tuple[int, ...]
    part: Part
    firsts: dict[tuple[str, int], tuple[int, ...]]

    @property
    def name(self) -> str:
        """Name of the memory that holds the tables of arguments."""
        return f"nd_table_{self.numbers[0]}"

    @property
    def space(self) -> str:
        """Name of the namespace."""
        return f"nd_part_{self.numbers[0]}"

    @property
    def lone(self) -> bool:
        """Whether there is one unit only."""
        return len(self.numbers) == 1


def table_sizes(kernel: Kernel) -> list[int]:
    """Return the numbers of pointers, integers and numbers in a table of arguments."""
    return [max(len(t), 1) for t in (kernel.pointers, kernel.integers, kernel.scalars)]


def shared_texts(parts: Sequence[Part]) -> list[SharedText]:
    """Return the texts of the parts of a circuit, in the order of their first parts."""
    found: dict[object, list[int]] = {}
    several = sum(part.advances for part in parts) > FEW
    for number, part in enumerate(parts):
        sends = tuple(
            (variable, tuple((n, by) for n, _, by in some))
            for variable, some in sorted(part.sends.items())
        )
        sizes = tuple(table_sizes(part.kernel))
        key = (part.kernel.text, part.own, part.crowd, sends, sizes)
        found.setdefault(key if several and part.advances else number, []).append(number)
    return [_shared(tuple(numbers), [parts[n] for n in numbers]) for numbers in found.values()]


def _shared(numbers: tuple[int, ...], members: Sequence[Part]) -> SharedText:
    """Return the text of some parts."""
    first = members[0]
    integers = tuple(
        one[0] if len({*one}) == 1 else None
        for one in zip(*(part.integers for part in members), strict=True)
    )
    firsts = {
        (variable, delivery): tuple(part.sends[variable][i][1] for part in members)
        for variable, some in first.sends.items()
        for i, (delivery, *_) in enumerate(some)
    }
    return SharedText(numbers, replace(first, integers=integers), firsts)


def table_places(parts: Sequence[Part]) -> list[tuple[str, int]]:
    """Return where the table of each part lies: name of the memory, and bytes behind its begin."""
    places = [("", 0)] * len(parts)
    for text in shared_texts(parts):
        for member, number in enumerate(text.numbers):
            places[number] = text.name, 8 * member * sum(table_sizes(text.part.kernel))
    return places


def tables_memory(parts: Sequence[Part]) -> str:
    """Return the kind of memory that has the tables of a lone circuit: constant, if they fit."""
    whole = sum(8 * sum(table_sizes(part.kernel)) for part in parts)
    return "__constant__" if whole <= CONSTANT_BYTES else "__device__"


def members_text(texts: Sequence[SharedText]) -> list[str]:
    """Return the definitions by which a warp says which of several units it advances."""
    several = [text for text in texts if not text.lone]
    lines = [f"#define ND_SHARED_TEXTS {int(bool(several))}"]
    if not several:
        return [*lines, "ND_FN void nd_become(int) {}", "ND_FN int nd_member() { return 0; }"]
    cases = [
        f"case {number}: return {member};"
        for text in several
        for member, number in enumerate(text.numbers)
        if member
    ]
    body = block("switch (what)", [*cases, "default: return 0;"])
    return [*lines, *block("ND_FN int nd_member_of(int what)", body), _MEMBERS]


_MEMBERS = """
/* The number of the unit that a warp advances among those with one text. */
__shared__ int nd_member_of_warp[ND_THREADS / 32];
ND_FN int nd_member() { return nd_member_of_warp[threadIdx.x / 32]; }
ND_FN void nd_become(int what)
{
    nd_together();
    if (nd_lane() == 0) nd_member_of_warp[threadIdx.x / 32] = nd_member_of(what);
    nd_together();
}
"""


def table_text(text: SharedText, memory: str, copies: bool) -> list[str]:
    """Return the declaration of the tables of a text, and where that of a warp's unit is."""
    many = "" if text.lone else f"[{len(text.numbers)}]"
    table = f'extern "C" {{ {memory} nd_args {text.name}{many}; }}'
    place = f"&{text.name}" if text.lone else f"{text.name} + nd_member()"
    firsts = [
        f"static __constant__ const long long nd_first_{variable}_{delivery}[] = "
        f"{{{', '.join(map(str, some))}}};"
        for (variable, delivery), some in text.firsts.items()
        if not text.lone
    ]
    own = f"__shared__ nd_args::of_copy {text.name}{many};" if copies else table
    return [own, f"#define nd_steady ({place})", *firsts]


def sent_from(text: SharedText, variable: str, delivery: int, member: str = "nd_member()") -> str:
    """Return the expression of the first source of a unit at a delivery."""
    if text.lone:
        return f"{text.firsts[variable, delivery][0]}ll"
    return f"nd_first_{variable}_{delivery}[{member}]"


def once_text(texts: Sequence[SharedText]) -> list[str]:
    """Return the function that computes constants, or row 0, of all units."""
    once = [line for text in texts for line in _once(text)]
    return block("ND_FN void nd_do_once(void *const *tables, int what)", once)


def _once(text: SharedText) -> list[str]:
    """Return its lines for the units of a text."""
    space = text.space
    calls = f"if (what) {space}::nd_initial(own); else {space}::nd_constants(own);"
    table = f"auto *own = ({space}::nd_args *)tables["
    if text.lone:
        return block("", [f"{table}{text.numbers[0]}];", calls])
    units = ", ".join(map(str, text.numbers))
    loop = f"for (int i = 0; i < {len(text.numbers)}; ++i)"
    own = f"static const short units[] = {{{units}}};"
    return block("", [own, "ND_ROLLED", *block(loop, [f"{table}units[i]];", calls])])


def cases_of(text: SharedText) -> str:
    """Return the labels of a switch for the units of a text."""
    return " ".join(f"case {number}:" for number in text.numbers)
