"""Which backend advances a circuit, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import settings
from ..compile.target import TARGETS, Target
from ..errors import NeurodriverError

if TYPE_CHECKING:
    from ..compile.program import Program
    from .base import Backend

EXECUTORS = ("resident", "stepwise")


@dataclass(frozen=True)
class Choice:
    """A backend with its options.

    Attributes
    ----------
    name : {"cpu", "cuda"}
    device : int
        Number of the GPU.
    executor : {"resident", "stepwise"}
        On a GPU: one launch for many steps, or one for each kernel and step.
    """

    name: str
    device: int
    executor: str

    @classmethod
    def of(
        cls, name: str | None = None, device: int | None = None, executor: str | None = None
    ) -> Choice:
        """Return a choice; what is not given comes from the environment.

        Raises
        ------
        NeurodriverError
            For what does not exist.
        """
        name = settings.get("NEURODRIVER_BACKEND") if name is None else name
        executor = settings.get("NEURODRIVER_EXECUTOR") if executor is None else executor
        if name not in TARGETS:
            known = " or ".join(map(repr, TARGETS))
            raise NeurodriverError(f"backend must be {known}, got {name!r}")
        if executor not in EXECUTORS:
            known = " or ".join(map(repr, EXECUTORS))
            raise NeurodriverError(f"executor must be {known}, got {executor!r}")
        text = settings.get("NEURODRIVER_DEVICE") if device is None else device
        if not str(text).isdigit():
            raise NeurodriverError(f"device must be the number of a GPU, got {text!r}")
        return cls(name, int(text), executor)

    @property
    def told(self) -> str:
        """The choice in words."""
        return self.name if self.name == "cpu" else f"{self.name} {self.device} ({self.executor})"

    @property
    def target(self) -> Target:
        """What the compiler has to know of it."""
        return TARGETS[self.name]


def make_backend(choice: Choice, program: Program, threads: int | None, copied: float) -> Backend:
    """Return the backend of a program.

    Parameters
    ----------
    choice : Choice
    program : Program
        Compiled for it.
    threads : int, optional
        Of the CPU backend.
    copied : float
        Bytes a step that another thread writes into files.
    """
    if choice.name == "cuda":
        from .cuda.backend import CUDABackend

        return CUDABackend(program, choice.device, choice.executor)
    from .cpu import CPUBackend, default_threads

    return CPUBackend(program, threads or default_threads(program, copied))
