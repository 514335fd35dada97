"""What the expressions of a loop are for neighbouring cells: one number, or one for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...model.language import tree
from ...model.language.words import ARCS, FUNCTIONS
from ..places import WORDS

if TYPE_CHECKING:
    from .strips import StripText

UNIFORM, AFFINE, VECTOR, LANES, MASK = "uniform", "affine", "vector", "lanes", "mask"
"""What an expression is for the cells of a strip: one number; an index that grows evenly; one
number for each cell; an index for each cell; a condition for each cell."""


class NotVectors(Exception):
    """A loop does what is not written for several cells at once."""


@dataclass(frozen=True)
class Strided:
    """A loop variable along the last axis: how much it grows from cell to cell."""

    stride: str
    steps: int


class VectorKinds:
    """Finds out what expressions are for the cells of a strip.

    Parameters
    ----------
    count : int
        Vectors of the strip.
    """

    def __init__(self, strip: StripText, count: int) -> None:
        self.strip, self.count = strip, count
        self.translator, self.places = strip.translator, strip.places
        self.spec = strip.component.spec
        self.kinds: list[dict[str, str | Strided]] = [{}]
        self.masks: list[str] = []
        self.changed: set[str] = set()
        self.used: set[str] = set()

    def _find(self, name: str) -> str | Strided | None:
        for scope in reversed(self.kinds):
            if name in scope:
                return scope[name]
        return None

    def _uniform(self, node: tree.Expression) -> None:
        if self.kind(node) != UNIFORM:
            raise NotVectors

    def kind(self, node: tree.Expression) -> str:
        """Return what an expression is for the cells of a strip."""
        node = self.plain(node)
        if isinstance(node, tree.Number):
            return UNIFORM
        if isinstance(node, tree.Name):
            return self._of_name(node.name)
        if isinstance(node, tree.Path):
            return self._of_path(node)
        if isinstance(node, tree.Item | tree.Element):
            return self._of_item(node)
        if isinstance(node, tree.Call):
            return self._of_call(node)
        inner = [self.kind(one) for one in node.parts() if isinstance(one, tree.Expression)]
        if set(inner) == {UNIFORM}:
            return UNIFORM
        if isinstance(node, tree.Binary):
            return self._of_binary(node, inner)
        if isinstance(node, tree.Unary) and inner == [VECTOR] and node.sign in "+-":
            return VECTOR
        if isinstance(node, tree.Ternary) and {*inner[1:]} <= {UNIFORM, VECTOR}:
            if inner[0] in (UNIFORM, MASK):
                return VECTOR
        raise NotVectors

    def plain(self, node: tree.Expression) -> tree.Expression:
        """Return the own pool as the value of a group, and all else as it is."""
        return (isinstance(node, tree.Path) and self.places.own_pool(node)) or node

    def _of_name(self, name: str) -> str:
        found = self._find(name)
        if isinstance(found, Strided):
            return AFFINE
        if found is not None:
            return found
        if name in self.strip.carried:
            self.used.add(name)
            return VECTOR
        varied = name in self.strip.component.numbers and name not in self.spec.uniform
        return VECTOR if varied else UNIFORM

    def _of_path(self, node: tree.Path) -> str:
        if node.name != "here" or node.names[-1] != self.strip.last:
            return UNIFORM if node.names[-2:-1] != ("pos",) else _refuse()
        return AFFINE if len(node.names) == 2 else _refuse()

    def _of_item(self, node: tree.Item | tree.Element) -> str:
        if isinstance(node, tree.Element):
            known = node.name in self.places.place.fields
            kinds = [self.kind(node.index)] if known else _refuse()
        else:
            for one in (node.ago, node.of):
                if one is not None:
                    self._uniform(one)
            kinds = [self.kind(one) for one in node.indices]
        if not {*kinds} <= {UNIFORM, AFFINE, LANES}:
            raise NotVectors
        return UNIFORM if {*kinds} <= {UNIFORM} else VECTOR

    def _of_call(self, node: tree.Call) -> str:
        name = node.name
        if name in WORDS and name not in self.translator.own:
            return self._of_word(node)
        kinds = {self.kind(one) for one in node.arguments}
        if kinds <= {UNIFORM}:
            return UNIFORM
        one = len(node.arguments) == 1 and name in (*FUNCTIONS, *ARCS, "ceil", "round")
        if kinds <= {UNIFORM, VECTOR} and (one or name in ("fmin", "fmax", "atan2")):
            return VECTOR
        raise NotVectors

    def _of_word(self, node: tree.Call) -> str:
        one = node.arguments[0]
        if isinstance(one, tree.Path) and one.of is not None:
            self._uniform(one.of)
        if isinstance(one, tree.Name) and node.name in ("place", "first", "last", "complete"):
            kind = self._find(one.name)
            place = node.name == "place" and isinstance(kind, Strided)
            return UNIFORM if kind == UNIFORM or place else _refuse()
        if isinstance(one, tree.Call):
            over = one.arguments[0]
            assert isinstance(over, tree.Path)
            if len(one.arguments) == 2 and over.names[-1] == self.strip.last:
                raise NotVectors
        for other in node.arguments[1:]:
            self._uniform(other)
        return UNIFORM

    @staticmethod
    def _of_binary(node: tree.Binary, inner: list[str]) -> str:
        kinds = {*inner}
        if node.sign in "+-" and inner[0] in (AFFINE, LANES) and inner[1] == UNIFORM:
            return inner[0]
        if node.sign == "+" and inner[1] in (AFFINE, LANES) and inner[0] == UNIFORM:
            return inner[1]
        if kinds <= {UNIFORM, VECTOR} and node.sign in "+-*/":
            return VECTOR
        if kinds <= {UNIFORM, VECTOR} and node.sign in ("<", ">", "<=", ">=", "==", "!="):
            return MASK
        if kinds == {MASK} and node.sign in ("&&", "||"):
            return MASK
        raise NotVectors


def _refuse() -> str:
    raise NotVectors
