"""One function turns whatever names components into their uids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import NeurodriverError, TargetError


class HasUids(Protocol):
    """A population, a part of one, a selection, a group: anything with names of components."""

    @property
    def uids(self) -> NDArray[np.str_]:
        """Names of the components, (n,) str."""


Who = Sequence[str] | HasUids
"""How users name components: their uids, or something that has them."""


Uids = Sequence[str] | NDArray[np.str_]
"""Uids of components: an array where they were given as one, for there may be millions."""


def uids_named(who: Any, error: type[NeurodriverError] = TargetError) -> Uids:
    """Return the uids of what names components, which nobody changes later; see `uid_list`."""
    given = getattr(who, "uids", who)
    if not isinstance(given, np.ndarray) or given.dtype.kind != "U" or not given.size:
        return tuple(uid_list(who, error))
    uids: NDArray[np.str_] = frozen_names(given if given.ndim == 1 else given.ravel())
    return uids


def frozen_names(who: Any) -> Any:
    """Return what names components; an array of names is copied, unless nobody can write to it."""
    if not isinstance(who, np.ndarray) or who.dtype.kind != "U" or not who.flags.writeable:
        return who
    out = who.copy()
    out.flags.writeable = False
    return out


def uid_list(who: Any, error: type[NeurodriverError] = TargetError) -> list[str]:
    """Return the uids of what names components, as text.

    Parameters
    ----------
    who : str, bytes, int, or sequence of them; or anything with ``uids``
        A sequence may hold populations, too. None names nothing.
    error : type of NeurodriverError
        What is raised where a population or a selection is empty.
    """
    if who is None:
        return []
    if hasattr(who, "uids"):
        if not len(who.uids):
            raise error(f"{who!r} has no components; nothing can be done with it")
        who = np.asarray(who.uids, np.str_)
    out: list[str] = []
    if isinstance(who, np.ndarray) and who.dtype.kind == "U":
        out = who.ravel().tolist()
        return out
    if isinstance(who, list | tuple) and {*map(type, who)} == {str}:
        return [*who]
    each: Iterable[Any] = [who] if isinstance(who, str | bytes) else who
    if not isinstance(each, Iterable):
        raise error(f"uids, a population or a selection are needed, got {who!r:.60}")
    for one in each:
        if hasattr(one, "uids"):
            out += uid_list(one, error)
        else:
            out.append(one.decode() if isinstance(one, bytes) else str(one))
    return out
