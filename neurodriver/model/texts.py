"""The texts of a model: their trees, the names that each may use, and their check."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from .fields import Source
from .language import (
    Checked,
    Reach,
    Symbol,
    check,
    draws,
    parse,
    parse_expression,
    raise_faults,
    tree,
    used,
)
from .language.check import VECTOR
from .language.check_places import NUMBER_OF_STEP, SOURCE
from .language.measures import Measures, dimensions
from .language.parser import TOO_DEEP
from .language.tokens import message
from .language.words import LIMITS, STEP
from .own_functions import defined, numbered
from .units import NONE, Dimension, dimension
from .vectors import with_vectors
from .whole_numbers import with_integers

if TYPE_CHECKING:
    from .component import NDComponent

INDEX = "index"
"""Of a connection: the number of its source within the source's population."""

SIZE = "_size"
"""Behind the name of an axis: number of its cells, of a connection's source."""

DRAWING = ("terms", "update")
"""Parts that may draw random numbers."""


@dataclass(frozen=True, eq=False)
class TextPart:
    """One text of a declaration.

    Attributes
    ----------
    name : str
        As messages call it, without the class: ``update``, ``terms['x']``.
    symbols : mapping of str to Symbol
        Names that it may use.
    """

    name: str
    source: str
    symbols: Mapping[str, Symbol]
    owner: ModelTexts

    @property
    def where(self) -> str:
        """What messages call the text."""
        return f"{self.owner.model.__name__}.{self.name}"

    @cached_property
    def tree(self) -> tree.Node:
        """The tree of the text, with numbers in the place of their names."""
        node = (parse if self.name == "update" else parse_expression)(self.source, self.where)
        found: tree.Node = numbered(node, self.owner.model, self.source, self.where)
        found = with_integers(found, self.owner.model)
        if self.owner.model.vectors:
            found = with_vectors(found, self.owner.model, self.name == "update")
        return found

    @cached_property
    def checked(self) -> Checked:
        """The tree with its types; its faults are not raised."""
        draws = self.name.startswith(DRAWING)
        functions = self.owner.functions
        return check(
            self.tree, self.symbols, self.source, self.where, functions, draws,
            prints=self.name == "update",
        )  # fmt: skip


