"""The functions of a model's own: what each class body defines, and what they may call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from .language import parse_functions, raise_faults, tree
from .language.tokens import message
from .parts import filled, function_text, with_numbers

if TYPE_CHECKING:
    from .component import NDComponent


def defined(model: type[NDComponent]) -> dict[str, tuple[tree.Function, str, str]]:
    """Return function, text and place of each; one of a subclass replaces its namesake."""
    found = {}
    tables = model.params, model.states, model.updates, model.every_field(), model.sources
    hidden = {name for table in (*tables, model.pools) for name in table}
    for base in reversed(model.__mro__):
        for text, where in _function_texts(base, model):
            for one in parse_functions(text, where):
                if one.name in hidden:
                    say = f"the function '{one.name}' would hide what the model declares so"
                    raise ModelError(message(text, where, one.at, f"{say}; choose another name"))
                found[one.name] = numbered(one, model, text, where), text, where
    raise_faults(_called_too_early(found))
    return found


def _called_too_early(found: Mapping[str, tuple[tree.Function, str, str]]) -> Iterator[str]:
    """Yield the calls of functions by themselves, and of functions that stand further down."""
    names = list(found)
    for number, (own, text, where) in enumerate(found.values()):
        for call in own.walk():
            if isinstance(call, tree.Call) and call.name in names[number:]:
                said = f"'{own.name}' calls '{call.name}', which stands further down; put it above"
                if call.name == own.name:
                    said = f"'{own.name}' calls itself, which a function cannot; write a loop"
                yield message(text, where, call.at, said)


def _function_texts(base: type, model: type[NDComponent]) -> Iterator[tuple[str, str]]:
    """Yield the texts of functions of a class body, and what messages call them."""
    own = base.__dict__.get("functions") or ""
    where = f"{base.__name__}.functions"
    if isinstance(own, str):
        yield filled(own, model.parts, where), where
        return
    for head, body in own.items():
        said = f"{where}['{head}']"
        yield function_text(head, filled(body, model.parts, said), where), said


def numbered(node: Any, model: type[NDComponent], source: str, where: str) -> Any:
    """Return a tree of a model with numbers in the place of their names."""
    if not model.numbers and "default" not in source:
        return node
    defaults = {name: rule.default for name, rule in model.params.items()}
    return with_numbers(node, model.numbers, defaults, source, where)


def functions_of(model: type[NDComponent]) -> tuple[tree.Function, ...]:
    """Return the functions of a model and those that it inherits."""
    return tuple(one for one, _, _ in defined(model).values())
