"""``equations`` and the texts beside them: read, checked, and brought into one system."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ..language import Symbol, check, parse, parse_expression, tree
from ..language.evaluate import Evaluator, NotReadError
from ..language.measures import Measures, dimensions
from ..language.tokens import message
from ..own_functions import functions_of
from ..units import Dimension, dimension, unit_name
from .declared import Equation, equations
from .noise import degree, is_noise
from .system import System, names_in, without_units

if TYPE_CHECKING:
    from ..component import NDComponent

TEXTS = ("equations", "threshold", "reset", "refractory", "arrivals", "method")
"""Attributes of a class that is written as equations."""


@dataclass
class Reading:
    """The equations of one class.

    Parameters
    ----------
    model : NDComponent subclass

    Attributes
    ----------
    faults : list of str
    lines : list of Equation
    system : System
    published : dict of str to Expression
        Updated variables that are expressions, written out.
    threshold : Expression or None
    reset, arrivals : Body
    refractory : Expression or None
    rests_while : bool
        Whether ``refractory`` is a condition, and no time.
    """

    model: type[NDComponent]
    faults: list[str] = field(default_factory=list)
    lines: list[Equation] = field(default_factory=list)
    threshold: tree.Expression | None = None
    refractory: tree.Expression | None = None
    rests_while: bool = False
    reset: tree.Body = field(default_factory=lambda: tree.Body(()))
    arrivals: tree.Body = field(default_factory=lambda: tree.Body(()))

    def __post_init__(self) -> None:
        self.where = f"{self.model.__name__}.equations"
        self.source = self.model.equations
        self.lines, self.faults = equations(self.source, self.where)
        self.functions = functions_of(self.model)
        self.units: frozenset[str] = frozenset()
        self.published: dict[str, tree.Expression] = {}
        self.inferred: dict[str, Dimension | None] = {}
        self.system = System({}, {}, frozenset())

    def of(self, kind: str) -> dict[str, Equation]:
        """Return the lines of a kind, by name."""
        return {one.name: one for one in self.lines if one.kind == kind}

    def at(self, name: str) -> int:
        """Return where the line of a name stands."""
        return next((one.at for one in self.lines if one.name == name), 0)

    def fault(self, at: int, said: str) -> None:
        """Note a fault of the equations."""
        self.faults.append(message(self.source, self.where, at, said))

    # -- names ----------------------------------------------------------------------------------

    def read(self) -> None:
        """Read and check everything; the classes' parameters and states are known by now."""
        self._twice()
        symbols = self._symbols()
        values = [one for one in self.lines if one.value is not None]
        texts = {name: getattr(self.model, name) for name in ("threshold", "refractory")}
        trees: dict[str, Any] = {}
        for name, text in texts.items():
            if text:
                trees[name] = self._parsed(name, text, False)
        for name in ("reset", "arrivals"):
            if text := getattr(self.model, name):
                trees[name] = self._parsed(name, text, True)
        trees = {name: node for name, node in trees.items() if node is not None}
        every = [*(one.value for one in values if one.value is not None), *trees.values()]
        known = {name for node in every for name in names_in(node)}
        self.units = frozenset(n for n in known if n not in symbols and unit_name(n))
        symbols.update({n: Symbol("unit", unit=n) for n in self.units})
        for one in self._sorted(values):
            self._line(one, symbols)
        for name, node in trees.items():
            self._text(name, node, symbols)
        if not self.faults:
            self._make(trees)

    def _twice(self) -> None:
        model, seen = self.model, set[str]()
        for one in self.lines:
            taken = [p for p in ("params", "constants") if one.name in getattr(model, p)]
            if one.name in seen:
                self.fault(one.at, f"'{one.name}' has two lines")
            elif one.kind != "name" and taken:
                self.fault(one.at, f"'{one.name}' stands in '{taken[0]}' already")
            elif one.kind == "name" and one.name in model.params:
                self._same_unit(one, model.params[one.name].unit)
            elif one.kind == "state":
                self._same_unit(one, model.states[one.name].unit)
            seen.add(one.name)
            if "unless refractory" in one.flags and not model.refractory:
                self.fault(one.at, "'unless refractory' needs the attribute 'refractory'")

    def _same_unit(self, one: Equation, unit: str) -> None:
        given, declared = dimension(one.unit), dimension(unit)
        if given and declared and not given.same(declared):
            self.fault(one.at, f"'{one.name}' is declared in {unit}, and here in {one.unit}")

    def _symbols(self) -> dict[str, Symbol]:
        model = self.model
        names = self.of("name")
        found = {n: Symbol("parameter", unit=p.unit or None) for n, p in model.params.items()}
        found.update({n: Symbol("constant") for n in model.constants})
        for access in model.accesses:
            symbol = model.input_symbol(access)
            unit = names[symbol].unit if symbol in names else None
            found[symbol] = Symbol("input", unit=unit)
        states = {n: s.unit or None for n, s in model.states.items()}
        found.update({n: Symbol("state", unit=u, writable=True) for n, u in states.items()})
        hint = "it follows from its equation"
        expressions = self.of("expression")
        found.update({n: Symbol("expression", hint=hint) for n in expressions})
        found["dt_ms"] = Symbol("length of the sub-step", unit="ms")
        if model.refractory:
            found["not_refractory"] = Symbol("condition", "bool")
        for one in self.lines:
            for name in names_in(one.value) if one.value is not None else ():
                if is_noise(name) and name not in found:
                    found[name] = Symbol("noise", unit="1/ms^0.5")
        return found

    def _sorted(self, values: list[Equation]) -> list[Equation]:
        """Return the lines, each expression before what uses it."""
        expressions = self.of("expression")
        done: dict[str, Equation] = {}

        def visit(one: Equation, above: tuple[str, ...]) -> None:
            if one.name in done:
                return
            if one.name in above:
                round_ = " -> ".join([*above[above.index(one.name) :], one.name])
                self.fault(one.at, f"expressions stand for each other in a circle: {round_}")
                return
            assert one.value is not None
            for name in sorted(names_in(one.value) & set(expressions)):
                visit(expressions[name], (*above, one.name))
            done[one.name] = one

        for one in expressions.values():
            visit(one, ())
        return [*done.values(), *(one for one in values if one.kind == "state")]

    # -- checks ---------------------------------------------------------------------------------

    def _line(self, one: Equation, symbols: Mapping[str, Symbol]) -> None:
        """Check the right side of a line, and its unit."""
        assert one.value is not None
        found = check(one.value, symbols, self.source, self.where, self.functions, False)
        self.faults += found.faults
        if "t" in names_in(one.value) and "t" not in symbols:
            self.fault(one.at, "a model has no time 't'; a state can have it: dclock/dt = 1 : ms")
        if found.faults:
            return
        measures = Measures(dimensions(symbols, self.inferred), self.source, self.where, True)
        unit, wanted = measures.of(one.value), dimension(one.unit)
        self.faults += measures.faults
        per_ms = dimension("1/ms")
        assert wanted is not None and per_ms is not None
        if one.kind == "state":
            wanted = wanted * per_ms
            if unit is not None and not unit.same(wanted):
                hint = ""
                if unit.alike(wanted):
                    hint = f"; 1 {unit} is {unit.scale / wanted.scale:g} {wanted}"
                said = f"'d{one.name}/dt' is in {wanted}, and its right side in {unit}{hint}"
                self.fault(one.at, said)
        else:
            self.inferred[one.name] = unit or wanted
            if unit is not None and not unit.alike(wanted):
                self.fault(one.at, f"'{one.name}' is in {one.unit}, and its right side in {unit}")

    def _parsed(self, name: str, text: str, statements: bool) -> tree.Node | None:
        where = f"{self.model.__name__}.{name}"
        try:
            if statements:
                return parse(ended(text), where, True)
            return parse_expression(text, where, True)
        except ModelError as error:
            self.faults.append(str(error))
            return None

    def _text(self, name: str, node: tree.Node, symbols: Mapping[str, Symbol]) -> None:
        """Check one of the texts beside the equations."""
        where = f"{self.model.__name__}.{name}"
        source = getattr(self.model, name)
        source = ended(source) if isinstance(node, tree.Body) else source
        found = check(node, symbols, source, where, self.functions, False, prints=True)
        self.faults += found.faults
        if noisy := sorted(n for n in names_in(node) if is_noise(n)):
            self.faults.append(message(source, where, node.at, f"'{noisy[0]}' is for equations"))
        if found.faults:
            return
        measures = Measures(dimensions(symbols, self.inferred), source, where, True)
        unit = None
        if isinstance(node, tree.Expression):
            unit = measures.of(node)
        else:
            measures.run(node)
        self.faults += measures.faults
        if isinstance(node, tree.Expression):
            self._kind(name, node, source, found.type_of(node) == "bool", unit)

    def _kind(
        self, name: str, node: tree.Expression, source: str, condition: bool, unit: Dimension | None
    ) -> None:
        """Check that a threshold is a condition, and a refractory period a time or a condition."""
        said, time = "", dimension("ms")
        assert time is not None
        if name == "threshold" and not condition:
            said = "a threshold is a condition, such as V > V_th"
        if name == "refractory":
            self.rests_while = condition
            if not condition and unit is not None and not unit.same(time):
                said = f"a time in ms or a condition is needed, and this is in {unit}"
        if said:
            where = f"{self.model.__name__}.{name}"
            self.faults.append(message(source, where, node.at, said))

    def _divisions(self, node: tree.Node) -> None:
        """Note where something is divided by 0 in a tree without units."""
        for one in node.walk():
            if isinstance(one, tree.Binary) and one.sign == "/" and _is_zero(one.right):
                self.fault(one.right.at, "this is a division by 0")

    def _make(self, trees: Mapping[str, Any]) -> None:
        """Make the system, and the trees of the texts, without units."""
        plain = {name: without_units(node, self.units) for name, node in trees.items()}
        states: dict[str, tree.Expression] = {}
        expressions: dict[str, tree.Expression] = {}
        for one in self._sorted([line for line in self.lines if line.value is not None]):
            assert one.value is not None
            value = without_units(one.value, self.units)
            assert isinstance(value, tree.Expression)
            self._divisions(value)
            (states if one.kind == "state" else expressions)[one.name] = value
        clamped = [one.name for one in self.lines if "unless refractory" in one.flags]
        noise = sorted({n for v in (*states.values(), *expressions.values()) for n in names_in(v)
                        if is_noise(n) and n not in self.model.params})  # fmt: skip
        fixed = frozenset({*self.model.params, *self.model.constants})
        whole = System(states, expressions, fixed, frozenset(clamped), tuple(noise))
        shown = [name for name in expressions if name in self.model.updates]
        self.published = {n: whole.inlined(tree.Name(n), expressions) for n in shown}
        states = {n: whole.inlined(node, shown) for n, node in states.items()}
        expressions = {n: whole.inlined(v, shown) for n, v in expressions.items() if n not in shown}
        self.system = replace(whole, states=states, expressions=expressions, depends={})
        for name, node in plain.items():
            setattr(self, name, whole.inlined(node, shown))
        for name, node in states.items():
            if degree(self.system, node) > 1:
                said = f"noise has to enter 'd{name}/dt' as a sum of terms like sigma * xi"
                self.fault(self.at(name), said)
        users = [n for n, node in states.items() if "xi" in self.system.below(node)]
        if len(users) > 1:
            said = "'xi' stands in two equations; write xi_1 and xi_2, or xi_1 in both to share it"
            self.fault(self.at(users[1]), said)
        if not states:
            self.fault(0, "no line is a differential equation, such as dV/dt = ... : mV")


def _is_zero(node: tree.Expression) -> bool:
    """Whether an expression of numbers alone is 0."""
    try:
        return not names_in(node) and float(Evaluator().value(node, {})) == 0
    except NotReadError:
        return False


def ended(text: str) -> str:
    """Return statements whose lines end with a semicolon, as equations need none there."""
    lines = []
    for line in text.split("\n"):
        bare = re.sub(r"(#|//).*", "", line).rstrip()
        done = not bare.strip() or bare.endswith((";", "{", "}"))
        lines.append(bare if done else f"{bare};")
    return "\n".join(lines)
