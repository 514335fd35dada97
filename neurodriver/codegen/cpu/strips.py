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

from ...model.language import tree
from ...model.text import block
from ...plan.places import HERE
from ...plan.unit import KernelSpec
from ..component import ComponentText
from ..places import PlaceText
from .vector_kinds import NotVectors
from .vectors import VectorText

CHUNKS = (4, 3, 2, 1)
"""Vectors of a strip: as many as it is long, with the next larger number of these."""


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
            f"const int nd_left = nd_n_here_{last} - nd_h0, nd_most = {CHUNKS[0]} * ND_VECTOR;",
            "const int nd_rest = (int)(nd_end - nd_t < nd_left ? nd_end - nd_t : nd_left);",
            "const int nd_m = nd_rest < nd_most ? nd_rest : nd_most;",
            *self.places.here("nd_t")[1:-1],
            *self.component.step_number(),
            *(f"{kind} nd_w_{n}[{CHUNKS[0]} * ND_VECTOR] = {{0}};"
              for n, kind in self.carried.items()),
            *self.lines(test),
            "nd_t += nd_m;",
        ]  # fmt: skip
        return block("for (long long nd_t = nd_begin; nd_t < nd_end;)", strip)


def _loops(node: tree.Node) -> bool:
    """Whether a statement holds a loop."""
    return any(isinstance(one, tree.Each | tree.For | tree.While) for one in node.walk())
