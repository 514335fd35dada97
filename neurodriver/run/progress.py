"""How far a run has come: a bar for ``progress=True``, or a function of the user."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import NeurodriverError

Progress = Callable[[int], None]
"""Gets the number of steps that each call into compiled code has done."""

_SHAPE = "{l_bar}{bar}| {n_fmt}/{total_fmt} steps{postfix} [{elapsed}<{remaining}]"


class StepBar:
    """A bar of `tqdm.auto`: of widgets in a notebook, of text elsewhere.

    Parameters
    ----------
    steps : int or None
        Length of the run; None if it is not known.
    dt : float
        Step, s.
    """

    def __init__(self, steps: int | None, dt: float) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a notebook without widgets gets a bar of text
            from tqdm.auto import tqdm

            self.bar: Any = tqdm(total=steps, bar_format=_SHAPE, unit_scale=True)
        self.dt, self.done, self._begin = dt, 0, time.perf_counter()

    def __call__(self, done: int) -> None:
        """Take the number of steps that were done."""
        self.done += done
        simulated, spent = self.done * self.dt, time.perf_counter() - self._begin
        factor = f", {simulated / spent:.2g} x real time" if spent else ""
        self.bar.set_postfix_str(f"{simulated:.3g} s{factor}", False)
        self.bar.update(done)

    def close(self) -> None:
        """Leave the bar as it is."""
        self.bar.close()


def step_progress(
    progress: bool | Progress | None, steps: int | None, dt: float, bar: bool = True
) -> Progress | None:
    """Return the function that a run calls.

    Parameters
    ----------
    progress : bool, callable or None
        True shows a bar, a callable is called as it is.
    steps : int or None
        Length of the run.
    dt : float
        Step, s.
    bar : bool
        Whether this process shows a bar.
    """
    check_progress(progress)
    if progress is True:
        return StepBar(steps, dt) if bar else None
    return None if progress is False else progress


def check_progress(progress: object) -> None:
    """Refuse what is neither a switch nor a function."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        want = "progress must be True, False, or a function of the number of steps done"
        raise NeurodriverError(f"{want}, got {progress!r:.60}")


def end_progress(shown: Progress | None, progress: bool | Progress | None) -> None:
    """Close the bar that `step_progress` has made."""
    if isinstance(shown, StepBar) and shown is not progress:
        shown.close()


def both(*progress: Progress | None) -> Progress:
    """Return a function of the steps done that calls several."""
    given = [one for one in progress if one is not None]

    def advanced(done: int) -> None:
        for one in given:
            one(done)

    return advanced
