"""``PRINT`` and ``ERROR`` in the mathematics of a model: what they say.

    PRINT("V %f, left %d", V, left);
    if (V > 100) ERROR("V is %g", V);
    ENSURE(V <= 100, "V is %g", V);  // the same

Without ``debug`` these statements are left out, so a kernel is the same as without them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .language import draws, prints, raise_faults, to_text, tree
from .language.tokens import message

MOST_VALUES = 8
"""Values of a statement at most."""

_CONVERSION = re.compile(r"%(?:%|[-+ 0#]*\d*(?:\.\d+)?[difg])")
_ESCAPES = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\"}


@dataclass(frozen=True)
class Print:
    """One statement.

    Attributes
    ----------
    error : bool
        Whether it ends the run.
    format : str
        Text with ``%d``, ``%i``, ``%f`` and ``%g``.
    """

    error: bool
    format: str

    def text(self, values: Sequence[float]) -> str:
        """Return what is printed for some values."""
        given = iter(values)

        def one(match: re.Match[str]) -> str:
            conversion = match.group()
            if conversion == "%%":
                return "%"
            value = next(given)
            if not math.isfinite(value):
                return str(value)
            return conversion % (int(value) if conversion[-1] in "di" else value)

        return _CONVERSION.sub(one, self.format)


NEAR, WITHIN = -1, -2
"""Numbers of statements that kernels have beside those of texts."""

LOOK_UPS = {
    NEAR: Print(True, "near(%d) on a closed axis of %d cells; take 1 to as many"),
    WITHIN: Print(True, "within has the radius %g; take one of at least 0"),
}
"""What is said of look-ups whose size a text computes, under ``debug``."""


def printing(body: tree.Body, source: str, where: str) -> tuple[Print, ...]:
    """Return the statements of a text, in its order.

    Parameters
    ----------
    source : str
        The text of the tree.
    where : str
        What messages call it.

    Raises
    ------
    ModelError
        Where a format and its values do not fit together, with line and column.
    """
    found, faults = [], []
    for node in prints(body):
        form = re.sub(r"\\.", lambda m: _ESCAPES.get(m.group(), m.group()), node.format)
        word = "ERROR" if node.error else "PRINT"
        faults += [message(source, where, node.at, f"{word}: {one}") for one in _faults(form, node)]
        found.append(Print(node.error, form))
    raise_faults(faults)
    return tuple(found)


def _faults(form: str, node: tree.PrintCall) -> Iterator[str]:
    """Yield what does not fit in one statement."""
    if bad := re.search(r"%.?", _CONVERSION.sub("", form)):
        yield f"'{bad.group()}' is unknown; use %d, %i, %f, %g, or %% for %"
        return
    wanted, given = len([c for c in _CONVERSION.findall(form) if c != "%%"]), len(node.values)
    if wanted != given:
        yield f"the text has {wanted} values, {given} are given"
    elif wanted > MOST_VALUES:
        yield f"{wanted} values, {MOST_VALUES} are allowed; use two statements"
    for value in node.values:
        if draws([value]):
            yield f"'{to_text(value)}' draws a random number; give it a name before"
