"""``ArrayText``: the text of an element of a field, and the tests of its indices."""

from __future__ import annotations

from ..model.language import tree
from .place_head import PlaceHead


class ArrayText(PlaceHead):
    """Writes what one kernel reads of arrays that its population has."""

    def of_array(
        self, name: str, indices: tuple[tree.Expression, ...], of: tree.Expression | None = None
    ) -> str:
        """Return an element of a field; ``of`` says of which array of a list."""
        rule, value = self.rules[name], self.place.fields[name][1]
        tests: list[str] = []
        text, base, which = "", f"nd_f_{name}", ""
        if of is not None:
            array, tests = self._array(name, of)
            base, which = f"({base} + nd_b_{name}{array})", array
        for number, (axis, index) in enumerate(zip(rule.indexed, indices, strict=True)):
            one, length = self.translator.expression(index), min(value.lengths(number))
            if of is None and self.is_beside(index, length):
                strides = "".join(f" * nd_n_{name}_{n}" for n in rule.indexed[number + 1 :])
                one, base = "nd_h_first", f"({base} + nd_o{strides})"
            elif not self.is_inside(index, length):
                tests.append(self._inside(index, one, f"nd_n_{name}_{axis}{which}"))
            text = f"({text}) * nd_n_{name}_{axis}{which} + ({one})" if text else f"({one})"
        return self._tested(tests, f"{base}[{text}]", "int" if rule.whole else "real")

    def _array(self, name: str, of: tree.Expression) -> tuple[str, list[str]]:
        """Return the index of an array of a list, and the test that there is one."""
        count, one = len(self.place.fields[name][1].shapes), self.translator.expression(of)
        known = self.is_inside(of, count)
        return f"[{one}]", [] if known else [self._inside(of, one, str(count))]

    def _inside(self, node: tree.Expression, index: str, count: str) -> str:
        """Return the test of an index."""
        return self.translator.tested(f"nd_inside({index}, {count})", node, index, count)

    @staticmethod
    def _tested(tests: list[str], value: str, kind: str) -> str:
        return f"({' && '.join(tests)} ? {value} : ({kind})0)" if tests else value
