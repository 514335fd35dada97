"""What texts of a model take from its class: parts that subclasses fill in, and numbers.

    class Simple(NDComponent):
        parts = {"each": "res += w * v;"}
        numbers = {"most": 11}
        update = "for (int i = 0; i < most; ++i) { $each }"

``$each`` stands for a text, ``most`` for a number. Both are merged along the inheritance, so a
subclass changes a rule or a number and keeps the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import ModelError, near
from .language import raise_faults, tree
from .language.tokens import message

_PART = re.compile(r"\$([A-Za-z_]\w*)")

TEXTS = ("update", "constants", "terms", "outputs", "equations", "threshold", "reset", "arrivals")
"""Attributes of a class whose texts may have parts."""

_GIVEN = "_texts_given"
"""Attribute of a class with the texts as they were written."""


def filled(text: str, parts: Mapping[str, str], where: str) -> str:
    """Return a text with its parts in their places, parts of parts included.

    Parameters
    ----------
    text : str
    parts : mapping of str to str
    where : str
        What messages call the text.

    Raises
    ------
    ModelError
        For a part that nobody fills in, or that contains itself.
    """
    return _filled(text, parts, where, ())


def _filled(text: str, parts: Mapping[str, str], where: str, chain: tuple[str, ...]) -> str:
    def one(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in chain:
            loop = " -> ".join(f"${part}" for part in (*chain[chain.index(name) :], name))
            raise ModelError(f"{where}: a part contains itself: {loop}")
        if name not in parts:
            inside = f" (in {' -> '.join(f'${part}' for part in chain)})" if chain else ""
            hint = near(name, parts) or f"; give it in parts = {{'{name}': '...'}}"
            more = ", or say abstract = True if subclasses do" if not near(name, parts) else ""
            raise ModelError(f"{where}: nobody fills in '${name}'{inside}{hint}{more}")
        return _filled(parts[name], parts, where, (*chain, name))

    return _PART.sub(one, text)


def merged_parts(cls: type) -> dict[str, str]:
    """Return the parts of a class and of its bases."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        own = base.__dict__.get("parts") or {}
        if not isinstance(own, Mapping) or not all(isinstance(t, str) for t in own.values()):
            raise ModelError(f"{base.__name__}.parts: expected texts by name, got {own!r:.80}")
        found.update(own)
    return found


def merged_numbers(cls: type) -> dict[str, int | float]:
    """Return the numbers of a class and of its bases."""
    found: dict[str, int | float] = {}
    for base in reversed(cls.__mro__):
        own = base.__dict__.get("numbers") or {}
        if not isinstance(own, Mapping):
            raise ModelError(f"{base.__name__}.numbers: expected numbers by name, got {own!r:.80}")
        for name, value in own.items():
            if not isinstance(value, int | float) or not math.isfinite(value):
                say = f"expected a finite number, got {value!r:.40}"
                raise ModelError(f"{base.__name__}.numbers['{name}']: {say}")
            found[name] = value
    return found


def fill_texts(cls: Any) -> None:
    """Put the parts of a class into its texts; the texts as written stay known to subclasses.

    An abstract class may leave parts open.

    Raises
    ------
    ModelError
        For a part that nobody fills in, or that contains itself.
    """
    parts: Mapping[str, str] = cls.__dict__["parts"]
    given: dict[str, Any] = {}
    for name in TEXTS:
        where = f"{cls.__name__}.{name}"
        if name == "update" and cls.__dict__.get(name, "") is None:
            raise ModelError(f"{where}: must be a text, got None")
        written = _written(cls, name)
        whole: Any = written
        if cls.abstract and _open(written, parts):
            continue
        if isinstance(written, str) and "$" in written:
            whole = filled(written, parts, where)
        elif isinstance(written, Mapping) and any("$" in str(t) for t in written.values()):
            whole = {n: filled(t, parts, f"{where}['{n}']") for n, t in written.items()}
        if whole is not written:
            given[name] = written
            setattr(cls, name, whole)
    setattr(cls, _GIVEN, given)


def open_parts(cls: Any) -> bool:
    """Whether texts of an abstract class have parts that nobody fills in."""
    return cls.abstract and any(_open(_written(cls, name), cls.parts) for name in TEXTS)


