"""``Handle``: the threads of a compiled step loop, whose calls another thread can end."""

from __future__ import annotations

import atexit
import ctypes as ct
import signal
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from ...codegen.generate import Task
from ...errors import ModelError, NeurodriverError, StepInterrupted

EXIT_SECONDS = 1.0
"""Time in which a call must return when the program ends, s."""

FAULTS = {
    "SIGFPE": "divides an integer by zero",
    "SIGSEGV": "uses memory that is not its own",
    "SIGBUS": "uses memory that is not its own",
    "SIGILL": "does what C++ does not define, such as to divide an integer by zero",
}
"""Signal that ends a kernel -> what its text does."""

_ptr, _i64 = ct.c_void_p, ct.c_longlong


class Handle:
    """The C++ object with the threads of a step loop. It is destroyed with its owner.

    Parameters
    ----------
    owner : object
        The backend.
    address : int or None
        Address of the C++ object; None if its threads could not be started.
    kind : str
        Ending of the names of functions: ``_batch`` for copies.
    """

    def __init__(
        self, owner: Any, library: ct.CDLL, address: int | None, threads: int, kind: str = ""
    ) -> None:
        if address is None:
            raise NeurodriverError(f"{threads} threads cannot be started; ask for fewer")
        self._library, self._address, self._kind = library, address, kind
        self._closing = threading.Lock()
        self._closed = False
        # threads of an LPU that is dropped without close() end with it
        self._end = weakref.finalize(owner, getattr(library, f"nd_destroy{kind}"), _ptr(address))
        self._end.atexit = False  # a call may go on then: `_leave_calls` ends it
        _HANDLES.add(self)

    @property
    def pointer(self) -> ct.c_void_p:
        """Address of the object, the first argument of the library's functions."""
        self.check_open()
        return _ptr(self._address)

    def check_open(self) -> None:
        """Raise NeurodriverError where the threads have been ended."""
        if self._closed:
            raise NeurodriverError("LPU: closed; make a new one to run again")

    def interrupt(self, seconds: float) -> bool:
        """End a call that another thread runs, within some seconds; return whether there was one.

        The step is then incomplete, so the state of the circuit is not valid.
        """
        with self._closing:
            if self._closed:
                return False
            function = getattr(self._library, f"nd_interrupt{self._kind}")
            return bool(function(_ptr(self._address), ct.c_double(seconds)))

    def end_of_call(self, tasks: Sequence[Task]) -> StepInterrupted | ModelError | None:
        """Return why a call did not go on, with the step and the kernel; None if all did."""
        kernels = [task.kernel.name for task in tasks if not task.stepwise]
        kernel, step, fault = _i64(-1), _i64(-1), _i64(0)
        found = ct.byref(kernel), ct.byref(step), ct.byref(fault)
        if not self._library.nd_interrupted(self.pointer, *found):
            return None
        name = kernels[kernel.value] if kernel.value >= 0 else ""
        if fault.value:
            what = FAULTS[signal.Signals(fault.value).name]
            return ModelError(f"{name}: its text {what} in step {step.value:,}, which was ended")
        within = f" within {name}" if name else ""
        return StepInterrupted(f"step {step.value:,} was ended{within}")

    def close(self) -> None:
        """End the threads."""
        with self._closing:
            self._closed = True
            self._end()


_HANDLES: weakref.WeakSet[Handle] = weakref.WeakSet()


@atexit.register
def _leave_calls() -> None:
    """Let calls in other threads return before the memory is freed that they write."""
    for handle in list(_HANDLES):
        handle.interrupt(EXIT_SECONDS)
