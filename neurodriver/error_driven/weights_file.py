"""Weights and averages of a network in an HDF5 file, to continue a training later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neurodriver.errors import Faults, NeurodriverError, quoted
from neurodriver.io.write import complete_or_none

Columns = Mapping[str, Mapping[str, NDArray[np.float64]]]

FORMAT = "neurodriver weights of layers 1"


def write_columns(path: Path, columns: Columns, trials: int) -> None:
    """Write arrays by group and name. The file gets its name when it is complete.

    Raises
    ------
    NeurodriverError
        If it cannot be written.
    """
    from ..io.hdf5_files import written_hdf5

    with complete_or_none(path) as part, written_hdf5(part) as file:
        file.attrs["format"], file.attrs["trials"] = FORMAT, trials
        for group, some in columns.items():
            for name, values in some.items():
                file.create_dataset(f"{group}/{name}", data=values)


def read_columns(path: Path, expected: Columns) -> tuple[Columns, int]:
    """Return the arrays of a file, and the number of trials.

    Parameters
    ----------
    expected : mapping
        Group -> name -> array. The arrays of the file must have these names and shapes.

    Raises
    ------
    NeurodriverError
        With all faults: a file of another kind, arrays that are missing or have another shape, and
        values that are not finite.
    """
    import h5py

    from ..io.hdf5_files import open_hdf5, reading

    faults = Faults(str(path))
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    with reading(path, NeurodriverError), open_hdf5(path, NeurodriverError) as file:
        if file.attrs.get("format") != FORMAT:
            say = "holds no weights of layers; give a file that Trainer.save has written"
            raise NeurodriverError(f"{path}: {say}")
        for group, some in expected.items():
            for name, values in some.items():
                where = f"{group}/{name}"
                one = file.get(where)
                if not isinstance(one, h5py.Dataset) or one.shape != values.shape:
                    got = f"shape {one.shape}" if isinstance(one, h5py.Dataset) else "nothing"
                    faults.add(f"{quoted(where)}: needs shape {values.shape} (got {got})")
                    continue
                column = np.asarray(one[()], np.float64)
                if not np.isfinite(column).all():
                    faults.add(f"{quoted(where)}: holds numbers that are not finite")
                found.setdefault(group, {})[name] = column
        trials = int(file.attrs["trials"])
    if faults.count:
        raise NeurodriverError(faults.report())
    return found, trials
