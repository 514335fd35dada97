"""What old scripts get from a recording: by variable, by uid, or both."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import RequestError, near
from ..io.hdf5_files import written_hdf5
from ..io.write import complete_or_none

Times = Callable[[str], NDArray[np.float64]]
"""Times of the rows of a variable, s."""


def select(output: Mapping[str, Any], times: Times, var: Any = None, uids: Any = None) -> Any:
    """Return parts of a recording as the old ``get_output`` does.

    Parameters
    ----------
    output : mapping
        Variable -> ``{"data", "uids"}``; the data of events are ``{"time", "index"}``.
    times : callable
    var : str, optional
    uids : str, list, tuple or set of str, optional

    Returns
    -------
    dict
        Neither: ``output``. A variable alone: uid -> ``{"time", "data"}``, of events
        uid -> ``{"data": times}``. Uids alone: uid -> variable -> entry. Both: uid -> entry,
        None for a uid that was not recorded. An OrderedDict for a list or tuple of uids.
    """
    if var is not None and var not in output:
        known = ", ".join(output) or "none"
        raise RequestError(f"'{var}' was not recorded{near(str(var), output)}; known are {known}")
    if uids is None:
        if var is None:
            return output
        return {
            uid: _entry(output[var], times, var, i) for i, uid in enumerate(output[var]["uids"])
        }
    wanted = [uids] if isinstance(uids, str) else list(uids)
    places = {v: _places(output[v]["uids"]) for v in (output if var is None else [var])}
    kind: Any = OrderedDict if isinstance(uids, list | tuple) else dict
    if var is None:
        return kind(
            (u, {v: _entry(output[v], times, v, p[u]) for v, p in places.items() if u in p})
            for u in wanted
        )
    place = places[var]
    return kind(
        (u, _entry(output[var], times, var, place[u]) if u in place else None) for u in wanted
    )


def _places(uids: Any) -> dict[str, int]:
    return {uid: i for i, uid in enumerate(uids)}


def _entry(output: Mapping[str, Any], times: Times, var: str, column: int) -> dict[str, Any]:
    data = output["data"]
    if isinstance(data, Mapping):
        return {"data": np.asarray(data["time"])[np.asarray(data["index"]) == column]}
    return {"time": times(var), "data": np.asarray(data)[:, column].copy()}


def write_output(filename: Any, output: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
    """Write variables to an HDF5 file in the layout of the old library.

    Parameters
    ----------
    output : mapping
        As for `select`.
    attributes : mapping
        Of the data set ``metadata``.

    Raises
    ------
    NeurodriverError
        If the file cannot be written.
    """
    with complete_or_none(Path(filename)) as part, written_hdf5(part) as file:
        file.create_dataset("metadata", (), "i")
        file["metadata"].attrs.update(attributes)
        for variable, entry in output.items():
            group, data = file.create_group(variable), entry["data"]
            group["uids"] = uid_bytes(entry["uids"])
            if isinstance(data, Mapping):
                for name, dtype in (("time", np.float64), ("index", np.int32)):
                    values = np.asarray(data[name], dtype=dtype)
                    group.create_dataset(f"data/{name}", data=values, maxshape=(None,))
            else:
                rows = np.asarray(data)
                # a width of 0 cannot be a limit
                limits = (None, rows.shape[1] or None)
                group.create_dataset("data", data=rows, maxshape=limits, chunks=True)


def uid_bytes(uids: Any) -> NDArray[np.bytes_]:
    """Return uids as HDF5 holds them, (n,) bytes in UTF-8."""
    texts = [str(uid).encode() for uid in uids]
    return np.array(texts, dtype=f"S{max(map(len, texts), default=0) or 1}")
