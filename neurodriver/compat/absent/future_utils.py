"""Names of ``future.utils`` and ``past.utils`` that scripts for both Pythons use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

__all__ = [
    "PY2",
    "PY3",
    "as_native_str",
    "binary_type",
    "bytes_to_native_str",
    "class_types",
    "implements_iterator",
    "integer_types",
    "isbytes",
    "isint",
    "istext",
    "iteritems",
    "iterkeys",
    "itervalues",
    "lfilter",
    "listitems",
    "listvalues",
    "lmap",
    "lrange",
    "lzip",
    "native",
    "native_bytes",
    "native_str",
    "native_str_to_bytes",
    "old_div",
    "python_2_unicode_compatible",
    "raise_",
    "raise_from",
    "raise_with_traceback",
    "reraise",
    "string_types",
    "text_to_native_str",
    "text_type",
    "tobytes",
    "viewitems",
    "viewkeys",
    "viewvalues",
    "with_metaclass",
]

PY2, PY3 = False, True
string_types, integer_types, class_types = (str,), (int,), (type,)
text_type = native_str = str
binary_type = native_bytes = bytes


def iteritems(obj: Any, **kwargs: Any) -> Iterator[Any]:
    """Go through the pairs of a mapping."""
    return iter(obj.items(**kwargs))


def iterkeys(obj: Any, **kwargs: Any) -> Iterator[Any]:
    """Go through the keys of a mapping."""
    return iter(obj.keys(**kwargs))


def itervalues(obj: Any, **kwargs: Any) -> Iterator[Any]:
    """Go through the values of a mapping."""
    return iter(obj.values(**kwargs))


def viewitems(obj: Any, **kwargs: Any) -> Any:
    """Return the view of the pairs of a mapping."""
    return obj.items(**kwargs)


def viewkeys(obj: Any, **kwargs: Any) -> Any:
    """Return the view of the keys of a mapping."""
    return obj.keys(**kwargs)


def viewvalues(obj: Any, **kwargs: Any) -> Any:
    """Return the view of the values of a mapping."""
    return obj.values(**kwargs)


def listitems(d: Any) -> list[Any]:
    """Return the pairs of a mapping."""
    return list(d.items())


def listvalues(d: Any) -> list[Any]:
    """Return the values of a mapping."""
    return list(d.values())


def lrange(*args: int) -> list[int]:
    """Return a range as a list."""
    return list(range(*args))


def lzip(*args: Any) -> list[Any]:
    """Return the items of several sequences side by side."""
    return list(zip(*args, strict=False))


def lmap(function: Callable[..., Any], *args: Any) -> list[Any]:
    """Return what a function makes of the items."""
    return list(map(function, *args))


def lfilter(function: Any, items: Any) -> list[Any]:
    """Return the items that a function, or their truth, chooses."""
    return list(filter(function, items))


def with_metaclass(meta: Any, *bases: type) -> Any:
    """Return what stands among the bases of a class to give it a metaclass and these bases."""

    class Intermediate(meta):  # type: ignore[misc]
        def __new__(cls, name: str, _: Any, body: dict[str, Any]) -> Any:
            return meta(name, bases, body)

    return type.__new__(Intermediate, "Intermediate", (), {})


def old_div(a: Any, b: Any) -> Any:
    """Divide as Python 2 did: whole numbers by whole numbers give whole numbers."""
    whole = isinstance(a, int) and isinstance(b, int)
    return a // b if whole else a / b


def native(obj: Any) -> Any:
    """Return an object as it is."""
    return obj


def isint(obj: Any) -> bool:
    """Tell whether something is a whole number of Python."""
    return isinstance(obj, int)


def istext(obj: Any) -> bool:
    """Tell whether something is text."""
    return isinstance(obj, str)


def isbytes(obj: Any) -> bool:
    """Tell whether something is bytes."""
    return isinstance(obj, bytes)


def tobytes(s: Any) -> bytes:
    """Return text (Latin 1) or numbers as bytes."""
    return s.encode("latin-1") if isinstance(s, str) else bytes(s)


def bytes_to_native_str(b: bytes, encoding: str = "utf-8") -> str:
    """Return bytes as text."""
    return b.decode(encoding)


def native_str_to_bytes(s: str, encoding: str = "utf-8") -> bytes:
    """Return text as bytes."""
    return s.encode(encoding)


def text_to_native_str(s: str, encoding: Any = None) -> str:
    """Return text as it is."""
    return s


def as_native_str(encoding: str = "utf-8") -> Callable[[Any], Any]:
    """Return a decorator that changes nothing."""
    return native


def python_2_unicode_compatible(cls: Any) -> Any:
    """Return a class as it is."""
    return cls


implements_iterator = python_2_unicode_compatible


def raise_with_traceback(exc: BaseException, traceback: Any = ...) -> None:
    """Raise an exception with a traceback, by default that of the exception being handled."""
    import sys

    raise exc.with_traceback(sys.exc_info()[2] if traceback is ... else traceback)


def raise_(tp: Any, value: Any = None, tb: Any = None) -> None:
    """Raise an exception from its class, what it is made of, and a traceback."""
    made = tp if isinstance(tp, BaseException) else value
    if not isinstance(made, BaseException):
        made = tp() if value is None else tp(*value) if isinstance(value, tuple) else tp(value)
    raise made.with_traceback(tb)


reraise = raise_


def raise_from(exc: BaseException, cause: BaseException | None) -> None:
    """Raise an exception that another one has caused."""
    raise exc from cause
