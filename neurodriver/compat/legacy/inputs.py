"""Legacy input files: one array, one column for each neuron that was marked ``extern``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit
from ...errors import InputError, quoted
from ...inputs.array import ArrayInput
from ...io.hdf5_files import StoredData, open_hdf5, reading
from .models import CURRENTS


class LegacyInput(ArrayInput):
    """Injects the currents of a legacy input file into a circuit of the legacy form.

    Parameters
    ----------
    filename : str or Path
        HDF5 with the data set ``/array`` of shape (steps, n): row r enters at step r. Column j
        belongs to the ``extern`` neuron with the j-th smallest id.
    circuit : Circuit
        Read from a legacy file, or from one that ``neurodriver convert`` wrote.
    mode : {0, 1}
        After the last row: 0 injects zero, 1 repeats the last row.

    Raises
    ------
    InputError

    Notes
    -----
    Currents into MorrisLecar and MorrisLecar_a are multiplied by 1000, those into other models by
    1; the module ``models`` says why. The old library showed row r in row r of its output; here it
    first shows in row r + 1, as that of every input.
    """

    def __init__(self, filename: str | Path, circuit: Circuit, mode: int = 0) -> None:
        self.filename = Path(filename)
        uids, factors = extern(circuit)
        self._file = open_hdf5(self.filename, InputError, locking=None)
        try:
            with reading(filename, InputError):
                found = self._file.get("array")
            data = found
            if isinstance(found, h5py.Dataset):
                data = StoredData(found, f"{filename}, '/array'", InputError)
            if data is None or hasattr(data, "keys"):
                raise InputError(f"{filename}: no data set '/array' (steps, neurons)")
            if len(data.shape) != 2 or data.shape[1] != len(uids):
                want = f"(steps, {len(uids)}): one column per 'extern' neuron of {circuit.name}"
                raise InputError(f"{filename}, '/array': shape {want} is needed, got {data.shape}")
            rows = _Scaled(data, factors) if data.dtype.kind in "fiu" else data
            super().__init__({"I": (uids, rows)}, mode, name=f"{filename}, '/array'")
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._file.close()


class _Scaled:
    """Rows of a data set times a factor for each column, made as they are asked for."""

    def __init__(self, data: Any, factors: NDArray[np.float64]) -> None:
        self._data, self._factors = data, factors
        self.shape, self.dtype = data.shape, np.dtype(np.float64)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        return np.asarray(self._data[rows]) * self._factors


def extern(circuit: Circuit) -> tuple[list[str], NDArray[np.float64]]:
    """Return the ``extern`` neurons by increasing id, and the factors of their currents.

    Raises
    ------
    InputError
        When there are none, or when they are not of a converted circuit.
    """
    found: list[tuple[int, str, float]] = []
    for group in circuit.groups:
        for uid in group.uids[group.labels["extern"]].tolist() if "extern" in group.labels else ():
            if group.name not in CURRENTS or not uid.lstrip("-").isdecimal():
                say = "a legacy input needs integer ids and the models of the legacy form"
                raise InputError(f"{circuit.name}: node {quoted(uid)} ({group.name}): {say}")
            found.append((int(uid), uid, CURRENTS[group.name]))
    if not found:
        raise InputError(f"{circuit.name}: no neuron is 'extern', so a legacy input has no place")
    found.sort()
    return [uid for _, uid, _ in found], np.array([factor for _, _, factor in found])


class LegacyFile:
    """The layout of legacy input files, as a `neurodriver.inputs.file.InputFile`."""

    def reads(self, file: Any) -> bool:
        """Whether there is a data set ``/array``."""
        return "array" in file

    def make(self, path: Path, circuit: Circuit, mode: int) -> LegacyInput:
        """Return the input of a file."""
        return LegacyInput(path, circuit, mode)
