"""Loads, mathematics and stores of one component, as lines of text."""

from __future__ import annotations

from ..model.language.words import STEP
from ..model.text import block
from ..model.texts import named, step_numbers, texts_of
from ..plan.arrays import SEED, Key, Kind, activity, depth, width
from ..plan.unit import KernelSpec
from .kernel import Arguments
from .places import PlaceText
from .prints import printing
from .translate import Translator


class ComponentText:
    """Writes the parts of one model's kernel.

    Parameters
    ----------
    arguments : Arguments
        Filled as the text is written.
    """

    def __init__(self, spec: KernelSpec, arguments: Arguments) -> None:
        self.spec = spec
        self.model = spec.model
        self.arguments = arguments
        self.texts = texts_of(self.model)
        self.translator = Translator(self.model, spec.dtype)
        if spec.watch.debug:
            self.translator.printing = printing(self)
        if spec.place is not None:
            self.translator.places = PlaceText(spec, arguments, self.translator)
        own = [*self.model.fixed_params(), *self.model.constants]
        self.numbers = step_numbers(self.model, spec.watch.debug)
        self.place = "nd_t + nd_i"
        """Where the component lies that the mathematics is written for."""
        self.live = ""
        """Condition for that place to hold a component; empty where all do."""
        self.inputs = {a.name: self.model.input_symbol(a) for a in self.model.accesses}
        self.names = [*own, *self.model.states, *self.model.updates, *self.inputs.values()]

    @property
    def count(self) -> str:
        """Expression of the number of components, with their padding."""
        return self.arguments.integer(self.spec.key(Kind.SIZE, "count"))

    def head(self, step: bool = True) -> list[str]:
        """Declare everything that does not depend on the component; the step if needed."""
        a = self.arguments
        length = [
            f"const real dt_ms = {a.scalar(self.spec.dt_ms)};",
            "(void)dt_ms;",
        ]
        lines = [*(length if step else []), *self.translator.functions()]
        for name in self.numbers:
            key = self._number(name)
            if name in self.spec.uniform:
                lines.append(f"const real {name} = {a.scalar(key)};")
            else:
                lines.append(f"ND_FIXED(real) nd_p_{name} = {a.pointer(key)};")
        for name in self.model.states:
            if name not in self.spec.published:
                pointer = a.pointer(self.spec.key(Kind.STATE, name), "real")
                lines.append(f"real *__restrict nd_s_{name} = {pointer};")
        for name in self.model.updates:
            if name in self.spec.published:
                lines += self._rows(name)
        if self.model.draws_random():
            kind = "const unsigned long long"
            pointer = a.pointer(self.spec.key(Kind.RANDOM, "keys"), kind)
            lines.append(f"ND_FIXED(unsigned long long) nd_keys = {pointer};")
            lines.append(f"const unsigned long long nd_seed = {a.integer(SEED)};")
        return [*lines, *(self.translator.places.head() if self.translator.places else [])]

    def row(self, name: str, step: str = "nd_k") -> str:
        """Return where the row of a step has a variable of the group."""
        a = self.arguments
        rows = a.pointer(self.spec.ring(name), "real")
        shape = f"{a.integer(depth(name))}, {a.integer(width(name))}"
        own = a.integer(self.spec.segment(name, "start"))
        return f"nd_row({rows}, {step}, {shape}) + {own}"

    def _rows(self, name: str) -> list[str]:
        lines = [f"real *__restrict nd_new_{name} = {self.row(name, 'nd_k + 1')};"]
        if name in self.model.states:
            lines.append(f"const real *__restrict nd_old_{name} = {self.row(name)};")
        return lines

    def _number(self, name: str) -> Key:
        """Return the key of a parameter or a constant."""
        kind = Kind.PARAMETER if name in self.model.params else Kind.CONSTANT
        return self.spec.key(kind, name)

    def numbers_of(self, index: str) -> list[str]:
        """Load what differs between components and does not change."""
        varied = [n for n in self.numbers if n not in self.spec.uniform]
        lines = [f"const real {n} = nd_p_{n}[{index}];" for n in varied]
        if self.model.draws_random():
            lines.append(f"const unsigned long long nd_key = nd_keys[{index}];")
        return [*lines, *self.here(index)]

    def here(self, index: str) -> list[str]:
        """Declare the indices of a component along its axes."""
        places = self.translator.places
        return [] if places is None else places.here(index)

    def load_states(self, index: str) -> list[str]:
        """Load the states and zero the other updated variables."""
        lines = []
        for name in self.model.states:
            where = f"nd_old_{name}" if name in self.spec.published else f"nd_s_{name}"
            lines.append(f"real {name} = {where}[{index}];")
        return lines + [f"real {name} = 0;" for name in self.flags()]

    def flags(self) -> list[str]:
        """Return the updated variables that the mathematics sets itself."""
        known = (*self.model.states, *self.model.outputs)
        return [name for name in self.model.updates if name not in known]

    def mathematics(self) -> list[str]:
        """Return terms and update of one sub-step."""
        return self.old_terms() + self.translator.lines()

    def old_terms(self) -> list[str]:
        """Return the terms of one sub-step, from old values."""
        self.translator.restart()
        lines = []
        if named(["substeps"], self.texts.step(), self.spec.watch.debug):
            lines.append(f"const int substeps = {self.spec.substeps}; (void)substeps;")
        lines += self.step_number()
        for name in self.model.terms:
            lines.append(f"const real {name} = {self.translator.value(f'terms[{name!r}]')};")
        return lines

    def step_number(self) -> list[str]:
        """Declare the number of the step, where a text reads it."""
        if not named([STEP], self.texts.step(), self.spec.watch.debug):
            return []
        return [f"const int {STEP} = (int)nd_k; (void){STEP};"]

    def store(self, index: str) -> list[str]:
        """Store states and updated variables, computing the outputs."""
        lines = []
        for name in self.model.states:
            if name not in self.spec.published:
                lines.append(f"nd_s_{name}[{index}] = {name};")
        for name in self.model.updates:
            if name in self.events:
                lines.append(f"nd_out_{name}[nd_i] = {self.output(name)};")
            elif name in self.spec.published:
                lines.append(f"nd_new_{name}[{index}] = {self.output(name)};")
        return lines

    @property
    def events(self) -> list[str]:
        """Published variables whose rows are nearly always silent."""
        known = self.spec.published
        return [v for v in self.model.updates if v in known and self.spec.is_event(v)]

    def waiting(self) -> list[str]:
        """Declare where the events of a tile wait before they are written, and in which row."""
        lines = []
        for name in self.events:
            lines.append(f"real nd_out_{name}[ND_TILE] = {{0}};")
            rows = self.arguments.integer(depth(name))
            lines.append(f"const long long nd_written_{name} = nd_row_index(nd_k + 1, {rows});")
            lines.append(f"const long long nd_later_{name} = nd_row_index(nd_k + 2, {rows});")
        return lines

    def write_events(self) -> list[str]:
        """Write the events of a tile and mark them in the dirty bitmap (see ``tile_events.h``)."""
        lines = []
        for name in self.events:
            a = self.arguments
            active = a.pointer(activity(name, "active"), "long long")
            counted = a.pointer(activity(name, "counted"), "long long")
            dirty = a.pointer(activity(name, "dirty"), "unsigned short")
            own = a.integer(self.spec.segment(name, "start"))
            slice_ = f"* {a.integer(width(name))} + {own} + nd_t) / ND_LANES"
            tile = [
                f"unsigned short *nd_dirty = {dirty} + (nd_written_{name} {slice_};",
                f"__builtin_prefetch({dirty} + (nd_later_{name} {slice_}, 1);",
                f"const int nd_events_here = nd_write_events("
                f"nd_out_{name}, nd_new_{name} + nd_t, nd_dirty, nd_m);",
                f"if (nd_events_here & 1) nd_mark_at({active} + nd_written_{name}, nd_k + 1);",
                f"if (nd_events_here & 2) nd_mark_at({counted} + nd_written_{name}, nd_k + 1);",
            ]
            lines += block("", tile)
        return lines

    def output(self, name: str) -> str:
        """Return the expression of an updated variable after the update."""
        if name not in self.model.outputs:
            return name
        return self.translator.value(f"outputs['{name}']")

    def constants(self) -> list[str]:
        """Return the lines that compute the constants once."""
        lines: list[str] = [f"const real dt_ms = {self.arguments.scalar(self.spec.dt_ms)};"]
        lines += self.translator.functions()
        known = self.model.fixed_params()
        for name in self.model.constants:
            value = self.translator.value(f"constants['{name}']")
            needs = named(known, [self.texts[f"constants['{name}']"]])
            lines += self._one_constant(name, value, needs)
            known.append(name)
        return [*lines, "(void)dt_ms;"]

    def _one_constant(self, name: str, value: str, needs: list[str]) -> list[str]:
        a, key = self.arguments, self._number(name)
        shared, columns = [], []
        for other in needs:
            if other in self.spec.uniform:
                shared.append(f"const real {other} = {a.scalar(self._number(other))};")
            else:
                columns.append(f"const real {other} = {a.pointer(self._number(other))}[nd_c];")
        if name in self.spec.uniform:
            a.scalar(key)
            place = a.scalars.index(key)
            return block("", [*shared, f"((double *)nd_a->u)[{place}] = (double)({value});"])
        store = f"{a.pointer(key, 'real')}[nd_c] = {value};"
        loop = f"ND_EACH(nd_c, {self.count})"
        return block(loop, [*shared, *columns, store])

    def initial(self) -> list[str]:
        """Return the lines that publish the outputs of the initial states in row 0."""
        a = self.arguments
        lines = []
        for name in self.model.outputs:
            if name in self.spec.published:
                own = a.integer(self.spec.segment(name, "start"))
                rows = a.pointer(self.spec.ring(name), "real")
                store = f"({rows} + {own})[nd_c] = {self.output(name)};"
                loop = f"ND_EACH(nd_c, {self.count})"
                lines += block(loop, [*self.numbers_of("nd_c"), *self.load_states("nd_c"), store])
        if not lines:
            return []
        return block("", ["const long long nd_k = 0;", *self.head(), *lines])
