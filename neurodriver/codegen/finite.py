"""The test for values that are not finite, as lines of text.

A sum minus itself is 0, unless a term is NaN or infinite (``test``). On a GPU each component tests
its values like that. On a CPU that would cost a fifth of a light kernel, so there the processor's
own flags are asked once a call of the kernel: arithmetic that makes an infinity or NaN of finite
numbers sets one. Functions such as ``log`` choose such results without arithmetic; kernels that
call one add up the test of all components instead, which costs little beside the function. Only
where a flag is set, or the sum is not 0, ``nd_find`` looks at the values one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest

from ..model.component import NDComponent
from ..model.language import assignments, tree
from ..model.language.words import ARCS, FUNCTIONS
from ..model.text import block
from ..model.texts import named, texts_of
from ..plan.arrays import Key, Kind, depth, width
from ..plan.diagnostics import FAULT
from ..plan.unit import KernelSpec
from .component import ComponentText
from .prints import number_of

_FLAGGED = ("exp", "tanh", "sqrt", "fabs", "fmin", "fmax", "floor", "fma")
"""Functions that set the processor's flags like arithmetic, or give no infinity."""

_GIVEN = "const nd_args *nd_a, long long nd_k, long long nd_begin, long long nd_end"


def watched(model: type[NDComponent]) -> list[str]:
    """Return what is tested: states and updated variables, in the order of the declaration.

    A variable to which the mathematics assigns numbers alone, such as 0 and 1, is always finite.
    """
    names = [*model.states, *(v for v in model.updates if v not in model.states)]
    exempt = {name for name, state in model.states.items() if state.infinite}
    return [n for n in names if n not in exempt and not _only_numbers(model, n)]


def _only_numbers(model: type[NDComponent], name: str) -> bool:
    """Whether a variable is no state, and gets nothing but numbers."""
    if name in model.states or name in model.outputs:
        return False
    given = assignments(texts_of(model)["update"].tree, name)
    return all(value is not None and _is_number(value) for value in given)


def _is_number(value: tree.Expression) -> bool:
    """Whether an expression gives a number that is written in it."""
    if isinstance(value, tree.Ternary):
        return _is_number(value.yes) and _is_number(value.no)
    return isinstance(value, tree.Number)


class FiniteText:
    """Writes the test of one model; nothing where the program does not ask for it."""

    def __init__(self, component: ComponentText) -> None:
        self.component, self.spec = component, component.spec
        self.all = watched(self.spec.model) if self.spec.watch.finite else []
        states = self.spec.model.states
        self.names = [n for n in self.all if n in states or n in self.spec.published]

    def record(self) -> list[str]:
        """Declare where the first value is recorded."""
        return [f"long long *nd_fault = {self.component.arguments.pointer(FAULT, 'long long')};"]

    def values(self) -> dict[str, str]:
        """Return the expression of each value that is tested."""
        states = self.spec.model.states
        return {n: n if n in states else f"({self.component.output(n)})" for n in self.names}

    def row(self, name: str, step: str) -> str:
        """Return the expression of a group's values in the row of a step."""
        a, spec = self.component.arguments, self.spec
        shape = f"{a.integer(depth(name))}, {a.integer(width(name))}"
        own = a.integer(spec.segment(name, "start"))
        return f"(nd_row({a.pointer(spec.ring(name), 'real')}, {step}, {shape}) + {own})"

    def recording(self, name: str, at: str, now: str) -> str:
        """Return the call that records a value if it is not finite.

        The value of the step before goes with it where a row still holds it.
        """
        component = number_of(self.spec, self.component.arguments, at)
        known, before = self.before(name, at)
        given = f"{self.all.index(name)}, {known}, {before}, {now}"
        return f"nd_record_first(nd_fault, nd_k, {component}, {given});"

    def before(self, name: str, at: str) -> tuple[int, str]:
        """Return whether a row holds the value of the step before, and that value."""
        if name in self.spec.published and name not in self.spec.unseen:
            return 1, f"{self.row(name, 'nd_k')}[{at}]"
        return 0, "0"


