"""``Handle``: the threads of a compiled step loop, whose calls another thread can end."""

from __future__ import annotations

import atexit
import ctypes as ct
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from ...codegen.generate import Task
from ...errors import NeurodriverError

EXIT_SECONDS = 1.0
"""Time in which a call must return when the program ends, s."""

_ptr, _i64 = ct.c_void_p, ct.c_longlong


class Handle:
    """The C++ object with the threads of a step loop. It is destroyed with its owner.

    Parameters
    ----------
    owner : object
        The backend.
    library : ctypes.CDLL
    address : int or None
        Address of the C++ object; None if its threads could not be started.
    threads : int
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

    def place_of_interrupt(self, tasks: Sequence[Task]) -> str:
        """Return the step and the kernel in which a call was interrupted; empty if none was."""
        kernels = [task.kernel.name for task in tasks if not task.stepwise]
        kernel, step = _i64(-1), _i64(-1)
        found = ct.byref(kernel), ct.byref(step)
        if not self._library.nd_interrupted(self.pointer, *found):
            return ""
        within = f" within {kernels[kernel.value]}" if kernel.value >= 0 else ""
        return f"step {step.value:,} was ended{within}"

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
