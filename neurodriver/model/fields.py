"""Fields of populations and circuits, and sources: what a model reads beside its own cells.

class Simple(NDComponent):
    axes = ("theta", "y", "x")
    sources = {"image": Source("val")}
    fields = {"filters": Field(axes="theta dy dx")}
    shared = {"gain": Field(default=1.0)}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import text, truth
from ..errors import ModelError, quoted


class Field:
    """A number, or an array, that a population or a circuit has once.

    Parameters
    ----------
    unit : str
        Unit, for instance ``"mV"``.
    size : int, optional
        Of a vector: ``beta[2]`` is an element.
    whole : bool
        Whether only whole numbers are allowed; texts get them as ``int``.
    default : number or array, optional
        Value where none is given; without it the field is required.
    axes : str or sequence of str, optional
        Of an array: names of its axes, as in ``"theta dy dx"``. An axis that is called like one of
        the model has its length.
    private : bool
        Whether texts of other models cannot read it.
    many : bool
        Whether it is a list of arrays, which may differ in size: ``banks[e][t, i, j]``.
    constant : bool
        Whether it never changes. Look-ups of so many cells, or within such a radius, are then
        made before the run.
    doc : str
        What it is.
    """

    def __init__(
        self,
        unit: str = "",
        size: int | None = None,
        whole: bool = False,
        default: Any = None,
        axes: Any = None,
        private: bool = False,
        constant: bool = False,
        doc: str = "",
        many: bool = False,
    ) -> None:
        self.unit, self.size, self.whole, self.doc = text(unit, "Field: unit"), size, whole, doc
        self.private, self.constant, self.many = private, constant, truth(many, "Field: many")
        names = axes.split() if isinstance(axes, str) else axes
        known = names is None or isinstance(names, list | tuple)
        if not known or not all(isinstance(n, str) and n.isidentifier() for n in names or ()):
            raise ModelError(f"Field: axes are names, as in 'theta dy dx' (got {axes!r:.60})")
        self.axes: tuple[str, ...] | None = None if axes is None else tuple(names)
        if size is not None and (not isinstance(size, int) or size < 1 or self.axes is not None):
            raise ModelError("Field: size is a whole number, at least 1, of a field without axes")
        if self.axes is not None and (not self.axes or len({*self.axes}) < len(self.axes)):
            raise ModelError(f"Field: axes are names, each once (got {axes!r:.60})")
        if many and (not self.indexed or constant):
            what = "cannot be constant" if self.indexed else "needs axes= or size="
            raise ModelError(f"Field: a list of arrays, many=True, {what}")
        self.default = default

    def __repr__(self) -> str:
        more = f", axes={' '.join(self.axes)!r}" if self.axes else ""
        more += f", size={self.size}" if self.size else ""
        more += ", many=True" if self.many else ""
        return f"Field({self.unit!r}{more})"

    @property
    def form(self) -> tuple[Any, ...]:
        """What all fields of one name in a circuit have in common."""
        return self.indexed, self.size, self.whole, self.many

    @property
    def indexed(self) -> tuple[str, ...]:
        """Names of its axes; none of a number."""
        return self.axes or (("i",) if self.size is not None else ())


class Value:
    """A field of several populations, which is stored once and set once.

    Parameters
    ----------
    values : number or array
    name : str
        Under which ``lpu.set(name, values)`` sets it.
    """

    def __init__(self, values: Any, name: str) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ModelError(f"Value: its name must be an identifier (got {name!r:.60})")
        self.values, self.name = values, name

    def __repr__(self) -> str:
        return f"<Value {self.name}>"


class Source:
    """A population, or several, that the text of a model reads.

    Parameters
    ----------
    *reads : str
        Variables that are read: ``image.val[y, x]``.
    model : NDComponent subclass, optional
        What the populations have to be; by default anything that updates the variables.
    many : bool
        Whether it stands for several populations, or for none: ``for (p : scales)``.
    history : int
        How many steps back they are read: ``image.val[y, x, ago=3]`` needs at least 3.
    by_number : bool
        Whether cells are read by their number within the population: ``image.val[i]``.
    """

    def __init__(
        self,
        *reads: str,
        model: Any = None,
        many: bool = False,
        history: int = 0,
        by_number: bool = False,
    ) -> None:
        for one in reads:
            if not isinstance(one, str) or not one.isidentifier():
                raise ModelError(f"Source: expected names of variables, got {one!r:.60}")
        if not isinstance(history, int) or history < 0:
            raise ModelError(f"Source: history is a whole number of steps (got {history!r:.40})")
        self.reads, self.model, self.many, self.history = reads, model, many, history
        self.by_number = by_number

    def __repr__(self) -> str:
        return f"Source({', '.join(map(repr, self.reads))})"


def merged(cls: type, name: str, make: type) -> dict[str, Any]:
    """Return the declarations of one kind of a class and of its bases."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        own = base.__dict__.get(name) or {}
        if not isinstance(own, Mapping):
            say = f"expected {make.__name__} objects by name, got {own!r:.80}"
            raise ModelError(f"{base.__name__}.{name}: {say}")
        for key, value in own.items():
            one = make(value) if isinstance(value, str) and make is Field else value
            if not isinstance(one, make):
                say = f"expected a {make.__name__}, got {value!r:.60}"
                raise ModelError(f"{base.__name__}.{name}[{quoted(key)}]: {say}")
            found[key] = one
    return found


