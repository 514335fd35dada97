"""How a ``model_template`` of SONATA nodes is expressed by a model of neurodriver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.groups import Group
from ..model.component import NDComponent

Column = NDArray[np.float64]
Theirs = Mapping[str, NDArray[Any]]
Value = str | float | Callable[[Theirs], Column]


@dataclass(frozen=True)
class Derived:
    """A parameter as a function of some parameters in the files.

    Parameters
    ----------
    of : function
        Columns of these parameters -> column of the parameter here.
    names : str
        The names of these parameters.
    """

    of: Callable[..., Column]
    names: tuple[str, ...]

    def __init__(self, of: Callable[..., Column], *names: str) -> None:
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "names", names)

    def __call__(self, theirs: Theirs) -> Column:
        """Return the parameter from those in the files, (n,)."""
        return self.of(*(theirs[name] for name in self.names))


@dataclass(frozen=True)
class Template:
    """How a model of another program is expressed by a model of neurodriver.

    Parameters
    ----------
    model : NDComponent subclass or str
        The model of neurodriver.
    params : mapping of str to str, float or function, optional
        Parameter here -> its name in the files, a number, a `Derived`, or a function of all
        parameters in the files (name -> column). Without it the names are the same.
    defaults : mapping of str to float
        Parameters in the files -> defaults; NaN: no default. Other parameters are refused.
    receptors : (str, str)
        Receptors of edges with weights from 0 on, and of edges with negative weights.
    factors : (float, float)
        Factors of the weights into these receptors.
    inverse : mapping of str to str
        Parameter in the files -> parameter here, for writing, if ``params`` has a function.
    ports : tuple of str
        Receptors of edges whose ``receptor_type`` is 1, 2 and so on. With ports, each edge must
        have a ``receptor_type``, and ``receptors`` are not used.
    signed : bool
        Whether the weight of an edge is multiplied by its parameter ``sign``.
    words : mapping of str to tuple of str
        Parameters that are texts in the files -> the texts that are allowed. A function of all
        parameters gets the texts, and "" for none.
    aside : tuple of str
        Patterns such as ``*_method.*`` of parameters in the files that mean nothing to this model.

    Notes
    -----
    Entry 2 of the list ``tau`` is the parameter ``tau[2]``. Key ``a`` of the object ``set`` is the
    parameter ``set.a``. True is 1, and false is 0.
    """

    model: type[NDComponent] | str
    params: Mapping[str, Value] | None = None
    defaults: Mapping[str, float] = field(default_factory=dict)
    receptors: tuple[str, str] = ("", "")
    factors: tuple[float, float] = (1.0, 1.0)
    inverse: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[str, ...] = ()
    signed: bool = False
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aside: tuple[str, ...] = ()

    def is_aside(self, key: str) -> bool:
        """Whether a parameter in the files means nothing to this model."""
        return any(fnmatchcase(key, pattern) for pattern in self.aside)

    def receptor(self, number: int, negative: int) -> str | None:
        """Return the receptor of an edge, None where the model has no such ``receptor_type``.

        ``number`` is the receptor_type, 0 where none is given. ``negative`` is 1 for negative
        weights.
        """
        if not self.ports:
            return None if number else self.receptors[negative]
        return self.ports[number - 1] if 0 < number <= len(self.ports) else None

    def known(self, model: type[NDComponent]) -> dict[str, float]:
        """Return the parameters that the files may have, with their defaults (NaN: none)."""
        if self.params is None:
            given = {n: np.nan if p.default is None else p.default for n, p in model.params.items()}
            return {**given, **dict.fromkeys(model.initial_names(), np.nan), **self.defaults}
        named = [name for key in self.params for name in self.sources(key)]
        return {**dict.fromkeys(named, np.nan), **self.defaults}

    def sources(self, key: str) -> tuple[str, ...]:
        """Return the names in the files from which a parameter here follows, if they are known."""
        value = None if self.params is None else self.params.get(key)
        if isinstance(value, Derived):
            return value.names
        return (value,) if isinstance(value, str) else ()

    def translate(self, theirs: Theirs, count: int) -> dict[str, Column]:
        """Return the parameters here from those in the files, (count,) each."""
        if self.params is None:
            return dict(theirs)
        out = {}
        for name, value in self.params.items():
            if callable(value):
                column = value(theirs)
            else:
                column = theirs[value] if isinstance(value, str) else np.array(float(value))
            out[name] = np.broadcast_to(column, (count,))
        return out

    def written(self, group: Group) -> dict[str, Column] | None:
        """Return the parameters of a group by their names in the files, () or (n,) each.

        The result is None if reading them would not give the same bits for each parameter here. An
        initial value that was not given is written as the model's default.
        """
        ours = {value: key for key, value in (self.params or {}).items() if isinstance(value, str)}
        ours |= self.inverse
        found = {theirs: _start(group, name) for theirs, name in ours.items()}
        theirs = {key: column for key, column in found.items() if column is not None}
        defaults = {key: np.array(value) for key, value in self.defaults.items()}
        if len(theirs) < len(found):
            return None
        back = self.translate({**defaults, **theirs}, group.count)
        for name, column in group.params.items():
            given = np.asarray(column, np.float64)
            if name in back:
                read = np.where(np.isnan(given), np.nan, back[name])
            else:
                rule = group.model.params.get(name)
                read = np.array(np.nan if rule is None else rule.default, np.float64)
            wide = [np.broadcast_to(one, (group.count,)) for one in (given, read)]
            if not _same_bits(*wide):
                return None
        return theirs


@dataclass(frozen=True)
class TemplateChoice:
    """Several templates of one name. The parameters of a node choose between them.

    Parameters
    ----------
    templates : tuple of Template
        The templates.
    which : function
        Parameters in the files (name -> column) and the number of nodes -> for each node the place
        of its template, -1 for none.
    allowed : str
        What the parameters must be, for the error.
    """

    templates: tuple[Template, ...]
    which: Callable[[Theirs, int], NDArray[np.int64]]
    allowed: str = ""


def _start(group: Group, name: str) -> Column | None:
    """Return a parameter or an initial value of a group, or None if it has no value."""
    given = group.params.get(name)
    state = group.model.initial_names().get(name)
    rule = group.model.params.get(name)
    if state is None:
        default = None if rule is None or rule.default is None else np.array(rule.default)
        return default if given is None else given
    start = group.model.states[state].initial
    own = np.array(start) if isinstance(start, float | int) else _start(group, start)
    return own if given is None or own is None else np.where(np.isnan(given), own, given)


def _same_bits(a: Column, b: Column) -> bool:
    numbers = np.isnan(a)
    return bool((numbers == np.isnan(b)).all()) and a[~numbers].tobytes() == b[~numbers].tobytes()


def as_template(given: Any) -> Template | TemplateChoice:
    """Return a template from one, a model, or a model with a mapping of its parameters."""
    if isinstance(given, Template | TemplateChoice):
        return given
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Mapping):
        return Template(given[0], given[1])
    return Template(given)
