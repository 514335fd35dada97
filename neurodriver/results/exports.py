"""The methods of a recording that give objects of other packages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import checked_arguments, file_path, instance, optional, text, texts, truth
from ..circuit.circuit import Circuit
from . import export

if TYPE_CHECKING:
    import neo
    import pandas
    import xarray


OF_CIRCUIT = optional(instance(Circuit))


class RecordingExports:
    """What a `Recording` can be turned into."""

    @checked_arguments(variables=optional(texts))
    def to_xarray(self: Any, variables: str | Sequence[str] | None = None) -> xarray.Dataset:
        """Return variables as an `xarray.Dataset`; see `neurodriver.results.export`."""
        return export.to_xarray(self, variables)

    @checked_arguments(variable=text, uids=optional(texts))
    def to_pandas(
        self: Any, variable: str, uids: str | Sequence[str] | None = None
    ) -> pandas.DataFrame:
        """Return a variable as a `pandas.DataFrame`; see `neurodriver.results.export`."""
        return export.to_pandas(self, variable, uids)

    @checked_arguments(variables=optional(texts))
    def to_neo(self: Any, variables: str | Sequence[str] | None = None) -> neo.Block:
        """Return variables as a `neo.Block`; see `neurodriver.results.export`."""
        return export.to_neo(self, variables)

    @checked_arguments(
        path=file_path, variables=optional(texts), circuit=OF_CIRCUIT, overwrite=truth
    )
    def to_nwb(
        self: Any,
        path: str | os.PathLike[str],
        variables: str | Sequence[str] | None = None,
        circuit: Any = None,
        overwrite: bool = False,
        **session: Any,
    ) -> Path:
        """Write variables to a file of Neurodata Without Borders; see `neurodriver.results.nwb`."""
        # pynwb and this module are loaded when the first file is written.
        write = import_module("neurodriver.results.nwb").write_nwb
        written: Path = write(self, path, variables, circuit, overwrite, session)
        return written

    @checked_arguments(
        folder=file_path, variables=optional(texts), circuit=OF_CIRCUIT, overwrite=truth
    )
    def to_sonata(
        self: Any,
        folder: str | os.PathLike[str],
        variables: str | Sequence[str] | None = None,
        circuit: Any = None,
        network: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write SONATA files of spikes and reports; see `neurodriver.results.sonata`."""
        write = import_module("neurodriver.results.sonata").write_sonata
        written: Path = write(self, folder, variables, circuit, network, overwrite)
        return written

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Draw the recording.

        Parameters
        ----------
        path : path, optional
            The picture; its ending chooses the format (png, svg, pdf).
        **options
            ``variables``, ``uids``, ``title``, ``start``, ``stop``, ``ax``: see
            `neurodriver.plot_recording`.

        Returns
        -------
        matplotlib axes, Path or matplotlib Figure
            ``ax`` if it is given, else ``path`` if it is given, else the figure, which a
            notebook shows.
        """
        # Figures are loaded when the first one is drawn; `plot` is above this folder.
        return import_module("neurodriver.plot.recording").plot_recording(self, path, **options)
