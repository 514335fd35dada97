"""Declarations of the old library -> what the core knows: internal states, templates, sub-steps."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, near
from ...model.runtime import Column, Runtime, check_list
from .instance import OldInstance

if TYPE_CHECKING:
    from ...model.component import NDComponent


@dataclass(frozen=True)
class OldRuntime(Runtime):
    """A runtime whose kernel is a template and whose limit is ``maximum_dt_allowed``."""

    def longest(self, model: type[NDComponent], dt: float) -> float | None:
        """Return the largest sub-step that a class allows at a step of ``dt`` seconds.

        Raises
        ------
        ModelError
            When its ``maximum_dt_allowed`` fails or is no positive number.
        """
        said = inspect.getattr_static(model, "maximum_dt_allowed", None)
        if said is None or said is inspect.getattr_static(OldInstance, "maximum_dt_allowed"):
            return model.maximum_dt
        probe: Any = object.__new__(model)
        probe.dt = dt
        where = f"{model.__name__}.maximum_dt_allowed"
        try:
            longest = probe.maximum_dt_allowed
            value = float(longest() if callable(longest) else longest)
        except Exception as error:
            raise ModelError(f"{where}: {error!r}; it may use self.dt and nothing else") from error
        if not value > 0:
            raise ModelError(f"{where}: must be positive seconds, got {value!r}")
        return value

    def text(self, instance: Any) -> str:
        """Return what ``get_update_template`` gives."""
        text: str = instance.get_update_template()
        return text

    def starts(
        self,
        model: type[NDComponent],
        params: Mapping[str, Any],
        declared: Mapping[str, Column],
        count: int,
    ) -> dict[str, Column]:
        """Return the values before step 0 of internal states and updated variables.

        ``init<X>`` sets the internal states ``X`` and ``internalX`` and the variable ``X``. Without
        it an internal state starts where ``internals`` or the declared state of that name says,
        and a variable at the internal state of its name; else at 0. A name ``X`` of an internal
        state ``internalX`` is there, too.
        """
        out: dict[str, Column] = {}

        def put(name: str, state: str, start: Any) -> None:
            given = np.asarray(params.get(f"init{state}", np.nan))
            given = np.where(np.isnan(given), params.get(f"init{name}", np.nan), given)
            out[name] = np.broadcast_to(np.where(np.isnan(given), start, given), (count,))

        for name, number in self.states.items():
            inner = name.removeprefix("internal")
            state = inner if inner in model.updates or inner in declared else name
            put(name, state, declared.get(state, number))
        for name in model.updates:
            inner = name if name in out else f"internal{name}"
            put(name, name, out.get(inner, declared.get(name, 0.0)))
        return {**{name.removeprefix("internal"): column for name, column in out.items()}, **out}


class OldModel:
    """The old way to declare a model, as a `neurodriver.model.runtime.ModelAdapter`."""

    instance = OldInstance

    def prepare(self, model: type[NDComponent]) -> None:
        """Take ``internals`` of a class with declared mathematics for its states."""
        own = model.__dict__
        if not model.runtime.opaque and "internals" in own and "states" not in own:
            model.states = own["internals"]

    def complete(self, model: type[NDComponent]) -> Runtime:
        """Return what advances a class; give it ``internals`` and ``extra_params``.

        Raises
        ------
        ModelError
            Where the names of a class with a template are of no use.
        """
        cls: Any = model  # the core does not know the names that are set here
        known, own = model.runtime, model.__dict__
        given = own.get("internals")
        cls.internals = internals_of(model)
        if given is not None:
            cls._given = cls.internals
        extra, integers = cls.extra_params, cls.int_params
        made = OldRuntime(
            known.declared, known.kernel, known.methods, dict(cls.internals), tuple(extra),
            frozenset(integers),
        )  # fmt: skip
        if known.opaque:
            check_list(model, "internals", cls.internals)
            check_list(model, "extra_params", extra, repeats=True)
            for name in integers:
                if name not in model.params and name not in extra:
                    hint = near(name, model.params)
                    raise ModelError(f"{model.__name__}.int_params: no parameter '{name}'{hint}")
        return made

    def view(self, name: str, instance: Any, model: type[NDComponent]) -> Any:
        """Return what an old name means to a model that is declared the new way."""
        if name == "internals":
            return internals_of(model)
        if name == "extra_params":
            return list(model.initial_names())
        if name == "int_params":
            return ()
        method = OldInstance.get_update_template
        return method if instance is None else method.__get__(instance)


def internals_of(cls: type[NDComponent]) -> OrderedDict[str, float]:
    """Return the internal states that a template of this class works on: name -> initial value.

    They are what ``internals`` says. Without it they follow from the declared states: those that
    are no updated variables, and ``internal<variable>`` for those that are; a state that starts
    at a parameter of its own name lives in that parameter's array.
    """
    given = cls.__dict__.get("internals")
    if given is None:
        inherited: OrderedDict[str, float] | None = getattr(super(cls, cls), "_given", None)
        if inherited is not None:
            return inherited
        out: OrderedDict[str, float] = OrderedDict()
        for name, state in cls.states.items():
            number = 0.0 if isinstance(state.initial, str) else float(state.initial)
            if name in cls.updates:
                out[f"internal{name}"] = number
            elif name not in cls.params:
                out[name] = number
        return out
    try:
        pairs = given.items() if isinstance(given, Mapping) else [(n, 0.0) for n in given]
        out = OrderedDict((str(n), float(getattr(v, "initial", v))) for n, v in pairs)
    except (TypeError, ValueError):
        want = "a mapping of names to numbers"
        raise ModelError(f"{cls.__name__}.internals: expected {want}, got {given!r:.80}") from None
    return out
