"""Connections that learn between calls: their numbers are read and set in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..circuit.circuit import Circuit, Connections
from ..circuit.plastic import learning_connections
from ..circuit.validate import edge_name, groups_of
from ..circuit.wiring import numbers_of
from ..errors import Faults, NeurodriverError, near, quoted
from ..model.plasticity import Plasticity
from ..model.rule_columns import misfits, shared_numbers
from ..model.synapse_traces import taus
from ..state.synapses import SynapseNames, Synapses
from . import live
from .divided import Divided
from .live_connections import LiveConnections
from .synapse_calls import ready_call
from .synapse_choice import Ends, Numbers

if TYPE_CHECKING:
    from .simulation import Simulation


class LearningConnections(LiveConnections):
    """Connections that learn. An LPU makes these objects: ``lpu["learning"]``.

    What is read when n steps are done holds all that the synapses saw in steps before n. What is
    set counts from step n on. Neither compiles anything.

    Parameters
    ----------
    simulation : callable
        Returns the simulation, which changes when an LPU is compiled anew.
    scope : str or None
        Id of the LPU in a joined circuit.
    name : str
        Of the connections.
    copy : int, optional
        Of a batch: which copy has these connections.

    Examples
    --------
    >>> w = lpu["learning"].get("weight")  # doctest: +SKIP
    >>> lpu["learning"].set("weight", 0.9 * w)  # doctest: +SKIP
    >>> lpu["learning"].learn(False)  # doctest: +SKIP
    """

    _simulation: Callable[[], Simulation | Divided]
    _copy: int | None

    def __init__(
        self,
        simulation: Callable[[], Simulation | Divided],
        scope: str | None,
        name: str,
        copy: int | None = None,
    ) -> None:
        self._put(_simulation=simulation, _scope=scope, name=name, _copy=copy)

    @property
    def _circuit(self) -> Circuit:
        simulation = self._simulation()
        return simulation.circuit if isinstance(simulation, Divided) else simulation.program.circuit

    @property
    def _rule(self) -> Plasticity:
        rule = self._links.plasticity
        assert rule is not None
        return rule

    def _attributes(self) -> dict[str, Any]:
        simulation = self._simulation()
        time = simulation.step * simulation.dt
        return super()._attributes() | {"rule": repr(self._rule), "time": time}

    @property
    def _links(self) -> Connections:
        name = self.name if self._scope is None else f"{self._scope}/{self.name}"
        return next(one for one in learning_connections(self._circuit) if one.name == name)

    def _uids(self, ends: NDArray[np.int32]) -> NDArray[np.str_]:
        names: NDArray[np.str_] = np.concatenate([g.uids for g in self._circuit.groups])[ends]
        return names

    def _synapses(self) -> Synapses:
        simulation = self._simulation()
        if isinstance(simulation, Divided):
            return simulation.synapses(self._links)
        simulation.check_whole()
        simulation.complete_calls()
        place = simulation if self._copy is None else simulation.copies[self._copy]
        return Synapses(place.backend, self._links)

    def _current(self) -> Synapses:
        """Return the synapses after all that they saw before the present step."""
        synapses = self._synapses()
        if synapses.rule.acts_late():
            synapses.catch_up(self._simulation().step)
        return synapses

    def __repr__(self) -> str:
        rule = type(self._links.plasticity).__name__
        return f"'{self.name}': {len(self):,} connections that learn by {rule}"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers of each synapse: ``weight`` and what the rule declares."""
        return self._synapses().names

    @property
    def learning(self) -> bool:
        """Whether the synapses learn; see `learn`."""
        return self._synapses().learns

    def learn(self, on: bool = True) -> None:
        """Let the synapses learn, or keep their weights as they are, from the next step on.

        While they do not learn, spikes carry the weights. Traces of neurons go on, and numbers of
        synapses stay. What happens meanwhile is never learned. A rule that never changes weights,
        such as `ShortTerm`, does not learn: what its spikes carry stays as it is.

        Raises
        ------
        NeurodriverError
            For anything but True or False.
        """
        given: object = on
        if not isinstance(given, bool | np.bool_):
            want = f"learn takes True or False, got {on!r:.60}"
            raise NeurodriverError(f"'{self.name}': {want}")
        synapses = self._synapses()
        synapses.learn(bool(on) or not synapses.rule.changes_weights(), self._simulation().step)

    def call(self, name: str, /, **given: float) -> None:
        """Run a text of the rule for all synapses, such as a reward at the end of a trial.

        While the synapses do not learn, no text runs.

        Parameters
        ----------
        name : str
            Of a text that the rule declares in ``on_call``.
        **given : float
            Numbers that the text reads.

        Raises
        ------
        NeurodriverError
            For a name or a number that does not fit, or where a number of a synapse would not be
            finite. Nothing has been changed then.

        Examples
        --------
        >>> lpu["learning"].call("reward", r=1.0)  # doctest: +SKIP
        """
        self._called(name, given)()

    def _called(self, name: str, given: Mapping[str, Any]) -> Callable[[], None]:
        """Return what stores the numbers after a call, after all that may be refused."""
        synapses = self._current()
        store = ready_call(synapses, self.name, name, given, self._simulation().step)
        return store if synapses.learns else lambda: None

    def get(self, name: str = "weight", of: Ends | None = None) -> NDArray[np.float64]:
        """Return a number of each synapse, (m,), in the order of the connections.

        Parameters
        ----------
        name : str
            ``weight``, or a variable of the synapses; or a modulator, which is one number, ().
        of : (sources, targets), optional
            Only the synapses between these: uids, a population, or None for all.
        """
        synapses = self._current()
        if name in synapses.rule.doses():
            return np.asarray(synapses.level(name, self._simulation().step))
        self._check_name(synapses, name)
        values = synapses.at(name, self._simulation().step).astype(np.float64)
        return values if of is None else values[self.between(*self._ends(of))]

    def set(self, name: str, values: ArrayLike, *, at: Any = None, of: Ends | None = None) -> None:
        """Set a number of the synapses.

        Spikes that are on their way keep the weights with which they were sent.

        Parameters
        ----------
        name : str
            ``weight``, or a variable of the synapses; or a modulator.
        values : float or array
            One for each synapse that is meant; the level of a modulator, which then decays.
        at : array of int or of bool, optional
            Numbers of synapses, or a mask; all by default.
        of : (sources, targets), optional
            The synapses between these: uids, a population, or None for all.

        Raises
        ------
        NeurodriverError
            For weights beyond the bounds of the rule and other values that do not fit. Nothing has
            been changed then.
        """
        self._checked(name, values, at, of)()

    def _checked(
        self, name: str, values: ArrayLike, at: Any, of: Ends | None, known: bool = False
    ) -> Callable[[], None]:
        """Return what sets a number of the synapses, after all that may be refused.

        ``known`` values have been checked: another copy of a batch, with equal bounds, takes them.
        """
        synapses, step = self._current(), self._simulation().step
        if name in synapses.rule.doses():
            level = self._level(name, values, at, of)
            return lambda: synapses.set_level(name, level, step)
        self._check_name(synapses, name)
        if name in taus(synapses.rule.synapse):
            say = "it is a trace, which follows from events; a number that is set is a nd.State"
            raise NeurodriverError(f"'{self.name}', '{name}': {say}")
        which = self._which(at, of)
        numbers = self._numbers(name, values, len(which))
        if not known:
            self._check_values(synapses, name, which, numbers)
        whole: NDArray[np.floating] = numbers
        if not (at is None and of is None):
            whole = synapses.at(name, step)
            whole[which] = numbers

        def change() -> None:
            drifts = bool(synapses.rule.between)
            if drifts and np.array_equal(synapses.at(name, step), whole.astype(synapses.dtype)):
                return  # a drift that is cut in two has other bits
            synapses.settle(step)
            synapses.write(name, whole)

        return change

    def _level(self, name: str, value: ArrayLike, at: Any, of: Ends | None) -> float:
        """Return the level of a modulator that is to be set."""
        if at is not None or of is not None:
            say = "all synapses share it, so 'at' and 'of' say nothing"
            raise NeurodriverError(f"'{self.name}', '{name}': {say}")
        level = self._numbers(name, value, 1)
        if np.ndim(value) or not np.isfinite(level).all():
            raise NeurodriverError(
                f"'{self.name}', '{name}': a finite number is needed, got {value!r:.60}"
            )
        return float(level[0])

    def _numbers(self, name: str, values: ArrayLike, count: int) -> NDArray[np.float64]:
        plain = self._plain(name, values)
        return live.numbers_of(plain, (count,), f"'{self.name}', '{name}'")

    def _check_name(self, synapses: Synapses, name: str) -> None:
        if name not in synapses.names:
            raise NeurodriverError(self._unknown(name))

    def _readable(self) -> tuple[str, ...]:
        return (*self.names, *self._rule.doses())

    def _unknown(self, name: str) -> str:
        return f"'{self.name}': {_what_it_is(name, self._synapses())}"

    def _check_values(
        self, synapses: Synapses, name: str, which: Numbers, values: NDArray[np.float64]
    ) -> None:
        """Raise NeurodriverError for values that are not finite, or beyond bounds."""
        faults, links = Faults(f"'{self.name}', '{name}'"), self._links
        names = SynapseNames(self._circuit, links)
        bad, want, own = ~np.isfinite(values), "must be finite", None
        if name == "weight" and synapses.rule.bounds is not None:
            beyond, own = _beyond_bounds(synapses, which, values, self._simulation().step)
            bad |= beyond
        elif name in synapses.rule.params:
            bad = misfits(synapses.rule.params[name], values)
            want = f"must be {synapses.rule.params[name].allowed()}"
            if name in (synapses.rule.bounds or ()) and not bad.any():
                bad, own = _leaves_weights(synapses, name, which, values, self._simulation().step)
        elif name == "weight":
            models = groups_of(self._circuit, links.target)
            rule = numbers_of(self._circuit, links.variable, links.access, models)["weight"]
            bad |= (values < rule.at_least) | (values > rule.at_most) | (values <= rule.above)
            want = f"must be {' and '.join(dict.fromkeys(('finite', rule.allowed())))}"
        faults.add_for(
            np.flatnonzero(bad),
            lambda i: (
                f"{edge_name(*names[int(which[i])])}: {own(i) if own else want} (got {values[i]:g})"
            ),
        )
        if faults.count:
            raise NeurodriverError(faults.report())


