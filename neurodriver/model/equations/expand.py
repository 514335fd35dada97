"""A class with ``equations`` -> the declarations that other models write themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ModelError, near
from ..kinds import SPIKES, VariableKind
from ..language import (
    parse,
    parse_expression,
    parse_functions,
    raise_faults,
    to_text,
    tree,
)
from ..language.printer import Printer
from ..language.tokens import fault
from ..own_functions import functions_of
from ..parts import function_text
from ..text import block, indent
from .algebra import NotFinite
from .methods import METHODS, written
from .reading import TEXTS, Reading
from .steps import Unsuited, Written
from .system import names_in

if TYPE_CHECKING:
    from ..component import NDComponent

LEFT, STEPS, FREE, ROOT = "refractory_left", "refractory_steps", "not_refractory", "root_dt"
"""Names in the text: what is left of the refractory period, its length in sub-steps, whether it is
over, and the root of the sub-step."""


def written_as_equations(model: type[NDComponent]) -> bool:
    """Whether equations say what a class computes, and no nearer text replaces them."""
    for base in model.__mro__:
        own = base.__dict__
        if any(own.get(name) for name in TEXTS):
            return bool(model.equations)
        if own.get("update") and "_generated" not in own:
            return False
    return False


def expand(model: Any, make_state: Callable[..., Any], make_param: Callable[..., Any]) -> None:
    """Give a class the states, constants, terms and texts that follow from its equations.

    Parameters
    ----------
    model : NDComponent subclass
        Its parameters, states, accesses and updates are merged already.
    make_state, make_param : callable
        Make a `State` and a `Parameter` of a unit.

    Raises
    ------
    ModelError
        With all faults of the equations and the texts beside them.
    """
    if model.__dict__.get("update"):
        raise ModelError(f"{model.__name__}: 'equations' and 'update' exclude each other")
    model.method = _named_method(model)
    if model.method and model.method not in METHODS:
        hint = near(model.method, METHODS) or f"; known are {', '.join(METHODS)}"
        raise ModelError(f"{model.__name__}.method: '{model.method}' is no method{hint}")
    reading = Reading(model)
    symbols = {model.input_symbol(access) for access in model.accesses}
    for name, line in reading.of("state").items():
        model.states.setdefault(name, make_state(line.unit))
    for name, line in reading.of("name").items():
        if name not in symbols:
            model.params.setdefault(name, make_param(line.unit))
    model.accesses = type(model.accesses)(
        replace(access, unit=line.unit) if line is not None and not access.each else access
        for access in model.accesses
        for line in [reading.of("name").get(model.input_symbol(access))]
    )
    if model.refractory:
        model.states.setdefault(LEFT, make_state("1", doc="what is left of the refractory period"))
    reading.read()
    raise_faults(reading.faults)
    pieces = _Pieces(reading)
    pieces.write()
    model.constants = {**model.constants, **pieces.constants}
    model.terms = {**model.terms, **pieces.terms}
    model.outputs = {**model.outputs, **pieces.outputs}
    own = model.__dict__.get("functions") or ""
    where = f"{model.__name__}.functions"
    texts = {} if isinstance(own, str) else own
    listed = [own] if isinstance(own, str) else []
    listed += [function_text(head, body, where) for head, body in texts.items()]
    model.functions = "\n".join([*(one for one in listed if one), *pieces.functions])
    model.update = pieces.update
    model._derived_method = "" if model.method else pieces.method
    model.method = pieces.method
    model._generated = frozenset([*pieces.constants, *pieces.terms, *pieces.outputs])
    units = {n: line.unit for n, line in reading.of("expression").items() if n in model.updates}
    model.units = {**model.units, **units}


def _named_method(model: Any) -> str:
    """Return the method that a class or a base names; one that followed from equations is none."""
    for base in model.__mro__:
        own: Any = base.__dict__.get("method")
        if own is not None and own != base.__dict__.get("_derived_method"):
            return str(own)
    return ""


class _Pieces:
    """Writes the parts of a declaration."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.model, self.system = reading, reading.model, reading.system
        self.constants: dict[str, str] = {}
        self.terms: dict[str, str] = {}
        self.outputs: dict[str, str] = {}
        self.functions: list[str] = []
        self.update, self.method = "", ""

    def write(self) -> None:
        """Write everything."""
        step = self._step()
        known = {f.name for f in functions_of(self.model)}
        for text in step.functions:
            if not {f.name for f in parse_functions(text)} & known:
                self.functions.append(text)
        lines = [*self._begin(), *step.lines]
        for state in self.system.states:
            new = step.new[state]
            rests = state in self.system.clamped
            lines.append(f"{state} = {f'{FREE} ? {new} : {state}' if rests else new};")
        lines += [*self._arrivals(), *self._spikes(), *self._published()]
        self.update = "\n" + "\n".join(indent(lines, 2)) + "\n    "
        self._keep(step, lines)

    def _step(self) -> Written:
        model, system = self.model, self.system
        taken = {*model.params, *model.states, *model.constants, *model.updates, *system.noise}
        taken |= {*system.expressions, LEFT, STEPS, FREE, ROOT}
        taken |= {model.input_symbol(access) for access in model.accesses}
        taken |= {f.name for f in functions_of(model)}
        try:
            self.method, found = written(system, model.method, frozenset(taken))
        except Unsuited as error:
            reading = self.reading
            at = reading.at(error.state)
            raise fault(reading.source, reading.where, at, error.said) from None
        except NotFinite as error:
            said = f"'d{error.state}/dt' is infinite or has no value; is something divided by 0?"
            at = self.reading.at(error.state)
            raise fault(self.reading.source, self.reading.where, at, said) from None
        return found

    def _begin(self) -> list[str]:
        """Return what comes before the states change: refractoriness and noise."""
        lines = []
        refractory = self.reading.refractory
        if refractory is not None:
            # without branches, as compilers make no vectors of && here
            if self.reading.rests_while:
                lines.append(f"bool {FREE} = ({LEFT} <= 0) | !({self._now(refractory)});")
                lines.append(f"{LEFT} = {FREE} ? 0 : {LEFT};")
            else:
                lines.append(f"bool {FREE} = {LEFT} <= 0;")
                lines.append(f"{LEFT} = fmax({LEFT} - 1, 0);")
        for name in self.system.noise:
            lines.append(f"real {name} = normal() / {ROOT};")
        if self.system.noise:
            self.constants[ROOT] = "sqrt(dt_ms)"
        noise = set(self.system.noise)
        for name, node in self.system.expressions.items():
            if self.system.below(node) & noise:
                lines.append(f"real {name} = {to_text(node)};")
        return lines

    def _now(self, node: tree.Expression) -> str:
        """Return an expression with what depends on states written out: they have changed."""
        return to_text(self.system.inlined(node, self.system.moving))

    def _arrivals(self) -> list[str]:
        """Return what arriving spikes do, in the last sub-step of a step."""
        clamped = self.system.clamped

        def one(node: tree.Node) -> tree.Node:
            if isinstance(node, tree.Assignment | tree.Increment) and node.target.name in clamped:
                return tree.If(tree.Name(FREE), tree.Body((node,)))
            return node

        body = tree.rewritten(self.system.inlined(self.reading.arrivals, self.system.moving), one)
        lines = Printer().statements(body)
        if lines and self.model.maximum_dt is not None:
            return block("if (substep == substeps - 1)", lines)
        return lines

    def _spikes(self) -> list[str]:
        """Return what happens where the threshold is crossed."""
        reading = self.reading
        if reading.threshold is None:
            for name in ("reset", "refractory"):
                if getattr(self.model, name):
                    raise ModelError(f"{self.model.__name__}.{name}: needs a 'threshold', too")
            return []
        body = [
            f"{self._event()} = 1;",
            *Printer().statements(self.system.inlined(reading.reset, self.system.moving)),
        ]
        condition = self._now(reading.threshold)
        if reading.refractory is not None:
            condition = f"{FREE} & ({condition})"
            body.append(f"{LEFT} = {self._length(reading.refractory)};")
        return block(f"if ({condition})", body)

    def _length(self, node: tree.Expression) -> str:
        """Return the length of the refractory period in sub-steps; 1 where a condition ends it."""
        if self.reading.rests_while:
            return "1"
        text = f"floor({self._now(tree.Binary('/', node, tree.Name('dt_ms')))} + 0.5)"
        if not self.system.is_fixed(node):
            return text
        self.constants[STEPS] = text
        return STEPS

    def _event(self) -> str:
        """Return the updated variable that says that a spike happens."""
        kinds = self.model.__dict__.get("kinds") or {}
        for name in self.model.updates:
            if name == SPIKES or kinds.get(name) in ("event", VariableKind.EVENT):
                return str(name)
        advice = f"add '{SPIKES}' to 'updates'"
        raise ModelError(f"{self.model.__name__}.threshold: no variable tells the spike; {advice}")

    def _published(self) -> list[str]:
        """Return the lines that set updated expressions; those of states alone are outputs."""
        lines = []
        inputs = {self.model.input_symbol(access) for access in self.model.accesses}
        for name, node in self.reading.published.items():
            if names_in(node) & {*inputs, *self.system.noise, FREE}:
                lines.append(f"{name} = {to_text(node)};")
            else:
                self.outputs[name] = to_text(node)
        return lines

    def _keep(self, step: Written, lines: list[str]) -> None:
        """Keep the expressions that a text reads: as constants, or as terms."""
        constants = {**step.constants, **self.constants}
        needed = names_in(parse("\n".join(lines)))
        for text in (*constants.values(), *self.outputs.values()):
            needed |= names_in(parse_expression(text))
        every, noise = self.system.expressions, set(self.system.noise)
        for name in reversed(list(every)):
            needed |= names_in(every[name]) if name in needed else set()
        kept = {name: to_text(node) for name, node in every.items() if name in needed}
        fixed = {name: kept[name] for name in kept if self.system.is_fixed(every[name])}
        self.constants = {**fixed, **constants}
        for name in kept:
            if name not in fixed and not self.system.below(every[name]) & noise:
                self.terms[name] = kept[name]
