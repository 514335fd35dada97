"""Which layers and paths a selector means, and the values that were set by selectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from neurodriver.errors import CircuitError, near, quoted

from .settings import KINDS, LAYER_KINDS, PATH_KINDS, RULES

Values = Mapping[str, float | bool]


class Selectable(Protocol):
    """A layer or a path."""

    name: str
    kind: str
    classes: tuple[str, ...]


def means(selector: str, what: str, one: Selectable) -> bool:
    """Whether a selector means a layer, or a path; ``what`` says which of them it is."""
    dotted = selector[:1] == "." and selector[1:] in (one.kind, *one.classes)
    return dotted or selector in (what, f"#{one.name}")


def selected(
    selector: str, layers: Mapping[str, Selectable], paths: Mapping[str, Selectable]
) -> str:
    """Return whether a selector means layers or paths."""
    if selector in ("layer", "path"):
        return selector
    name = str(selector)[1:]
    if selector[:1] == ".":
        of_layers, of_paths = classes_in(layers.values()), classes_in(paths.values())
        if name in LAYER_KINDS or name in of_layers:
            return "layer"
        if name in PATH_KINDS or name in of_paths:
            return "path"
        among = (*LAYER_KINDS, *PATH_KINDS, *of_layers, *of_paths)
        raise CircuitError(f"set({selector!r}): no kind or class {quoted(name)}{near(name, among)}")
    if selector[:1] == "#":
        if name in layers:
            return "layer"
        if name in paths:
            return "path"
        hint = near(name, [*layers, *paths])
        raise CircuitError(f"set({selector!r}): no layer or path {quoted(name)}{hint}")
    say = "a selector is 'layer', 'path', '.kind' or '#name', or '.class'"
    raise CircuitError(f"set({selector!r:.60}): {say}")


def classes_in(some: Iterable[Selectable]) -> list[str]:
    """Return the classes of some layers or paths."""
    return [*dict.fromkeys(name for one in some for name in one.classes)]


def classes_of(given: object, others: Iterable[Selectable], where: str) -> tuple[str, ...]:
    """Return the classes of a layer or a path from a text, in which blanks separate them.

    Parameters
    ----------
    others : iterable
        The paths if it is a layer, and the layers if it is a path. These have other classes.

    Raises
    ------
    CircuitError
        For what is no text, and for names that are taken or have one of ``.#/``.
    """
    if not isinstance(given, str) or set(given) & set(".#/"):
        say = "a text without '.', '#' and '/' is needed; blanks separate several classes"
        raise CircuitError(f"{where}, cls: {say} (got {given!r:.60})")
    names = tuple(given.split())
    for name in names:
        if name in (*LAYER_KINDS, *PATH_KINDS):
            raise CircuitError(f"{where}, cls: {quoted(name)} is the name of a kind")
        if name in classes_in(others):
            raise CircuitError(f"{where}, cls: {quoted(name)} is a class of both layers and paths")
    return names


class Rules:
    """The values that `Network.set` was given, by selector.

    The more specific selector counts, and of equal ones the last.
    """

    def __init__(self) -> None:
        self._given: list[tuple[str, Values]] = []

    def add(self, selector: str, values: Values) -> None:
        """Add values for all layers or paths, for a kind or class (``.back``), or for a name."""
        self._given.append((selector, values))

    def resolved(self, what: str, one: Selectable, own: Values) -> dict[str, float | bool]:
        """Return all parameters of a layer or a path."""
        defaults = {n: one.default for n, one in RULES[what].items() if one.default is not None}
        out = {**defaults, **KINDS[one.kind]}
        given = [(selector, some) for selector, some in self._given if means(selector, what, one)]
        given.sort(key=lambda both: {".": 1, "#": 2}.get(both[0][0], 0))
        for some in (*(values for _, values in given), own):
            out.update({n: v for n, v in some.items() if n in defaults})
        return out
