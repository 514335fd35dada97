"""What a class in the old style declares: lists of names, internal states, overridden methods."""

from __future__ import annotations

import inspect
import keyword
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, near
from .instance import Instance

if TYPE_CHECKING:
    from .component import NDComponent

BACKENDS = ("cpu", "cuda")
_MATHEMATICS = ("update", "outputs", "terms", "constants", "reactions")
_METHODS = ("__init__", "pre_run", "run_step", "post_run")


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


def said_by(owner: type, own: Mapping[str, Any]) -> frozenset[str]:
    """Return what a class body brings: ``text``, ``template``, and the methods of an instance."""
    if owner is Instance or issubclass(Instance, owner):
        return frozenset()
    said = {name for name in (*_METHODS, "maximum_dt_allowed") if name in own}
    if any(own.get(name) for name in _MATHEMATICS):
        said.add("text")
    if "get_update_template" in own:
        said.add("template")
    return frozenset(said)


def kernel_of(cls: type[NDComponent]) -> tuple[str, frozenset[str]]:
    """Return what advances a model and the methods of an instance that its classes override.

    Returns
    -------
    kernel : {"text", "template", ""}
        Declared mathematics, a template, or nothing but ``run_step``; the class nearest in the
        order of inheritance decides.
    methods : frozenset of str
        A ``run_step`` that a later kernel replaces does not count.
    """
    methods: set[str] = set()
    for base in cls.__mro__:
        said = base.__dict__.get("_said")
        said = said_by(base, base.__dict__) if said is None else said
        methods |= said - {"text", "template"}
        for kernel in ("template", "text"):
            if kernel in said:
                rest = cls.__mro__[cls.__mro__.index(base) + 1 :]
                later = {m for b in rest for m in b.__dict__.get("_said", said_by(b, b.__dict__))}
                return kernel, frozenset(methods | (later & {"__init__", "pre_run", "post_run"}))
    return "", frozenset(methods)


def old_params(cls: type[NDComponent], make: type) -> dict[str, Any]:
    """Return the parameters of a class with its own kernel.

    A list is complete; a mapping adds to what is inherited. Names that the inherited parameters
    have keep their units and bounds.
    """
    inherited: dict[str, Any] = dict(getattr(super(cls, cls), "params", {}))
    given = cls.__dict__.get("params")
    if given is None:
        return inherited
    if isinstance(given, Mapping):
        from .component import _table

        return {**inherited, **_table(given, make, f"{cls.__name__}.params")}
    if isinstance(given, str) or len(set(given)) < len(given):
        raise ModelError(f"{cls.__name__}.params: a name is declared twice, or is no list of names")
    return {name: inherited.get(name, make()) for name in given}


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


def check_old(cls: type[NDComponent]) -> None:
    """Raise ModelError where the names of a class with its own kernel are of no use."""
    where = cls.__name__
    lists = {
        "accesses": [a.variable for a in cls.accesses],
        "updates": list(cls.updates),
        "params": list(cls.params),
        "internals": list(cls.internals),
        "extra_params": list(cls.extra_params),
    }
    for part, names in lists.items():
        for name in names:
            if not isinstance(name, str):
                what = "a variable of several channels" if isinstance(name, tuple) else "no name"
                raise ModelError(f"{where}.{part}: {name!r} is {what}, which is not supported")
            if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
                raise ModelError(f"{where}.{part}: '{name}' is not a usable name")
    for part in ("updates", "params", "internals"):
        if len(set(lists[part])) < len(lists[part]):
            raise ModelError(f"{where}.{part}: a name is declared twice")
    if len({a.name for a in cls.accesses}) < len(cls.accesses):
        raise ModelError(f"{where}.accesses: two accesses of one name; give each a receptor")
    for name in cls.int_params:
        if name not in cls.params and name not in cls.extra_params:
            raise ModelError(f"{where}.int_params: no parameter '{name}'{near(name, cls.params)}")


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
        if cls.kernel:
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


def longest_of(cls: type[NDComponent], dt: float) -> float | None:
    """Return the largest sub-step that a class allows at a step of ``dt`` seconds.

    Raises
    ------
    ModelError
        When its ``maximum_dt_allowed`` fails or is no positive number.
    """
    said = inspect.getattr_static(cls, "maximum_dt_allowed")
    if said is inspect.getattr_static(Instance, "maximum_dt_allowed"):
        return cls.maximum_dt
    probe = object.__new__(cls)
    probe.dt = dt
    where = f"{cls.__name__}.maximum_dt_allowed"
    try:
        longest = probe.maximum_dt_allowed
        value = float(longest() if callable(longest) else longest)
    except Exception as error:
        raise ModelError(f"{where}: {error!r}; it may use self.dt and nothing else") from error
    if not value > 0:
        raise ModelError(f"{where}: must be positive seconds, got {value!r}")
    return value