def merged_axes(cls: type) -> tuple[str, ...]:
    """Return the names of a model's axes; a subclass cannot have others than its base."""
    fixed: tuple[str, ...] = ()
    by = ""
    for base in reversed(cls.__mro__):
        own = base.__dict__.get("axes")
        if own is None or not isinstance(own, str | list | tuple) or not len(own):
            continue
        names = tuple(own.split()) if isinstance(own, str) else tuple(own)
        if not all(isinstance(n, str) and n.isidentifier() for n in names):
            raise ModelError(f"{base.__name__}.axes: expected names, got {own!r:.60}")
        if len({*names}) < len(names):
            raise ModelError(f"{base.__name__}.axes: a name stands twice in {own!r:.60}")
        if fixed and names != fixed:
            listed, was = ", ".join(names), ", ".join(fixed)
            say = f"({listed}), but {by} fixed them as ({was}); a subclass keeps its base's axes"
            raise ModelError(f"{base.__name__}.axes: {say}")
        fixed, by = names, by or base.__name__
    return fixed


def values_of(
    rule: Field, given: Any, lengths: Mapping[str, int]
) -> tuple[NDArray[Any], tuple[tuple[int, ...], ...], str]:
    """Return the values of a field, the shapes of a list of arrays, and what is wrong.

    Those of a list lie one after the other. Parameters are those of `array_of`.
    """
    if not rule.many:
        array, fault = array_of(rule, given, lengths)
        return array, (), fault
    nothing, _ = array_of(rule, None, lengths)
    form = f"a list of arrays ({', '.join(rule.indexed)})"
    if not isinstance(given, list | tuple | np.ndarray) or not len(given):
        got = "an empty one" if isinstance(given, list | tuple) else f"{given!r:.60}"
        return nothing.reshape(-1), (nothing.shape,), f"expected {form}, got {got}"
    found = [array_of(rule, one, lengths) for one in given]
    faults = [f"array {i}: {fault}" for i, (_, fault) in enumerate(found) if fault]
    shapes = tuple(array.shape for array, _ in found)
    said = f"{form} is wanted; {'; '.join(faults[:3])}" if faults else ""
    return np.concatenate([array.reshape(-1) for array, _ in found]), shapes, said


def array_of(rule: Field, given: Any, lengths: Mapping[str, int]) -> tuple[NDArray[Any], str]:
    """Return the array of a field, and what is wrong with what was given; empty for nothing.

    Parameters
    ----------
    lengths : mapping of str to int
        Lengths of the axes of the population.
    """
    nothing = np.zeros((1,) * len(rule.indexed), np.int32 if rule.whole else np.float64)
    try:
        raw = np.asarray(given)
        if raw.dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError):
        return nothing, f"must be numbers (got {given!r:.60})"
    if fault := _shape_fault(rule, raw.shape, lengths):
        return nothing, fault
    if not np.isfinite(raw).all():
        return nothing, "must be finite"
    if rule.whole and not (raw == np.floor(raw)).all():
        return nothing, "takes whole numbers"
    if rule.whole and raw.size and np.abs(raw).max() >= 2**31:
        return nothing, "takes whole numbers below 2^31"
    return np.array(raw, nothing.dtype, order="C"), ""


def _shape_fault(rule: Field, shape: tuple[int, ...], lengths: Mapping[str, int]) -> str:
    names = rule.indexed
    wanted = [rule.size or lengths.get(name) for name in names]
    fits = len(shape) == len(names) and math.prod(shape) > 0
    if fits and all(w in (None, n) for w, n in zip(wanted, shape, strict=True)):
        return ""
    said = ", ".join(f"{n} = {w}" if w else n for n, w in zip(names, wanted, strict=True))
    return f"expected {f'an array ({said})' if names else 'a number'}, got shape {shape}"
