"""Checks of arguments: what is given is checked, by position and by name, and told by its name."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from neurodriver.arguments import (
    ArgumentError,
    checked_arguments,
    instance,
    number,
    optional,
    text,
    texts,
    truth,
    whole_number,
)


class Box:
    """Has a method whose arguments are checked."""

    @checked_arguments(size=whole_number, label=optional(text), closed=truth)
    def __init__(self, size: int, label: str | None = None, *, closed: bool = False) -> None:
        self.given = size, label, closed


def test_what_is_given_is_checked() -> None:
    """By position, by name, and in the form that the check returns."""
    assert Box(3.0).given == (3, None, False)  # type: ignore[arg-type]
    assert Box(3, "x", closed=True).given == (3, "x", True)
    assert Box(label=None, size=2).given == (2, None, False)


@pytest.mark.parametrize(
    ("given", "named", "said"),
    [
        (("x",), {}, r"^Box: size must be a whole number, .*, got 'x'$"),
        ((1, 2), {}, "^Box: label must be a text, got 2$"),
        ((1,), {"closed": 1}, "^Box: closed must be True or False, got 1$"),
        ((True,), {}, "^Box: size must be a whole number"),
    ],
)
def test_a_wrong_one_is_named(given: Any, named: Any, said: str) -> None:
    """The error names class, argument, what is needed and what was got."""
    with pytest.raises(ArgumentError, match=said):
        Box(*given, **named)


def test_python_s_own_errors_stay() -> None:
    """A missing argument and the signature are as without the checks."""
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'size'"):
        Box()  # type: ignore[call-arg]
    assert list(inspect.signature(Box).parameters) == ["size", "label", "closed"]


def test_checks_of_values() -> None:
    """Texts, one or several; objects of a class; numbers of NumPy."""
    assert texts("a", "x") == "a" and texts(("a", "b"), "x") == ["a", "b"]
    for bad in (1, b"a", ["a", 1], "", None):
        with pytest.raises(ArgumentError, match="x must be a text or a list of texts"):
            texts(bad, "x")
    box = Box(1)
    assert instance(Box)(box, "x") is box
    with pytest.raises(ArgumentError, match="x must be a Box, got 1"):
        instance(Box)(1, "x")
    with pytest.raises(ArgumentError, match="x must be a finite number"):
        number(float("inf"), "x")
