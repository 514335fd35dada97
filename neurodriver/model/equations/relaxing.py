"""Exponential Euler: each state relaxes over a sub-step as if all others stood still.

For ``dx/dt = f`` with a slope ``a`` of f by x that does not depend on x, the step is
``x + f (exp(a h) - 1) / a``: exact for this x alone, of first order together (Hochbruck & Ostermann
2010, Acta Numer 19:209-286, doi:10.1017/S0962492910000048).
"""

from __future__ import annotations

from ..language import to_text, tree
from .algebra import Algebra
from .steps import Fresh, H, Unsuited, Written
from .system import System

GROWTH = "real mean_growth(real x) { return x == 0 ? 1 : expm1(x) / x; }"
"""Mean of exp(x u) over u in (0, 1)."""


def exponential_euler(system: System, fresh: Fresh) -> Written:
    """Return a step of exponential Euler.

    Raises
    ------
    Unsuited
        Where a slope depends on the state itself.
    """
    found = Written({name: fresh(f"{name}_new") for name in system.states}, functions=[GROWTH])
    for state, node in system.states.items():
        algebra = Algebra([state], about=state)
        own = [n for n in system.moving if state in system.below(system.expressions[n])]
        slope = algebra.slope(algebra.of(system.inlined(node, own)), state)
        if slope is None or state in algebra.names(slope):
            said = f"exponential_euler needs what is linear in {state}; take rk2 or rk4"
            raise Unsuited(state, said)
        found.lines += _one(system, fresh, state, node, algebra.back(slope), found)
    return found


def _one(
    system: System, fresh: Fresh, state: str, node: tree.Expression,
    slope: tree.Expression, found: Written,
) -> list[str]:  # fmt: skip
    """Return the lines of one state; what does not change becomes a constant."""
    gain: tree.Expression = H
    if not (isinstance(slope, tree.Number) and float(slope.text) == 0):
        growth = tree.Call("mean_growth", (tree.Binary("*", H, slope),))
        gain = tree.Binary("*", H, growth)
    lines = []
    if gain is not H:
        name, text = fresh(f"gain_{state}"), to_text(gain)
        if system.is_fixed(slope):
            found.constants[name] = text
        else:
            lines.append(f"real {name} = {text};")
        gain = tree.Name(name)
    step = tree.Binary("+", tree.Name(state), tree.Binary("*", gain, node))
    return [*lines, f"real {found.new[state]} = {to_text(step)};"]
