"""Connections as counts, means and tables."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..circuit.plastic import varied, widest
from ..circuit.selection import population_names
from ..results.export import needed
from .synapse_choice import Ends, SynapseChoice

if TYPE_CHECKING:
    import pandas
    import xarray


class SynapseSummaries(SynapseChoice):
    """Connections as counts, means and tables."""

    @abstractmethod
    def get(self, name: str = "weight", of: Ends | None = None) -> NDArray[np.float64]:
        """Return a number of each synapse."""

    def histogram(
        self, bins: int | ArrayLike = 20, name: str = "weight", of: Ends | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return how many synapses have values in each bin, and the edges of the bins.

        Parameters
        ----------
        bins : int or array
            Number of bins, or their edges. Bins by number lie between the bounds of the rule where
            it has some, and the name is ``weight``; else between the least and the largest value.
            They reach to weights beyond the bounds, too.
        of : (sources, targets), optional
            Only the synapses between these.

        Returns
        -------
        counts : (bins,) int64
        edges : (bins + 1,) float64
        """
        values = self.get(name, of)
        limits = self._limits() if name == "weight" else None
        if limits is not None and values.size:
            limits = min(limits[0], values.min()), max(limits[1], values.max())
        edges = np.histogram_bin_edges(values, bins, limits)
        counts, edges = np.histogram(values, edges)
        return counts.astype(np.int64), edges

    def _limits(self) -> tuple[float, float] | None:
        """Return the least and the greatest bound of the weights."""
        rule = self._links.plasticity
        if rule is None or rule.bounds is None or rule.limits is None:
            return None
        own = varied(self._links)
        low, high = (
            self.get(one) if isinstance(one, str) and one in own else np.asarray(shared)
            for one, shared in zip(rule.bounds, rule.limits, strict=True)
        )
        return widest((low, high))

    def means(self, name: str = "weight") -> dict[tuple[str, str], float]:
        """Return the mean between populations, by the names of source and target.

        Components without a name of a population are in one that is called like their model.
        """
        values, links = self.get(name), self._links.expanded()
        labels = population_names(self._circuit)
        populations, code = np.unique(labels, return_inverse=True)
        pair = code[links.source].astype(np.int64) * len(populations) + code[links.target]
        pairs, which = np.unique(pair, return_inverse=True)
        sums = np.bincount(which, weights=values, minlength=len(pairs))
        mean = sums / np.bincount(which, minlength=len(pairs))
        ends = [divmod(one, len(populations)) for one in pairs.tolist()]
        return {
            (str(populations[a]), str(populations[b])): value
            for (a, b), value in zip(ends, mean.tolist(), strict=True)
        }

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return all that each synapse has as columns of (m,).

        These are ``pre`` and ``post`` (uids), ``delay`` (s), ``weight`` and the variables of the
        synapses.
        """
        head: dict[str, NDArray[Any]] = {"pre": self.sources, "post": self.targets}
        head["delay"] = self.delays
        return head | {name: self.get(name) for name in self.names}

    def to_pandas(self) -> pandas.DataFrame:
        """Return what `columns` does as a table, a line for each synapse."""
        frame = needed("pandas").DataFrame(self.columns())
        frame.attrs = self._attributes()
        return frame

    def to_xarray(self) -> xarray.Dataset:
        """Return what `columns` does as a Dataset of the dimension ``synapse``.

        Its coordinates are ``pre`` and ``post``, the uids of the ends.
        """
        xr, columns = needed("xarray"), self.columns()
        units = {"delay": {"units": "s"}}
        ends = {name: ("synapse", columns.pop(name)) for name in ("pre", "post")}
        data = {name: ("synapse", values, units.get(name, {})) for name, values in columns.items()}
        return xr.Dataset(data, ends, self._attributes())

    def _attributes(self) -> dict[str, Any]:
        """Return what tables tell of the connections as a whole."""
        return {"connections": self.name}
