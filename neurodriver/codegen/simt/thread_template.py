"""Kernel templates -> the form of ``threads``: one component after the other.

The text is that of ``template`` and so are the bits. A thread sums the inputs of a component into
the arrays that the user's function reads, and calls it as if a grid had one thread for each
component and this were that thread.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ...errors import ModelError
from ...model.text import block
from ...model.texts import named, texts_of
from ...native.headers import header
from ...plan.arrays import activity, depth
from ...plan.unit import KernelSpec
from ..cpu.update import finish_with
from ..kernel import Kernel
from ..template import INCLUDE, Signature, described, ends, given_columns, read, row_of
from .thread_events import each
from .threads import LOST, ThreadText

_GRID = {
    r"\bthreadIdx\b": "nd_thread()",
    r"\bblockDim\b": "nd_extent()",
    r"\bblockIdx\b": "nd_here()",
    r"\bgridDim\b": "nd_grid()",
    r"\bwarpSize\b": "1",
    r"\b__sync(?:threads|warp)\s*\([^()]*\)": "((void)0)",
    r"\b__launch_bounds__\s*\([^()]*\)": "",
    r"\b__restrict(?:__)?\b": "",
    r"\b__shared__\b": "",
    r'(?:\bextern\s*"C"\s*)?\b__global__\b': "static __device__",
}
"""Words that would mean the real grid -> what stands for them, in ``cuda_in_thread.cuh``."""

_TOGETHER = re.compile(
    r"\b(?:extern\s+__shared__|cooperative_groups|__activemask|__cluster\w+|"
    r"__(?:shfl|ballot|any|all|match|reduce|syncthreads|nanosleep)_\w+)"
)
_KNOWN = re.compile(
    r"c?(?:math|stdio|stdlib|stdint|float|limits|stddef|assert)(?:\.h)?$|"
    r"(?:cuda|math_constants|device_|vector_|helper_)(?!.*curand)"
)
_ADVICE = "a class with a run_step and a SourceModule of its own can do that"


def thread_template(spec: KernelSpec, text: str, signature: Signature) -> Kernel:
    """Return the kernel that advances one group with the text of a user.

    Parameters
    ----------
    text : str
        What ``get_update_template`` returned.

    Raises
    ------
    ModelError
        When the text has unknown placeholders, no function ``update``, includes what there is
        not, or asks threads to work together.
    """
    where, bare, written = read(spec, text, signature)
    asked = _TOGETHER.search(bare)
    if asked:
        raise ModelError(
            f"{where}: '{asked.group()}' needs threads that work together, a template's thread has "
            f"one component to itself; {_ADVICE}"
        )
    thread = TemplateText(spec, signature)
    unit = thread.unit()
    user = [
        "namespace nd_user {",
        header("codegen/simt/cuda_in_thread.cuh"),
        header("codegen/cuda_functions.h"),
        *thread.grid(),
        f'#line 1 "{where}"',
        _on_a_grid(INCLUDE.sub(lambda found: _included(found, where), written)),
        "}",
        *ends(written),
        f'#line 1 "{described(spec, signature)}"',
    ]
    after = f'#line 1 "after {spec.model.__name__}"'
    kernel = finish_with(where, thread.arguments, ([], []), [*unit, after])
    whole = "\n".join([*user, kernel.text])
    return replace(kernel, text=whole, record=thread.record, kept=thread.kept)


def _included(found: re.Match[str], where: str) -> str:
    """Return what stands for a header: nothing, where its names are known anyway."""
    name = found.group(1)
    if _KNOWN.match(name) and "curand" not in name:
        return ""
    raise ModelError(
        f"{where}: the text includes <{name}>; on the device it is compiled without any headers. "
        f"A declared model can draw uniform() and normal(), and {_ADVICE}"
    )


def _on_a_grid(text: str) -> str:
    for word, stands in _GRID.items():
        text = re.sub(word, stands, text)
    return text


class TemplateText(ThreadText):
    """Writes the struct around a template's function."""

    def __init__(self, spec: KernelSpec, signature: Signature) -> None:
        super().__init__(spec)
        self.signature = signature
        self.varied = named(self.model.params, texts_of(self.model).each(*self.model.accesses))

    def grid(self) -> list[str]:
        """Return the function that returns the number of components."""
        count = self.arguments.integer(self.component.spec.components).replace("nd_a", "nd_steady")
        return [f"ND_FN nd_row_index nd_grid() {{ return {{(unsigned int){count}, 1, 1}}; }}"]

    def head(self) -> list[str]:
        """Return nothing: the numbers of a component are for the user's function."""
        return []

    def members(self) -> list[str]:
        lines = [*LOST, "int nd_c[ND_OWN];", "bool nd_live[ND_OWN];"]
        lines += [f"real nd_v_{name}[ND_OWN];" for name in self.varied]
        return lines + [line for r in self.reads for line in r.members()]

    def load(self) -> list[str]:
        """Return the loads of what the sums need."""

        def column(name: str) -> str:
            return self.arguments.pointer(self.component.spec.parameter(name))

        lines = [f"ND_FIXED(real) nd_p_{name} = {column(name)};" for name in self.varied]
        lines += [line for s in self.sums for line in s.head()]
        body = [f"nd_v_{name}[nd_i] = nd_p_{name}[nd_at];" for name in self.varied]
        body += [line for r in self.reads for line in r.load()]
        return [*lines, *self.own(), *each(body)]

    def step(self) -> list[str]:
        """Return the sums, the call and the dirty bytes of one step."""
        a = self.arguments
        lines = [line for s in self.sums for line in s.head()]
        lines += [f"real nd_x_{s.access.name}[ND_OWN];" for s in self.sums]
        lines += each([line for r in self.reads for line in r.sum()])
        inputs = [
            a.pointer(self.component.spec.input_sum(s.access.name), "real") for s in self.sums
        ]
        call = [
            f"{p}[nd_at] = nd_x_{s.access.name}[nd_i];"
            for s, p in zip(self.sums, inputs, strict=True)
        ]
        count, steps = (
            f"(int){a.integer(self.component.spec.components)}",
            str(self.component.spec.substeps),
        )
        columns = [*inputs, *given_columns(self.component, self.signature)]
        given = ", ".join([count, a.scalar(self.component.spec.dt), steps, *columns])
        call += ["nd_user::nd_component() = (unsigned int)nd_at;", f"nd_user::update({given});"]
        lines += each(block("if (nd_live[nd_i])", call))
        events = [name for name in self.model.updates if self.component.spec.is_event(name)]
        return lines + each([line for name in events for line in self._mark(name)])

    def _mark(self, name: str) -> list[str]:
        """Mark a row that holds events: unmarked rows are not read."""
        a = self.arguments
        active, rows = a.pointer(activity(name, "active"), "long long"), a.integer(depth(name))
        row = row_of(self.component, name)
        return block("", [
            f"const unsigned nd_bits = nd_ballot(nd_live[nd_i] && ({row})[nd_at] != 0);",
            f"if (nd_bits && nd_lane() == 0) nd_mark({active}, nd_k + 1, {rows});",
        ])  # fmt: skip

    def save(self) -> list[str]:
        """Return nothing: the user's function keeps its states in arrays."""
        return []
