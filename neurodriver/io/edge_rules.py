"""Which edges of a table learn, by which rule, and with which parameters of single synapses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Column
from ..circuit.plastic import INITIAL
from ..circuit.rule_nodes import complete
from ..errors import Faults, near, quoted
from ..model.plasticity import Plasticity
from .arrow import ColumnTable

Rules = Plasticity | Mapping[str, Plasticity | None] | None
"""A rule for all edges, or value of a column -> rule; None for edges that do not learn."""

PLAIN = -1
"""Code of edges that do not learn."""

Part = tuple[slice | NDArray[np.bool_], int]
"""Some edges, and the code of their rule."""


class EdgeRules:
    """Rules of the edges of a table.

    Parameters
    ----------
    given : Plasticity, mapping, or None
        A rule for all edges, or value of ``column`` -> rule.
    column : str, optional
        Column of the edges that names their rule. Edges where it is empty do not learn.
    params : mapping of str to str
        Name of a parameter of a rule -> column of the edges. ``init`` and the name of a variable of
        synapses, in one word, means the initial value of this variable.
    faults : Faults
        Errors are added here.
    """

    def __init__(
        self, given: Rules, column: str | None, params: Mapping[str, str], faults: Faults
    ) -> None:
        self.column, self.params = column, dict(params)
        by_name = isinstance(given, Mapping)
        rules: dict[Any, Any] = dict(given) if isinstance(given, Mapping) else {"": given}
        self.names, self.rules = [*map(str, rules)], [*rules.values()]
        self._accesses: dict[int, str] = {}  # of the first edges that have the name of a rule
        if by_name != (column is not None):
            faults.add(
                "plasticity gives rules by name: name their column with plasticity_column="
                if by_name else
                "plasticity_column asks for rules by name: plasticity={'name': rule}"
            )  # fmt: skip
        known = sorted({key for rule in self.rules for key in _numbers(rule)})
        for key in self.params:
            if key not in known:
                hint = near(key, known)
                has = ", ".join(known) or "nothing of that kind"
                say = f"no rule has a parameter {quoted(key)}{hint}; there is {has}"
                faults.add(f"synapse_params: {say}")

    @property
    def learn(self) -> bool:
        """Whether any edge may learn."""
        return any(rule is not None for rule in self.rules)

    @property
    def columns(self) -> list[str]:
        """Columns of the table that are read."""
        return [*([] if self.column is None else [self.column]), *self.params.values()]

    def read(self, table: ColumnTable) -> dict[str, Column]:
        """Return the code of each edge's rule, and parameters of synapses, NaN where not given."""
        out: dict[str, Column] = {
            key: table.numbers(column, empty=True) for key, column in self.params.items()
        }
        if self.column is not None:
            known, codes = table.texts(self.column, empty=True)
            numbers = [self.names.index(k) if k in self.names else len(self.names) for k in known]
            found = np.array([*numbers, PLAIN])[codes]
            allowed = ", ".join(map(quoted, self.names))
            say = f"must be one of {allowed}, or empty"
            bad = found == len(self.names)
            table.note(self.column, bad, codes, lambda v: f"{say} (got {quoted(known[v])})")
            out["rule"] = np.where(bad, PLAIN, found)
        return out

    def parts(self, codes: Column | None, chosen: NDArray[np.bool_] | None) -> Iterator[Part]:
        """Yield the edges of each rule, among the chosen or all edges, and the code of the rule."""
        if codes is None:
            yield slice(None) if chosen is None else chosen, 0
            return
        for code in (PLAIN, *range(len(self.rules))):
            rows = codes == code if chosen is None else (codes == code) & chosen
            if rows.any():
                yield rows, code

    def rule(self, code: int) -> Plasticity | None:
        """Return the rule with a code."""
        found: Plasticity | None = None if code == PLAIN else self.rules[code]
        return found

    def called(self, code: int, access: str) -> str:
        """Return the name of the edges with a code into an access, "" for that of `Connections`."""
        if code == PLAIN or self.rule(code) is None or self.column is None:
            return ""
        used = self._accesses.setdefault(code, access)
        return self.names[code] if used == access else f"{self.names[code]} -> {access}"

    def numbers(self, code: int, part: Mapping[str, Column]) -> dict[str, Column]:
        """Return the parameters of single synapses; where none is given, that of the rule."""
        rule = self.rule(code)
        own = {key: part[key] for key in self.params if key in _numbers(rule)}
        return complete(own, rule) if isinstance(rule, Plasticity) else {}


def _numbers(rule: Any) -> list[str]:
    """Return the parameters of a rule that an edge may give."""
    if not isinstance(rule, Plasticity):
        return []
    return [*rule.params, *(f"{INITIAL}{name}" for name in rule.synapse)]