class RangeFinite(FiniteText):
    """The test of one call of a kernel, on a CPU."""

    @property
    def sums(self) -> bool:
        """Whether the test is summed, as the processor's flags do not show all."""
        return bool(self.names) and _silent(self.spec)

    @property
    def simd(self) -> str:
        """What stands before the loop over components."""
        return "ND_SIMD_SUM" if self.sums else "ND_SIMD"

    def begin(self) -> list[str]:
        """Declare the sum."""
        return ["real nd_odd = 0;"] if self.sums else []

    def add(self) -> list[str]:
        """Add the test of one component."""
        total = " + ".join(self.values().values())
        return [f"nd_odd += nd_not_finite({total});"] if self.sums else []

    def end(self) -> list[str]:
        """Return what comes last in a call of the kernel."""
        if not self.names:
            return []
        always = self.component.arguments.integer(infinite_constants(self.spec))
        found = "!(nd_odd == 0)" if self.sums else f"nd_flag_set() || {always}"
        return [f"if (__builtin_expect({found}, 0)) nd_find(nd_a, nd_k, nd_begin, nd_end);"]

    def find(self, begin: str = "nd_begin", end: str = "nd_end") -> list[str]:
        """Return the loop over components that records the values that are not finite."""
        lines = []
        for name in self.names:
            if name in self.spec.published:
                values = self.row(name, "nd_k + 1")
            else:
                values = self.component.arguments.pointer(self.spec.key(Kind.STATE, name))
            lines += block("", [
                f"const real *nd_values = {values};",
                *block(f"if (nd_any_not_finite(nd_values, {begin}, {end}))", block(
                    f"for (long long nd_c = {begin}; nd_c < {end}; ++nd_c)",
                    [self.recording(name, "nd_c", "nd_values[nd_c]")],
                )),
            ])  # fmt: skip
        return lines


class ThreadFinite(FiniteText):
    """The test of a thread's components, on a GPU.

    It takes one operation of single precision for two values: their product is added to a number,
    which stays finite only if both are. The upper half of a double is NaN or infinite in single
    precision where the double is NaN, infinite or beyond 2**1017. A product may overflow, too. So
    a number that is not finite only says where to look.
    """

    def begin(self, first: str = "0") -> list[str]:
        """Declare the number, which has values of ``first`` in it."""
        return [f"float nd_odd = {first};"]

    def add(self, without: Collection[str] = ()) -> list[str]:
        """Add the values of component ``nd_at``, two at a time."""
        return products("nd_odd", [v for n, v in self.values().items() if n not in without])

    def find(self) -> list[str]:
        """Record the first value of component ``nd_at`` that is not finite, where one is not."""
        values = self.values()
        lines = ["int nd_which = -1, nd_known = 0;", "real nd_was = 0, nd_now = 0;"]
        for name, value in reversed(values.items()):
            known, before = self.before(name, "nd_at")
            took = [f"nd_which = {self.all.index(name)};", f"nd_known = {known};",
                    f"nd_was = {before};", f"nd_now = {value};"]  # fmt: skip
            lines += block(f"if (!(nd_not_finite({value}) == 0))", took)
        number = number_of(self.spec, self.component.arguments, "nd_at")
        given = f"{number}, nd_which, nd_known, nd_was, nd_now"
        call = f"nd_record_first(nd_fault, nd_k, {given});"
        return [*lines, *block("if (nd_live[nd_i] && nd_which >= 0)", [*self.record(), call])]


def products(to: str, values: Sequence[str]) -> list[str]:
    """Return lines that add products of pairs of values to a number of single precision."""
    upper = [f"nd_upper((real)({value}))" for value in values]
    pairs = zip_longest(upper[::2], upper[1::2], fillvalue="1.0f")
    return [f"{to} = nd_fma({a}, {b}, {to});" for a, b in pairs]


def finding(*parts: list[str]) -> list[str]:
    """Return the function ``nd_find`` of a kernel, which has these lines; none without lines."""
    lines = [line for part in parts for line in part]
    return [*block(f"ND_RARE void nd_find({_GIVEN})", lines), ""] if lines else []


def infinite_constants(spec: KernelSpec) -> Key:
    """Return the key of an integer that is not 0 where constants are not finite.

    Arithmetic with them sets no flag, so the values are looked at after each step.
    """
    return spec.key(Kind.SIZE, "infinite constants")


def _silent(spec: KernelSpec) -> bool:
    """Whether a kernel calls functions that choose results which are not finite."""
    functions = ["fmod", *ARCS, *(name for name in FUNCTIONS if name not in _FLAGGED)]
    texts = texts_of(spec.model)
    parts = [*texts.step(), *texts.each(*spec.model.accesses)]
    own = [function.body for function in texts.functions]
    return bool(named(functions, [*parts, *own])) or spec.model.sub_units is not None
