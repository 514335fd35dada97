"""Statistics of trials and epochs: errors, correlations, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from neurodriver.errors import RequestError, near, quoted
from neurodriver.results.export import needed

if TYPE_CHECKING:
    import pandas
    import xarray

Reals = NDArray[np.float64]

ACTIVE = 0.5
"""A unit whose activity, or target, is above this value counts as active."""

STATISTICS = "unit_error", "error", "correlation"
"""LogColumns of a layer with a target, and of all such layers together."""


def target_statistics(
    minus: Reals, plus: Reals, means: tuple[Reals, Reals], target: Reals, predicts: bool = False
) -> dict[str, Reals]:
    """Return the errors of a layer with a target, and the correlation of both phases, (items,).

    Parameters
    ----------
    minus, plus, target : (items, units) float64
        Activity at the end of both phases, and the target.
    means : pair of (items, 1) float64
        Means over the layer that are subtracted in the correlation.
    predicts : bool
        Whether several outcomes may be possible: the target has a 1 for each of them. Then it is
        an error if another unit is the most active one.
    """
    items, units = minus.shape
    wrong = np.add.reduce((minus > ACTIVE) != (target > ACTIVE), axis=1) / units
    error = wrong > 0
    if predicts:
        error = target[np.arange(items), minus.argmax(axis=1)] <= ACTIVE
    minus, plus = minus - means[0], plus - means[1]
    total = np.add.reduce
    both = np.sqrt(total(minus * minus, axis=1) * total(plus * plus, axis=1))
    correlation = total(minus * plus, axis=1) / np.where(both > 0, both, 1)
    correlation[both <= 0] = 0
    return {"unit_error": wrong, "error": error.astype(np.float64), "correlation": correlation}


def absent(items: int) -> dict[str, Reals]:
    """Return the statistics of a layer that was shown no target: NaN, (items,) each."""
    return {name: np.full(items, np.nan) for name in STATISTICS}


def joined(layers: Sequence[Mapping[str, Reals]]) -> dict[str, Reals]:
    """Return the statistics of a trial: means over the layers, and 1 if any has an error."""
    if len(layers) < 2:
        return dict(*layers)
    out = {name: np.mean([one[name] for one in layers], axis=0) for name in layers[0]}
    return {**out, "error": np.max([one["error"] for one in layers], axis=0)}


def mean_of_given(values: Sequence[float]) -> float:
    """Return the mean of values that are not NaN; NaN if there is none."""
    given = [value for value in values if value == value]
    return float(np.mean(given)) if given else float("nan")


class LogColumns(dict[str, Reals]):
    """The columns of a table: name -> values.

    ``columns["error"]`` is an array, and ``columns[["error", "unit_error"]]`` has these columns.
    """

    @overload
    def __getitem__(self, name: str) -> Reals: ...

    @overload
    def __getitem__(self, name: list[str]) -> LogColumns: ...

    def __getitem__(self, name: str | list[str]) -> Reals | LogColumns:
        """Return a column, or several of them."""
        if isinstance(name, list):
            return LogColumns({one: self[one] for one in name})
        if name not in self:
            there = ", ".join(self) or "none"
            raise RequestError(f"no column {name!r:.60}{near(str(name), self)}; there are {there}")
        return super().__getitem__(name)


class Log:
    """Tables of a training: one row for each trial, and one for each epoch.

    ``log["epoch"]["error"]`` is a column. `to_pandas` and `to_xarray` return whole tables.

    Attributes
    ----------
    ms_per_trial : list of float
        Time that a trial of an item took in each epoch, in ms.
    """

    def __init__(self) -> None:
        self._rows: dict[str, list[dict[str, float]]] = {"trial": [], "epoch": []}
        self._recorded: dict[str, list[Reals]] = {}
        self.ms_per_trial: list[float] = []

    def record(self, layer: str, values: Sequence[Reals]) -> None:
        """Add the values of the units of a layer in some trials."""
        self._recorded.setdefault(layer, []).extend(values)

    @property
    def recorded(self) -> dict[str, Reals]:
        """What `Trainer.test` has recorded: layer -> (trials, *shape of the layer)."""
        return {layer: np.array(values) for layer, values in self._recorded.items()}

    def add(self, table: str, row: Mapping[str, float]) -> None:
        """Add a row."""
        self.rows(table).append(dict(row))

    def rows(self, table: str) -> list[dict[str, float]]:
        """Return the rows of a table."""
        if not isinstance(table, str) or table not in self._rows:
            among = ", ".join(map(quoted, self._rows))
            hint = near(str(table), self._rows)
            raise RequestError(f"a log has no table {table!r:.60}{hint}; there are {among}")
        return self._rows[table]

    def __getitem__(self, table: str) -> LogColumns:
        """Return the columns of a table: ``"trial"`` or ``"epoch"``.

        They have NaN in rows without such a value.
        """
        rows = self.rows(table)
        names = dict.fromkeys(name for row in rows for name in row)
        return LogColumns({n: np.array([row.get(n, np.nan) for row in rows]) for n in names})

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(rows):,} {name}s" for name, rows in self._rows.items())
        return f"<Log: {counts}>"

    def to_pandas(self, table: str = "epoch") -> pandas.DataFrame:
        """Return a table as a `pandas.DataFrame`."""
        return needed("pandas").DataFrame(self[table])

    def to_xarray(self, table: str = "epoch") -> xarray.Dataset:
        """Return a table as an `xarray.Dataset`, along ``trial`` or ``epoch``."""
        columns: dict[str, Any] = {n: (table, v) for n, v in self[table].items() if n != table}
        rows = np.arange(len(self._rows[table]))
        return needed("xarray").Dataset(columns, coords={table: rows})

    @property
    def zero_epochs(self) -> int:
        """Number of successive epochs without an error, up to the last epoch."""
        count = 0
        for row in reversed(self._rows["epoch"]):
            if row.get("error") != 0:
                break
            count += 1
        return count

    @property
    def first_zero(self) -> int | None:
        """Number of the first epoch without an error, or None."""
        for number, row in enumerate(self._rows["epoch"]):
            if row.get("error") == 0:
                return number
        return None
