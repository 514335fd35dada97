"""What advances the components of a model: declared mathematics, or code that its class brings.

A class that brings code has one *instance* in each LPU, which stands for all of its components.
`Runtime` answers what the rest of the program asks about it. `ModelAdapter` is the protocol of
another way to declare a model; the table in ``neurodriver.adapters`` lists those that are known.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..adapters import MODEL_NAMES, MODEL_VIEWS, adapters
from ..errors import ModelError

if TYPE_CHECKING:
    from .component import NDComponent

Column = NDArray[np.float64]

BACKENDS = ("cpu", "cuda")
MATHEMATICS = ("update", "outputs", "terms", "constants", "reactions", "equations")
METHODS = ("__init__", "pre_run", "run_step", "post_run")
"""What a class may override of its instance."""


@dataclass(frozen=True)
class Runtime:
    """What advances the components of a model.

    Attributes
    ----------
    declared : bool
        Whether the class declares the mathematics of a step.
    kernel : bool
        Whether an instance gives the text of a kernel, in place of declared mathematics.
    methods : frozenset of str
        Methods of an instance that the class overrides.
    states : mapping of str to float
        Arrays that the code of a class keeps from step to step -> their initial value.
    optional : tuple of str
        Optional parameters beside ``init<state>``.
    integers : frozenset of str
        Parameters that the code of a class takes as whole numbers.
    """

    declared: bool = False
    kernel: bool = False
    methods: frozenset[str] = frozenset()
    states: Mapping[str, float] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    integers: frozenset[str] = frozenset()

    @property
    def stepwise(self) -> bool:
        """Whether Python runs at each step."""
        return "run_step" in self.methods

    @property
    def instance(self) -> bool:
        """Whether a group of this model has an instance."""
        return self.kernel or bool(self.methods)

    @property
    def opaque(self) -> bool:
        """Whether code takes the place of declared mathematics.

        Such code may read any number of a node, and its instance writes the values before step 0.
        """
        return self.kernel or (not self.declared and self.stepwise)

    @property
    def empty(self) -> bool:
        """Whether nothing says what a step computes."""
        return not (self.declared or self.opaque)

    def longest(self, model: type[NDComponent], dt: float) -> float | None:
        """Return the largest sub-step in seconds at a step of ``dt``; None for no limit."""
        return model.maximum_dt

    def text(self, instance: Any) -> str:
        """Return the text of the kernel that an instance gives."""
        raise NotImplementedError

    def starts(
        self,
        model: type[NDComponent],
        params: Mapping[str, Any],
        declared: Mapping[str, Column],
        count: int,
    ) -> dict[str, Column]:
        """Return the values before step 0 of ``states`` and updated variables.

        Parameters
        ----------
        params : mapping
            Numbers of ``count`` components, each (count,) or ().
        declared : mapping
            What the declared states of the model start at, each (count,).

        Returns
        -------
        dict of str to (count,) float64
        """
        before: dict[str, Any] = {
            **dict.fromkeys(model.updates, 0.0),
            **self.states,
            **declared,
        }
        out = {}
        for name, start in before.items():
            given = np.asarray(params.get(f"init{name}", np.nan))
            values = np.where(np.isnan(given), start, given)
            out[name] = np.broadcast_to(values, (count,))
        return out


class ModelAdapter(Protocol):
    """Another way to declare a model, for classes whose bodies use names of ``MODEL_NAMES``."""

    instance: type
    """What instances inherit beside the class of the model."""

    def prepare(self, model: type[NDComponent]) -> None:
        """Bring the declarations of a class body into our spelling, before they are merged."""

    def complete(self, model: type[NDComponent]) -> Runtime:
        """Return what advances a class whose declarations are merged.

        Raises
        ------
        ModelError
            Where the declarations contradict each other.
        """

    def view(self, name: str, instance: Any, model: type[NDComponent]) -> Any:
        """Return what a name of ``MODEL_VIEWS`` means to a model that is declared our way."""


class View:
    """An attribute of every model under the name that an adapter knows."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type[NDComponent]) -> Any:
        for adapter in adapters("model"):
            return adapter.view(self.name, instance, owner)
        raise AttributeError(f"{owner.__name__} has no attribute '{self.name}'")


def add_views(base: type[NDComponent]) -> None:
    """Give the base of all models the names of ``MODEL_VIEWS``."""
    for name in MODEL_VIEWS:
        setattr(base, name, View(name))


def adapter_of(cls: type[NDComponent]) -> ModelAdapter | None:
    """Return the adapter of a class; None where its body and its bases use no names of one."""
    if any(
        name in base.__dict__ and not isinstance(base.__dict__[name], View)
        for base in cls.__mro__
        if base.__dict__.get("_brings", ()) is not None
        for name in MODEL_NAMES
    ):
        found: ModelAdapter | None = next(iter(adapters("model")), None)
        return found
    return None


def brought_by(owner: type) -> frozenset[str]:
    """Return what a class body brings: ``text``, ``kernel``, and the methods of an instance."""
    own = owner.__dict__
    if owner is object:
        return frozenset()
    if "_brings" in own:  # None: of an instance, not of a model
        return own["_brings"] or frozenset()
    brings = {name for name in METHODS if name in own}
    if any(own.get(name) for name in MATHEMATICS):
        brings.add("text")
    if any(
        kind == "kernel" and _needs_nothing(own.get(name)) for name, kind in MODEL_NAMES.items()
    ):
        brings.add("kernel")
    return frozenset(brings)


