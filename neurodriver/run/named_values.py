"""Values that have names are attributes: ``view.V`` reads, ``view.V = -65.0`` sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any


class NamedValues(ABC):
    """Reads and sets by attribute what `get` and `set` do by name.

    An attribute of the object itself begins with an underscore, and is put by `object.__setattr__`.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of what each member has."""

    @abstractmethod
    def get(self, name: str) -> Any:
        """Return the values of a name."""

    @abstractmethod
    def set(self, name: str, values: Any) -> None:
        """Set the values of a name."""

    @abstractmethod
    def _unknown(self, name: str) -> str:
        """Return what is to be said of a name that nothing has."""

    def _readable(self) -> Iterable[str]:
        """Return the names that can be read as attributes."""
        return self.names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name not in self._readable():
            raise AttributeError(self._unknown(name))
        return self.get(name)

    def __setattr__(self, name: str, values: Any) -> None:
        self.set(name, values)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._readable()})
