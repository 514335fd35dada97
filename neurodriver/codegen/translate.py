"""Trees of a model's texts -> C: numbers get the working type, functions a prefix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..model.index_checks import index_checks
from ..model.language import Checked, Printer, tree, used
from ..model.language.expressions import BINDING
from ..model.language.names import draws, prints
from ..model.language.words import DRAWS, FUNCTIONS, LIMITS, MORE
from ..model.text import block
from ..model.texts import texts_of
from .places import WORDS, PlaceText

if TYPE_CHECKING:
    from ..model.component import NDComponent
    from .listed import ListedText

_BITS = ("%", "<<", ">>", "&", "|", "^")
_COMPARED = ("==", "!=", "<", ">", "<=", ">=")


class Draw(NamedTuple):
    """A random draw in a text: ``uniform``, ``normal`` or ``poisson``.

    ``mean`` is the translated mean of a Poisson number that may be drawn before the text runs, and
    ``names`` are those that it reads.
    """

    kind: str
    stream: int
    mean: str = ""
    names: frozenset[str] = frozenset()


class CText(Printer):
    """Writes checked trees as C, whatever they belong to.

    Parameters
    ----------
    dtype : str
        ``float64`` or ``float32``.
    functions : sequence of Function
        Functions of the texts' own.
    prefix : str
        What stands before their names.
    """

    def __init__(
        self, dtype: str, functions: Sequence[tree.Function] = (), prefix: str = ""
    ) -> None:
        self.suffix = "f" if dtype == "float32" else ""
        self.division = "/"
        self.own, self.prefix = {f.name: f for f in functions}, prefix
        self.checked = Checked(tree.Body(()))
        self.whole: set[int] = set()

    def begin(self, checked: Checked) -> None:
        """Take up a tree: parts of it are translated from now on."""
        self.checked = checked
        self.whole = WholeNumbers(checked, self.own).found

    def value_of(self, checked: Checked) -> str:
        """Return the translation of an expression."""
        self.begin(checked)
        assert isinstance(checked.node, tree.Expression)
        return self.expression(checked.node)

    def lines_of(self, checked: Checked) -> list[str]:
        """Return the translation of statements."""
        self.begin(checked)
        assert isinstance(checked.node, tree.Body)
        return self.statements(checked.node)

    def real(self, value: float) -> str:
        """Return a number as text of the working type."""
        return repr(float(value)) + self.suffix

    def number(self, node: tree.Number) -> str:
        """Return a number of the working type, or an int beside integers."""
        if id(node) in self.whole:
            return str(int(node.text))  # in C++ 010 is 8
        return (node.text + ".0" if node.whole else node.text) + self.suffix

    def operator(self, node: tree.Binary) -> str:
        return self.division if node.sign == "/" else node.sign

    def binary(self, node: tree.Binary) -> str:
        """Return an operator; a division of integers is one of real numbers."""
        text = super().binary(node)
        kinds = [self.checked.type_of(one) for one in (node.left, node.right)]
        if node.sign == "/" and not {"real", "whole"} & set(kinds):
            left = self.expression(tree.Cast("real", node.left))
            return f"{left} {self.operator(node)} {self.expression(node.right, BINDING['/'] + 1)}"
        return text

    def call(self, node: tree.Call) -> str:
        """Return a call of a function."""
        if node.name in self.own:
            return f"{self.prefix}{node.name}({self._all(node.arguments)})"
        known = node.name in FUNCTIONS or node.name in MORE
        name = self.elementary(node.name) if known else node.name
        if node.name == "abs":
            if self.checked.type_of(node) == "int":
                return f"{name}({self._all(node.arguments)})"
            name = self.elementary("fabs")
        return f"{name}({self._reals(node)})"

    def elementary(self, name: str) -> str:
        """Return the name of an elementary function."""
        return f"nd_{name}"

    def _reals(self, node: tree.Call) -> str:
        given = []
        for one in node.arguments:
            cast = self.checked.type_of(one) in ("int", "bool")
            given.append(self.expression(tree.Cast("real", one) if cast else one))
        return ", ".join(given)

    def unrolled(self, node: tree.For | tree.Each | tree.While) -> list[str]:
        """Return the line before a loop that asks a compiler to unroll it."""
        return [f"ND_UNROLL_BY({node.unroll})"] if node.unroll else []

    def declaration(self, node: tree.Declaration) -> str:
        """Return a declaration; what has no value begins with 0."""
        if node.size is not None:
            values = [f"({node.type})({self.expression(v)})" for v in node.values] or ["0"]
            const = "const " * node.const
            return f"{const}{node.type} {node.name}[{node.size}] = {{{', '.join(values)}}}"
        text = super().declaration(node)
        return text if node.value is not None else f"{text} = 0"


class Translator(CText):
    """Translates the texts of one model.

    Parameters
    ----------
    model : NDComponent subclass
        Its texts are checked here.
    dtype : str
        ``float64`` or ``float32``.

    Raises
    ------
    ModelError
        With all faults of the texts.

    Notes
    -----
    Every number is of the working type, so ``1 / 2`` is 0.5; beside integers it is an int. Each
    random draw in the text has a stream of its own, counted over all texts in order. It is a call
    that returns the number; where ``declared_before`` is set, numbers are drawn for a tile at once
    (``tile_draws.h``), and ``drawn`` says which. Then a mean of a Poisson number may be made of
    these names alone; of another mean only the random word is drawn first. ``division`` is what
    stands between the numbers that are divided. ``printing`` writes a PRINT by its number; without
    it they are left out. ``places`` writes what is read of other cells, of axes and of fields.
    ``writer`` is asked for the lines of each statement first.
    """

    def __init__(self, model: type[NDComponent], dtype: str) -> None:
        self.texts = texts_of(model)
        self.texts.check()
        super().__init__(dtype, self.texts.functions, f"nd_f_{model.__name__}_")
        self.declared_before: frozenset[str] | None = None
        self.printing: Callable[[int, list[str]], str] | None = None
        self.places: PlaceText | None = None
        self.writer: Callable[[tree.Statement], list[str] | None] | None = None
        self.listed: dict[str, ListedText] = {}
        self.loops: dict[str, ListedText] = {}
        self.live = ""
        self.checks = index_checks(model)
        self.prints = {id(one): i for i, one in enumerate(prints(self.texts["update"].tree))}
        calls = draws(part.tree for part in self.texts.drawing())
        self.streams = {id(call): stream for stream, call in enumerate(calls)}
        self.drawn: list[Draw] = []

    def restart(self) -> None:
        """Forget what was drawn: the same is drawn in every variant of a text."""
        self.drawn = []

    def value(self, part: str) -> str:
        """Return the translation of a part that is an expression."""
        return self.value_of(self.texts[part].checked)

    def lines(self, part: str = "update") -> list[str]:
        """Return the translation of a part that is statements."""
        return self.lines_of(self.texts[part].checked)

    def functions(self) -> list[str]:
        """Return the functions of the model that its texts call, as lambdas."""
        lines: list[str] = []
        called = used(*(part.tree for part in self.texts.parts.values()), *self.own.values())
        for one in self.texts.functions:
            if one.name in called:
                self.begin(self.texts.function(one.name))
                given = ", ".join(f"{p.type} {p.name}" for p in one.parameters)
                name = f"{self.prefix}{one.name}"
                inlined = "__attribute__((always_inline))"  # else loops that call it get no vectors
                head = f"const auto {name} = [&]({given}) {inlined} -> {one.type}"
                lines += [*block(head, self.statements(one.body)), f"; (void){name};"]
        return lines

    def call(self, node: tree.Call) -> str:
        """Return a call of a function, of a draw, or of what asks for places."""
        if node.name == "count" and (listed := self._connections(node.arguments[0])) is not None:
            return listed.degree()
        if self.places is not None and node.name in WORDS and node.name not in self.own:
            return self.places.call(node)
        return self._draw(node) if node.name in DRAWS else super().call(node)

    def name(self, name: str) -> str:
        """Return a name; a limit is a number, unless the model calls something so."""
        if name not in LIMITS or self.texts["update"].symbols[name].kind != "limit":
            return name
        if name.endswith("int"):
            return "2147483647" if name.startswith("great") else "(-2147483647 - 1)"
        most = float(np.finfo("float32" if self.suffix else "float64").max)
        return self.real(most) if name.startswith("great") else f"(-{self.real(most)})"

    def path(self, node: tree.Path) -> str:
        """Return what belongs to a connection, or to a population."""
        if node.name in self.loops:
            return self.loops[node.name].value(node.name, *node.names[1:])
        assert self.places is not None
        return self.places.path(node)

    def item(self, node: tree.Item) -> str:
        """Return a value of a cell, or an element of a field."""
        assert self.places is not None
        return self.places.item(node)

    def element(self, node: tree.Element) -> str:
        """Return an element of an array, or of a field."""
        if self.places is not None and node.name in self.places.place.fields:
            return self.places.of_array(node.name, (node.index,))
        size = self.checked.sizes.get(id(node))
        if self.printing is None or size is None or isinstance(node.index, tree.Number):
            return super().element(node)
        index = self.expression(node.index)
        test = self.tested(f"nd_inside({index}, {size})", node.index, index, str(size))
        return f"{node.name}[{test} ? {index} : 0]"

    def tested(self, test: str, node: tree.Expression, index: str, count: str) -> str:
        """Return a test of an index, which under ``debug`` says where it fails.

        Parameters
        ----------
        test : str
            True where the index is one of ``count``.
        node : Expression
            The index.
        index, count : str
            Translated.
        """
        number = self.checks.get(id(node))
        if self.printing is None or number is None:
            return test
        call = self.printing(number, [f"(double)({index})", f"(double)({count}) - 1"])
        return f"({test} || ({call}, false))"

    def statement(self, node: tree.Statement) -> list[str]:
        written = self.writer(node) if self.writer is not None else None
        if written is not None:
            return written
        target = isinstance(node, tree.Assignment | tree.Increment) and node.target
        if isinstance(target, tree.Path) and self.live:  # threads beyond the end store nothing
            return block(f"if ({self.live})", super().statement(node))
        if self.places is None or not isinstance(node, tree.For):
            return super().statement(node)
        self.places.scopes.append(self.places.counted(node))
        lines = super().statement(node)
        self.places.scopes.pop()
        return lines

    def each(self, node: tree.Each) -> list[str]:
        """Return a loop over a look-up, over populations, or over connections."""
        listed = self._connections(node.over)
        if listed is not None:
            self.loops[node.name] = listed
            lines = listed.each_lines(node, lambda: self.statements(node.body))
            del self.loops[node.name]
            return lines
        assert self.places is not None
        return self.places.each(node)

    def _connections(self, node: tree.Expression) -> ListedText | None:
        """Return what writes the connections that a name stands for."""
        return self.listed.get(node.name) if isinstance(node, tree.Name) else None

    def printed(self, node: tree.PrintCall) -> list[str]:
        """Return a PRINT where it is wanted."""
        if self.printing is None:
            return []
        values = [self.expression(value) for value in node.values]
        return [f"{self.printing(self.prints[id(node)], values)};"]

    def _draw(self, node: tree.Call) -> str:
        """Return the number of a draw."""
        kind, n = node.name, self.streams[id(node)]
        mean = self._all(node.arguments)
        if self.declared_before is None:
            given = f"(real)({mean})" if kind == "poisson" else "(real)0"
            return f"nd_{kind}(nd_key, nd_seed, nd_k, (int)substep, {n}, {given})"
        if kind == "poisson":
            names = used(*node.arguments) - {*FUNCTIONS, *MORE}
            if self.declared_before.issuperset(names):
                self.drawn.append(Draw(kind, n, mean, frozenset(names)))
                return f"nd_n{n}[nd_i]"
            self.drawn.append(Draw(kind, n))
            return f"((real)nd_poisson_of(nd_w{n}[nd_i], (double)({mean})))"
        self.drawn.append(Draw(kind, n))
        if kind == "normal":
            return f"((real)nd_z{n}[nd_i])"
        return f"nd_unit_of(nd_w{n}[nd_i], nd_v{n}[nd_i], (real)0)"


class WholeNumbers:
    """Finds the numbers of a tree that stand beside integers, and so are integers.

    Attributes
    ----------
    found : set of int
        ``id`` of these numbers.
    """

    def __init__(self, checked: Checked, functions: dict[str, tree.Function]) -> None:
        self.checked, self.functions = checked, functions
        self.found: set[int] = set()
        self._type = "real"
        node = checked.node
        if isinstance(node, tree.Function):
            self._type, node = node.type, node.body
        self._visit(node, False)

    def _is_whole(self, node: tree.Expression) -> bool:
        return self.checked.type_of(node) != "real"

    def _visit(self, node: tree.Node, whole: bool) -> None:
        """Look at a node; ``whole`` says whether an int is wanted of it."""
        if isinstance(node, tree.Number):
            if whole and node.whole:
                self.found.add(id(node))
        elif isinstance(node, tree.Expression):
            self._expression(node, whole)
        elif isinstance(node, tree.Declaration):
            for one in (*([] if node.value is None else [node.value]), *node.values):
                self._visit(one, node.type != "real" and self._is_whole(one))
        elif isinstance(node, tree.Assignment):
            self._visit(node.target, False)
            target = self.checked.type_of(node.target) != "real" and node.sign != "/="
            self._visit(node.value, target and self._is_whole(node.value))
        elif isinstance(node, tree.Return):
            self._visit(node.value, self._type != "real" and self._is_whole(node.value))
        else:
            for part in node.parts():
                self._visit(part, False)

    def _expression(self, node: tree.Expression, whole: bool) -> None:
        if isinstance(node, tree.Path | tree.Name):
            if isinstance(node, tree.Path) and node.of is not None:
                self._visit(node.of, True)
            return
        if isinstance(node, tree.Call) and node.name in WORDS and node.name not in self.functions:
            for one in node.arguments:
                last = one is node.arguments[-1] and node.name in ("near", "position")
                self._visit(one, last)
            return
        kind = self.checked.type_of(node)
        wanted = kind == "int" or (kind == "whole" and whole)
        if isinstance(node, tree.Element):
            self._visit(node.index, True)
        elif isinstance(node, tree.Item):
            for part in node.parts():
                self._visit(part, True)
        elif isinstance(node, tree.Call):
            own = self.functions.get(node.name)
            types = [p.type for p in own.parameters] if own else ["real"] * len(node.arguments)
            for one, given in zip(node.arguments, types, strict=True):
                self._visit(one, given != "real" and self._is_whole(one))
        elif isinstance(node, tree.Cast):
            self._visit(node.value, node.type != "real" and self._is_whole(node.value))
        elif isinstance(node, tree.Unary):
            self._visit(node.value, node.sign == "~" or (node.sign != "!" and wanted))
        elif isinstance(node, tree.Ternary):
            self._visit(node.condition, False)
            self._visit(node.yes, wanted)
            self._visit(node.no, wanted)
        elif isinstance(node, tree.Binary):
            if node.sign in _COMPARED:
                kinds = {self.checked.type_of(one) for one in (node.left, node.right)}
                wanted = "real" not in kinds and kinds != {"whole"}
            wanted = wanted if node.sign not in ("/", "&&", "||") else False
            for one in (node.left, node.right):
                self._visit(one, node.sign in _BITS or wanted)