def _needs_nothing(method: Any) -> bool:
    """Whether a method takes its instance alone; one that needs more is for its class's own use."""
    if not isinstance(method, FunctionType):
        return method is not None
    given = inspect.signature(method).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one for one in given if one.default is one.empty and one.kind in positional]
    return len(needed) <= 1


def runtime_of(cls: type) -> Runtime:
    """Return what advances a model, as far as its class bodies say it.

    The class nearest in the order of inheritance decides between declared mathematics and a
    kernel. A ``run_step`` that a later kernel replaces does not count.
    """
    methods: set[str] = set()
    for place, base in enumerate(cls.__mro__):
        brings = brought_by(base)
        methods |= brings - {"text", "kernel"}
        if brings & {"text", "kernel"}:
            later = {name for b in cls.__mro__[place + 1 :] for name in brought_by(b)}
            methods |= later & {"__init__", "pre_run", "post_run"}
            kernel = "kernel" in brings
            return Runtime(not kernel, kernel, frozenset(methods))
    return Runtime(methods=frozenset(methods))


def listed_params(cls: type[NDComponent], make: type, table: Any) -> dict[str, Any]:
    """Return the parameters of a class whose code takes the place of mathematics.

    A list is complete; a mapping adds to what is inherited. Names that the inherited parameters
    have keep their units and bounds.
    """
    inherited: dict[str, Any] = dict(getattr(super(cls, cls), "params", {}))
    given = cls.__dict__.get("params")
    if given is None:
        return inherited
    if isinstance(given, Mapping):
        return {**inherited, **table(given, make, f"{cls.__name__}.params")}
    if isinstance(given, str) or len(set(given)) < len(given):
        raise ModelError(f"{cls.__name__}.params: a name is declared twice, or is no list of names")
    return {name: inherited.get(name, make()) for name in given}


def check_names(cls: type[NDComponent]) -> None:
    """Raise ModelError where the names of a class with code of its own are of no use."""
    check_list(cls, "accesses", [a.variable for a in cls.accesses], repeats=True)
    check_list(cls, "updates", cls.updates)
    check_list(cls, "params", cls.params)
    if len({a.name for a in cls.accesses}) < len(cls.accesses):
        where = cls.__name__
        raise ModelError(f"{where}.accesses: two accesses of one name; give each a receptor")


def check_list(
    cls: type[NDComponent], part: str, names: Iterable[Any], repeats: bool = False
) -> None:
    """Raise ModelError where declared names are no identifiers, or one stands twice."""
    where, listed = f"{cls.__name__}.{part}", list(names)
    for name in listed:
        if not isinstance(name, str):
            what = "a variable of several channels" if isinstance(name, tuple) else "no name"
            raise ModelError(f"{where}: {name!r} is {what}, which is not supported")
        if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
            raise ModelError(f"{where}: '{name}' is not a usable name")
    if not repeats and len(set(listed)) < len(listed):
        raise ModelError(f"{where}: a name is declared twice")


def backends_of(cls: type[NDComponent]) -> tuple[str, ...]:
    """Return where a model runs.

    A class without a kernel runs where it says; if it says nothing, on a GPU where its code uses
    PyCUDA, else on the CPU.

    Raises
    ------
    ModelError
        For a name that is no backend.
    """
    given: Any = cls.backends
    if not given:
        if cls.runtime.declared or cls.runtime.kernel:
            return BACKENDS
        return ("cuda",) if _uses_pycuda(cls) else ("cpu",)
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in BACKENDS:
            known = " and ".join(BACKENDS)
            raise ModelError(f"{cls.__name__}.backends: '{name}' is none; known are {known}")
    return names


def _uses_pycuda(cls: type) -> bool:
    """Whether the code of a class mentions PyCUDA: its methods, and the functions they call."""
    own = (base for base in cls.__mro__ if not base.__module__.startswith("neurodriver."))
    found = [inspect.unwrap(_plain(f)) for base in own for f in vars(base).values()]
    todo = [one for one in found if isinstance(one, FunctionType)]
    seen: set[FunctionType] = set()
    while todo:
        function = todo.pop()
        if function in seen:
            continue
        seen.add(function)
        for name in _names_in(function.__code__):
            value = function.__globals__.get(name)
            if name in _LAUNCHES or "pycuda" in (name.partition(".")[0], _package(value)):
                return True
            if isinstance(value, FunctionType):
                todo.append(value)
    return False


_LAUNCHES = frozenset({"prepared_call", "prepared_async_call", "prepared_timed_call"})


def _plain(value: Any) -> Any:
    """Return the function inside a property, a static method or a class method."""
    value = getattr(value, "fget", value)
    return getattr(value, "__func__", value)


def _names_in(code: CodeType) -> set[str]:
    """Return the names that a piece of code mentions, those of functions inside it included."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def _package(value: Any) -> str:
    """Return the package that a module, or what is made in one, belongs to."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return str(name).partition(".")[0]
