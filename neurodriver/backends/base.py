"""What a backend is to the step loop: a program's memory, advanced many steps a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..inputs.trains import TrainSpan
from .tables import EventTable, InputTable, PeerRows, Probe

if TYPE_CHECKING:
    from ..codegen.generate import Generated
    from ..plan.arrays import Key
    from ..plan.program import Program
    from .instances import Instances
    from .live import LiveMemory
    from .memory import MemoryManager


class Findings(Protocol):
    """What the kernels of a backend have written into the rows of ``plan.diagnostics``."""

    def fault(self) -> NDArray[np.int64]:
        """Return the words of ``FAULT``, of all completed calls."""

    def forget(self) -> None:
        """Begin anew to look for the first value that is not finite; no call is in flight."""

    def printed(self) -> NDArray[np.int64]:
        """Return the words of ``PRINTED`` that the last call has used; the next one begins anew."""


class Backend(Protocol):
    """Runs a program.

    Attributes
    ----------
    program : Program
    memory : MemoryManager
    generated : Generated
        The text of the program.
    threads : int
        How many work side by side: threads of a CPU, warps of a GPU.
    longest : int
        Steps of a call at most.
    instances : Instances
    live : LiveMemory
        Writes to the arrays of the program between calls.
    findings : Findings
    inputs, probes, events, exports : sequence of tables
        Their pointers may be changed between calls of ``run``.
    """

    program: Program
    memory: MemoryManager
    generated: Generated
    threads: int
    instances: Instances
    inputs: Any
    probes: Any
    events: Any
    exports: Any

    @property
    def live(self) -> LiveMemory: ...

    @property
    def findings(self) -> Findings: ...

    @property
    def longest(self) -> int: ...

    @property
    def stepwise(self) -> bool:
        """Whether ``run_step`` has to follow each step."""

    def publish(self) -> None:
        """Fill row 0 with the outputs of the initial states, and every row with row 0."""

    def put(self, variable: str, elements: Any, values: NDArray[Any]) -> None:
        """Set elements of every row of a variable."""

    def buffer(self, count: int) -> NDArray[Any]:
        """Return zeros in host memory, for values that go to it or come from it all the time."""

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return the row of a step; not to be written to."""

    def array(self, key: Key) -> NDArray[Any]:
        """Return an array of the program, or a copy where the backend holds it elsewhere."""

    def start(
        self,
        inputs: list[InputTable],
        probes: list[Probe],
        events: list[EventTable],
        exports: Sequence[Probe] = (),
    ) -> None:
        """Get ready for steps with these tables."""

    def run(self, first: int, steps: int) -> int:
        """Advance up to ``steps`` steps from step ``first``; return how many were done."""

    def found(self, number: int) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
        """Return the events of one table in the last call, ordered by step, then by column.

        Returns
        -------
        steps : (n,) int32 or int64
            Counted from the first step of the call; hold until the next call.
        columns : (n,) int32
        """

    def run_step(self, step: int) -> None:
        """Let instances write row ``step + 1``; compiled code has done its part of the step."""

    def worked(self) -> list[int]:
        """Return how many component updates each thread has done."""

    def close(self) -> None:
        """Give threads and memory back."""


class TrainStaging(Protocol):
    """What brings inputs to a device that can draw their trains."""

    @property
    def draws(self) -> frozenset[int]:
        """Tables of inputs whose trains it may be given instead of events."""

    def draw(self, table: int, span: TrainSpan) -> None:
        """Take the trains of an input for the next call, instead of what its table says."""


@runtime_checkable
class DrawsTrains(Backend, Protocol):
    """A backend that draws the trains of some inputs itself."""

    @property
    def staging(self) -> TrainStaging: ...


@runtime_checkable
class Batched(Backend, Protocol):
    """A backend that advances copies of a program together.

    Tables of probes and events are those of all copies: columns of copy b begin at b times the
    columns of one copy. Tables of inputs are those of all copies, or those of one copy after the
    other.

    Attributes
    ----------
    copies : sequence of Backend
        What reads and sets the values of each copy.
    """

    @property
    def copies(self) -> Sequence[Backend]: ...


