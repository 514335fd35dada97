"""Loops of a text, for a strip of neighbouring cells at once."""

from __future__ import annotations

from ...model.language import tree
from ...model.text import block
from ...plan.look_ups import look_up_name
from ..place_head import Loop
from .vector_kinds import LANES, MASK, UNIFORM, VECTOR, NotVectors, Strided
from .vector_values import VectorValues


class VectorText(VectorValues):
    """Writes one loop of the text for all cells of a strip."""

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
            kind = Strided(stride, found.stride if len(found.first) > 1 else 1)
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