Misfits = tuple[NDArray[np.bool_], Callable[[int], str]]
"""Which numbers do not fit, and what is wanted of one of them."""


def _beyond_bounds(
    synapses: Synapses, which: Numbers, weights: NDArray[np.float64], step: int
) -> Misfits:
    """Return which weights are not between the bounds of their synapse.

    A text may have moved a weight beyond its bounds. It may stay there, or come nearer to them.
    """
    limits = synapses.limits()
    assert limits is not None
    low, high = (one[which] if one.ndim else one for one in limits)
    stored = weights.astype(low.dtype, copy=False)
    bad = (stored < low) | (stored > high)
    if bad.any():
        now = synapses.at("weight", step)[which]
        bad &= ~((stored >= np.minimum(low, now)) & (stored <= np.maximum(high, now)))
    named = f"must lie within the bounds of {type(synapses.rule).__name__}"

    def wanted(i: int) -> str:
        ends = [float(one[i] if one.ndim else one) for one in (low, high)]
        return f"{named}, {ends[0]:g} to {ends[1]:g}"

    return bad, wanted


def _leaves_weights(
    synapses: Synapses, name: str, which: Numbers, bounds: NDArray[np.float64], step: int
) -> Misfits:
    """Return which bounds of weights would move and leave the weight of their synapse outside."""
    assert synapses.rule.bounds is not None
    lower = name == synapses.rule.bounds[0]
    weight, now = (synapses.at(one, step)[which] for one in ("weight", name))
    stored = bounds.astype(weight.dtype)
    bad = (weight < stored) & (stored > now) if lower else (weight > stored) & (stored < now)
    ends = "at most" if lower else "at least"
    return bad, lambda i: f"must be {ends} the weight, {weight[i]:g}; set the weight first"


def _what_it_is(name: str, synapses: Synapses) -> str:
    """Return what a name stands for that is no number of each synapse, and what they have."""
    rule = synapses.rule
    if name in rule.values:
        what = f"'{name}' is one number of the rule, {rule.values[name]:g}; "
        why = shared_numbers(type(rule)).get(name)
        what += (
            f"{why}, so a new circuit is needed to change it" if why else
            "to set it, make the circuit with a number of each synapse: give the rule a "
            f"distribution or an array, as {name}=nd.Uniform(low, high)"
        )  # fmt: skip
    elif name in rule.of_targets:
        own = rule.of_targets[name]
        what = f"each target has its own '{name}', its variable '{own}'; read it there"
    elif name in rule.modulators:
        (uid,) = rule.released_by[name]
        variable = rule.levels()[name].variable
        what = f"'{name}' is '{variable}' of component {quoted(str(uid))}; read it there"
    else:
        what = f"synapses have no '{name}'{near(name, synapses.names)}"
    return f"{what}; they have: {', '.join((*synapses.names, *rule.doses()))}"
