"""The errors a user can meet, and the collector that raises all faults of a circuit at once.

Every class is also the builtin that a caller would expect, so ``except ValueError`` works.
"""

from __future__ import annotations

import difflib
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

SHOWN = 10
"""How many faults of one report are told in full."""


class NeurodriverError(Exception):
    """Base of every error that is the user's to mend; the message says where and how."""


class CircuitError(NeurodriverError, ValueError):
    """A circuit (file, graph or arrays) breaks a rule."""


class PopulationError(CircuitError, KeyError):
    """A circuit is asked for a population that it lacks."""

    __str__ = Exception.__str__


class ModelError(NeurodriverError, ValueError):
    """A component class is declared wrongly."""


class CompileError(NeurodriverError, RuntimeError):
    """No usable compiler, or generated text that it refuses."""


class InputError(NeurodriverError, ValueError):
    """An input does not fit the circuit."""


class TargetError(InputError, KeyError, AssertionError):
    """An input names what the circuit lacks, or brings a wrong number of values."""

    __str__ = Exception.__str__


class RecordingError(NeurodriverError, OSError):
    """A recording cannot be written or read."""

    __str__ = Exception.__str__


class ExperimentError(NeurodriverError, ValueError):
    """An experiment file, or something that it names, breaks a rule."""


class LPUExecutionError(NeurodriverError, RuntimeError):
    """An LPU failed while it ran.

    Parameters
    ----------
    message : str, optional
        What to say; made of the rest by default.
    lpu : str, optional
        Id of the LPU.
    step : int, optional
        Step at which it failed.
    traceback : str or sequence of str, optional
        Where it failed, as the process of the LPU tells it.

    Attributes
    ----------
    lpu, step, traceback
        As given; ``traceback`` is a tuple of lines.
    """

    def __init__(
        self,
        message: str = "",
        lpu: str | None = None,
        step: int | None = None,
        traceback: str | Iterable[str] = (),
    ) -> None:
        lines = traceback.splitlines(keepends=True) if isinstance(traceback, str) else traceback
        self.lpu = lpu
        self.step = step
        self.traceback = tuple(lines)
        if not message and lpu is not None:
            where = f" at step {step}" if step is not None else ""
            cause = self.traceback[-1].strip() if self.traceback else "no cause told"
            message = f"LPU '{lpu}' failed{where}: {cause}"
        super().__init__(message)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        # Processes send it to each other.
        return type(self), (str(self), self.lpu, self.step, self.traceback)


class StateError(NeurodriverError):
    """A state that cannot be taken or set, or that does not fit what it is put into."""


class RunInterrupted(NeurodriverError):
    """Ctrl-C or SIGTERM ended a run; what it recorded can be read."""


class StepInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a step of compiled code that took too long; the run cannot go on."""


class UnitError(NeurodriverError, ValueError):
    """A quantity has a unit of another dimension than the number that is wanted."""


class SweepError(NeurodriverError, RuntimeError):
    """Points of a sweep failed.

    Parameters
    ----------
    message : str
        What to say.
    results : xarray.Dataset, optional
        Results of the points that did not fail.

    Attributes
    ----------
    results
        As given.
    """

    def __init__(self, message: str, results: Any = None) -> None:
        super().__init__(message)
        self.results = results


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a sweep.

    Parameters
    ----------
    message : str
        What to say.
    results : xarray.Dataset, optional
        Results of the points that were done.

    Attributes
    ----------
    results
        As given.
    """

    def __init__(self, message: str, results: Any = None) -> None:
        super().__init__(message)
        self.results = results


class NonFiniteError(LPUExecutionError, FloatingPointError):
    """A variable or a state of a component has become NaN or infinite.

    Parameters and attributes are those of `LPUExecutionError`; ``step`` is the first step at which
    a value is not finite. ``LPU(nonfinite=...)`` says whether it is raised.
    """


class SelectorError(NeurodriverError, ValueError):
    """A port selector breaks the grammar, or cannot be used as it was."""


