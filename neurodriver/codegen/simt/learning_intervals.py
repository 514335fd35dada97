"""Texts of intervals of a rule, on a GPU: when they run, and what sums they read."""

from __future__ import annotations

from ...model.text import block, indent
from ...plan.spikes.learning import LearningPlan
from ..rules import RuleText


class IntervalsText:
    """Writes the struct ``nd_intervals`` of one plan.

    Attributes
    ----------
    every : tuple of int
        Steps of the interval of each text.
    apart : bool
        Whether texts have a part of a turn for themselves: they read what components write, or
        sums.
    wait : bool
        Whether they wait, as spikes do, until a synapse is visited. They must read nothing but
        their synapse, which must not drift, and levels of modulators, which are kept. These are
        those of the steps in which the most frequent text is due, so the others must be due
        then.
    """

    def __init__(self, plan: LearningPlan, rule: RuleText) -> None:
        every = tuple(plan.limits[f"every {name}"] for name in plan.rule.every)
        self.every, self._sums = every, [len(each) for each in rule.sums]
        self.apart = any(self._sums) or plan.rule.intervals_read_components()
        least = min(every, default=1)
        regular = bool(every) and all(steps % least == 0 for steps in every)
        alone = self.apart or plan.rule.on_step or plan.rule.between
        self.wait = regular and not alone

    def structure(self) -> list[str]:
        """Return the definition of the struct."""
        sums, least = self._sums, min(self.every, default=1)
        members = [
            f"static const int TEXTS = {len(self.every)}, SUMS = {sum(sums)}, EACH = {least};",
            f"static const bool APART = {str(self.apart).lower()};",
            f"static const bool WAIT = {str(self.wait).lower()};",
            *self._times(least),
            *self._texts([sum(sums[:i]) for i in range(len(sums))]),
        ]
        return ["struct nd_intervals {", *indent(members), "};"]

    def _times(self, least: int) -> list[str]:
        """Return when a text runs; ``waits_in``: of the multiples of ``EACH``."""
        each = [*enumerate(self.every)]
        due = " || ".join(f"n % {steps} == 0" for steps in self.every) or "false"
        due_in = [f"if (i == {i}) return n > 0 && n % {steps} == 0;" for i, steps in each]
        waits = [
            f"if (i == {i}) return {'true' if n == least else f'n % {n} == 0'};" for i, n in each
        ]
        head = "static ND_MEMBER bool"
        return [
            *block(f"{head} due(int n)", [f"return n > 0 && ({due});"]),
            *block(f"{head} due_in(int i, int n)", [*due_in, "return false;"]),
            *block(f"{head} waits_in(int i, int n)", [*waits, "return false;"]),
        ]

    def _texts(self, first: list[int]) -> list[str]:
        """Return what runs a text and makes its sums, which begin at the number ``first``."""
        texts = range(len(self.every))
        terms = [(i, v) for i, n in enumerate(self._sums) for v in range(n)]
        of = "const Rule &rule, int i"
        known = "real *s, const real *level, const real *sums, const Values &values"
        methods = {
            "static ND_MEMBER int first_sum(int i)": [
                *(f"if (i == {i}) return {first[i]};" for i in texts),
                "return 0;",
            ],
            "static ND_MEMBER int text_of(int sum)": [
                *(f"if (sum == {first[i] + v}) return {i};" for i, v in terms),
                "return -1;",
            ],
            f"template <class Rule, class Values> static ND_MEMBER void run({of}, {known})": [
                f"if (i == {i}) rule.template every<{i}>(s, level, sums, values);" for i in texts
            ],
            f"template <class Rule> static ND_MEMBER real term({of}, const real *s)": [
                *(f"if (i == {first[i] + v}) return rule.template summed<{i}>({v}, s);"
                  for i, v in terms),
                "return 0;",
            ],
        }  # fmt: skip
        return [line for head, body in methods.items() for line in block(head, body)]
