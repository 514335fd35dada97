"""The check of what reaches other populations: ``image.val[y, x]``, ``here.y``, look-ups."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import near
from . import tree
from .check_arrays import ArrayChecker
from .check_values import Reach, article, numbered
from .printer import to_text

LOOKED_UP = "index of a look-up"
"""Kind of the variable of a loop over a look-up."""

LOOK_UPS = {"near": (2, 3), "within": (2, 3)}
"""Look-ups -> with how many arguments: an axis, perhaps a place on it, and a number or a radius."""

OF_RUNS = ("first", "last", "complete")
"""What can be asked of a look-up, or of the variable of a loop over one."""

SOURCE = "source"
"""Of a connection: the population of its source."""

NUMBER_OF_STEP = "number of the step"
"""Kind of ``step`` as a number, beside which ``step(image.y)`` is the distance of two cells."""

NOT_READ = (
    "arrays and parameters of another population cannot be read: give the array to this model, "
    "too, as a field"
)
"""What is said where a text reads of another population what is no variable."""

PLACES = ("size", "step", "place", "position", "count", *OF_RUNS)


def of_each_cell(names: Sequence[str], axes: Sequence[str]) -> str:
    """Return what is wrong with a path that names a variable of a population, and no cell."""
    said = f"say which cell: {'.'.join(names)}[{', '.join(axes)}]"
    return f"'{names[-1]}' has a value for each cell; {said}"


class PlaceChecker(ArrayChecker):
    """Checks expressions, and what they read of other cells."""

    def _value(self, node: tree.Expression) -> str:
        if isinstance(node, tree.Path):
            return self._path(node)
        if isinstance(node, tree.Item):
            return self._item(node)
        return super()._value(node)

    # -- populations --------------------------------------------------------------------------

    def population(self, node: tree.Path | tree.Item) -> Reach | None:
        """Return what the first name of a path reaches; note where it is no population."""
        symbol = self.find(node.name)
        if symbol is None:
            if node.name == "here":
                fix = "declare axes = ('y', 'x')"
                self.fault(node, f"'here' needs a model with axes or pools; {fix}")
            else:
                self._unknown(node, node.name)
        elif symbol.reach is None:
            said = f"'{node.name}' is {article(symbol.kind)}, and nothing follows it with a point"
            self.fault(node, said)
        elif symbol.reach.many:
            said = f"'{node.name}' stands for several populations; loop over them"
            self.fault(node, f"{said}: for (p : {node.name}) {{ ... p.... }}")
        else:
            return symbol.reach
        return None

    def _path(self, node: tree.Path) -> str:
        if node.of is not None:
            if self._of_list(node) is not None:
                said = to_text(node)
                self.fault(node, f"'{said}' is an axis; its length is size({said})")
            return "int"
        reach = self.population(node)
        if reach is None:
            return "real"
        rest = node.names[1:]
        if reach.here and rest[0] == "pos" and len(rest) == 2:
            self.axis(node, reach, rest[1])
            return "real"
        if rest[0] == SOURCE and reach.sizes:
            return self._of_source(node, reach)
        if len(rest) > 1:
            self.fault(node, f"'{'.'.join(node.names)}' has too many points")
        elif rest[0] in reach.pools:
            return "real"
        elif reach.here and reach.axes is not None and rest[0] in reach.axes:
            return "int"
        elif rest[0] in reach.variables and (reach.here or reach.axes is not None):
            self.fault(node, of_each_cell(node.names, reach.axes or ("...",)))
        elif rest[0] in reach.variables:
            return "real"  # whether it is a pool is known with the population
        elif reach.axes is not None and rest[0] in reach.axes:
            said = "it is looked up, as in near({0}, 11), or size({0})"
            self.fault(node, f"'{rest[0]}' is an axis; {said.format('.'.join(node.names))}")
        elif reach.here and reach.axes is None:
            return "int"  # whether there is such an axis is known with the population
        elif reach.numbers is not None and rest[0] not in reach.numbers:
            known = [*reach.numbers, *reach.pools, *(reach.axes or ())]
            self.fault(node, f"{reach.said} has no '{rest[0]}'{near(rest[0], known)}")
        return "int" if rest[0] in reach.whole else "real"

    def _of_source(self, node: tree.Path, reach: Reach) -> str:
        """Check ``s.source.y_size``, where ``s`` is a connection."""
        asked = node.names[2:]
        if len(asked) != 1 or asked[0] not in reach.sizes:
            among = ", ".join(f"{node.name}.{SOURCE}.{one}" for one in reach.sizes)
            said = ".".join(node.names)
            hint = near(asked[0], reach.sizes) if asked else ""
            self.fault(node, f"'{said}' cannot be read{hint}; there are {among}")
        return "int"

    def axis(self, node: tree.Node, reach: Reach, name: str) -> None:
        """Note an axis that a population does not have, as far as its axes are known."""
        if reach.axes is not None and name not in reach.axes:
            among = ", ".join(reach.axes) or "none"
            hint = near(name, reach.axes)
            self.fault(node, f"{reach.said} has no axis '{name}'{hint}; its axes are {among}")

    def _item(self, node: tree.Item) -> str:
        if node.of is not None:
            symbol = self._of_list(node)
            if symbol is None:
                return "real"
            return self._of_array(node, f"{node.name}[n]", symbol, node.indices, chosen=True)
        if len(node.path) == 1:
            return self._of_field(node)
        if node.ago is not None:
            self._index(node.ago)
        for one in node.indices:
            self._index(one)
        reach = self.population(node)
        if reach is None:
            return "real"
        name = node.path[1]
        if name in reach.pools:
            if node.ago is not None:
                self.fault(node, f"'{name}' is a pool, which has no history")
            return "real"
        if name not in reach.variables:
            known = ", ".join(reach.variables) or "nothing"
            if reach.here:
                say = f"its own '{name}' can be read of other cells if it is in 'updates'"
            else:
                listed = ", ".join(map(repr, [*reach.variables, name]))
                say = f"if its model updates it, write nd.Source({listed}); {NOT_READ}"
            hint = near(name, reach.variables)
            self.fault(node, f"'{name}' of {reach.said} is not read{hint} (known: {known}); {say}")
        if node.ago is not None and reach.history == 0:
            said = f"nd.Source({', '.join(map(repr, reach.variables))}, history=8)"
            self.fault(node, f"'ago' needs a history: {said}")
        elif isinstance(node.ago, tree.Number) and float(node.ago.text) > reach.history:
            say = f"{reach.said} is kept for {reach.history} steps"
            self.fault(node.ago, f"{say}, and this is {node.ago.text}: make its history longer")
        if reach.axes is not None and len(reach.axes or ("i",)) != len(node.indices):
            self._wrong_number(node, ".".join(node.path), reach.axes or ("i",), len(node.indices))
        return "real"

    # -- look-ups ------------------------------------------------------------------------------

    def _call(self, node: tree.Call) -> str:
        symbol = self.find(node.name)
        given = node.name == "step" and symbol is not None and symbol.kind == NUMBER_OF_STEP
        if node.name in self.functions or (symbol is not None and not given):
            return super()._call(node)
        if node.name in LOOK_UPS and self._is_axis(node):
            use = f"for (i : {node.name}(...)), or complete({node.name}(...))"
            self.fault(node, f"'{node.name}' finds several cells; write {use}")
            self.look_up(node)
            return "int"
        if node.name in PLACES and node.arguments:
            return self._of_places(node)
        return super()._call(node)

    def _is_axis(self, node: tree.Call) -> bool:
        return bool(node.arguments) and isinstance(node.arguments[0], tree.Path)

    def look_up(self, node: tree.Call) -> None:
        """Check ``near(image.y, 11)`` or ``within(image.y, 0.1)``."""
        least, most = LOOK_UPS[node.name]
        if not least <= len(node.arguments) <= most:
            what = "near(image.y, n)" if node.name == "near" else "within(image.y, r)"
            self.fault(node, f"'{node.name}' takes an axis and a number: {what}")
            return
        axis, *rest = node.arguments
        own = self.of_axis(axis)
        if own and len(rest) == 1:
            here = self.find("here")
            known = here.reach.axes if here is not None and here.reach is not None else None
            if not known or own not in known:
                among = f"; its own are {', '.join(known)}" if known else ""
                say = f"the cell has no place on '{own}'{among}; give one: {node.name}(..., p, n)"
                self.fault(axis, say)
        kinds = [self.value(one) for one in rest]
        if kinds and node.name == "near" and kinds[-1] == "real":
            self.fault(rest[-1], "the number of cells is an integer; write (int)(...)")

    def of_axis(self, node: tree.Expression) -> str:
        """Check ``image.y``; return the name of the axis."""
        if not isinstance(node, tree.Path) or len(node.names) != 2:
            self.fault(node, "an axis is wanted here, such as image.y")
            return ""
        reach = self.population(node)
        if reach is not None:
            self.axis(node, reach, node.names[1])
        return node.names[1]

    def _of_places(self, node: tree.Call) -> str:
        name, given = node.name, node.arguments
        wanted = 2 if name == "position" else 1
        if len(given) != wanted:
            self.fault(node, f"'{name}' takes {numbered(wanted, 'argument')}, {len(given)} given")
            return "int"
        one = given[0]
        if name == "count":
            self._count(one)
        elif name == "size":
            self._size(one)
        elif name in ("position", "step"):
            self.of_axis(one)
            for other in given[1:]:
                self._index(other)
        elif name in OF_RUNS and isinstance(one, tree.Call) and one.name in LOOK_UPS:
            self.look_up(one)
        else:
            symbol = self.find(one.name) if isinstance(one, tree.Name) else None
            if symbol is None or symbol.kind != LOOKED_UP:
                more = ", or a look-up" if name in OF_RUNS else ""
                said = f"'{name}' takes the variable of a loop over a look-up{more}"
                self.fault(node, f"{said}: for (y : near(image.y, 11)) ... {name}(y)")
        if name == "complete":
            return "bool"
        return "real" if name in ("position", "step") else "int"

    def _count(self, one: tree.Expression) -> None:
        symbol = self.find(one.name) if isinstance(one, tree.Name) else None
        if symbol is None or (symbol.reach is None and not symbol.many):
            known = "a source, a list of arrays, or an access with a loop"
            self.fault(one, f"'count' takes {known}: count(scales)")

    def _size(self, one: tree.Expression) -> None:
        symbol = self.find(one.names[0]) if isinstance(one, tree.Path) else None
        if isinstance(one, tree.Path) and one.of is not None:
            symbol = self._of_list(one)
            if symbol is None:
                return
        elif symbol is not None and symbol.many and isinstance(one, tree.Path):
            said = f"the arrays of '{one.name}' have sizes of their own"
            self.fault(one, f"{said}: size({one.name}[n].{one.names[1]})")
            return
        if symbol is not None and symbol.axes is not None and isinstance(one, tree.Path):
            if len(one.names) != 2 or one.names[1] not in symbol.axes:
                among = ", ".join(symbol.axes)
                hint = near(one.names[1], symbol.axes)
                self.fault(one, f"'{one.name}' has no axis '{one.names[1]}'{hint}; it has {among}")
            return
        self.of_axis(one)
