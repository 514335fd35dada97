"""Program -> kernels: the text of every unit, with the rows of the array table that it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..errors import ModelError
from ..model.language.parser import TOO_DEEP
from ..plan.arrays import ArrayTable
from ..plan.program import Program
from ..plan.unit import Delivery, KernelSpec, Unit
from .cpu.fused import fused_kernel
from .cpu.update import update_kernel
from .kernel import Kernel
from .reactions import reaction_kernel
from .simt.learning import learning_kernel
from .simt.spike_delivery import delivery_kernel
from .simt.thread_reactions import thread_reactions
from .simt.thread_template import thread_template
from .simt.threads import thread_kernel
from .template import Signature, template_kernel

_NONE = Kernel("", "", (), (), ())

Templates = Mapping[int, tuple[str, Signature]]
"""Number of a group -> the text of its template and what that takes."""


@dataclass(frozen=True)
class Task(Unit):
    """A unit with the text of its kernel."""

    kernel: Kernel = _NONE


@dataclass(frozen=True)
class Sending(Delivery):
    """A delivery with the text that says where its connections are."""

    kernel: Kernel = _NONE


@dataclass(frozen=True)
class Generated:
    """The text of a program.

    Attributes
    ----------
    tasks : tuple of Task
        One for each unit.
    learning : tuple of Kernel
        The texts of connections that learn, on a GPU; on a CPU the targets' kernels have them.
    arrays : ArrayTable
        The program's rows, and those that the text needs beside them.
    """

    tasks: tuple[Task, ...]
    deliveries: tuple[Sending, ...]
    learning: tuple[Kernel, ...]
    arrays: ArrayTable

    @property
    def kernels(self) -> list[Kernel]:
        """All kernels: of units, deliveries, and connections that learn."""
        own = [one.kernel for one in self.tasks]
        return [*own, *(one.kernel for one in self.deliveries), *self.learning]


def generate(program: Program, templates: Templates | None = None) -> Generated:
    """Return the text of a program.

    Parameters
    ----------
    templates : mapping of int to (str, Signature), optional
        What users' templates say, by the number of the group.
    """
    threads = program.target.threads
    tasks = tuple(
        Task(**vars(unit), kernel=_kernel(unit, threads, templates or {})) for unit in program.units
    )
    sendings = tuple(
        Sending(**vars(one), kernel=delivery_kernel(one)) for one in program.deliveries
    )
    scratch = [one for task in tasks for one in task.kernel.scratch]
    learning = tuple(_learning(program.units)) if threads else ()
    return Generated(tasks, sendings, learning, program.arrays.having(scratch))


def _learning(units: Iterable[Unit]) -> Iterator[Kernel]:
    """Yield the texts of connections that learn."""
    for spec in (spec for unit in units for spec in unit.specs):
        for access in spec.model.accesses:
            for number, plan in enumerate(spec.gathers[access.name].learning):
                if plan.form == "learning":
                    yield learning_kernel(spec, access.name, number)


def _kernel(unit: Unit, threads: bool, templates: Templates) -> Kernel:
    spec = unit.specs[0]
    if spec.template:
        text, signature = templates[spec.number]
        return (thread_template if threads else template_kernel)(spec, text, signature)
    try:
        return fused_kernel(*unit.specs) if len(unit.specs) == 2 else _of_model(spec, threads)
    except RecursionError:
        names = " and ".join(spec.model.__name__ for spec in unit.specs)
        raise ModelError(f"{names}: in a text, {TOO_DEEP}") from None


def _of_model(spec: KernelSpec, threads: bool) -> Kernel:
    if spec.model.sub_units is not None:
        return (thread_reactions if threads else reaction_kernel)(spec)
    return (thread_kernel if threads else update_kernel)(spec)
