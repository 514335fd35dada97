"""Arrays in HDF5 files, in the data set ``/array``: the old ``simpleio``."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from ..errors import InputError, RecordingError
from ..io.hdf5_files import open_hdf5, reading, written_hdf5
from ..io.write import complete_or_none

NAME = "array"


def write_array(
    arr: Any, filename: str | os.PathLike[str], mode: str = "w", complevel: int = 0
) -> None:
    """Write an array of numbers, or append it to one that a file holds.

    Parameters
    ----------
    arr : ndarray
        Numbers, at least one axis; an array of a GPU (with ``get()``) is copied from there.
    filename : path
    mode : {'w', 'a'}
        'w' makes a new file; 'a' appends along the first axis, and makes the array if there is
        none.
    complevel : int
        Compression by gzip, 0 (none) to 9.

    Raises
    ------
    InputError
        For another mode, something else than numbers, or a shape that does not fit.
    RecordingError
        When the file cannot be written.
    """
    if mode not in ("w", "a"):
        raise InputError(f"mode: 'w' or 'a' needed, got {mode!r}")
    if not 0 <= complevel <= 9:
        raise InputError(f"complevel: 0 to 9 needed, got {complevel!r}")
    values = np.asarray(arr.get() if hasattr(arr, "get") else arr)
    if values.dtype.kind not in "biufc" or values.ndim < 1:
        raise InputError(
            f"{filename}: an array of numbers with at least one axis needed, "
            f"got {values.ndim} axes of {values.dtype}"
        )
    compression = {"compression": "gzip", "compression_opts": complevel} if complevel else {}
    try:
        with ExitStack() as stack:
            path, how = Path(filename), "r+"  # the file grows in its place
            if mode == "w" or not path.exists():
                path, how = stack.enter_context(complete_or_none(path, RecordingError)), "w"
            file = stack.enter_context(written_hdf5(path, how))
            if NAME in file:
                dataset_append(file[NAME], values)
            else:
                limits = (None, *values.shape[1:])
                file.create_dataset(NAME, data=values, maxshape=limits, chunks=True, **compression)
    except RecordingError:
        raise
    except OSError as error:
        raise RecordingError(f"{filename}: cannot be written: {error}") from error


def read_array(filename: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """Read the array of a file.

    Raises
    ------
    RecordingError
        When there is no such file, or no ``/array`` in it.
    """
    with open_hdf5(Path(filename), RecordingError) as file, reading(filename, RecordingError):
        if NAME not in file:
            raise RecordingError(f"{filename}: no data set '/{NAME}'")
        values: npt.NDArray[Any] = file[NAME][()]
        return values


def dataset_append(dataset: Any, arr: npt.NDArray[Any]) -> None:
    """Append an array to a data set along its first axis.

    Parameters
    ----------
    dataset : h5py.Dataset
        May grow along its first axis.
    arr : ndarray
        The other axes have the lengths of the data set's.

    Raises
    ------
    InputError
        When the shapes do not fit, or the data set cannot grow.
    """
    if not isinstance(dataset, h5py.Dataset) or not isinstance(arr, np.ndarray):
        raise InputError(
            f"a data set and an array needed, got {type(dataset).__name__} and {type(arr).__name__}"
        )
    if arr.ndim != dataset.ndim or arr.shape[1:] != dataset.shape[1:]:
        raise InputError(f"{dataset.name}: shape {dataset.shape}; {arr.shape} cannot be appended")
    length = dataset.shape[0]
    if dataset.maxshape[0] is not None and length + len(arr) > dataset.maxshape[0]:
        raise InputError(f"{dataset.name}: cannot grow beyond {dataset.maxshape[0]} rows")
    dataset.resize(length + len(arr), axis=0)
    dataset[length:] = arr
