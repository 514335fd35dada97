"""Which backend advances a circuit, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .. import mpi, settings
from ..errors import NeurodriverError
from ..plan.target import TARGETS, Target

if TYPE_CHECKING:
    from ..circuit.circuit import Circuit
    from ..plan.program import Program
    from ..plan.spikes.drawer import Drawer
    from .base import Backend

EXECUTORS = ("resident", "stepwise")
WAITS = ("spin", "yield")


@dataclass(frozen=True)
class Choice:
    """A backend with its options.

    Attributes
    ----------
    name : {"cpu", "cuda"}
    device : int, optional
        Number of the GPU; by the rank's place on its host when not given.
    executor : {"resident", "stepwise"}
        On a GPU: one launch for many steps, or one for each kernel and step.
    wish : int, optional
        Number of the GPU to take where no ``device`` is given and all LPUs of the process wish
        for the same; modulo the number of GPUs.
    wait : {"spin", "yield"}
        How a thread of the host waits for a GPU.
    """

    name: str
    device: int | None
    executor: str
    wish: int | None = None
    wait: str = "spin"

    @classmethod
    def of(
        cls,
        name: str | Choice | None = None,
        device: int | None = None,
        executor: str | None = None,
        wait: str = "spin",
    ) -> Choice:
        """Return a choice; what is not given comes from the environment.

        A choice is returned as it is.

        Raises
        ------
        NeurodriverError
            For what does not exist.
        """
        if isinstance(name, Choice):
            return name
        name = settings.get("NEURODRIVER_BACKEND") if name is None else name
        executor = settings.get("NEURODRIVER_EXECUTOR") if executor is None else executor
        if not isinstance(name, str) or name not in TARGETS:
            known = " or ".join(map(repr, TARGETS))
            raise NeurodriverError(f"backend must be {known}, got {name!r}")
        if not isinstance(executor, str) or executor not in EXECUTORS:
            known = " or ".join(map(repr, EXECUTORS))
            raise NeurodriverError(f"executor must be {known}, got {executor!r}")
        if not isinstance(wait, str) or wait not in WAITS:
            known = " or ".join(map(repr, WAITS))
            raise NeurodriverError(f"wait must be {known}, got {wait!r}")
        text = settings.get("NEURODRIVER_DEVICE") if device is None else str(device) or "''"
        if text and not text.isdigit():
            raise NeurodriverError(f"device must be the number of a GPU, got {text!r}")
        return cls(name, int(text) if text else None, executor, wait=wait)

    @property
    def description(self) -> str:
        """The choice in words, without a wish."""
        if not self.target.threads:
            return self.name
        number = "" if self.device is None else f" {self.device}"
        return f"{self.name}{number} ({self.executor})"

    @property
    def target(self) -> Target:
        """What the compiler has to know of it."""
        return TARGETS[self.name]


def depths(
    circuit: Circuit, targets: Iterable[tuple[str, Any]], given: Mapping[str, Callable[[int], int]]
) -> Mapping[str, Callable[[int], int]]:
    """Return how many rows rings get: as given, more where every step is compared."""
    if not settings.validates():
        return given
    from .compare.shadow import deeper

    return deeper(circuit, targets, given)


def drawer_of(choice: Choice) -> Drawer | None:
    """Return what draws connections where a backend keeps them, None where the host does."""
    if not choice.target.threads:
        return None
    from .cuda.drawing import GPUDrawer

    return GPUDrawer(lambda: gpu_number(choice))


def begin_building(choice: Choice, dtype: str) -> None:
    """Begin to compile what does not depend on the circuit, while the circuit is planned."""
    if not choice.target.threads:
        from .cpu.backend import begin_building

        begin_building(dtype)


def begin_drawing(choice: Choice, circuit: Circuit) -> None:
    """Begin to compile what draws connections where a backend keeps them."""
    if choice.target.threads:
        from .cuda.drawing import begin_compiling

        mpi.world()  # by this thread, as only the main one can set handlers of signals
        begin_compiling(lambda: gpu_number(choice), circuit)


def make_backend(
    choice: Choice,
    program: Program,
    threads: int | None,
    copied: float,
    compiled: Callable[[Target], Program],
    gates: bool = False,
    copies: Sequence[Program] = (),
) -> Backend:
    """Return the backend of a program.

    Parameters
    ----------
    program : Program
        Compiled for it.
    threads : int, optional
        Of the CPU backend.
    copied : float
        Bytes a step that another thread writes into files.
    compiled : callable
        Compiles the same circuit for another target.
    gates : bool
        Whether a call on a GPU may wait for other processes.
    copies : sequence of Program
        Those of the copies of a batch.
    """
    gates = gates and not settings.validates()
    if copies and settings.validates():
        raise NeurodriverError(
            "NEURODRIVER_VALIDATE compares LPUs without a batch; unset it, or run a copy alone"
        )
    options = BackendOptions(choice, threads, copied, gates, copies)
    backend = BACKENDS[choice.name](program, options)
    if not settings.validates():
        return backend
    from .compare.shadow import reference_target, shadowed

    return shadowed(backend, compiled(reference_target(choice.target)), choice.description)


@dataclass(frozen=True)
class BackendOptions:
    """What a backend is made for.

    Attributes
    ----------
    threads : int, optional
        Of a CPU.
    copied : float
        Bytes a step that another thread writes into files.
    gates : bool
        Whether a call on a GPU may wait for other processes.
    copies : sequence of Program
        Those of the copies of a batch.
    """

    choice: Choice
    threads: int | None
    copied: float
    gates: bool
    copies: Sequence[Program] = ()


def _cpu(program: Program, options: BackendOptions) -> Backend:
    if options.copies:
        from .cpu.batch import CPUBatch

        return CPUBatch(options.copies, options.threads)
    from .cpu.backend import CPUBackend, default_threads

    threads = options.threads or default_threads(program, options.copied)
    return CPUBackend(program, threads, gates=options.gates)


def _cuda(program: Program, options: BackendOptions) -> Backend:
    from .cuda.backend import CUDABackend

    number, executor = gpu_number(options.choice), options.choice.executor
    how: dict[str, Any] = {"fuzz": settings.fuzz(), "yields": options.choice.wait == "yield"}
    if options.copies:
        from .cuda.batch import CUDABatch

        return CUDABatch(options.copies, number, executor, **how)
    return CUDABackend(program, number, executor, gates=options.gates, **how)


BACKENDS: dict[str, Callable[[Program, BackendOptions], Backend]] = {"cpu": _cpu, "cuda": _cuda}
"""Name of a target in ``plan.target.TARGETS`` -> what makes its backend."""


def agreed(choices: Iterable[Choice]) -> list[Choice]:
    """Return the choices of the LPUs of a process, each once; wishes that differ are dropped."""
    different = list(dict.fromkeys(choices))
    if len({choice.wish for choice in different}) > 1:
        different = list(dict.fromkeys(replace(choice, wish=None) for choice in different))
    return different


def gpu_of(choice: Choice) -> str:
    """Return on which GPU of which host launches of many steps run; empty where none do."""
    if choice.name != "cuda" or choice.executor != "resident" or settings.validates():
        return ""
    from .cuda.device import place_of

    return place_of(gpu_number(choice))


def reaching_gpus(
    choices: Sequence[Choice], everywhere: Callable[[Callable[[], list[Any]]], list[Any]]
) -> int:
    """Return the number of GPUs where all of them reach each other's memory, else 0.

    Parameters
    ----------
    choices : sequence of Choice
        Of this process.
    everywhere : callable
        Returns what all processes have found, those of this one included.
    """
    from .cuda.peers import Trial

    trials = [Trial(gpu_number(choice)) for choice in choices]
    offers = everywhere(lambda: [one.offer for one in trials])
    reach = everywhere(lambda: [one.reaches(offers) for one in trials])
    return len(reach) if all(reach) else 0


def gpu_number(choice: Choice) -> int:
    """Return the number of this process's GPU: ranks of one host take turns."""
    if choice.device is not None:
        return choice.device
    if choice.wish is not None:
        from .cuda.device import device_count

        return choice.wish % max(device_count(), 1)
    from .cuda.device import device_count

    return mpi.world().local_rank % max(device_count(), 1)
