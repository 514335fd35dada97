"""``NDComponent``: how a model declares what it reads, what it writes and its mathematics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ..errors import ModelError
from .attributes import check_body, fault_of
from .declarations import check_declarations, several
from .equations.expand import expand, written_as_equations
from .fields import Field, Source, merged, merged_axes
from .kinds import Kinds, VariableKind, agreed_unit, declared, usual_unit
from .language import draws, parse
from .language.parser import TOO_DEEP
from .linear import Linear
from .parameters import Access as Access
from .parameters import Parameter as Parameter
from .parameters import State as State
from .parameters import Weighted as Weighted
from .parts import fill_texts, merged_numbers, merged_parts, open_parts, written_by
from .pools import Reduce, check_pools
from .prints import Print, printing
from .runtime import (
    Runtime,
    adapter_of,
    add_views,
    brought_by,
    check_names,
    listed_params,
    runtime_of,
)
from .subunits import SubUnits
from .texts import texts_of
from .vectors import expanded


class Names(dict[str, Any]):
    """Declarations by name that can be added to and counted like the list they may have been."""

    def __add__(self, other: Iterable[str]) -> list[str]:
        return [*self, *other]

    def __missing__(self, place: Any) -> str:
        if isinstance(place, int):
            return list(self)[place]
        raise KeyError(place)


class Listed(tuple[Any, ...]):
    """Declarations in order, to which a list can be added."""

    def __add__(self, other: Iterable[Any]) -> Listed:
        return Listed((*self, *other))


def _table(given: Any, make: type, owner: str) -> dict[str, Any]:
    """Bring the spellings of a declaration (list, name -> unit, name -> object) into one."""
    if not isinstance(given, Mapping):
        given = dict.fromkeys(given, "")
    out = {}
    for name, value in given.items():
        if isinstance(value, make):
            out[name] = value
        elif isinstance(value, str):
            out[name] = make(value)
        elif isinstance(value, int | float) and make is State:
            out[name] = State("", float(value))  # name -> initial value
        else:
            raise ModelError(f"{owner}.{name}: expected a unit or a {make.__name__}, got {value!r}")
        key = f"init{name}" if make is State else name
        if fault := fault_of(out[name], f"nd.Population(..., {key}=...)"):
            raise ModelError(f"{owner}[{name!r}]: {fault}")
    return out


class NDComponent:
    """Base of all models: a subclass declares names and mathematics.

    A subclass may bring code instead of mathematics: it overrides methods of
    `neurodriver.model.instance.Instance`.

    Attributes
    ----------
    accesses : sequence of str or Access
        Variables that are read; each is the sum over the component's connections.
    updates : sequence of str, or mapping of str to unit
        Variables that are written. The first one is what an output port publishes.
    kinds : mapping of str to kind
        Kinds of variables that are read or written: "event", "graded", "conductance", "current" or
        "potential". Names that the shipped models share have theirs already (`kinds`).
    converts : VariableKind or None
        Of a model that is put between: the kind of variable of which it makes a current. It is not
        inherited.
    is_port : bool
        Whether components are ports, which compute nothing.
    params : mapping of str to Parameter or unit
        Numbers of each component.
    states : mapping of str to State
        Numbers carried from step to step. A state that is named like an updated variable *is*
        that variable.
    constants : mapping of str to str
        Expressions of parameters and ``dt_ms``, computed once.
    terms : mapping of str to str
        Expressions computed at each sub-step before ``update``, from old values.
    update : str
        Statements that advance the states by ``dt_ms`` ms and set the updated variables.
    outputs : mapping of str to str
        Updated variables that are functions of states and parameters alone.
    sub_units : SubUnits or None
        Stochastic systems inside each component, which jump by reactions; their totals are known
        to ``update``.
    linear : Linear or None
        Of a synapse: that many of one target may be computed as one.
    maximum_dt : float or None
        Largest sub-step in seconds; None: one sub-step per step.
    fixed_dt : float or None
        The only step, in seconds, for which the texts are right; a run with another step is
        refused.
    reference : str
        Source of the equations, with DOI.
    backends : sequence of str
        Where a class can run (``"cpu"``, ``"cuda"``). Without it: everywhere, but a class with its
        own ``run_step`` and no kernel only on a GPU if its code uses PyCUDA, else on the CPU.
    needs_code : bool
        Whether the class is a base of models, with nothing that it computes.
    runtime : Runtime
        What advances the components: the mathematics, or code of the class.
    equations : str
        Differential equations in place of texts; ``threshold``, ``reset``, ``refractory``,
        ``arrivals`` and ``method`` go with them (`neurodriver.model.equations`).
    functions : str, or mapping of str to str
        Functions that the texts may call: ``real twice(real x) { return 2 * x; }``, or
        ``{"twice(x)": "2 * x"}``.
    parts : mapping of str to str
        Texts that stand for ``$name`` in the other texts and in parts.
    numbers : mapping of str to int or float
        Numbers that the texts use by name; ``default(tau)`` is the default of a parameter.
    axes : sequence of str
        Names of the axes of its populations, the last one fastest in memory.
    fields : mapping of str to Field
        Numbers and arrays that each population has once.
    shared : mapping of str to Field
        Numbers and arrays that the circuit has once.
    sources : mapping of str to Source
        Populations whose cells the texts read.
    pools : mapping of str to Reduce
        Numbers that groups of cells share, made of the values of the members.
    abstract : bool
        Whether the class is a base that no population has. It is not inherited.
    vectors : mapping of str to int
        Sizes of parameters and states that are vectors.
    held : tuple of str
        Of a class without mathematics: the updated variables, which keep their values until they
        are set or injected.
    printing : tuple of Print
        What ``PRINT`` and ``ERROR`` in ``update`` say.

    Notes
    -----
    The mappings are merged along the inheritance, so that a subclass overrides single entries.
    """

    accesses: ClassVar[Any] = ()
    updates: ClassVar[Any] = ()
    kinds: ClassVar[Any] = {}
    converts: ClassVar[VariableKind | None] = None
    is_port: ClassVar[bool] = False
    params: ClassVar[Any] = {}
    states: ClassVar[Any] = {}
    constants: ClassVar[Mapping[str, str]] = {}
    terms: ClassVar[Mapping[str, str]] = {}
    update: ClassVar[str] = ""
    outputs: ClassVar[Mapping[str, str]] = {}
    sub_units: ClassVar[SubUnits | None] = None
    linear: ClassVar[Linear | None] = None
    maximum_dt: ClassVar[float | None] = None
    fixed_dt: ClassVar[float | None] = None
    reference: ClassVar[str] = ""
    units: ClassVar[dict[str, str]] = {}
    backends: ClassVar[tuple[str, ...]] = ()
    needs_code: ClassVar[bool] = False
    runtime: ClassVar[Runtime] = Runtime()
    functions: ClassVar[str | Mapping[str, str]] = ""
    parts: ClassVar[Mapping[str, str]] = {}
    numbers: ClassVar[Mapping[str, int | float]] = {}
    axes: ClassVar[Any] = ()
    fields: ClassVar[Mapping[str, Field]] = {}
    shared: ClassVar[Mapping[str, Field]] = {}
    sources: ClassVar[Mapping[str, Source]] = {}
    pools: ClassVar[Mapping[str, Reduce]] = {}
    abstract: ClassVar[bool] = False
    vectors: ClassVar[Mapping[str, int]] = {}
    held: ClassVar[tuple[str, ...]] = ()
    equations: ClassVar[str] = ""
    threshold: ClassVar[str] = ""
    reset: ClassVar[str] = ""
    refractory: ClassVar[str] = ""
    arrivals: ClassVar[str] = ""
    method: ClassVar[str] = ""
    printing: ClassVar[tuple[Print, ...]] = ()
    _brings: ClassVar[frozenset[str] | None] = frozenset()
    _texts_given: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        try:
            cls._declare()
        except RecursionError:
            raise ModelError(f"{cls.__name__}: in a text, {TOO_DEEP}") from None

    @classmethod
    def _declare(cls) -> None:
        """Bring what the class body says together with what it inherits, and check it."""
        own = cls.__dict__
        check_body(cls, NDComponent)
        cls._brings = brought_by(cls)
        cls.runtime = runtime_of(cls)
        adapter = adapter_of(cls)
        if adapter is not None:
            adapter.prepare(cls)
        opaque = cls.runtime.opaque
        params = listed_params(cls, Parameter, _table) if opaque else None
        cls.params = Names(cls._merged("params", Parameter) if params is None else params)
        cls.states = cls._merged("states", State)
        expanded(cls)
        for name in ("constants", "terms", "outputs"):
            setattr(cls, name, cls._merged_texts(name))
        cls.abstract = bool(own.get("abstract", False))
        cls.parts, cls.numbers = merged_parts(cls), merged_numbers(cls)
        cls.axes, cls.sources = merged_axes(cls), merged(cls, "sources", Source)
        cls.pools = merged(cls, "pools", Reduce)
        cls.fields, cls.shared = (merged(cls, scope, Field) for scope in ("fields", "shared"))
        fill_texts(cls)
        cls.accesses = Listed(
            a if isinstance(a, Access) else Access(a)
            for a in several(cls.accesses, f"{cls.__name__}.accesses")
        )
        named = cls.updates if isinstance(cls.updates, Mapping) else {}
        cls.updates = Listed(several(cls.updates, f"{cls.__name__}.updates"))
        cls._hold()
        if written_as_equations(cls):
            expand(cls, State, Parameter)
        cls.accesses = Listed(
            replace(a, unit=a.unit or agreed_unit(a.variable)) for a in cls.accesses
        )
        cls.units = {
            **{v: usual_unit(v) for v in cls.updates},
            **{k: v for k, v in cls.units.items() if k in cls.updates},
            **{s: state.unit for s, state in cls.states.items() if s in cls.updates},
            **named,
        }
        variables = [*cls.updates, *(access.variable for access in cls.accesses)]
        cls.kinds = declared(own.get("kinds", {}), cls._inherited_kinds(), variables, cls.__name__)
        cls.converts = own.get("converts")
        if adapter is not None:
            cls.runtime = adapter.complete(cls)
        elif opaque:
            hidden = [n for n in cls.states if n not in cls.updates and n not in cls.params]
            starts = {n: 0.0 if isinstance(s := cls.states[n].initial, str) else s for n in hidden}
            cls.runtime = replace(cls.runtime, states=starts)
        if cls.runtime.opaque:
            check_names(cls)
        elif not (cls.abstract and open_parts(cls)):
            check_declarations(cls)
            check_pools(cls)
        if isinstance(own.get("update"), str) and not open_parts(cls):
            where = f"{cls.__name__}.update"
            cls.printing = printing(parse(cls.update, where), cls.update, where)

    @classmethod
    def _merged(cls, name: str, make: type) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            merged.update(_table(written_by(base, name) or {}, make, f"{base.__name__}.{name}"))
        return merged

    @classmethod
    def _hold(cls) -> None:
        """Make the variables of a class without mathematics states, which keep their values."""
        cls.held = ()
        if cls.runtime.empty and not (cls.is_port or cls.needs_code or cls.abstract):
            cls.held = tuple(cls.updates)
            units = cls.__dict__.get("units", {})
            own = {v: State(units.get(v, "") or usual_unit(v)) for v in cls.updates}
            cls._texts_given = {**cls._texts_given, "states": cls.states}
            cls.states = {**own, **cls.states}
            cls.runtime = replace(cls.runtime, declared=True)

    @classmethod
    def _merged_texts(cls, name: str) -> dict[str, str]:
        """Return texts by name, but for those that equations of a base have made."""
        merged: dict[str, str] = {}
        made: set[str] = set()
        for base in reversed(cls.__mro__):
            made |= base.__dict__.get("_generated", frozenset())
            merged.update(written_by(base, name) or {})
        equations = written_as_equations(cls)
        own = cls.__dict__.get(name) or {}
        return {n: t for n, t in merged.items() if not equations or n not in made or n in own}

    @classmethod
    def _inherited_kinds(cls) -> Kinds:
        known: dict[str, VariableKind] = {}
        for base in reversed(cls.__mro__[1:]):
            known.update(base.__dict__.get("kinds") or {})
        return known

    @classmethod
    def kind_of(cls, variable: str) -> VariableKind:
        """Return the kind of a variable, as far as this model knows: graded otherwise."""
        kind: VariableKind = cls.kinds.get(variable, VariableKind.GRADED)
        return kind

    @classmethod
    def initial_names(cls) -> dict[str, str]:
        """Return the optional parameters: ``init<state>`` -> state.

        Where code takes the place of mathematics, the state may be one that the code keeps or an
        updated variable, and there may be optional parameters of other names.
        """
        if not cls.runtime.opaque:
            return {f"init{state}": state for state in cls.states}
        names = [*cls.states, *cls.runtime.states, *cls.updates]
        given = [n for n in cls.runtime.optional if n not in cls.params]
        return {**{f"init{name}": name for name in names}, **dict.fromkeys(given, "")}

    @classmethod
    def optional_unit(cls, name: str) -> str:
        """Return the unit of an optional parameter."""
        state = name.removeprefix("init")
        return cls.states[state].unit if state in cls.states else cls.units.get(state, "")

    @classmethod
    def fixed_params(cls) -> list[str]:
        """Return the parameters that the mathematics reads.

        The others are required ones from which a state of the same name starts.
        """
        starts = {name for name, state in cls.states.items() if state.initial == name}
        return [n for n, rule in cls.params.items() if n not in starts or rule.default is not None]

    @classmethod
    def prepare(cls, population: Any) -> dict[str, Any]:
        """Return values of fields and parameters that nobody gave, field -> value.

        It is called once for each population, which has its axes and what was given as
        attributes. A subclass overrides it.
        """
        return {}

    @classmethod
    def layered(cls) -> bool:
        """Whether its texts read what a population has: axes, fields, sources or pools."""
        return any((cls.axes, cls.fields, cls.shared, cls.sources, cls.pools))

    @classmethod
    def every_field(cls) -> dict[str, Field]:
        """Return the fields of the population and of the circuit."""
        return {**cls.shared, **cls.fields}

    @classmethod
    def names_of_numbers(cls) -> set[str]:
        """Return the names that stand for numbers in the texts."""
        names = {*cls.params, *cls.constants, *cls.terms, *cls.states, *cls.updates}
        return names | {cls.input_symbol(one) for one in cls.accesses} | {*cls.every_field()}

    @classmethod
    def access(cls, name: str) -> Access:
        """Return the access of that name (its receptor, or its variable)."""
        found: Access = next(a for a in cls.accesses if a.name == name)
        return found

    @classmethod
    def input_symbol(cls, access: Access) -> str:
        """Return the name by which the mathematics reads the sum of an access.

        It is the access's own name, or ``input_<name>`` where a state, parameter or updated
        variable has that name already.
        """
        taken = access.name in cls.updates or access.name in cls.states
        return f"input_{access.name}" if taken or access.name in cls.params else access.name

    @classmethod
    def substeps(cls, dt: float) -> int:
        """Return how many sub-steps a step of ``dt`` seconds takes.

        One up to the largest sub-step; above it the ratio of both when that is an integer within
        1e-5, otherwise the next integer.
        """
        longest = cls.runtime.longest(cls, dt)
        if longest is None or dt <= longest:
            return 1
        ratio = dt / longest
        return round(ratio) if abs(ratio - round(ratio)) <= 1e-5 else math.ceil(ratio)

    @classmethod
    def draws_random(cls) -> bool:
        """Whether the mathematics draws random numbers."""
        if cls.sub_units is not None:
            return True
        return bool(draws(part.tree for part in texts_of(cls).drawing()))


add_views(NDComponent)


def table(models: Iterable[type[NDComponent]]) -> dict[str, type[NDComponent]]:
    """Return name -> model; a later model of one name replaces an earlier one."""
    return {model.__name__: model for model in models}