class ModelTexts:
    """All texts of one model.

    Parameters
    ----------
    model : NDComponent subclass
        With declared mathematics.

    Attributes
    ----------
    parts : dict of str to TextPart
        By name, in the order of computation.
    """

    def __init__(self, model: type[NDComponent]) -> None:
        self.model = model
        self.parts: dict[str, TextPart] = {}
        names = _Symbols(model)
        for access in model.accesses:
            if access.each:
                self._add(f"accesses['{access.name}']", access.each, names.each(access))
        for name, text in model.constants.items():
            self._add(f"constants['{name}']", text, names.constant(name))
        for name, text in model.terms.items():
            self._add(f"terms['{name}']", text, names.term(name))
        if model.sub_units is not None:
            for part, text in model.sub_units.texts().items():
                self._add(part, text, names.sub_unit(part))
        self._add("update", model.update, names.update())
        for name, text in model.outputs.items():
            self._add(f"outputs['{name}']", text, names.output())

    def _add(self, name: str, source: str, symbols: Mapping[str, Symbol]) -> None:
        self.parts[name] = TextPart(name, source, symbols, self)

    @cached_property
    def _defined(self) -> dict[str, tuple[tree.Function, str, str]]:
        return defined(self.model)

    @property
    def functions(self) -> tuple[tree.Function, ...]:
        """The functions of the model."""
        return tuple(one for one, _, _ in self._defined.values())

    def function(self, name: str) -> Checked:
        """Return a function with its types; it may call those before it."""
        node, text, where = self._defined[name]
        known = list(self._defined)
        before = [self._defined[one][0] for one in known[: known.index(name)]]
        return check(node, {}, text, where, before, draws=False)

    def __getitem__(self, name: str) -> TextPart:
        """Return a part by its name."""
        return self.parts[name]

    def each(self, *accesses: Any) -> list[TextPart]:
        """Return what one connection of some accesses adds, where they say it."""
        return [self.parts[f"accesses['{a.name}']"] for a in accesses if a.each]

    def step(self) -> list[TextPart]:
        """Return the parts that run at each step."""
        return [p for p in self.parts.values() if not p.name.startswith(("constants", "accesses"))]

    def drawing(self) -> list[TextPart]:
        """Return the parts that may draw random numbers, in the order of their streams."""
        return [p for p in self.parts.values() if p.name.startswith(DRAWING)]

    def parse(self) -> None:
        """Raise ModelError with the first fault of grammar of each text, and forbidden draws."""
        found = []
        for part in self.parts.values():
            try:
                calls = draws([part.tree])
            except ModelError as error:
                found.append(str(error))
                continue
            if part.name.startswith(DRAWING):
                continue
            said = "draws a random number; only update and terms may"
            found += [message(part.source, part.where, c.at, f"{c.name}() {said}") for c in calls]
        raise_faults(found)
        _ = self._defined

    @cached_property
    def faults(self) -> list[str]:
        """The faults of all texts, one message each."""
        opaque = self.model.runtime.opaque  # its code takes the place of the texts
        parts = self.each(*self.model.accesses) if opaque else list(self.parts.values())
        found = [fault for name in self._defined for fault in self.function(name).faults]
        for part in parts:
            try:
                found += part.checked.faults
            except ModelError as error:
                found.append(str(error))
        return found or self._measured(parts)

    def _measured(self, parts: Iterable[TextPart]) -> list[str]:
        """Return where units do not fit; those of constants and terms follow from their texts."""
        found: list[str] = []
        inferred: dict[str, Dimension | None] = {}
        for part in parts:
            if part.name.startswith("sub_units"):
                continue
            measures = Measures(dimensions(part.symbols, inferred), part.source, part.where)
            if isinstance(part.tree, tree.Expression):
                unit = measures.of(part.tree)
                kind, _, name = part.name.partition("['")
                if kind == "outputs" and unit is not None:
                    found += self._output(part, name[:-2], unit)
                elif kind != "accesses":
                    inferred[name[:-2]] = unit
            else:
                measures.run(part.tree)
            found += measures.faults
        return found

    def _output(self, part: TextPart, name: str, given: Dimension) -> list[str]:
        wanted = dimension(self.model.units.get(name) or "")
        if wanted is None or wanted.same(given) or given.same(NONE):
            return []
        said = f"'{name}' is in {wanted}, and this is in {given}"
        return [message(part.source, part.where, part.tree.at, said)]

    def check(self) -> None:
        """Raise ModelError with all faults of the texts."""
        try:
            raise_faults(self.faults)
        except RecursionError:
            raise ModelError(f"{self.model.__name__}: in a text, {TOO_DEEP}") from None