def _open(written: Any, parts: Mapping[str, str]) -> bool:
    text = " ".join(map(str, written.values())) if isinstance(written, Mapping) else str(written)
    seen: set[str] = set()
    todo = set(_PART.findall(text))
    while todo:
        name = todo.pop()
        if name not in parts:
            return True
        seen.add(name)
        todo |= set(_PART.findall(parts[name])) - seen
    return False


def written_by(base: type, name: str) -> Any:
    """Return an attribute of a class body as it was written; None where the body has none."""
    return base.__dict__.get(_GIVEN, {}).get(name, base.__dict__.get(name))


def _written(cls: type, name: str) -> Any:
    """Return an attribute as it was written, before parts were put in."""
    for base in cls.__mro__:
        given = base.__dict__.get(_GIVEN, {})
        if name in given:
            return given[name]
        if name in base.__dict__:
            return base.__dict__[name]
    return ""


def function_text(head: str, body: str, where: str) -> str:
    """Return the text of a function that is given as ``{"bell(d2)": "exp(-d2)"}``.

    Parameters
    ----------
    head : str
        Name and parameters; those without a type are real.
    body : str
        An expression, or statements with ``return``.
    where : str
        What messages call the functions.
    """
    name, bracket, rest = head.partition("(")
    if not bracket or not rest.rstrip().endswith(")"):
        raise ModelError(f"{where}: '{head}' needs its parameters in brackets, as in bell(d2)")
    given = [one.strip() for one in rest.rstrip()[:-1].split(",") if one.strip()]
    typed = [one if " " in one else f"real {one}" for one in given]
    kind, _, last = name.strip().rpartition(" ")
    inner = body if re.search(r"\breturn\b", body) else f"return {body};"
    return f"{kind or 'real'} {last}({', '.join(typed)}) {{ {inner} }}"


def literal(value: int | float) -> tree.Expression:
    """Return a number as an expression."""
    if value < 0:
        return tree.Unary("-", literal(-value))
    whole = isinstance(value, int)
    return tree.Number(str(int(value)) if whole else repr(float(value)))


def with_numbers(
    node: Any,
    numbers: Mapping[str, int | float],
    defaults: Mapping[str, float | None],
    source: str,
    where: str,
) -> Any:
    """Return a tree in which numbers stand for their names, and for ``default(parameter)``.

    Parameters
    ----------
    defaults : mapping of str to float or None
        Defaults of parameters; None where there is none.
    source, where : str
        The text of the tree, and what messages call it.

    Raises
    ------
    ModelError
        Where the text declares or changes a number, or asks for a default that there is not.
    """
    faults = []
    for one in node.walk():
        if isinstance(one, tree.Assignment | tree.Increment) and one.target.name in numbers:
            said = f"'{one.target.name}' is a number of the model, which the text cannot change"
            faults.append(message(source, where, one.at, said))
        elif isinstance(one, tree.Declaration) and one.name in numbers:
            said = f"'{one.name}' is the name of a number of the model already; choose another"
            faults.append(message(source, where, one.at, said))
        elif isinstance(one, tree.Declaration) and one.length in numbers:
            size = numbers[one.length]
            if not (isinstance(size, int) and size > 0):
                said = f"the size of an array is a whole number from 1 on, '{one.length}' is {size}"
                faults.append(message(source, where, one.at, said))
        elif _asks(one) and _default(one, defaults) is None:
            known = [name for name, value in defaults.items() if value is not None]
            said = f"default(...) takes a parameter that has one: {', '.join(known) or 'none'}"
            faults.append(message(source, where, one.at, said))
    raise_faults(faults)

    def change(one: Any) -> Any:
        if isinstance(one, tree.Name) and one.name in numbers:
            return literal(numbers[one.name])
        if isinstance(one, tree.Declaration) and one.length in numbers:
            return replace(one, size=int(numbers[one.length]), length="")
        value = _default(one, defaults) if _asks(one) else None
        return one if value is None else literal(value)

    return tree.rewritten(node, change)


def _asks(node: tree.Node) -> bool:
    return isinstance(node, tree.Call) and node.name == "default"


def _default(node: Any, defaults: Mapping[str, float | None]) -> float | None:
    if len(node.arguments) != 1 or not isinstance(node.arguments[0], tree.Name):
        return None
    return defaults.get(node.arguments[0].name)
