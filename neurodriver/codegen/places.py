"""``PlaceText``: the text of what a model reads of other cells, of axes and of fields.

``image.val[y, x]`` is read where the row of its step begins, at the number of the cell. A number
that may lie outside of an axis is tested, and such a read gives 0. No test is written for what is
known to exist: the variable of a loop over a look-up, the own index, a place within a run.

Positions are numbers in double precision, whatever the working type: a difference of two of them is
rounded where it is assigned.
"""

from __future__ import annotations

from collections.abc import Callable

from ..model.language import assigned, tree
from ..model.prints import NEAR, WITHIN
from ..model.text import block
from ..plan.arrays import Kind
from ..plan.look_ups import look_up_name
from ..plan.places import HERE, Reached
from .array_text import ArrayText
from .place_head import Counted, Loop, Meaning

WORDS = (
    "near",
    "within",
    "size",
    "step",
    "place",
    "position",
    "count",
    "first",
    "last",
    "complete",
)
"""Functions of places."""


_FIRST = tree.Number("0")
"""Index into a pool of one group."""


class PlaceText(ArrayText):
    """Writes what one kernel reads beside its own components."""

    # -- expressions ----------------------------------------------------------------------------

    def path(self, node: tree.Path) -> str:
        """Return ``here.y``, ``here.pos.y``, ``here.activity`` or ``image.gain``."""
        pooled = self.own_pool(node)
        if pooled is not None:
            return self.item(pooled)
        one = self._reached_by(node.name)
        if one is self.place.reached.get(HERE) and node.name == "here":
            if node.names[1] == "pos":
                name = node.names[2]
                return f"nd_x_here_{name}[nd_h_{name}]"
            return f"nd_h_{node.names[1]}"
        return self.of_another(one, node.names[1])

    def of_another(self, one: Reached, name: str) -> str:
        """Return a field of another population."""
        from ..plan.places import field_key

        layer = one.pointer.layer
        assert layer is not None
        value = layer.fields[name]
        kind = "int" if value.values.dtype.kind == "i" else "real"
        key = field_key(one.pointer.group, name, value)
        return f"((real){self.arguments.pointer(key, f'const {kind}')}[0])"

    def item(self, node: tree.Item) -> str:
        """Return ``image.val[y, x]`` or ``filters[t, i, j]``."""
        if len(node.path) == 1:
            return self.of_array(node.name, node.indices, node.of)
        one, variable = self.read_by(node)
        base, tests, beside = f"nd_at_{one.label}_{variable}", [], ""
        if node.ago is not None:
            ago = self.translator.expression(node.ago)
            if not isinstance(node.ago, tree.Number):
                tests.append(self._inside(node.ago, ago, str(one.pointer.history + 1)))
            base = f"({self._row(one, variable, f'nd_k + {int(one.ahead)} - (int)({ago})')})"
        indices, terms = list(node.indices), []
        for name, axis, index in zip(one.names, one.axes, indices or [_FIRST], strict=True):
            text = self.translator.expression(index) if indices else "0"
            if self.is_beside(index, axis.count) and not one.masked:
                text, beside = "nd_h_first", f" + nd_o * nd_m_{one.label}_{name}"
            elif not self.is_inside(index, axis.count):
                if axis.period is not None:
                    text = f"nd_wrapped({text}, nd_n_{one.label}_{name})"
                else:
                    tests.append(self._inside(index, text, f"nd_n_{one.label}_{name}"))
            last = name == one.names[-1]
            terms.append(f"({text})" if last else f"({text}) * nd_m_{one.label}_{name}")
        cell = " + ".join(terms)
        if one.masked:
            tests.append(f"nd_cells_{one.label}[{cell}] >= 0")
            cell = f"nd_cells_{one.label}[{cell}]"
        base = f"({base}{beside})" if beside else base
        value = f"{base}[{cell}]"
        if one.sums is not None:
            alone = one.sums.groups.count == 1
            value = f"nd_pool_{one.label}" if alone else self.reduced(one, one.sums, cell)
        return self._tested(tests, value, "real")

    # -- functions ------------------------------------------------------------------------------

    def call(self, node: tree.Call) -> str:
        """Return a call of one of ``WORDS``."""
        name, one = node.name, node.arguments[0]
        if name == "count":
            assert isinstance(one, tree.Name)
            field = self.place.fields.get(one.name)
            return str(len(self.place.many(one.name) if field is None else field[1].shapes))
        if name == "size":
            assert isinstance(one, tree.Path)
            if one.of is not None:
                array, tests = self._array(one.name, one.of)
                return self._tested(tests, f"nd_n_{one.name}_{one.names[1]}{array}", "int")
            if one.name in self.place.fields:
                return f"nd_n_{one.name}_{one.names[1]}"
            return f"nd_n_{self._reached_by(one.name).label}_{one.names[1]}"
        if name == "step" and isinstance(one, tree.Path):
            return self._exact(one, "step")
        if name == "position" and isinstance(one, tree.Path):
            index = self.translator.expression(node.arguments[1])
            return f"nd_position({self._axis(one)}, {index})"
        if isinstance(one, tree.Call):
            first, last = self.run(one)
            assert isinstance(one.arguments[0], tree.Path)
            return self._of_run(name, first, last, self._reached_by(one.arguments[0].name),
                                one.arguments[0].names[1])  # fmt: skip
        loop = self._loop(node)
        if name == "place":
            return f"(nd_r_{loop.name} - nd_b_{loop.name})"
        ends = f"nd_b_{loop.name}", f"nd_e_{loop.name}"
        return self._of_run(name, *ends, loop.reached, loop.axis)

    def _of_run(self, name: str, first: str, last: str, one: Reached, axis: str) -> str:
        if name == "first":
            return first
        if name == "last":
            return last
        if one.axis(axis).period is not None:
            return "true"
        return f"(({first}) >= 0 && ({last}) < nd_n_{one.label}_{axis})"

    def _exact(self, node: tree.Path, what: str) -> str:
        """Return a number of an axis in double precision."""
        label = self._reached_by(node.name).label
        key = self.place.key(Kind.POSITION, f"{label} {node.names[1]} {what}")
        return self.arguments.exact(key)

    def _axis(self, node: tree.Path) -> str:
        """Return the arguments that describe an axis: positions, count, step, period."""
        name = f"{self._reached_by(node.name).label}_{node.names[1]}"
        more = ", ".join(self._exact(node, what) for what in ("step", "period"))
        return f"nd_x_{name}, nd_n_{name}, {more}"

    def run(self, node: tree.Call) -> tuple[str, str]:
        """Return first and last index of a look-up."""
        over, *given = node.arguments
        assert isinstance(over, tree.Path)
        one, axis = self._reached_by(over.name), over.names[1]
        found = self.place.look_ups.get(look_up_name(node, one.label)) if len(given) == 1 else None
        if found is not None and found.even:
            offset, stride = self._int(f"{found.name} offset"), self._int(f"{found.name} stride")
            first = f"(nd_h_{axis} * {stride} + {offset})"
            return first, f"({first} + {self._int(f'{found.name} length')} - 1)"
        if found is not None:
            number = self._number(found)
            return f"nd_first_{number}[nd_h_{axis}]", f"nd_last_{number}[nd_h_{axis}]"
        about = (
            self.translator.expression(given[0])
            if len(given) == 2
            else f"nd_x_here_{axis}[nd_h_{axis}]"
        )
        amount = self.translator.expression(given[-1])
        if node.name == "near":
            first = f"nd_near({self._axis(over)}, (double)({about}), {amount})"
            return first, f"({first} + ({amount}) - 1)"
        asked = f"{self._axis(over)}, (double)({about}), (double)({amount})"
        return f"nd_within_first({asked})", f"nd_within_last({asked})"

    def counted(self, node: tree.For) -> dict[str, Meaning]:
        """Return the variable of ``for (int i = 0; i < n; ++i)`` where ``n`` is known.

        Of other variables that a loop declares nothing is known, whatever is called so around it.
        """
        begin, test = node.begin, node.condition
        hidden: dict[str, Meaning] = {
            one.name: None for one in begin if isinstance(one, tree.Declaration)
        }
        if len(begin) != 1 or not isinstance(begin[0], tree.Declaration):
            return hidden
        name, start = begin[0].name, begin[0].value
        if not (isinstance(start, tree.Number) and start.whole and begin[0].type == "int"):
            return hidden
        if node.after != (tree.Increment(tree.Name(name), "++"),) or name in assigned(node.body):
            return hidden
        if not isinstance(test, tree.Binary) or test.sign != "<" or test.left != tree.Name(name):
            return hidden
        most = self._known(test.right)
        return hidden if most is None else {name: Counted(most)}

    def _known(self, node: tree.Expression) -> int | None:
        """Return a number or the length of an axis."""
        if isinstance(node, tree.Number) and node.whole:
            return int(node.text)
        if not isinstance(node, tree.Call) or node.name != "size":
            return None
        (over,) = node.arguments
        assert isinstance(over, tree.Path)
        if over.name in self.place.fields:
            axis = self.rules[over.name].indexed.index(over.names[1])
            return max(self.place.fields[over.name][1].lengths(axis))
        return self._reached_by(over.name).axis(over.names[1]).count

    # -- loops ----------------------------------------------------------------------------------

    def each(self, node: tree.Each) -> list[str]:
        """Return a loop over a look-up; a loop over populations is written out."""
        if isinstance(node.over, tree.Name):
            lines = []
            for one in self.place.many(node.over.name):
                lines += block("", self.inside({node.name: one}, node.body))
            return lines
        loop = self.loop(node)
        return self.loop_lines(node, loop, lambda: self.inside({node.name: loop}, node.body))

    def loop_lines(
        self, node: tree.Each, loop: Loop, body: Callable[[], list[str]], shared: bool = False
    ) -> list[str]:
        """Return a loop over a look-up; threads may share it; ``body`` gives what is inside."""
        assert isinstance(node.over, tree.Call)
        label, name = f"{loop.reached.label}_{loop.axis}", node.name
        first, last = self.run(node.over)
        lines = self._checked(node.over, loop)
        lines.append(f"const int nd_b_{name} = {first}, nd_e_{name} = {last};")
        low, high = f"nd_b_{name}", f"nd_e_{name}"
        closed = loop.reached.axis(loop.axis).period is not None
        if not closed and not loop.inside:
            low = f"({low} > 0 ? {low} : 0)"
            high = f"({high} < nd_n_{label} ? {high} : nd_n_{label} - 1)"
        if shared:
            lines.append(f"const int nd_low = {low}, nd_count = {high} - nd_low + 1;")
            low, high = (f"nd_low + nd_share({end}, nd_count)" for end in (0, 1))
            high += " - 1"
        index = f"nd_wrapped(nd_r_{name}, nd_n_{label})" if closed else f"nd_r_{name}"
        own = [f"const int {name} = {index}; (void){name};"]
        head = f"for (int nd_r_{name} = {low}; nd_r_{name} <= {high}; ++nd_r_{name})"
        asked = self.translator.unrolled(node)
        return block("", [*lines, *asked, *block(head, [*own, *body()])])

    def _checked(self, over: tree.Call, loop: Loop) -> list[str]:
        """Return a test of the size of a look-up that a text computes, under ``debug``."""
        say, asked = self.translator.printing, over.arguments[-1]
        if say is None or isinstance(asked, tree.Number) or loop.most is not None:
            return []
        amount = f"({self.translator.expression(asked)})"
        if over.name == "within":
            return [f"if (!({amount} >= 0)) {say(WITHIN, [f'(double){amount}'])};"]
        count = f"nd_n_{loop.reached.label}_{loop.axis}"
        if loop.reached.axis(loop.axis).period is None:
            return []
        given = [f"(double){amount}", f"(double){count}"]
        return [f"if ({amount} < 1 || {amount} > {count}) {say(NEAR, given)};"]

    def loop(self, node: tree.Each) -> Loop:
        """Return what is known of a loop over a look-up."""
        assert isinstance(node.over, tree.Call)
        over = node.over.arguments[0]
        assert isinstance(over, tree.Path)
        one = self._reached_by(over.name)
        found = self.place.look_ups.get(look_up_name(node.over, one.label))
        if found is None or len(node.over.arguments) > 2:
            return Loop(node.name, one, over.names[1], None, False)
        return Loop(node.name, one, over.names[1], found.most, found.inside)

    def inside(self, names: dict[str, Meaning], body: tree.Body) -> list[str]:
        """Return the statements of a loop whose variables have these meanings."""
        self.scopes.append(names)
        lines = self.translator.statements(body)
        self.scopes.pop()
        return lines