class _Symbols:
    """The names that each part of a declaration may use."""

    def __init__(self, model: type[NDComponent]) -> None:
        self.model = model
        params = model.fixed_params()
        self.params = {
            n: Symbol("parameter", unit=model.params[n].unit or None, hint=_STATE) for n in params
        }
        self.constants = {n: Symbol("constant", hint=_STATE) for n in model.constants}
        looped = looped_accesses(model)
        self.inputs = {
            model.input_symbol(a): _connections(a) if a.name in looped
            else Symbol("input", hint=_COPY)
            for a in model.accesses
        }  # fmt: skip
        self.states = {
            n: Symbol("state", unit=s.unit or None, writable=True) for n, s in model.states.items()
        }
        self.flags = {
            v: Symbol("updated variable", unit=model.units.get(v) or None, writable=True)
            for v in model.updates
            if v not in model.states and v not in model.outputs
        }
        self.terms = {n: Symbol("term", hint=_COPY) for n in model.terms}
        self.fields = {
            n: Symbol(
                "field", "int" if f.whole else "real", f.unit or None, hint=_SET, size=f.size,
                axes=f.indexed if f.many else f.axes, many=f.many,
            )
            for n, f in model.every_field().items()
        }  # fmt: skip
        self.reaches = {n: Symbol("source", reach=_reach(n, s)) for n, s in model.sources.items()}
        if (model.axes or model.pools) and "here" not in self.model.names_of_numbers():
            self.reaches["here"] = Symbol("the cell itself", reach=_own_reach(model))

    def constant(self, name: str) -> dict[str, Symbol]:
        """Return the names of a constant: parameters and the constants before it."""
        return {**self.params, **_before(self.constants, name), **_GIVEN[0]}

    def each(self, access: Any) -> dict[str, Symbol]:
        """Return the names of what one connection adds."""
        own = {n: Symbol("number of the connection") for n in access.connection}
        earlier = {}
        for one in self.model.accesses:
            if one.name == access.name:
                break
            earlier[self.model.input_symbol(one)] = Symbol("input")
        params = {n: Symbol("parameter") for n in self.model.params}
        return {**params, **earlier, **own, access.variable: Symbol("variable"), **_GIVEN[0]}

    def _old(self) -> dict[str, Symbol]:
        known = {**self.params, **self.constants, **self.states, **self.flags, **self.inputs}
        vectors = {n: Symbol(VECTOR, size=size) for n, size in self.model.vectors.items()}
        own = {**_LIMITS, **vectors, **self.reaches, **self.fields}
        return {**own, **known, **_GIVEN[0], **_GIVEN[1]}

    def term(self, name: str) -> dict[str, Symbol]:
        """Return the names of a term: old values and the terms before it."""
        return {**self._old(), **_before(self.terms, name)}

    def update(self) -> dict[str, Symbol]:
        """Return the names of the update."""
        units = self.model.sub_units
        totals = () if units is None else units.totals
        outputs = {
            v: Symbol("output", hint="what it is stands in 'outputs'")
            for v in self.model.outputs
            if v not in self.model.states
        }
        found = {**outputs, **self._old(), **self.terms}
        return {**found, **{n: Symbol("total", hint=_COPY) for n in totals}}

    def output(self) -> dict[str, Symbol]:
        """Return the names of an output: states and what does not change."""
        known = {**self.params, **self.constants, **self.flags, **self.states, **self.fields}
        return {**known, **_GIVEN[0]}

    def sub_unit(self, part: str) -> dict[str, Symbol]:
        """Return the names of a rate or a term of sub-units."""
        units = self.model.sub_units
        assert units is not None
        old = {n: one for n, one in self._old().items() if n not in self.flags}
        own = {n: Symbol("species") for n in units.species}
        before = {n: Symbol("term") for n in units.terms}
        if part.startswith("sub_units.terms"):
            before = _before(before, part.split("'")[1])
        return {**old, **self.terms, **own, **before}


_LOOP = re.compile(r"\b(?:for\s*\(\s*\w+\s*:|count\s*\()\s*(\w+)\s*\)")
"""What looks like a loop over connections, or like their number."""


def looped_accesses(model: type[NDComponent]) -> frozenset[str]:
    """Return the names of the accesses over whose connections the update of a model loops."""
    words = set(_LOOP.findall(model.update)) if model.update else set()
    return frozenset(a.name for a in model.accesses if model.input_symbol(a) in words)


def numbered_accesses(model: type[NDComponent]) -> frozenset[str]:
    """Return the names of the accesses of which the update of a model reads where sources are.

    That is their number within their population, or their index along an axis.
    """
    looped = looped_accesses(model)
    if not looped:
        return looped
    paths = (one for one in texts_of(model)["update"].tree.walk() if isinstance(one, tree.Path))
    read = {one.names[1] for one in paths}
    return frozenset(
        one.name
        for one in model.accesses
        if one.name in looped and not read.isdisjoint((INDEX, SOURCE, *one.places))
    )