@runtime_checkable
class Gated(Backend, Protocol):
    """A backend that can wait for other processes in the middle of a call."""

    def gate(self, window: int, serve: Callable[[int], bool], first: int = 0) -> bool:
        """Let calls ask ``serve`` after each ``window`` steps from step ``first`` on.

        Return whether they will. ``serve`` is given the steps done; when it returns False, the call
        ends there. From now on buffers of exports and imports hold a window, whatever step a call
        begins with.
        """


class PeerKernels(Protocol):
    """Kernels that can exchange rows with those of other backends by themselves.

    Attributes
    ----------
    most : int
        Tables that they have room for, of what comes or goes.
    """

    most: int

    def receive_buffer(self, size: int) -> tuple[int, NDArray[np.uint8]]:
        """Return the address of memory for so many bytes of messages, and how others reach it."""

    def reach(self, offer: NDArray[np.uint8]) -> int:
        """Return the address of the receive buffer of another backend."""

    def crossing(self, variable: str, elements: Any) -> PeerRows:
        """Return how warps send elements of a variable; of width 0 where these are copied."""

    def bytes_of(self, rows: PeerRows, count: int, kept: int) -> int:
        """Return the bytes of words for ``kept`` rows of so many values."""

    def exchange(
        self, imports: Sequence[PeerRows], exports: Sequence[PeerRows], sent: int, kept: int
    ) -> None:
        """Let kernels take the last inputs from words, and write all exports to words.

        ``sent`` is how many rows there were before the run, and there is memory for ``kept``.
        """

    def part(self) -> None:
        """Let go of the memory of other backends."""

    def free(self) -> None:
        """Give the receive buffer back, after others have let go of it."""

    def keep(self) -> None:
        """Leave the receive buffer to those who may have it open, until the process ends."""
        ...


class Peered(Gated, Protocol):
    """A backend with such kernels."""

    @property
    def peers(self) -> PeerKernels: ...


@runtime_checkable
class Interruptible(Backend, Protocol):
    """A backend whose call another thread can end, even in a kernel that does not return."""

    def interrupt(self, seconds: float) -> bool:
        """Let a call raise `StepInterrupted` after some seconds at most; return whether one did.

        The simulation is of no further use then.
        """


@runtime_checkable
class ExchangingBackend(Gated, Protocol):
    """A backend whose step loop can exchange messages at gates by itself.

    Attributes
    ----------
    runtime : CDLL
        Has ``nd_set_messages``, which takes the handle and a table of `parallel.native_exchange`.
    handle : int
        Address of the step loop.
    """

    runtime: Any
    handle: int


@runtime_checkable
class Facts(Protocol):
    """Memory of a backend that can say how its code runs."""

    def facts(self) -> dict[str, int]:
        """Return figures by what they are, such as the registers of a thread."""


class CallQueue(Protocol):
    """Calls that nothing enters or leaves.

    Either they wait on a device for another library, which shares their memory. Or the host waits
    for them.

    Attributes
    ----------
    steps : int
        Steps of all these calls.
    waiting : bool
        Whether some have begun for which nobody has waited.
    """

    steps: int
    waiting: bool

    def possible(self) -> bool:
        """Whether nothing enters or leaves a call."""

    def begin(self, first: int, steps: int, brief: bool) -> bool:
        """Do some steps from step ``first`` on; whether it was done.

        They are queued where another library waits. Else, where they are ``brief``, the host waits.
        """

    def land(self) -> None:
        """Wait for the queued calls; what they found is here then."""


@runtime_checkable
class Queueing(Backend, Protocol):
    """A backend that can queue calls."""

    @property
    def queued(self) -> CallQueue: ...


@runtime_checkable
class Followed(Backend, Protocol):
    """A backend that takes work to begin behind a call, before the host has waited for the call."""

    def follow(self, work: Callable[[], None]) -> None:
        """Call a function when the next call has begun, if it has as many steps as were asked for.

        What the function begins on the device waits for the call.
        """


@runtime_checkable
class Ahead(Backend, Protocol):
    """A backend that can begin a call before the rows of the last one are here.

    Attributes
    ----------
    device_seconds : float
        What the completed calls took, without the host.
    completed : int
        Number of completed calls; at most two more are in flight.
    """

    device_seconds: float
    completed: int

    def begin(self, first: int, steps: int) -> int:
        """Begin what ``run`` does; return how many steps it takes."""

    def land(self) -> int:
        """Wait for the call that was begun first; its rows and what it ``found`` are here then.

        Return the steps it did: all of them, unless another process has failed.
        """
