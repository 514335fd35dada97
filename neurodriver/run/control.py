"""``RunControl``: a run is paused and goes on, and its inputs are switched, from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import NeurodriverError
from ..inputs.base import Input

_PAUSE = 0.05
"""Seconds between two looks whether a paused run is to end."""


def goes_on() -> bool:
    """Return False: nobody has asked the run to end."""
    return False


class RunControl:
    """Takes part in a run as its ``progress``: it waits there while the run is paused.

    So a run is paused, and inputs are switched, between two calls into compiled code. A call takes
    about 30 ms. The values of an input that is off are zero.

    Parameters
    ----------
    steps : int or None
        Steps of the run, from step 0; None if that is not known.
    paused : bool
        Whether the run waits before its first step.
    report : callable
        Gets a sentence for each input that was switched, with the step.
    """

    def __init__(
        self,
        steps: int | None,
        paused: bool = False,
        report: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.steps, self.step, self.paused, self.ended = steps, 0, paused, False
        self._report = report
        self._inputs: list[tuple[str, Input]] = []
        self._wanted: list[bool] = []
        self._idle = False
        self._changed = threading.Condition()
        self._stopping: Callable[[], bool] = goes_on

    def begin(
        self,
        step: int,
        inputs: Sequence[tuple[str, Input]],
        stopping: Callable[[], bool] = goes_on,
    ) -> None:
        """Take over a run that is ready, and wait if it is to begin later.

        Parameters
        ----------
        step : int
            Steps that are done.
        inputs : sequence of (str, Input)
            Inputs that can be switched, with their names.
        stopping : callable
            Returns whether the run is to end; then it is not held any longer.
        """
        with self._changed:
            self.step, self._inputs, self._stopping = step, list(inputs), stopping
            self._wanted, self._idle = [one.on for _, one in inputs], False
        self(0)

    def wait_for_run(self, step: int, inputs: Sequence[tuple[str, Input]]) -> None:
        """There is no run now; an input that is switched is so at once."""
        with self._changed:
            self.step, self._inputs, self._idle = step, list(inputs), True
            self._wanted = [one.on for _, one in inputs]

    def __call__(self, done: int) -> None:
        """Take the number of steps that were done; do what was asked for, and wait if paused."""
        with self._changed:
            self.step += done
            self._switch()
            while self.paused and not self._stopping():
                self._changed.wait(_PAUSE)
                self._switch()

    def end(self) -> None:
        """The run has ended; nothing can be asked for any more."""
        with self._changed:
            self.ended = True

    def _switch(self) -> None:
        for number, (name, one) in enumerate(self._inputs):
            if one.on != self._wanted[number]:
                one.on = self._wanted[number]
                self._report(f"{name}: {'on' if one.on else 'off'} from step {self.step:,}")

    def state(self) -> dict[str, Any]:
        """Return ``step``, ``steps``, ``paused``, ``ended``, and name and ``on`` of ``inputs``.

        ``idle`` tells that there is no run now, but may be one later.
        """
        with self._changed:
            if self._idle:  # a script may have switched them
                self._wanted = [one.on for _, one in self._inputs]
            named = zip(self._inputs, self._wanted, strict=True)
            inputs = [{"name": name, "on": on} for (name, _), on in named]
            return {
                "step": self.step, "steps": self.steps, "paused": self.paused,
                "ended": self.ended, "idle": self._idle, "inputs": inputs,
            }  # fmt: skip

    def act(self, question: Mapping[str, Any]) -> None:
        """Do what is asked for: ``action`` is ``start``, ``pause`` or ``switch``.

        ``switch`` needs the ``number`` of an input, and whether it is to be ``on``.

        Raises
        ------
        NeurodriverError
            For anything else, and when the run has ended.
        """
        action, number, on = (question.get(name) for name in ("action", "number", "on"))
        with self._changed:
            if self.ended:
                raise NeurodriverError("the run has ended")
            if action in ("start", "pause"):
                self.paused = action == "pause"
            elif action != "switch":
                raise NeurodriverError("action must be 'start', 'pause' or 'switch'")
            elif type(number) is not int or not 0 <= number < len(self._wanted):
                count = len(self._wanted)
                raise NeurodriverError(f"number must be that of one of {count} inputs, from 0")
            elif not isinstance(on, bool):
                raise NeurodriverError("on must be true or false")
            else:
                self._wanted[number] = on
                if self._idle:
                    self._switch()
            self._changed.notify_all()


def switchable(inputs: Sequence[Input], lpu: str = "") -> list[tuple[str, Input]]:
    """Return inputs with names that tell them apart: the class and the variables."""
    names = [f"{type(one).__name__} {', '.join(v for v, _ in one.targets)}" for one in inputs]
    names = [n if names.count(n) == 1 else f"{n} {i}" for i, n in enumerate(names)]
    return [(f"{lpu}: {n}" if lpu else n, one) for n, one in zip(names, inputs, strict=True)]