def _connections(access: Any) -> Symbol:
    """Return what the connections of an access are to a text that loops over them."""
    whole = (INDEX, *access.places)
    numbers = (access.variable, *access.connection, *whole)
    said = f"a connection of '{access.name}'"
    sizes = tuple(f"{axis}{SIZE}" for axis in access.places)
    reach = Reach(said, (), None, numbers, True, whole=whole, written=access.written, sizes=sizes)
    return Symbol("access", reach=reach)


def sizes_of_sources(model: type[NDComponent], access: Any) -> tuple[str, ...]:
    """Return the axes of an access' sources whose lengths the update of a model reads."""
    if not access.places:
        return ()
    paths = (one for one in texts_of(model)["update"].tree.walk() if isinstance(one, tree.Path))
    found = [one.names[2] for one in paths if one.names[1] == SOURCE and len(one.names) > 2]
    read = {one.removesuffix(SIZE) for one in found}
    return tuple(axis for axis in access.places if axis in read)


def _reach(name: str, source: Source) -> Reach:
    """Return what a text reads through a source."""
    model = source.model
    axes = model.axes or None if model is not None and not source.by_number else None
    pools = tuple(model.pools) if model is not None else ()
    history = source.history
    return Reach(f"'{name}'", source.reads, axes, None, source.many, history=history, pools=pools)


def _own_reach(model: type[NDComponent]) -> Reach:
    """Return what a text reads of its own population."""
    axes, reads = model.axes or None, tuple(model.updates)
    return Reach("the cell itself", reads, axes, (), here=True, pools=tuple(model.pools))


_SET = "set it from outside: lpu.set"
_LIMITS = {
    name: Symbol("limit", "int" if name.endswith("int") else "real") for name in LIMITS
}  # fmt: skip
_STATE = "declare a state, which starts at it"
_COPY = "copy it first: real x = ...;"
_GIVEN = (
    {"dt_ms": Symbol("length of the sub-step", unit="ms")},
    {
        "substep": Symbol("number of the sub-step", "int"),
        "substeps": Symbol("number of sub-steps", "int"),
        STEP: Symbol(NUMBER_OF_STEP, "int"),
    },
)


def _before(symbols: Mapping[str, Symbol], name: str) -> dict[str, Symbol]:
    names = list(symbols)
    return {n: symbols[n] for n in names[: names.index(name)]}


@cache
def _texts(model: Any) -> ModelTexts:
    return ModelTexts(model)


def texts_of(model: type[NDComponent]) -> ModelTexts:
    """Return the texts of a model; the same object each time."""
    key: Any = model  # classes can be hashed
    return _texts(key)


def named(
    names: Iterable[str], parts: Iterable[TextPart | tree.Node], prints: bool = True
) -> list[str]:
    """Return those of ``names`` that occur in one of the texts; in PRINT, too, where it says so."""
    nodes = [one.tree if isinstance(one, TextPart) else one for one in parts]
    words = used(*nodes, prints=prints)
    return [name for name in names if name in words]


def step_numbers(model: type[NDComponent], prints: bool = False) -> list[str]:
    """Return the parameters and constants that a model reads at each step."""
    parts = [p for p in texts_of(model).parts.values() if not p.name.startswith("constants")]
    given = [*model.fixed_params(), *model.constants]
    found = {*named(given, parts, prints), *_labels(model, parts)}
    return [name for name in given if name in found]


def _labels(model: type[NDComponent], parts: Iterable[TextPart]) -> Iterator[str]:
    """Yield the parameters that say in which groups of pools a component is, if that is read."""
    own = {("here", name): pool.by for name, pool in model.pools.items() if pool.by is not None}
    for part in parts if own else ():
        for node in part.tree.walk():
            if isinstance(node, tree.Path) and node.names in own:
                yield own[node.names[0], node.names[1]]
