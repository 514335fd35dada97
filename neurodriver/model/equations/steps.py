"""Methods that follow the slopes: Euler, Runge and Kutta, Heun.

Each writes what the states are after a sub-step, from what they are before: declarations of
``<state>_new``. The first slope reads the terms of the model, later ones compute the expressions
anew at other states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..language import renamed_text, to_text, tree
from .system import System

H = tree.Name("dt_ms")


@dataclass
class Written:
    """What a method has written.

    Attributes
    ----------
    new : mapping of str to str
        State -> name of its value after the sub-step.
    lines : list of str
        Statements of the update, before the states are assigned.
    functions : list of str
        Functions that the texts call.
    """

    new: Mapping[str, str]
    lines: list[str] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)


class Unsuited(Exception):
    """A method cannot integrate an equation.

    Parameters
    ----------
    state : str
        Whose equation it is.
    said : str
        Why, and what to do.
    """

    def __init__(self, state: str, said: str) -> None:
        super().__init__(said)
        self.state, self.said = state, said


Fresh = Callable[[str], str]
"""A name that is wanted -> that name, or a longer one where it is taken."""


class Slopes:
    """Writes slopes at different states."""

    def __init__(self, system: System, fresh: Fresh) -> None:
        self.system, self.fresh = system, fresh
        self.lines: list[str] = []

    def at(self, states: Mapping[str, str], mark: str) -> dict[str, tree.Expression]:
        """Write the slopes at the states of these names; return the slope of each state."""
        names = dict(states)
        if any(one != name for name, one in states.items()):
            for name in self._used():
                names[name] = self.fresh(f"{name}_{mark}")
                value = renamed_text(self.system.expressions[name], names)
                self.lines.append(f"real {names[name]} = {value};")
        found: dict[str, tree.Expression] = {}
        for state, node in self.system.states.items():
            slope = self.fresh(f"{state}_slope{mark}")
            value = renamed_text(node, names)
            if state in self.system.clamped:
                value = f"not_refractory ? {value} : 0"
            self.lines.append(f"real {slope} = {value};")
            found[state] = tree.Name(slope)
        return found

    def _used(self) -> list[str]:
        """Return the expressions that slopes read and that depend on states."""
        below = frozenset[str]().union(*map(self.system.below, self.system.states.values()))
        return [n for n in self.system.expressions if n in below and n in self.system.moving]

    def after(
        self, share: tree.Expression, slopes: Mapping[str, tree.Expression], mark: str
    ) -> dict[str, str]:
        """Write the states after a share of the sub-step; return their names."""
        found = {}
        for state, slope in slopes.items():
            found[state] = self.fresh(f"{state}_{mark}")
            step = tree.Binary("+", tree.Name(state), tree.Binary("*", share, slope))
            self.lines.append(f"real {found[state]} = {to_text(step)};")
        return found


def _old(system: System) -> dict[str, str]:
    return {name: name for name in system.states}


def euler(system: System, fresh: Fresh) -> Written:
    """Return a step of Euler's method, of first order; with noise, that of Euler and Maruyama.

    Kloeden & Platen 1992, Numerical Solution of Stochastic Differential Equations,
    doi:10.1007/978-3-662-12616-5.
    """
    slopes = Slopes(system, fresh)
    new = slopes.after(H, slopes.at(_old(system), ""), "new")
    return Written(new, slopes.lines)


def rk2(system: System, fresh: Fresh) -> Written:
    """Return a step by the slope in the middle, of second order (no noise)."""
    slopes = Slopes(system, fresh)
    half = tree.Binary("*", tree.Number("0.5"), H)
    middle = slopes.after(half, slopes.at(_old(system), "1"), "middle")
    new = slopes.after(H, slopes.at(middle, "2"), "new")
    return Written(new, slopes.lines)


def rk4(system: System, fresh: Fresh) -> Written:
    """Return the classical step of Runge and Kutta, of fourth order (no noise)."""
    slopes = Slopes(system, fresh)
    half = tree.Binary("*", tree.Number("0.5"), H)
    first = slopes.at(_old(system), "1")
    second = slopes.at(slopes.after(half, first, "at2"), "2")
    third = slopes.at(slopes.after(half, second, "at3"), "3")
    fourth = slopes.at(slopes.after(H, third, "at4"), "4")
    mean: dict[str, tree.Expression] = {}
    for state in system.states:
        inner = tree.Binary("+", second[state], third[state])
        whole = tree.Binary("+", first[state], tree.Binary("*", tree.Number("2"), inner))
        mean[state] = tree.Binary("+", whole, fourth[state])
    new = slopes.after(tree.Binary("/", H, tree.Number("6")), mean, "new")
    return Written(new, slopes.lines)


def heun(system: System, fresh: Fresh) -> Written:
    """Return a step by the mean of the slopes at both ends, of second order without noise.

    With noise that depends on a state it converges to Stratonovich's solution (Kloeden & Platen
    1992, doi:10.1007/978-3-662-12616-5).
    """
    slopes = Slopes(system, fresh)
    first = slopes.at(_old(system), "1")
    second = slopes.at(slopes.after(H, first, "end"), "2")
    mean: dict[str, tree.Expression] = {
        state: tree.Binary("+", first[state], second[state]) for state in system.states
    }
    new = slopes.after(tree.Binary("*", tree.Number("0.5"), H), mean, "new")
    return Written(new, slopes.lines)
