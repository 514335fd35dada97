"""The kernel of a population on axes: strips of neighbours along the last axis, as vectors.

The text of one cell is cut where its loops begin and end. What stands between loops is done cell
by cell, and its numbers wait in arrays of the strip. A loop is done for all cells at once:

* ``image.val[y, x]`` is a load of neighbours, as the cells' runs along the last axis lie side by
  side. Where they lie further apart, or differ in length, lanes are read one by one.
* ``filters[here.theta, place(y), place(x)]`` is one number, which all cells share.

So each cell does the operations of its text in their order, and has the bits of a single cell.
`NotVectors` says that a loop does something else; the kernel is then written cell by cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...model.language import tree
from ...model.language.words import FUNCTIONS
from ...model.text import block
from ...plan.places import HERE, look_up_name
from ...plan.unit import KernelSpec
from ..component import ComponentText
from ..places import WORDS, Loop, PlaceText

CHUNKS = (4, 3, 2, 1)
"""Vectors of a strip: as many as it is long, with the next larger number of these."""

UNIFORM, AFFINE, VECTOR, LANES, MASK = "uniform", "affine", "vector", "lanes", "mask"
"""What an expression is for the cells of a strip: one number; an index that grows evenly; one
number for each cell; an index for each cell; a condition for each cell."""


class NotVectors(Exception):
    """A loop does what is not written for several cells at once."""


@dataclass(frozen=True)
class Strided:
    """A loop variable along the last axis: how much it grows from cell to cell."""

    stride: str
    neighbours: bool


def fits(spec: KernelSpec) -> bool:
    """Whether the cells of a group lie in rows, and nothing else asks for tiles of them."""
    place, model = spec.place, spec.model
    own = None if place is None else place.reached.get(HERE)
    if own is None or not spec.plans or own.masked or spec.substeps != 1 or spec.reordered:
        return False
    events = any(spec.is_event(v) for v in spec.published)
    others = model.accesses or model.terms or model.sub_units or model.draws_random()
    return not (events or others or spec.watch.debug)


class StripText:
    """Writes one strip.

    Parameters
    ----------
    component : ComponentText

    Raises
    ------
    NotVectors
        Where a loop of the text does what is not written for several cells at once.
    """

    def __init__(self, component: ComponentText) -> None:
        assert component.translator.places is not None and component.spec.place is not None
        self.component, self.translator = component, component.translator
        self.places: PlaceText = component.translator.places
        self.own = component.spec.place.reached[HERE]
        self.last = self.own.names[-1]
        part = component.texts["update"]
        self.translator.begin(part.checked)
        assert isinstance(part.tree, tree.Body)
        self.body = part.tree
        self.carried = dict(self._carried())
        self.parts = [self._part(one) for one in self._runs()]

    def _carried(self) -> Iterator[tuple[str, str]]:
        """Yield the numbers that wait from one part to the next, with their types."""
        for name in [*self.component.model.states, *self.component.flags()]:
            yield name, "real"
        for one in self.body.statements:
            if isinstance(one, tree.Declaration):
                if one.size is not None:
                    raise NotVectors
                yield one.name, one.type

    def _runs(self) -> list[list[tree.Statement]]:
        """Return the statements of the text: each loop for itself, and what is between them."""
        found: list[list[tree.Statement]] = [[]]
        if not any(map(_loops, self.body.statements)):
            return [list(self.body.statements)]
        for one in self.body.statements:
            if _loops(one):
                found += [[one], []]
            else:
                found[-1].append(one)
        return found

    def _part(self, statements: list[tree.Statement]) -> list[str] | dict[int, list[str]]:
        if len(statements) == 1 and _loops(statements[0]):
            return {count: VectorText(self, count).lines(statements[0]) for count in CHUNKS}
        lines = []
        for one in statements:
            if isinstance(one, tree.Declaration):
                value = "0" if one.value is None else self.translator.expression(one.value)
                lines.append(f"{one.name} = {value};")
            else:
                lines += self.translator.statement(one)
        return lines

    def lines(self, test: list[str]) -> list[str]:
        """Return the lines of one strip, ``nd_m`` cells from ``nd_t`` on."""
        c, out = self.component, []
        load = [f"{kind} {n} = nd_w_{n}[nd_i]; (void){n};" for n, kind in self.carried.items()]
        keep = [f"nd_w_{n}[nd_i] = {n};" for n in self.carried]
        own = [f"{kind} {n} = 0; (void){n};" for n, kind in self.carried.items()
               if n not in {*c.model.states, *c.flags()}]  # fmt: skip
        at = "nd_t + nd_i"
        numbers = [*c.numbers_of(at)[: -len(self.places.here(at))], *self._here()]
        for number, part in enumerate(self.parts):
            if isinstance(part, dict):
                out += self._choice(part)
                continue
            begin = [*c.load_states(at), *own] if not number else load
            end = [*keep] if number < len(self.parts) - 1 else [*c.store(at), *test]
            zero = "const int substep = 0; (void)substep;"
            body = [*numbers, *begin, zero, *part, *end]
            simd = "ND_SIMD_SUM" if test else "ND_SIMD"
            out += [simd, *block("for (int nd_i = 0; nd_i < nd_m; ++nd_i)", body)]
        return out

    def _here(self) -> list[str]:
        return [f"const int nd_h_{self.last} = nd_h0 + nd_i; (void)nd_h_{self.last};"]

    @staticmethod
    def _choice(part: dict[int, list[str]]) -> list[str]:
        """Return a loop for as many vectors as the strip is long."""
        lines: list[str] = []
        for place, (count, body) in enumerate(part.items()):
            least = CHUNKS[place + 1] if place + 1 < len(CHUNKS) else 0
            head = f"if (nd_m > {least} * ND_VECTOR)" if least else ""
            lines += block(("else " if place and head else "else" if place else "") + head, body)
            del count
        return lines

    def kernel(self, test: list[str]) -> list[str]:
        """Return the loop over all strips of a thread.

        Parameters
        ----------
        test : list of str
            What is done to the values of each cell at last.
        """
        last = self.last
        strip = [
            f"const int nd_q = (int)nd_t, nd_h0 = nd_q % nd_n_here_{last};",
            f"const int nd_row = nd_n_here_{last} - nd_h0, nd_most = {CHUNKS[0]} * ND_VECTOR;",
            "const int nd_rest = (int)(nd_end - nd_t < nd_row ? nd_end - nd_t : nd_row);",
            "const int nd_m = nd_rest < nd_most ? nd_rest : nd_most;",
            *self.places.here("nd_t")[1:-1],
            *(f"{kind} nd_w_{n}[{CHUNKS[0]} * ND_VECTOR] = {{0}};"
              for n, kind in self.carried.items()),
            *self.lines(test),
            "nd_t += nd_m;",
        ]  # fmt: skip
        return block("for (long long nd_t = nd_begin; nd_t < nd_end;)", strip)


class VectorText:
    """Writes one loop of the text for all cells of a strip.

    Parameters
    ----------
    strip : StripText
    count : int
        Vectors of the strip.
    """

    def __init__(self, strip: StripText, count: int) -> None:
        self.strip, self.count = strip, count
        self.translator, self.places = strip.translator, strip.places
        self.spec = strip.component.spec
        self.kinds: list[dict[str, str | Strided]] = [{}]
        self.masks: list[str] = []
        self.changed: set[str] = set()
        self.used: set[str] = set()

    # -- the whole loop -------------------------------------------------------------------------

    def lines(self, node: tree.Statement) -> list[str]:
        """Return the loop, with the numbers that it begins with and those that it changes."""
        body = self.statement(node)
        carried = [n for n in self.strip.carried if n in self.used | self.changed]
        if any(self.strip.carried[n] != "real" for n in carried):
            raise NotVectors
        begin = [
            f"nd_v {n}_{c} = nd_load(nd_w_{n} + {c} * ND_VECTOR); (void){n}_{c};"
            for n in carried
            for c in range(self.count)
        ]
        end = [
            f"nd_store(nd_w_{n} + {c} * ND_VECTOR, {n}_{c});"
            for n in carried
            if n in self.changed
            for c in range(self.count)
        ]
        first = f"const int nd_h_{self.strip.last} = nd_h0; (void)nd_h_{self.strip.last};"
        lanes = f"int nd_lane[{self.count} * ND_VECTOR];"
        spread = f"for (int nd_l = 0; nd_l < {self.count} * ND_VECTOR; ++nd_l)"
        inside = "    nd_lane[nd_l] = nd_l < nd_m ? nd_l : nd_m - 1;"
        return [first, lanes, spread, inside, *begin, *body, *end]

    def _find(self, name: str) -> str | Strided | None:
        for scope in reversed(self.kinds):
            if name in scope:
                return scope[name]
        return None

    # -- statements -----------------------------------------------------------------------------

    def statement(self, node: tree.Statement) -> list[str]:
        """Return the lines of one statement."""
        if isinstance(node, tree.Body):
            return block("", self._inside({}, node)) if node.statements else []
        if isinstance(node, tree.Each):
            return self._each(node)
        if isinstance(node, tree.For):
            return self._for(node)
        if isinstance(node, tree.Declaration):
            return self._declaration(node)
        if isinstance(node, tree.Assignment):
            return self._assignment(node)
        if isinstance(node, tree.If):
            return self._if(node)
        raise NotVectors

    def _inside(self, names: dict[str, str | Strided], body: tree.Body) -> list[str]:
        self.kinds.append(dict(names))
        lines = [line for one in body.statements for line in self.statement(one)]
        self.kinds.pop()
        return lines

    def _for(self, node: tree.For) -> list[str]:
        names: dict[str, str | Strided] = {}
        self.kinds.append(names)
        for one in node.begin:
            if not isinstance(one, tree.Declaration) or one.type != "int" or one.value is None:
                raise NotVectors
            self._uniform(one.value)
            names[one.name] = UNIFORM
        for other in node.after:
            if isinstance(other, tree.Assignment):
                self._uniform(other.value)
            if not isinstance(other, tree.Assignment | tree.Increment):
                raise NotVectors
            if self.kind(other.target) != UNIFORM:
                raise NotVectors
        if node.condition is not None:
            self._uniform(node.condition)
        self.places.scopes.append(self.places.counted(node))
        begin, after = self.translator._listed(node.begin), self.translator._listed(node.after)
        condition = "" if node.condition is None else self.translator.expression(node.condition)
        body = [line for one in node.body.statements for line in self.statement(one)]
        self.places.scopes.pop()
        self.kinds.pop()
        return block(f"for ({begin}; {condition}; {after})", body)

    def _each(self, node: tree.Each) -> list[str]:
        places = self.places
        if isinstance(node.over, tree.Name):
            lines = []
            for one in places.place.many(node.over.name):
                places.scopes.append({node.name: one})
                lines += block("", self._inside({}, node.body))
                places.scopes.pop()
            return lines
        assert isinstance(node.over, tree.Call)
        loop = places.loop(node)
        if len(node.over.arguments) > 2:
            for given in node.over.arguments[1:]:
                self._uniform(given)
        elif loop.axis == self.strip.last:
            return self._along(node, loop)
        return places.loop_lines(node, loop, lambda: self._body(node, loop, UNIFORM))

    def _body(self, node: tree.Each, loop: Loop, kind: str | Strided) -> list[str]:
        self.places.scopes.append({node.name: loop})
        lines = self._inside({node.name: kind}, node.body)
        self.places.scopes.pop()
        return lines

    def _along(self, node: tree.Each, loop: Loop) -> list[str]:
        """Return a loop over a look-up along the axis of the strip."""
        assert isinstance(node.over, tree.Call)
        name = look_up_name(node.over, loop.reached.label)
        found = self.places.place.look_ups.get(name)
        if found is None or loop.reached.axis(loop.axis).period is not None:
            raise NotVectors
        if found.even and found.inside:
            stride = self.places._int(f"{found.name} stride")
            kind = Strided(stride, found.stride == 1 or len(found.first) == 1)
            return self.places.loop_lines(node, loop, lambda: self._body(node, loop, kind))
        if self.masks:
            raise NotVectors
        own = f"nd_h_{self.strip.last}"
        first, last = self.places.run(node.over)
        count = f"nd_n_{loop.reached.label}_{loop.axis}"
        low, high = f"nd_low_{node.name}", f"nd_high_{node.name}"
        size, turn = f"{self.count} * ND_VECTOR", f"nd_j_{node.name}"
        bounds = [
            f"const int {own} = nd_h0 + nd_lane[nd_l];",
            f"const int nd_first = {first}, nd_last = {last};",
            f"{low}[nd_l] = nd_first > 0 ? nd_first : 0;",
            f"{high}[nd_l] = nd_last < {count} ? nd_last : {count} - 1;",
            f"const int nd_length = {high}[nd_l] - {low}[nd_l] + 1;",
            "if (nd_length > nd_longest) nd_longest = nd_length;",
        ]
        mask = f"nd_in_{node.name}"
        self.masks.append(mask)
        inner = self._body(node, loop, LANES)
        self.masks.pop()
        masks = [
            f"const auto {mask}_{c} = nd_within_runs({low}, {high}, {turn}, {c} * ND_VECTOR);"
            for c in range(self.count)
        ]
        head = f"for (int {turn} = 0; {turn} < nd_longest; ++{turn})"
        return block("", [
            f"int {low}[{size}], {high}[{size}], nd_longest = 0;",
            *block(f"for (int nd_l = 0; nd_l < {size}; ++nd_l)", bounds),
            *block(head, [*masks, *inner]),
        ])  # fmt: skip

    def _declaration(self, node: tree.Declaration) -> list[str]:
        if node.size is not None or (node.type != "real" and node.value is None):
            raise NotVectors
        kind = UNIFORM if node.value is None else self.kind(node.value)
        if node.type != "real":
            if kind != UNIFORM:
                raise NotVectors
            self.kinds[-1][node.name] = UNIFORM
            return [f"{self.translator.declaration(node)};"]
        if node.const and kind == UNIFORM:
            self.kinds[-1][node.name] = UNIFORM
            return [f"{self.translator.declaration(node)};"]
        if kind not in (UNIFORM, VECTOR):
            raise NotVectors
        lines = []
        for c in range(self.count):
            value = "(nd_v){}" if node.value is None else self.vector(node.value, c)
            lines.append(f"nd_v {node.name}_{c} = {value};")
        self.kinds[-1][node.name] = VECTOR
        return lines

    def _assignment(self, node: tree.Assignment) -> list[str]:
        if not isinstance(node.target, tree.Name) or node.sign not in ("=", "+=", "-=", "*=", "/="):
            raise NotVectors
        name = node.target.name
        if self.kind(node.target) != VECTOR:
            raise NotVectors
        if self._find(name) is None:
            self.changed.add(name)
        lines = []
        for c in range(self.count):
            value = self.vector(node.value, c)
            if node.sign != "=":
                value = f"{name}_{c} {node.sign[0]} ({value})"
            for mask in self.masks:
                value = f"{mask}_{c} ? {value} : {name}_{c}"
            lines.append(f"{name}_{c} = {value};")
        return lines

    def _if(self, node: tree.If) -> list[str]:
        kind = self.kind(node.condition)
        if kind == UNIFORM:
            condition = self.translator.expression(node.condition)
            lines = block(f"if ({condition})", self._inside({}, node.then))
            if node.other is not None:
                lines += block("else", self._inside({}, node.other))
            return lines
        if kind != MASK or node.other is not None:
            raise NotVectors
        name = f"nd_if{len(self.masks)}"
        masks = [
            f"const auto {name}_{c} = {self.vector(node.condition, c)};" for c in range(self.count)
        ]
        self.masks.append(name)
        inner = self._inside({}, node.then)
        self.masks.pop()
        return block("", [*masks, *inner])

    # -- kinds ----------------------------------------------------------------------------------

    def _uniform(self, node: tree.Expression) -> None:
        if self.kind(node) != UNIFORM:
            raise NotVectors

    def kind(self, node: tree.Expression) -> str:
        """Return what an expression is for the cells of a strip."""
        if isinstance(node, tree.Number):
            return UNIFORM
        if isinstance(node, tree.Name):
            return self._of_name(node.name)
        if isinstance(node, tree.Path):
            return self._of_path(node)
        if isinstance(node, tree.Item | tree.Element):
            return self._of_item(node)
        if isinstance(node, tree.Call):
            return self._of_call(node)
        inner = [self.kind(one) for one in node.parts() if isinstance(one, tree.Expression)]
        if set(inner) == {UNIFORM}:
            return UNIFORM
        if isinstance(node, tree.Binary):
            return self._of_binary(node, inner)
        if isinstance(node, tree.Unary) and inner == [VECTOR] and node.sign in "+-":
            return VECTOR
        if isinstance(node, tree.Ternary) and {*inner[1:]} <= {UNIFORM, VECTOR}:
            if inner[0] in (UNIFORM, MASK):
                return VECTOR
        raise NotVectors

    def _of_name(self, name: str) -> str:
        found = self._find(name)
        if isinstance(found, Strided):
            return AFFINE
        if found is not None:
            return found
        if name in self.strip.carried:
            self.used.add(name)
            return VECTOR
        varied = name in self.strip.component.numbers and name not in self.spec.uniform
        return VECTOR if varied else UNIFORM

    def _of_path(self, node: tree.Path) -> str:
        if node.name != "here" or node.names[-1] != self.strip.last:
            return UNIFORM if node.names[-2:-1] != ("pos",) else _refuse()
        return AFFINE if len(node.names) == 2 else _refuse()

    def _of_item(self, node: tree.Item | tree.Element) -> str:
        if isinstance(node, tree.Element):
            known = node.name in self.places.place.fields
            kinds = [self.kind(node.index)] if known else _refuse()
        else:
            if node.ago is not None:
                self._uniform(node.ago)
            kinds = [self.kind(one) for one in node.indices]
        if not {*kinds} <= {UNIFORM, AFFINE, LANES}:
            raise NotVectors
        return UNIFORM if {*kinds} == {UNIFORM} else VECTOR

    def _of_call(self, node: tree.Call) -> str:
        name = node.name
        if name in WORDS and name not in self.translator.own:
            return self._of_word(node)
        kinds = {self.kind(one) for one in node.arguments}
        if kinds <= {UNIFORM}:
            return UNIFORM
        one = len(node.arguments) == 1 and name in FUNCTIONS
        if kinds <= {UNIFORM, VECTOR} and (one or name in ("fmin", "fmax")):
            return VECTOR
        raise NotVectors

    def _of_word(self, node: tree.Call) -> str:
        one = node.arguments[0]
        if isinstance(one, tree.Name) and node.name in ("place", "first", "last", "complete"):
            kind = self._find(one.name)
            place = node.name == "place" and isinstance(kind, Strided)
            return UNIFORM if kind == UNIFORM or place else _refuse()
        if isinstance(one, tree.Call):
            over = one.arguments[0]
            assert isinstance(over, tree.Path)
            if len(one.arguments) == 2 and over.names[-1] == self.strip.last:
                raise NotVectors
        for other in node.arguments[1:]:
            self._uniform(other)
        return UNIFORM

    @staticmethod
    def _of_binary(node: tree.Binary, inner: list[str]) -> str:
        kinds = {*inner}
        if node.sign in "+-" and inner[0] in (AFFINE, LANES) and inner[1] == UNIFORM:
            return inner[0]
        if node.sign == "+" and inner[1] in (AFFINE, LANES) and inner[0] == UNIFORM:
            return inner[1]
        if kinds <= {UNIFORM, VECTOR} and node.sign in "+-*/":
            return VECTOR
        if kinds <= {UNIFORM, VECTOR} and node.sign in ("<", ">", "<=", ">=", "==", "!="):
            return MASK
        if kinds == {MASK} and node.sign in ("&&", "||"):
            return MASK
        raise NotVectors

    # -- expressions ----------------------------------------------------------------------------

    def vector(self, node: tree.Expression, c: int) -> str:
        """Return an expression for the vector with number ``c`` of a strip."""
        kind = self.kind(node)
        if kind == UNIFORM:
            return f"nd_all((real)({self.translator.expression(node)}))"
        if isinstance(node, tree.Name):
            if self._find(node.name) is None and node.name not in self.strip.carried:
                return f"nd_load(nd_p_{node.name} + nd_t + {c} * ND_VECTOR)"
            return f"{node.name}_{c}"
        if isinstance(node, tree.Item | tree.Element):
            return self._read(node, c)
        if isinstance(node, tree.Unary):
            return f"({node.sign}{self.vector(node.value, c)})"
        if isinstance(node, tree.Ternary):
            yes, no = self.vector(node.yes, c), self.vector(node.no, c)
            if self.kind(node.condition) == UNIFORM:
                return f"({self.translator.expression(node.condition)} ? {yes} : {no})"
            return f"({self.vector(node.condition, c)} ? {yes} : {no})"
        if isinstance(node, tree.Call):
            if node.name in ("fmin", "fmax"):
                given = ", ".join(self.vector(one, c) for one in node.arguments)
                return f"nd_{node.name}({given})"
            call = f"[](real nd_one) {{ return nd_{node.name}(nd_one); }}"
            return f"nd_each_of({call}, {self.vector(node.arguments[0], c)})"
        assert isinstance(node, tree.Binary)
        sign = {"&&": "&", "||": "|"}.get(node.sign, node.sign)
        return f"({self._side(node.left, c)} {sign} {self._side(node.right, c)})"

    def _side(self, node: tree.Expression, c: int) -> str:
        """Return one side of an operator; a number that all cells share stays one."""
        if self.kind(node) == UNIFORM:
            return f"(real)({self.translator.expression(node)})"
        return self.vector(node, c)

    def _read(self, node: tree.Item | tree.Element, c: int) -> str:
        """Return the values that the cells of a vector read."""
        indices = (node.index,) if isinstance(node, tree.Element) else node.indices
        *others, last = indices
        beside = all(self.kind(one) == UNIFORM for one in others) and self._neighbours(last)
        inside = self._inside_for_all(node)
        if beside and inside:
            text = self.translator.expression(node)
            return f"nd_load(&{text} + {c} * ND_VECTOR)"
        lines = "".join(f"{one} " for one in self._lane_names(node))
        text = self.translator.expression(node)
        return f"nd_each_lane([&](int nd_l) {{ {lines}return {text}; }}, {c} * ND_VECTOR)"

    def _neighbours(self, node: tree.Expression) -> bool:
        """Whether an index grows by one from cell to cell."""
        if isinstance(node, tree.Binary):
            sides = [self._neighbours(one) for one in (node.left, node.right)]
            return any(sides)
        if isinstance(node, tree.Path):
            return node.names == ("here", self.strip.last)
        found = self._find(node.name) if isinstance(node, tree.Name) else None
        return isinstance(found, Strided) and found.neighbours

    def _inside_for_all(self, node: tree.Item | tree.Element) -> bool:
        """Whether no index has to be tested, so that the text is that of an element."""
        text = self.translator.expression(node)
        return not text.startswith("(") and "nd_wrapped" not in text and "nd_cells" not in text

    def _lane_names(self, node: tree.Expression) -> Iterator[str]:
        """Yield declarations of the indices that differ between the cells, for one cell."""
        own = f"nd_h_{self.strip.last}"
        yield f"const int nd_h_of = {own} + nd_lane[nd_l], {own} = nd_h_of; (void){own};"
        for one in node.walk():
            if not isinstance(one, tree.Name):
                continue
            found = self._find(one.name)
            if isinstance(found, Strided):
                grown = f"{one.name} + nd_lane[nd_l] * {found.stride}"
                yield f"const int nd_g_{one.name} = {grown}, {one.name} = nd_g_{one.name};"
            elif found == LANES:
                low, high = f"nd_low_{one.name}[nd_l]", f"nd_high_{one.name}[nd_l]"
                turn = f"{low} + nd_j_{one.name}"
                yield f"const int nd_g_{one.name} = {turn} < {high} ? {turn} : {high};"
                yield f"const int {one.name} = nd_g_{one.name} > 0 ? nd_g_{one.name} : 0;"


def _refuse() -> str:
    raise NotVectors


def _loops(node: tree.Node) -> bool:
    """Whether a statement holds a loop."""
    return any(isinstance(one, tree.Each | tree.For | tree.While) for one in node.walk())
