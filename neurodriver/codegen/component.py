"""Loads, mathematics and stores of one component, as lines of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import ModelError
from ..model.component import EVENT_VARIABLES, NDComponent
from ..model.language import Translator, step_numbers, texts_of, used
from ..plan.sums.gather import Gather
from .kernel import Arguments, block


@dataclass(frozen=True)
class Shape:
    """What the text of a group's kernel depends on.

    Attributes
    ----------
    model : NDComponent subclass
    dtype : str
    substeps : int
    uniform : frozenset of str
        Parameters and constants that all components share.
    published : frozenset of str
        Updated variables that have a ring.
    gathers : mapping of str to Gather
        Access name -> form.
    inputs_alone : frozenset of str
        Variables whose rings hold nothing but inputs.
    count : int
        Components of the group.
    unseen : frozenset of str
        Updated variables that only their own component reads: a ring of one row.
    """

    model: type[NDComponent]
    dtype: str
    substeps: int
    uniform: frozenset[str]
    published: frozenset[str]
    gathers: Mapping[str, Gather]
    inputs_alone: frozenset[str] = frozenset()
    count: int = 0
    unseen: frozenset[str] = frozenset()


class ComponentText:
    """Writes the parts of one model's kernel.

    Parameters
    ----------
    shape : Shape
    arguments : Arguments
        Filled as the text is written.
    prefix : str
        Stands before every argument key; tells two models of one kernel apart.
    """

    def __init__(self, shape: Shape, arguments: Arguments, prefix: str = "") -> None:
        self.shape = shape
        self.model = shape.model
        self.arguments = arguments
        self.prefix = prefix
        self.translator = Translator(self.model, shape.dtype)
        params = self.model.fixed_params()
        for access in self.model.accesses:
            for name in used([n for n in self.model.params if n not in params], [access.each]):
                where = f"{self.model.__name__}.accesses['{access.name}']"
                raise ModelError(f"{where}: '{name}' is only the initial value of a state")
        own = [*params, *self.model.constants]
        self.numbers = step_numbers(self.model)
        self.inputs = {a.name: self.model.input_symbol(a) for a in self.model.accesses}
        self.names = [*own, *self.model.states, *self.model.updates, *self.inputs.values()]

    def key(self, text: str) -> str:
        """Return an argument key of this model."""
        return self.prefix + text

    def head(self, step: bool = True) -> list[str]:
        """Declare everything that does not depend on the component; the step where asked for."""
        a = self.arguments
        length = [f"const real dt_ms = {a.scalar(self.key('dt_ms'))};", "(void)dt_ms;"]
        lines = length if step else []
        for name in self.numbers:
            kind = "param" if name in self.model.params else "constant"
            key = self.key(f"{kind}:{name}")
            if name in self.shape.uniform:
                lines.append(f"const real {name} = {a.scalar(key)};")
            else:
                lines.append(f"ND_FIXED(real) nd_p_{name} = {a.pointer(key)};")
        for name in self.model.states:
            if name not in self.shape.published:
                pointer = a.pointer(self.key(f"state:{name}"), "real")
                lines.append(f"real *__restrict nd_s_{name} = {pointer};")
        for name in self.model.updates:
            if name in self.shape.published:
                lines += self._rows(name)
        if self.model.draws_random():
            kind = "const unsigned long long"
            pointer = a.pointer(self.key("keys"), kind)
            lines.append(f"ND_FIXED(unsigned long long) nd_keys = {pointer};")
            lines.append(f"const unsigned long long nd_seed = {a.integer('seed')};")
        return lines

    def _rows(self, name: str) -> list[str]:
        a = self.arguments
        ring = a.pointer(f"ring:{name}", "real")
        depth, width = a.integer(f"depth:{name}"), a.integer(f"width:{name}")
        own = a.integer(self.key(f"segment:{name}"))
        lines = [
            f"real *__restrict nd_new_{name} = nd_row({ring}, nd_k + 1, {depth}, {width}) + {own};"
        ]
        if name in self.model.states:
            lines.append(
                f"const real *__restrict nd_old_{name} = "
                f"nd_row({ring}, nd_k, {depth}, {width}) + {own};"
            )
        return lines

    def numbers_of(self, index: str) -> list[str]:
        """Load what differs between components and does not change."""
        varied = [n for n in self.numbers if n not in self.shape.uniform]
        lines = [f"const real {n} = nd_p_{n}[{index}];" for n in varied]
        if self.model.draws_random():
            lines.append(f"const unsigned long long nd_key = nd_keys[{index}];")
        return lines

    def load_states(self, index: str) -> list[str]:
        """Load the states and zero the other updated variables."""
        lines = []
        for name in self.model.states:
            where = f"nd_old_{name}" if name in self.shape.published else f"nd_s_{name}"
            lines.append(f"real {name} = {where}[{index}];")
        return lines + [f"real {name} = 0;" for name in self.flags()]

    def flags(self) -> list[str]:
        """Return the updated variables that the mathematics sets itself."""
        known = (*self.model.states, *self.model.outputs)
        return [name for name in self.model.updates if name not in known]

    def mathematics(self) -> list[str]:
        """Return terms and update of one sub-step."""
        lines = self.old_terms()
        units = self.model.sub_units
        totals = [] if units is None else list(units.totals)
        names = [*self.names, *self.model.terms, *totals]
        update = self.translator.text(self.model.update, names, "update")
        return lines + [line.strip() for line in update.splitlines() if line.strip()]

    def old_terms(self) -> list[str]:
        """Return the terms of one sub-step, from old values."""
        self.translator.restart()
        names = [*self.names]
        lines = []
        if used(["substeps"], texts_of(self.model).values()):
            lines.append(f"const int substeps = {self.shape.substeps}; (void)substeps;")
        for name, text in self.model.terms.items():
            lines.append(
                f"const real {name} = {self.translator.text(text, names, f'terms[{name!r}]')};"
            )
            names.append(name)
        return lines

    def store(self, index: str) -> list[str]:
        """Store states and updated variables, computing the outputs."""
        lines = []
        for name in self.model.states:
            if name not in self.shape.published:
                lines.append(f"nd_s_{name}[{index}] = {name};")
        for name in self.model.updates:
            if name in self.events:
                lines.append(f"nd_out_{name}[nd_i] = {self.output(name)};")
            elif name in self.shape.published:
                lines.append(f"nd_new_{name}[{index}] = {self.output(name)};")
        return lines

    @property
    def events(self) -> list[str]:
        """Published variables whose rows are nearly always silent."""
        known = EVENT_VARIABLES & self.shape.published
        return [name for name in self.model.updates if name in known]

    def waiting(self) -> list[str]:
        """Declare where the events of a tile wait before they are written, and in which row."""
        lines = []
        for name in self.events:
            lines.append(f"real nd_out_{name}[ND_TILE] = {{0}};")
            depth = self.arguments.integer(f"depth:{name}")
            lines.append(f"const long long nd_written_{name} = nd_place(nd_k + 1, {depth});")
            lines.append(f"const long long nd_later_{name} = nd_place(nd_k + 2, {depth});")
        return lines

    def write_events(self) -> list[str]:
        """Write the events of a tile and note them (see ``tile_events.h``)."""
        lines = []
        for name in self.events:
            a = self.arguments
            active = a.pointer(f"active:{name}", "long long")
            counted = a.pointer(f"counted:{name}", "long long")
            noted = a.pointer(f"noted:{name}", "unsigned short")
            width, own = a.integer(f"width:{name}"), a.integer(self.key(f"segment:{name}"))
            slice_ = f"* {width} + {own} + nd_t) / ND_LANES"
            tile = [
                f"unsigned short *nd_note = {noted} + (nd_written_{name} {slice_};",
                f"__builtin_prefetch({noted} + (nd_later_{name} {slice_}, 1);",
                f"const int nd_found = nd_write_events("
                f"nd_out_{name}, nd_new_{name} + nd_t, nd_note, nd_m);",
                f"if (nd_found & 1) nd_mark_at({active} + nd_written_{name}, nd_k + 1);",
                f"if (nd_found & 2) nd_mark_at({counted} + nd_written_{name}, nd_k + 1);",
            ]
            lines += block("", tile)
        return lines

    def output(self, name: str) -> str:
        """Return the expression of an updated variable after the update."""
        text = self.model.outputs.get(name)
        if text is None:
            return name
        known = [n for n in self.names if n not in self.inputs.values() or n in self.model.states]
        return self.translator.text(text, known, f"outputs['{name}']")

    def constants(self) -> list[str]:
        """Return the lines that compute the constants once."""
        lines: list[str] = [f"const real dt_ms = {self.arguments.scalar(self.key('dt_ms'))};"]
        known = self.model.fixed_params()
        for name, text in self.model.constants.items():
            value = self.translator.text(text, known, f"constants['{name}']")
            needs = used(known, [text])
            key = self.key(f"constant:{name}")
            lines += self._one_constant(name, value, needs, key)
            known.append(name)
        return [*lines, "(void)dt_ms;"]

    def _one_constant(self, name: str, value: str, needs: list[str], key: str) -> list[str]:
        a = self.arguments
        shared, columns = [], []
        for other in needs:
            kind = "param" if other in self.model.params else "constant"
            other_key = self.key(f"{kind}:{other}")
            if other in self.shape.uniform:
                shared.append(f"const real {other} = {a.scalar(other_key)};")
            else:
                columns.append(f"const real {other} = {a.pointer(other_key)}[nd_c];")
        if name in self.shape.uniform:
            a.scalar(key)
            place = a.scalars.index(key)
            return block("", [*shared, f"((double *)nd_a->u)[{place}] = (double)({value});"])
        store = f"{a.pointer(key, 'real')}[nd_c] = {value};"
        loop = f"ND_EACH(nd_c, {a.integer(self.key('count'))})"
        return block(loop, [*shared, *columns, store])

    def initial(self) -> list[str]:
        """Return the lines that publish the outputs of the initial states in row 0."""
        a = self.arguments
        lines = []
        for name in self.model.outputs:
            if name in self.shape.published:
                ring = a.pointer(f"ring:{name}", "real")
                own = a.integer(self.key(f"segment:{name}"))
                store = f"({ring} + {own})[nd_c] = {self.output(name)};"
                loop = f"ND_EACH(nd_c, {a.integer(self.key('count'))})"
                lines += block(loop, [*self.numbers_of("nd_c"), *self.load_states("nd_c"), store])
        if not lines:
            return []
        return block("", ["const long long nd_k = 0;", *self.head(), *lines])
