"""``Batch``: how the copies of a circuit differ that run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import Faults, NeurodriverError
from ..quantities import is_quantity


class Batch:
    """Copies of a circuit that run together, and what each of them has of its own.

    Parameters
    ----------
    copies : int
        Number of copies.
    seeds : sequence of int, optional
        Seed of the random numbers of each copy; by default that of the LPU for all.
    parameters : mapping of (who, name) to array, optional
        Values of a parameter in each copy. ``who`` is a population, or the name of one, of a model
        or of a component. The array is (copies,), or (copies, n) for n components. Also
        ``init<state>``: the first value of a state.
    weight_scale : (copies,) array, optional
        What all weights of a copy are multiplied by.
    inputs : sequence of inputs or sequences of inputs, optional
        Inputs of each copy, beside those of the LPU that all copies get. All copies inject the same
        variables into the same components.

    Raises
    ------
    NeurodriverError
        With all that is wrong.

    Examples
    --------
    >>> thresholds = {("exc", "V_th"): np.linspace(-52, -48, 30)}
    >>> nd.LPU(circuit, dt=1e-4, batch=nd.Batch(30, parameters=thresholds))  # doctest: +SKIP
    """

    def __init__(
        self,
        copies: int,
        *,
        seeds: Sequence[int] | None = None,
        parameters: Mapping[tuple[Any, str], ArrayLike] | None = None,
        weight_scale: ArrayLike | None = None,
        inputs: Sequence[Any] | None = None,
    ) -> None:
        if isinstance(copies, bool) or not isinstance(copies, int | np.integer) or copies < 1:
            raise NeurodriverError(f"batch: a whole number of copies >= 1, got {copies!r:.60}")
        self.copies = int(copies)
        faults = Faults("batch")
        self.seeds = None if seeds is None else self._seeds(seeds, faults)
        self.parameters = self._parameters({} if parameters is None else parameters, faults)
        self.weight_scale = None if weight_scale is None else self._scales(weight_scale, faults)
        self.inputs = None if inputs is None else self._inputs(inputs, faults)
        if faults.count:
            raise NeurodriverError(faults.report())

    def __len__(self) -> int:
        return self.copies

    def __repr__(self) -> str:
        return f"Batch of {self.copies:,} copies"

    def _seeds(self, seeds: Any, faults: Faults) -> tuple[int, ...]:
        given: list[Any] = list(seeds) if np.ndim(seeds) == 1 else [seeds]
        if len(given) != self.copies or np.ndim(seeds) != 1:
            faults.add(f"seeds: {self.copies:,} are needed, one for each copy, got {len(given):,}")
        bad = [one for one in given if not _is_seed(one)]
        faults.add_each((f"seeds: 0 to 2^64 - 1, got {one!r:.40}" for one in bad), len(bad))
        return () if bad else tuple(int(one) for one in given)

    def _parameters(self, given: Any, faults: Faults) -> dict[tuple[Any, str], Any]:
        out: dict[tuple[Any, str], Any] = {}
        if not isinstance(given, Mapping):
            faults.add(f"parameters: a mapping of (who, name) to values, got {given!r:.60}")
            return out
        for key, values in given.items():
            if not (isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], str)):
                faults.add(f"parameters: keys are (who, name of a parameter), got {key!r:.60}")
                continue
            array: Any = values if is_quantity(values) else self._numbers(values)
            if array is None or np.ndim(array) not in (1, 2) or len(array) != self.copies:
                want = f"({self.copies},) or ({self.copies}, n) numbers"
                got = f"shape {np.shape(array)}" if array is not None else f"{values!r:.60}"
                faults.add(f"parameters, '{key[1]}' of {key[0]!s:.60}: {want}, got {got}")
                continue
            out[key] = array
        return out

    def _scales(self, given: ArrayLike, faults: Faults) -> NDArray[np.float64] | None:
        array = self._numbers(given)
        if array is None or array.shape != (self.copies,):
            got = f"shape {array.shape}" if array is not None else f"{given!r:.60}"
            faults.add(f"weight_scale: {self.copies:,} numbers are needed, got {got}")
            return None
        if not (np.isfinite(array).all() and (array > 0).all()):
            bad = array[~(np.isfinite(array) & (array > 0))][0]
            faults.add(f"weight_scale: finite numbers > 0, got {bad:g}")
        return array

    def _inputs(self, given: Sequence[Any], faults: Faults) -> list[list[Any]] | None:
        if not isinstance(given, Sequence) or len(given) != self.copies:
            got = f"{len(given):,}" if isinstance(given, Sequence) else f"{given!r:.60}"
            faults.add(f"inputs: one or a list of them for each of {self.copies:,}, got {got}")
            return None
        return [list(one) if isinstance(one, Sequence) else [one] for one in given]

    @staticmethod
    def _numbers(values: Any) -> NDArray[np.float64] | None:
        try:
            return np.asarray(values, np.float64)
        except (TypeError, ValueError):
            return None


def _is_seed(one: Any) -> bool:
    whole = isinstance(one, int | np.integer) and not isinstance(one, bool)
    return whole and 0 <= one < 2**64


def batch_of(given: Any, seed: Any) -> tuple[Batch | None, int]:
    """Return a batch and the LPU's seed from what an LPU was given as ``batch`` and ``seed``.

    Raises
    ------
    NeurodriverError
        For several seeds without a batch, or two sets of them.
    """
    several = not isinstance(seed, int | np.integer | float | np.floating | str)
    if given is None:
        if several:
            raise NeurodriverError(
                f"seed: one number, or batch= with one for each, got {seed!r:.60}"
            )
        return None, seed
    batch = given if isinstance(given, Batch) else Batch(given)
    if not several:
        return batch, seed
    if batch.seeds is not None:
        raise NeurodriverError("give the seeds either as seed= or in the Batch, not both")
    made = Batch(batch.copies, seeds=seed)
    made.parameters, made.weight_scale = batch.parameters, batch.weight_scale
    made.inputs = batch.inputs
    assert made.seeds is not None
    return made, made.seeds[0]
