"""A recording -> objects of xarray, pandas and Neo, with times, uids and units."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RecordingError
from ..io.optional import needed as needed
from ..model.kinds import usually_event
from .events import Events
from .variable import Variable

if TYPE_CHECKING:
    import neo
    import pandas
    import xarray

    from .recording import Recording


def to_xarray(recording: Recording, variables: str | Sequence[str] | None = None) -> xarray.Dataset:
    """Return variables as a Dataset whose rows are read when they are used.

    Parameters
    ----------
    recording : Recording
        Has to stay open until the values have been read, for instance by ``load()``.
    variables : str or sequence of str, optional
        All by default.

    Returns
    -------
    xarray.Dataset
        Variables of rows have the dimensions ``time`` (s) and ``uid``, and the attribute
        ``units``. A variable with other uids or times than the first one has dimensions of its
        own, ``uid_g`` for ``g``. Events are ``spike_state_time`` (s) and ``spike_state_index``,
        the position in the coordinate ``spike_state_uid``; they are read at once.
    """
    xr = needed("xarray")
    data: dict[str, Any] = {}
    coordinates: dict[str, Any] = {}
    for name in _chosen(recording, variables):
        part = recording[name]
        if isinstance(part, Events):
            time, index = part.read()
            at = f"{name}_event"
            data[f"{name}_time"] = (at, time, {"units": "s"})
            data[f"{name}_index"] = (at, index, {"description": f"position in {name}_uid"})
            coordinates[f"{name}_uid"] = np.array(part.uids, dtype=str)
            continue
        rows = _dimension(coordinates, "time", name, part.time)
        columns = _dimension(coordinates, "uid", name, np.array(part.uids, dtype=str))
        data[name] = xr.Variable((rows, columns), _lazy(xr, part), {"units": part.unit})
    units = {k: {"units": "s"} if k.startswith("time") else {} for k in coordinates}
    axes = {k: (k, values, units[k]) for k, values in coordinates.items()}
    return xr.Dataset(data, axes, _attributes(recording))


def to_pandas(
    recording: Recording, variable: str, uids: str | Sequence[str] | None = None
) -> pandas.DataFrame:
    """Return a variable as a table.

    Parameters
    ----------
    recording : Recording
    variable : str
    uids : str or sequence of str, optional
        The components, in the order wanted; all by default.

    Returns
    -------
    pandas.DataFrame
        Of rows: index ``time`` (s), a column per uid, unit in ``attrs["units"]``. Of events: the
        columns ``time`` (s) and ``uid`` (categorical), a line per event.
    """
    pd = needed("pandas")
    part: Any = recording[variable]
    if uids is not None:
        part = part[[uids] if isinstance(uids, str) else list(uids)]
    if isinstance(part, Events):
        time, index = part.read()
        frame = pd.DataFrame({"time": time, "uid": pd.Categorical.from_codes(index, part.uids)})
    else:
        rows = pd.Index(part.time, name="time")
        frame = pd.DataFrame(part[:], index=rows, columns=pd.Index(part.uids, name="uid"))
    frame.attrs = {"units": part.unit, **_attributes(recording)}
    return frame


def to_neo(recording: Recording, variables: str | Sequence[str] | None = None) -> neo.Block:
    """Return variables as a Block of one segment; everything is read.

    Parameters
    ----------
    recording : Recording
    variables : str or sequence of str, optional
        All by default.

    Returns
    -------
    neo.Block
        An AnalogSignal per variable of rows, its uids in ``array_annotations["uid"]``; a
        SpikeTrain per component of ``spike_state`` and of every other variable of events, with
        the annotations ``uid`` and ``variable``. A unit that Neo cannot read makes a signal
        without dimension, with the annotation ``unit``. Where components have populations, each
        one is a Group with its spike trains; trains have the annotation ``population``, and
        signals ``array_annotations["population"]``.
    """
    neo, quantities = needed("neo"), needed("quantities")
    block = neo.Block(name=Path(recording.name).stem, file_origin=recording.name)
    block.annotate(**_attributes(recording))
    segment = neo.Segment(name="run")
    block.segments.append(segment)
    end = recording.duration
    for name in _chosen(recording, variables):
        part = recording[name]
        if usually_event(name) and isinstance(part, Variable):
            part = recording.as_events(name)
        if isinstance(part, Events):
            _add_trains(neo, block, part, name, end)
            continue
        units, annotations = _unit(quantities, part.unit)
        start = part.times(0, 1)[0] if len(part) else 0.0
        signal = neo.AnalogSignal(
            part[:],
            units=units,
            t_start=start * quantities.s,
            sampling_period=part.dt * quantities.s,
            name=name,
            array_annotations=_labels(part),
            **annotations,
        )
        segment.analogsignals.append(signal)
    return block


def _labels(part: Variable | Events) -> dict[str, Any]:
    """Return uids of the columns, and their populations where they have some."""
    out = {"uid": np.array(part.uids, dtype=str)}
    if part.populations:
        out["population"] = populations_of(part)
    return out


def populations_of(part: Variable | Events) -> np.ndarray:
    """Return the population of each column, empty where it has none, (n,) str."""
    width = max(map(len, part.populations), default=1)
    names = np.zeros(len(part.uids), dtype=f"U{width}")
    for name, columns in part.populations.items():
        names[columns] = name
    return names


def _add_trains(neo: Any, block: Any, part: Events, variable: str, end: float) -> None:
    """Add a train for each component of some events, and a group for each population."""
    segment, names = block.segments[0], populations_of(part)
    groups: dict[str, Any] = {group.name: group for group in block.groups}
    for (uid, times), population in zip(part.trains().items(), names.tolist(), strict=True):
        train = neo.SpikeTrain(times, t_stop=end, units="s", name=uid)
        train.annotate(uid=uid, variable=variable)
        segment.spiketrains.append(train)
        if population:
            train.annotate(population=population)
            if population not in groups:
                groups[population] = neo.Group(name=population)
                block.groups.append(groups[population])
            groups[population].spiketrains.append(train)


def _chosen(recording: Recording, variables: str | Sequence[str] | None) -> Sequence[str]:
    if variables is None:
        return recording.variables
    return [variables] if isinstance(variables, str) else list(variables)


def _dimension(coordinates: dict[str, Any], kind: str, variable: str, values: Any) -> str:
    """Return the name of the dimension with these coordinates, added where there is none."""
    for name in (kind, f"{kind}_{variable}"):
        if np.array_equal(coordinates.setdefault(name, values), values):
            return name
    raise RecordingError(f"'{variable}' stands for a variable and for a dimension; export it alone")


def _attributes(recording: Recording) -> dict[str, Any]:
    return {**recording.attributes, "source": recording.name}


def _unit(quantities: Any, text: str) -> tuple[Any, dict[str, str]]:
    """Return a unit of `quantities`, and annotations that tell one it does not know."""
    if not text:
        return quantities.dimensionless, {}
    try:
        return quantities.CompoundUnit(text) if "/" in text else quantities.Quantity(1, text), {}
    except (LookupError, ValueError, SyntaxError):
        return quantities.dimensionless, {"unit": text}


def _lazy(xr: Any, variable: Variable) -> Any:
    """Wrap rows as xarray wraps its files: read when they are used."""
    indexing = needed("xarray.core.indexing")

    class RowsOnDemand(xr.backends.BackendArray):  # type: ignore[misc]
        """The one protocol of xarray for values that are read later."""

        shape, dtype = variable.shape, variable.dtype

        def __getitem__(self, key: Any) -> Any:
            support = indexing.IndexingSupport.BASIC
            return indexing.explicit_indexing_adapter(key, self.shape, support, self._rows)

        def _rows(self, key: tuple[Any, ...]) -> Any:
            return variable[key]

    return indexing.LazilyIndexedArray(RowsOnDemand())