class PortError(NeurodriverError, ValueError, AssertionError):
    """Ports, interfaces or patterns do not fit together.

    Also an ``AssertionError``, because older scripts expect one.
    """


class RequestError(RecordingError, KeyError, AssertionError):
    """A recording is asked for what the circuit lacks."""

    __str__ = Exception.__str__


class CircuitWarning(UserWarning):
    """Legal, but worth a look."""


def lines_of(error: BaseException) -> list[str]:
    """Return an error as lines: its traceback, or its message where that says all.

    It does for what the user can mend, but for a model whose own code has failed.
    """
    own_code = isinstance(error, ModelError) and error.__cause__ is not None
    if isinstance(error, NeurodriverError) and not own_code:
        return traceback.format_exception_only(error)
    return traceback.format_exception(error)


def near(name: object, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the nearest known name, or an empty string.

    Parameters
    ----------
    name : object
        What was written.
    known : iterable of str
        What could have been meant.
    """
    names = {k.lower(): k for k in known}
    found = difflib.get_close_matches(str(name).lower(), names, n=1, cutoff=0.7)
    return f" (did you mean '{names[found[0]]}'?)" if found else ""


def quoted(text: object, longest: int = 60) -> str:
    """Return a text of a user's file as messages show it: in quotes, on one line, not too long."""
    said = str(text)
    said = said if len(said) <= longest else f"{said[:longest]}..."
    return f"'{said}'" if said.isprintable() else repr(said)


def shown(value: object) -> str:
    """Return a value that a user gave as messages show it."""
    return quoted(value) if isinstance(value, str) else f"{value!r:.60}"


class Faults:
    """Collects the faults and the warnings of one circuit; raises them together.

    Parameters
    ----------
    source : str
        File or description that stands before every message.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.count = 0
        self.messages: list[str] = []
        self.warnings: Counter[str] = Counter()

    def add(self, message: str, times: int = 1) -> None:
        """Note a fault; only the first ten texts are kept, all are counted."""
        self.count += times
        if len(self.messages) < SHOWN:
            self.messages.append(message)

    def room(self) -> int:
        """How many more faults would be told in full: format no more than these."""
        return max(SHOWN - len(self.messages), 0)

    def add_each(self, messages: Iterable[str], total: int) -> None:
        """Note ``total`` faults of one kind; ``messages`` is read only as far as there is room."""
        before = self.count
        for message in messages:
            if not self.room():
                break
            self.add(message)
        self.count = before + total

    def add_for(self, items: Collection[Any], say: Callable[[Any], str]) -> None:
        """Note a fault of each item; as many are put into words as there is room for."""
        each = items.tolist() if hasattr(items, "tolist") else items
        self.add_each(map(say, each), len(items))

    def warn(self, message: str, times: int = 1) -> None:
        """Note something legal but suspicious; equal texts are counted."""
        self.warnings[message] += times

    def finish(self, strict: bool = False) -> None:
        """Emit the warnings, or raise everything.

        Parameters
        ----------
        strict : bool
            Turn every warning into a fault.

        Raises
        ------
        CircuitError
            When there is at least one fault.
        """
        texts = [f"{text} ({n} times)" if n > 1 else text for text, n in self.warnings.items()]
        if strict:
            for text in texts:
                self.add(f"{text} [an error because of --strict]")
        if self.count:
            raise CircuitError(self.report())
        for text in texts:
            warnings.warn(f"{self.source}: {text}", CircuitWarning, stacklevel=3)

    def report(self) -> str:
        """Return all that was collected as one text."""
        if self.count == 1:
            return f"{self.source}: {self.messages[0]}"
        lines = [f"{self.source}: {self.count} faults"]
        lines += [f"  {i}. {text}" for i, text in enumerate(self.messages, 1)]
        if self.count > len(self.messages):
            lines.append(f"  ... and {self.count - len(self.messages)} more")
        return "\n".join(lines)
