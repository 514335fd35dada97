"""Texts of intervals as events of synapses, up to which the text ``between`` changes them."""

from __future__ import annotations

from ..model.plasticity import Plasticity
from ..model.text import block
from ..plan.arrays import Key, Kind, Owner
from .kernel import Arguments


def drifts_to_intervals(rule: Plasticity) -> bool:
    """Whether intervals are events of a synapse, up to which its numbers drift."""
    return bool(rule.between and rule.every)


def _members(rule: Plasticity) -> list[str]:
    """Return the members of the structure of a rule that hold intervals, in steps."""
    return [f"nd_interval_{i}" for i in range(len(rule.every) * drifts_to_intervals(rule))]


def last_interval(rule: Plasticity) -> list[str]:
    """Return the method that says when a text of an interval ran last, up to a step, and a flag."""
    names = _members(rule)
    body = ["int nd_last = ND_NEVER;"]
    for name in names:
        run = f"nd_t - nd_t % {name}"
        body.append(f"if (nd_t >= {name} && {run} > nd_last) nd_last = {run};")
    head = "ND_METHOD int last_interval(int nd_t) const"
    flag = str(drifts_to_intervals(rule)).lower()
    lines = [f"static const bool DRIFTS_TO_INTERVALS = {flag};"]
    lines += block(head, [*body, "(void)nd_t;", "return nd_last;"])
    return [f"int {', '.join(names)};", *lines] if names else lines


def filled_intervals(
    rule: Plasticity, arguments: Arguments, owner: Owner, variable: str
) -> list[str]:
    """Return the lines that give a structure its intervals."""
    sizes = (Key(owner, Kind.SIZE, f"every {name}") for name in rule.every)
    each = zip(_members(rule), sizes, strict=False)
    return [f"{variable}.{name} = (int){arguments.integer(size)};" for name, size in each]
