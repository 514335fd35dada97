"""``Plasticity``: how a rule declares what the synapses of a projection learn from.

A rule is a class like a model. It declares parameters, traces of the neurons on both sides,
variables of each synapse, and texts that run when the synapse sees an event::

    class PairSTDP(Plasticity):
        params = {"tau_plus": Parameter("ms", default=20.0, above=0.0), ...}
        pre = {"x": Trace("tau_plus")}
        post = {"y": Trace("tau_minus")}
        bounds = ("w_min", "w_max")
        on_arrival = "weight = clip(weight - A_minus * y); send(weight);"
        on_spike = "weight = clip(weight + A_plus * x);"
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import Faults, ModelError, UnitError, near
from ..quantities import magnitude
from .component import Parameter, State
from .language import (
    Checked,
    Symbol,
    assigned,
    check,
    parse,
    parse_expression,
    raise_faults,
    tree,
    used,
)
from .language.evaluate import Evaluator
from .language.measures import Measures, dimensions
from .language.parser import TOO_DEEP
from .rule_columns import Column, column_of, crossed_bounds, is_column, shared_numbers, unfit_times
from .rule_declarations import check_declarations, mapping
from .rule_names import GIVEN_TO_EVENTS, OF_THE_TYPES, names_known
from .rule_sums import sums_of
from .rule_values import VALUE_TEXTS, ValueRead, values_of, with_symbols
from .synapse_traces import as_stored, with_decays
from .target_levels import take_levels_of_targets
from .traces import Doses, Level, Trace
from .units import Dimension

CALLS = {"clip": 1}
PROCEDURES = {"send": 1}
"""Functions of the texts beside those of models -> numbers that they take."""

_OWN = ("weight", "count", *GIVEN_TO_EVENTS, *CALLS, *PROCEDURES, *OF_THE_TYPES)


KINDS: dict[str, type | tuple[type, ...]] = {
    "params": Parameter, "constants": str, "synapse": State, "pre": Trace, "post": Trace,
    "modulators": (Doses, Level), "every": str, "late": str, "on_call": str, "on_dose": str,
}  # fmt: skip
"""What a rule declares by name -> what the declarations are."""


class Plasticity:
    """Base of all rules: a subclass declares names and texts, an instance has numbers.

    Parameters
    ----------
    **values : float or quantity, (m,) of them, or a distribution; components
        Parameters of the rule, by name: a number for all synapses, or one of each, in the order of
        the connections. And for each modulator the components whose spikes are its doses, as a
        projection takes its ends. Without components Python alone gives doses.

    Attributes
    ----------
    params : mapping of str to Parameter
        Numbers of the rule.
    constants : mapping of str to str
        Expressions of parameters and ``dt_ms``, computed once.
    synapse : mapping of str to State or Trace
        Numbers of each synapse beside ``weight``. A trace decays between the events of the synapse.
        Texts of events change it.
    pre, post : mapping of str to Trace
        Traces of the source's and of the target's spikes. All synapses of a neuron share them.
    bounds : pair of str or float, or None
        Parameters or numbers between which ``clip(x)`` limits x, and first weights lie.
    on_arrival : str
        Text that runs when a spike of the source arrives at the synapse. It calls ``send(value)``
        with what the spike carries to the target.
    on_spike : str
        Text that runs when the synapse sees a spike of its target.
    on_step : str
        Text that runs at each synapse in each step, after its events. It reads values of the
        neurons at both ends, ``pre.r`` and ``post.V``. Texts of intervals read these, too, and
        ``on_arrival`` reads values of the target.
    late : mapping of str to str
        Value that texts read, such as ``post.V`` -> parameter with the time in ms by which the
        synapse sees it later.
    between : str
        Text that runs at a synapse before each of its events: a change since the event before,
        ``since_event`` ms ago. It reads modulators as they were then. Doses are events, too.
    modulators : mapping of str to Doses or Level
        Third factors. A `Level` is read by ``on_step`` and by texts of intervals. One of each
        target is in ``of_targets`` once the class is made, and texts read the target's variable.
    on_dose : mapping of str to str
        Modulator -> text that runs for each synapse at each of its doses, of which ``count`` come
        in one step. It reads modulators as they were before, and comes before spikes of its step.
    every : mapping of str to str
        Parameter with an interval in ms -> text that runs for each synapse at its multiples. It
        may begin with sums over the synapses of its target: ``total = sum(weight);``.
    on_call : mapping of str to str
        How Python calls a text, such as ``"reward(r)"`` -> text that runs for each synapse then.
        ``lpu["learning"].call("reward", r=1.0)`` gives the numbers that it reads.
    first : {"arrival", "spike"}
        Which text comes first where both fall on one step.
    same_step : {"apart", "pair"}
        Whether the second text reads traces without or with the jump of the first event.
    reference : str
        Source of the equations, with DOI.

    Raises
    ------
    ModelError
        For a parameter that the rule does not have or that is out of its range.
    """

    params: ClassVar[Mapping[str, Parameter]] = {}
    constants: ClassVar[Mapping[str, str]] = {}
    synapse: ClassVar[Mapping[str, Any]] = {}
    pre: ClassVar[Mapping[str, Trace]] = {}
    post: ClassVar[Mapping[str, Trace]] = {}
    bounds: ClassVar[tuple[str | float, str | float] | None] = None
    on_arrival: ClassVar[str] = "send(weight);"
    on_spike: ClassVar[str] = ""
    on_step: ClassVar[str] = ""
    between: ClassVar[str] = ""
    _drift: ClassVar[str] = ""  # what the class says; in `between` traces of synapses decay, too
    modulators: ClassVar[Mapping[str, Doses | Level]] = {}
    of_targets: ClassVar[Mapping[str, str]] = {}  # modulators of each target -> its variables
    every: ClassVar[Mapping[str, str]] = {}
    on_call: ClassVar[Mapping[str, str]] = {}
    on_dose: ClassVar[Mapping[str, str]] = {}
    late: ClassVar[Mapping[str, str]] = {}
    first: ClassVar[str] = "arrival"
    same_step: ClassVar[str] = "apart"
    reference: ClassVar[str] = ""

    values: Mapping[str, float]
    columns: Mapping[str, Column]
    """Parameters that are numbers of each synapse; in ``values`` they have a stand-in."""
    released_by: Mapping[str, Any]
    """Modulator -> the components whose spikes are its doses; uids in a circuit."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in KINDS:
            merged: dict[str, Any] = {}
            for base in reversed(cls.__mro__):
                merged.update(mapping(cls, name, base.__dict__.get(name)))
            setattr(cls, name, as_stored(cls, merged) if name == "synapse" else merged)
        take_levels_of_targets(cls)
        if "between" in cls.__dict__:
            cls._drift = cls.between
        if isinstance(cls._drift, str):
            cls.between = with_decays(cls._drift, cls.synapse)
        check_declarations(cls, Plasticity, KINDS, _OWN)
        try:
            _check_texts(cls)
        except RecursionError:
            raise ModelError(f"{cls.__name__}: in a text, {TOO_DEEP}") from None

    def __init__(self, **values: Any) -> None:
        faults = Faults(type(self).__name__)
        found: dict[str, float] = {}
        columns: dict[str, Column] = {}
        self.released_by = {n: values.pop(n) for n in self.modulators if n in values}
        for name in self.levels():
            if name not in self.released_by:
                faults.add(f"modulator '{name}': give the component whose value it is")
        for name in [one for one in values if one in self.of_targets]:
            del values[name]
            own = f"each target has its own, its variable '{self.of_targets[name]}'"
            faults.add(f"modulator '{name}': {own}; give no component")
        for name in values:
            if name not in self.params:
                faults.add(f"no parameter '{name}'{near(name, [*self.params, *self.modulators])}")
        for name, rule in self.params.items():
            given = values.get(name, rule.default)
            if given is None:
                faults.add(f"parameter '{name}' [{rule.unit}] is missing")
                given = rule.harmless
            if is_column(given):
                column = self._column(name, rule, given, faults)
                columns |= {} if column is None else {name: column}
                given = rule.harmless if rule.default is None else rule.default
            found[name] = _number(name, rule, given, faults)
        for text in unfit_times(type(self), found) if not faults.count else ():
            faults.add(text)
        if not faults.count and (text := crossed_bounds(type(self), found, columns)):
            faults.add(text)
        if faults.count:
            raise ModelError(faults.report())
        self.values, self.columns = found, columns

    def _column(self, name: str, rule: Parameter, given: Any, faults: Faults) -> Column | None:
        why = shared_numbers(type(self)).get(name)
        if why is None:
            return column_of(name, rule, given, faults)
        faults.add(f"parameter '{name}' [{rule.unit}]: must be one number, as {why}")
        return None

    def __repr__(self) -> str:
        changed = [f"{n}={v:g}" for n, v in self.values.items() if v != self.params[n].default]
        changed += [
            f"{n}=<{len(c):,} numbers>" if isinstance(c, np.ndarray) else f"{n}={c}"
            for n, c in self.columns.items()
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    @property
    def limits(self) -> tuple[float, float] | None:
        """The numbers between which ``clip`` limits weights where synapses share both."""
        if self.bounds is None:
            return None
        low, high = (
            self.values[one] if isinstance(one, str) else float(one) for one in self.bounds
        )
        return low, high

    def numbers(self, dt_ms: float) -> dict[str, float]:
        """Return the values of parameters and constants, for a step in ms."""
        known = {"dt_ms": np.asarray(dt_ms)} | {n: np.asarray(v) for n, v in self.values.items()}
        for name in self.constants:
            node = self.checked(f"constants['{name}']").node
            assert isinstance(node, tree.Expression)
            known[name] = Evaluator().value(node, known)
        return {name: float(value) for name, value in known.items()}

    @classmethod
    def unit_of(cls, name: str) -> str:
        """Return the unit of a number of each synapse; that of the weight is its target's."""
        declared = cls.synapse.get(name) or cls.params.get(name)
        return "" if declared is None else declared.unit or ""

    def digest_input(self) -> str:
        """Return what the digest of a circuit takes in."""
        released = {name: [*map(str, uids)] for name, uids in self.released_by.items()}
        columns = {
            n: blake2b(c.tobytes()).hexdigest() if isinstance(c, np.ndarray) else repr(c)
            for n, c in self.columns.items()
        }
        numbers = sorted(self.values.items())
        return f"{type(self).__name__}:{numbers}{released or ''}{columns or ''}"

    @classmethod
    def texts(cls) -> Iterator[tuple[str, str]]:
        """Yield the texts of the rule and what they are called."""
        yield "on_arrival", with_symbols(cls.on_arrival)
        for where in ("on_spike", "between", "on_step"):
            if text := getattr(cls, where):
                yield where, with_symbols(text)
        for name, text in cls.every.items():
            yield f"every['{name}']", with_symbols(sums_of(text)[1])
        for where in ("on_dose", "on_call"):
            for name, text in getattr(cls, where).items():
                yield f"{where}['{name}']", text

    @classmethod
    def values_read(cls, *places: str) -> list[ValueRead]:
        """Return the values of neurons that texts read, each once; ``every``: at intervals."""
        given = (getattr(cls, place) for place in places)
        return values_of(" ".join(t if isinstance(t, str) else " ".join(t.values()) for t in given))

    @classmethod
    def every_value(cls) -> list[ValueRead]:
        """Return the values of neurons that any text reads, each once."""
        return cls.values_read(*VALUE_TEXTS)

    @classmethod
    def needs_each_step(cls) -> bool:
        """Whether something other than spikes may change synapses in any step."""
        return bool(cls.every or cls.modulators or cls.on_step or cls.every_value())

    def steps_late(self, value: ValueRead, dt_ms: float) -> int:
        """Return the steps by which the synapse sees a value of a neuron later."""
        time = self.late.get(str(value))
        return 0 if time is None else round(self.values[time] / dt_ms)

    @classmethod
    def doses(cls) -> dict[str, Doses]:
        """Return the modulators to which spikes add doses."""
        return {n: one for n, one in cls.modulators.items() if isinstance(one, Doses)}

    @classmethod
    def levels(cls) -> dict[str, Level]:
        """Return the modulators that are variables of components."""
        return {n: one for n, one in cls.modulators.items() if isinstance(one, Level)}

    @classmethod
    def intervals_read_components(cls) -> bool:
        """Whether a text of an interval reads a variable of a neuron or of another component."""
        texts = [cls.checked(f"every['{name}']") for name in cls.every]
        of_levels = any(cls.levels().keys() & {*used(one.node)} for one in texts)
        return of_levels or bool(cls.values_read("every"))

    @classmethod
    def acts_late(cls) -> bool:
        """Whether a synapse may have seen what it has not applied yet: all but arrivals."""
        return bool(cls.on_spike or cls.between or cls.on_step or cls.every or cls.modulators)

    @classmethod
    def changes_weights(cls) -> bool:
        """Whether any text writes the weight. One that only scales what is sent does not learn."""
        return any("weight" in assigned(cls.checked(where).node) for where, _ in cls.texts())

    @classmethod
    def changes_synapses(cls) -> bool:
        """Whether any text writes the weight, or another number of a synapse."""
        own = {"weight", *cls.synapse}
        return any(own & assigned(cls.checked(where).node) for where, _ in cls.texts())

    @classmethod
    def checked(cls, where: str) -> Checked:
        """Return the tree of a text with its types and its faults.

        Raises
        ------
        ModelError
            For a fault of its grammar.
        """
        place = f"{cls.__name__}.{where}"
        if where.startswith("constants"):
            source = cls.constants[where.split("'")[1]]
            node: tree.Node = parse_expression(source, place)
            return check(node, names_known(cls, where), source, place, draws=False)
        source = dict(cls.texts())[where]
        return check(
            parse(source, place), names_known(cls, where), source, place, draws=False,
            calls=CALLS if cls.bounds is not None else None,
            procedures=PROCEDURES if where == "on_arrival" else None, taken=OF_THE_TYPES,
        )  # fmt: skip

    @classmethod
    def sums(cls, interval: str) -> dict[str, Checked]:
        """Return the sums over the synapses of a target that the text of an interval reads."""
        place, found = f"{cls.__name__}.every['{interval}']", {}
        own = {n: Symbol("number of the synapse") for n in ("weight", *cls.synapse)}
        for name, term in sums_of(cls.every[interval])[0]:
            node: tree.Node = parse_expression(term, f"{place}, {name}")
            found[name] = check(node, own, term, f"{place}, {name}", draws=False)
        return found

    def changed(self, **values: float) -> Self:
        """Return the same rule with other numbers."""
        return type(self)(**{**self.values, **self.columns, **values, **self.released_by})

    def released(self, by: Mapping[str, Any]) -> Self:
        """Return the same rule, with other components that release its modulators."""
        return type(self)(**{**self.values, **self.columns, **by})

    def without_columns(self) -> Self:
        """Return the same rule with one number for all synapses in place of each column."""
        return type(self)(**{**self.values, **self.released_by}) if self.columns else self


def _number(name: str, rule: Parameter, given: Any, faults: Faults) -> float:
    """Return the value of a parameter in its unit; note what is wrong with it."""
    try:
        value = float(magnitude(given, rule.unit, f"parameter '{name}'"))
    except UnitError as error:
        faults.add(str(error))
        return rule.harmless
    except (TypeError, ValueError):
        faults.add(f"parameter '{name}' [{rule.unit}]: must be a number (got {given!r:.60})")
        return rule.harmless
    fits = rule.at_least <= value <= rule.at_most and value > rule.above
    if not (math.isfinite(value) and fits):
        faults.add(f"parameter '{name}' [{rule.unit}]: must be {rule.allowed()} (got {value:g})")
        return rule.harmless
    return value


def _units(cls: type[Plasticity]) -> list[str]:
    """Return where the units of quantities do not fit; that of a weight is its target's."""
    found: list[str] = []
    inferred: dict[str, Dimension | None] = {}
    places = {f"constants['{name}']": text for name, text in cls.constants.items()}
    for where, source in {**places, **dict(cls.texts())}.items():
        known = dimensions(names_known(cls, where), inferred)
        measures = Measures(known, source, f"{cls.__name__}.{where}", plain=False)
        node = cls.checked(where).node
        if isinstance(node, tree.Expression):
            inferred[where.split("'")[1]] = measures.of(node)
        else:
            measures.run(node)
        found += measures.faults
    return found


def _check_texts(cls: type[Plasticity]) -> None:
    """Raise ModelError where a text uses what it may not."""
    faults: list[str] = []
    for where in (*(f"constants['{name}']" for name in cls.constants), *dict(cls.texts())):
        try:
            faults += cls.checked(where).faults
        except ModelError as error:
            faults.append(str(error))
    for interval in cls.every:
        for term in cls.sums(interval).values():
            faults += term.faults
    raise_faults(faults or _units(cls))
    if "send" not in used(cls.checked("on_arrival").node):
        advice = "it says what the spike carries, for example send(weight)"
        raise ModelError(f"{cls.__name__}.on_arrival: there is no send(...); {advice}")
