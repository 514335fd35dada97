"""How the threads of a GPU divide the cells of a text that reads other cells by their position.

* Cells *side by side*: a thread computes several neighbours along an axis on which no loop depends.
  What these cells share, such as a value of the image, is read and computed once.
* *Split* loops: if cells are few and their texts take the greatest or the least of many values,
  the threads of a warp share a cell. Each takes a part of a loop.

The first keeps the order of the operations of a cell. The second changes the order, but not the
result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.component import NDComponent
from ..model.language import tree, used
from ..model.texts import texts_of
from .places import HERE, Surroundings

FEW = 1 << 13
"""Cells of a population at most that warps share: some for each warp of a device."""

GREATEST = ("fmax", "fmin")
"""Functions whose nested calls may be taken in parts, if these are in order."""


@dataclass(frozen=True)
class SideBySide:
    """Cells that a thread computes together.

    Attributes
    ----------
    axis : str
        Along which they are neighbours.
    axes : tuple of str
        All of the cells.
    cells : int
        Along this axis.
    stride : int
        From one of them to the next.
    varied : frozenset of str
        Names of the text whose values differ between them.
    """

    axis: str
    axes: tuple[str, ...]
    cells: int
    stride: int
    varied: frozenset[str]

    def turns(self, count: int, own: int) -> int:
        """Return how many threads ``count`` cells take, ``own`` for each."""
        return count // self.cells * -(-self.cells // own)

    def differs(self, node: tree.Node) -> bool:
        """Whether what a part of the text gives may differ between these cells."""
        return _Differing(self.axis, self.axes, self.varied).differs(node)


def side_by_side(model: type[NDComponent], place: Surroundings | None) -> SideBySide | None:
    """Return what cells of a model a thread computes together; None where that is not possible."""
    own = None if place is None else place.reached.get(HERE)
    if own is None or own.masked or not _plain(model):
        return None
    text = texts_of(model)["update"].tree
    if not any(map(_loops, text.walk())):
        return None
    differ = {*model.params, *model.states, *model.updates}
    stride = own.pointer.count
    for name, axis in zip(own.names[:-1], own.axes, strict=False):
        stride //= axis.count
        varied = _varied(text, name, own.names, differ)
        if axis.count > 1 and varied is not None:
            return SideBySide(name, own.names, axis.count, stride, varied)
    return None


def splits(model: type[NDComponent], place: Surroundings | None, count: int) -> bool:
    """Whether the threads of a warp share a cell, each with a part of its loops."""
    if place is None or count > FEW or not _plain(model):
        return False
    text = texts_of(model)["update"].tree
    whole = {
        one.name for one in text.walk() if isinstance(one, tree.Declaration) and one.type != "real"
    }
    taken = [nested(one) for one in _outermost(text)]
    return bool(taken) and all(one is not None and one.target.name not in whole for one in taken)


def nested(node: tree.Node) -> tree.Assignment | None:
    """Return ``x = fmax(x, value)`` where loops do nothing else; None for what they do else."""
    heads: list[tree.Expression] = []
    while isinstance(node, tree.For | tree.Each):
        if isinstance(node, tree.Each) and not isinstance(node.over, tree.Call):
            return None
        if isinstance(node, tree.For):
            counts = [one.value for one in node.begin if isinstance(one, tree.Declaration)]
            if len(counts) != 1 or node.condition is None or not _counts(node):
                return None
            heads.append(node.condition)
        else:
            heads.append(node.over)
        if len(node.body.statements) != 1:
            return None
        (node,) = node.body.statements
        while isinstance(node, tree.Body) and len(node.statements) == 1:
            (node,) = node.statements
    if not isinstance(node, tree.Assignment) or not isinstance(node.target, tree.Name):
        return None
    call = node.value
    if node.sign != "=" or not isinstance(call, tree.Call) or call.name not in GREATEST:
        return None
    first, second = call.arguments
    name = node.target.name
    alone = first == node.target and name not in used(second, *heads)
    return node if heads and alone else None


def _counts(node: tree.For) -> bool:
    """Whether a loop is ``for (int i = 0; i < n; ++i)``."""
    (begin,), test = node.begin, node.condition
    assert isinstance(begin, tree.Declaration)
    name = tree.Name(begin.name)
    zero = isinstance(begin.value, tree.Number) and begin.value.text == "0"
    up = isinstance(test, tree.Binary) and test.sign == "<" and test.left == name
    return begin.type == "int" and zero and up and node.after == (tree.Increment(name, "++"),)


def _plain(model: type[NDComponent]) -> bool:
    """Whether a text is all there is of a model."""
    others = model.accesses or model.terms or model.sub_units or model.draws_random()
    return not (others or model.runtime.kernel or model.runtime.stepwise)


def _loops(node: tree.Node) -> bool:
    return isinstance(node, tree.For | tree.While) or (
        isinstance(node, tree.Each) and isinstance(node.over, tree.Call)
    )


def _outermost(node: tree.Node) -> Iterator[tree.Node]:
    """Yield the loops of a text that lie in no other one; loops over populations do not count."""
    if _loops(node):
        yield node
        return
    for part in node.parts():
        yield from _outermost(part)


def _varied(
    text: tree.Node, axis: str, axes: Sequence[str], differ: set[str]
) -> frozenset[str] | None:
    """Return the names whose values differ along an axis; None where a loop depends on them."""
    found = _Differing(axis, axes, frozenset(differ))
    while True:
        before = found.names
        found.visit(text, False)
        if not found.possible:
            return None
        if found.names == before:
            return before


class _Differing:
    """Finds the names of a text that differ between cells along an axis.

    Parameters
    ----------
    axes : sequence of str
        All of the cells.
    names : frozenset of str
        Those that are known to differ.

    Attributes
    ----------
    possible : bool
        Whether all loops are the same for these cells.
    """

    def __init__(self, axis: str, axes: Sequence[str], names: frozenset[str]) -> None:
        self.axis, self.axes, self.names, self.possible = axis, axes, names, True

    def visit(self, node: tree.Node, inside: bool) -> None:
        """Visit a statement; ``inside`` says whether it is done for some of the cells alone."""
        if isinstance(node, tree.Assignment | tree.Increment | tree.Declaration):
            self._assigned(node, inside)
        elif isinstance(node, tree.If):
            varied = inside or self.differs(node.condition)
            if varied and any(isinstance(n, tree.Jump) or _loops(n) for n in node.walk()):
                self.possible = False
            self.visit(node.then, varied)
            if node.other is not None:
                self.visit(node.other, varied)
        elif isinstance(node, tree.For | tree.While | tree.Each):
            parts = [p for p in node.parts() if p is not node.body]
            if inside or any(self.differs(part) for part in parts):
                self.possible = False
            self.visit(node.body, inside)
        else:
            for part in node.parts():
                self.visit(part, inside)

    def _assigned(
        self, node: tree.Assignment | tree.Increment | tree.Declaration, inside: bool
    ) -> None:
        given = [part for part in node.parts() if not isinstance(part, tree.Name)]
        if isinstance(node, tree.Assignment):
            given = [node.value]
        varied = inside or any(self.differs(part) for part in given)
        target = node if isinstance(node, tree.Declaration) else node.target
        if isinstance(target, tree.Element):
            varied |= self.differs(target.index)
        array = isinstance(target, tree.Element) or getattr(node, "size", None) is not None
        if varied and array:
            self.possible = False
        if varied:
            self.names |= {target.name}

    def differs(self, node: tree.Node) -> bool:
        """Whether what a tree gives may differ between cells."""
        for one in node.walk():
            if isinstance(one, tree.Name | tree.Element) and one.name in self.names:
                return True
            if isinstance(one, tree.Path) and one.name == "here":
                known = one.names[-1] in self.axes  # else it is a pool: that of a cell's own group
                if not known or one.names[-1] == self.axis:
                    return True
            if isinstance(one, tree.Call) and one.name in ("near", "within"):
                over = one.arguments[0]
                about_itself = len(one.arguments) == 2
                if about_itself and isinstance(over, tree.Path) and over.names[-1] == self.axis:
                    return True
        return False
