"""The methods of integration by name, and the one that a system gets where none is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .exact import exact
from .noise import additive
from .relaxing import exponential_euler
from .steps import Fresh, Unsuited, Written, euler, heun, rk2, rk4
from .system import System

METHODS: dict[str, Callable[[System, Fresh], Written]] = {
    "exact": exact,
    "exponential_euler": exponential_euler,
    "euler": euler,
    "rk2": rk2,
    "rk4": rk4,
    "euler_maruyama": euler,
    "heun": heun,
}
"""Name -> what writes a step."""

NOISY = ("euler", "euler_maruyama", "heun")
"""Those that take noise."""


def names_free_of(taken: Iterable[str]) -> Fresh:
    """Return what gives names that are not taken, each once."""
    known = set(taken)

    def fresh(wanted: str) -> str:
        while wanted in known:
            wanted += "_"
        known.add(wanted)
        return wanted

    return fresh


def written(system: System, method: str, taken: frozenset[str]) -> tuple[str, Written]:
    """Return the name of the method and the step that it makes.

    Parameters
    ----------
    system : System
    method : str
        Empty where none is named: then ``exact`` if the equations are linear, else
        ``exponential_euler`` if each is linear in its own state, else ``rk2``. With noise
        ``euler_maruyama``, or ``heun`` where its factor depends on a state.
    taken : frozenset of str
        Names that the text may not give to something else.

    Raises
    ------
    Unsuited
        Where the method that is named does not fit.
    """
    if method:
        if system.noise and method not in NOISY:
            state = next(iter(system.states))
            raise Unsuited(state, f"{method} takes no noise; take euler_maruyama or heun")
        return method, METHODS[method](system, names_free_of(taken))
    if system.noise:
        name = "euler_maruyama" if additive(system) else "heun"
        return name, METHODS[name](system, names_free_of(taken))
    for name in ("exact", "exponential_euler"):
        try:
            return name, METHODS[name](system, names_free_of(taken))
        except Unsuited:
            pass
    return "rk2", rk2(system, names_free_of(taken))
