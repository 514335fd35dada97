"""Linear equations, integrated exactly for inputs that stand still over a sub-step.

For ``dX/dt = A X + b``, ``X(h) = P X + Q b`` with ``P = exp(A h)`` and Q the integral of exp(A s)
over the sub-step (Rotter & Diesmann 1999, Biol Cybern 81:381-402, doi:10.1007/s004220050570). A
state that depends on no other one has its closed form. For others, P and Q are computed once, by
scaling and squaring of Taylor's series, so equal time constants are no special case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..language import to_text, tree
from .algebra import Algebra
from .steps import Fresh, Unsuited, Written
from .system import System

TAYLOR = 18
"""Terms of the series: the next one is below 1e-17 where the norm is below 1."""


def exact(system: System, fresh: Fresh) -> Written:
    """Return an exact step.

    Raises
    ------
    Unsuited
        Where an equation is not linear, or its coefficients change.
    """
    return _Exact(system, fresh).written()


class _Exact:
    def __init__(self, system: System, fresh: Fresh) -> None:
        self.system, self.fresh = system, fresh
        self.algebra = Algebra(system.states)
        self.found = Written({name: fresh(f"{name}_new") for name in system.states})
        self.matrix: dict[str, dict[str, Any]] = {}
        self.drive: dict[str, Any] = {}
        self._read()

    def _read(self) -> None:
        """Find the matrix and what drives each state."""
        states = list(self.system.states)
        for state, node in self.system.states.items():
            self.algebra.about = state
            value = self.algebra.of(self.system.inlined(node, self.system.moving))
            row = {}
            for other in states:
                slope = self.algebra.slope(value, other)
                if slope is None or self.algebra.names(slope) & set(states):
                    hint = "take exponential_euler, rk2 or rk4"
                    raise Unsuited(state, f"exact needs what is linear in {other}; {hint}")
                if slope != 0:
                    row[other] = slope
            self.matrix[state] = row
            self.drive[state] = self.algebra.at_zero(value, states)

    def _reached(self, state: str, clamped: bool) -> list[str]:
        """Return the states that one depends on, in the order of the equations."""
        found, todo = {state}, [state]
        while todo:
            one = todo.pop()
            row = {} if clamped and one in self.system.clamped else self.matrix[one]
            todo += [other for other in row if other not in found]
            found |= set(row)
        return [name for name in self.system.states if name in found]

    def written(self) -> Written:
        """Return the step of every state."""
        for state in self.system.states:
            value = self._value(state, False)
            rest = set(self._reached(state, False)) & self.system.clamped - {state}
            if rest and state not in self.system.clamped:  # what it depends on stands still
                value = f"not_refractory ? {value} : {self._value(state, True)}"
            self.found.lines.append(f"real {self.found.new[state]} = {value};")
        return self.found

    def _value(self, state: str, clamped: bool) -> str:
        members = self._reached(state, clamped)
        if members == [state]:
            return to_text(self._alone(state))
        return self._together(state, members, clamped)

    def _number(self, wanted: str, text: str, node: tree.Expression) -> tree.Name:
        """Return the name of a number: a constant where it does not change."""
        name = self.fresh(wanted)
        if self.system.is_fixed(node):
            self.found.constants[name] = text
        else:
            self.found.lines.append(f"real {name} = {text};")
        return tree.Name(name)

    def _alone(self, state: str) -> tree.Expression:
        """Return the new value of a state that depends on itself alone."""
        x, h, drive = tree.Name(state), tree.Name("dt_ms"), self.drive[state]
        slope = self.matrix[state].get(state)
        if slope is None:
            step = tree.Binary("*", h, self.algebra.back(drive))
            return x if drive == 0 else tree.Binary("+", x, step)
        power = self.algebra.back(slope * self.algebra.symbol("dt_ms"))
        decay = self._number(f"decay_{state}", to_text(tree.Call("exp", (power,))), power)
        kept = tree.Binary("*", x, decay)
        if drive == 0:
            return kept
        goal, plain = self.algebra.quotient(-drive, slope)
        if plain:
            share = tree.Binary("-", tree.Number("1"), decay)
            return tree.Binary("+", kept, tree.Binary("*", self.algebra.back(goal), share))
        rate = to_text(self.algebra.back(slope))
        growth = tree.Call("expm1", (power,))
        text = f"{rate} == 0 ? dt_ms : {to_text(growth)} / ({rate})"
        gain = self._number(f"gain_{state}", text, power)
        return tree.Binary("+", kept, tree.Binary("*", gain, self.algebra.back(drive)))

    def _together(self, state: str, members: Sequence[str], clamped: bool) -> str:
        """Return the new value of a state that depends on others."""
        size, resting = len(members), self.system.clamped if clamped else frozenset()
        entries = []
        for one in members:
            row = {} if one in resting else self.matrix[one]
            nodes = [self.algebra.back(row.get(m, self.algebra.sympy.S.Zero)) for m in members]
            if not all(map(self.system.is_fixed, nodes)):
                said = "exact needs coefficients that do not change where states depend on others"
                raise Unsuited(one, f"{said}; take exponential_euler, rk2 or rk4")
            entries += [to_text(node) for node in nodes]
        if (function := propagator(size)) not in self.found.functions:
            self.found.functions.append(function)
        given, mark = ", ".join(entries), "_rest" if clamped else ""
        terms = []
        for place, one in enumerate(members):
            for what, factor in (("from", tree.Name(one)), ("by", self._drive(one, resting))):
                if factor is None:
                    continue
                name: tree.Expression = tree.Name(self.fresh(f"{state}_{what}_{one}{mark}"))
                where = f"{members.index(state)}, {place}, {int(what == 'by')}"
                text = f"propagator{size}({given}, dt_ms, {where})"
                if what == "by" and self.system.is_fixed(factor):
                    self.found.constants[to_text(name)] = f"{text} * ({to_text(factor)})"
                    terms.append(to_text(name))
                else:
                    self.found.constants[to_text(name)] = text
                    terms.append(to_text(tree.Binary("*", name, factor)))
        return " + ".join(terms)

    def _drive(self, state: str, resting: frozenset[str]) -> tree.Expression | None:
        drive = self.drive[state]
        return None if drive == 0 or state in resting else self.algebra.back(drive)


def propagator(size: int) -> str:
    """Return the text of a function: an entry of exp(A h), or of its integral over h."""
    whole = range(size * size)
    given = ", ".join(f"real a{i}" for i in whole)
    taken = ", ".join(f"a{i} * h" for i in whole)
    n, m = size, size * size
    return f"""real propagator{n}({given}, real h, int row, int column, int integral) {{
    real a[{m}] = {{{taken}}};
    real norm = 0;
    for (int i = 0; i < {m}; ++i) norm = fmax(norm, fabs(a[i]));
    int halvings = 0;
    for (real left = {n} * norm; left > 0.5 && halvings < 64; left *= 0.5) ++halvings;
    real scale = 1;
    for (int i = 0; i < halvings; ++i) scale *= 0.5;
    real p[{m}];
    real q[{m}];
    real next[{m}];
    for (int i = 0; i < {m}; ++i) {{ a[i] *= scale; q[i] = 0; }}
    for (int term = {TAYLOR}; term > 0; --term) {{
        for (int i = 0; i < {n}; ++i) for (int j = 0; j < {n}; ++j) {{
            real sum = i == j ? 1 : 0;
            for (int k = 0; k < {n}; ++k) sum += a[{n} * i + k] * q[{n} * k + j] / (term + 1);
            next[{n} * i + j] = sum;
        }}
        for (int i = 0; i < {m}; ++i) q[i] = next[i];
    }}
    for (int i = 0; i < {n}; ++i) for (int j = 0; j < {n}; ++j) {{
        real sum = i == j ? 1 : 0;
        for (int k = 0; k < {n}; ++k) sum += a[{n} * i + k] * q[{n} * k + j];
        p[{n} * i + j] = sum;
    }}
    for (int round = 0; round < halvings; ++round) {{
        for (int i = 0; i < {n}; ++i) for (int j = 0; j < {n}; ++j) {{
            real sum = q[{n} * i + j];
            for (int k = 0; k < {n}; ++k) sum += p[{n} * i + k] * q[{n} * k + j];
            next[{n} * i + j] = 0.5 * sum;
        }}
        for (int i = 0; i < {m}; ++i) q[i] = next[i];
        for (int i = 0; i < {n}; ++i) for (int j = 0; j < {n}; ++j) {{
            real sum = 0;
            for (int k = 0; k < {n}; ++k) sum += p[{n} * i + k] * p[{n} * k + j];
            next[{n} * i + j] = sum;
        }}
        for (int i = 0; i < {m}; ++i) p[i] = next[i];
    }}
    return integral != 0 ? h * q[{n} * row + column] : p[{n} * row + column];
}}"""
