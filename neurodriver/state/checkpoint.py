"""``Snapshot`` and circuit <-> a checkpoint, an HDF5 file.

A checkpoint is a circuit file (`io.hdf5`) with one more group, ``state``. Its attributes are
``version``, ``step``, ``dt`` (s), ``dtype``, ``seed``, ``namespace`` of the random numbers,
``inputs`` (text), ``circuit_digest``, and ``digest``: SHA-256 of all that the group holds. Groups
are numbered:

* ``groups/<i>``: attribute ``name`` of the model; ``uids`` (n,), unless they are
  ``<name>/<number>``; ``states/<name>`` (n,); ``rows/<variable>`` (r, n), row j of step k - j;
  ``sub_units/<name>/values`` and ``counts``; ``arrivals/<access>/sums`` (steps, n) and ``unit``.
* ``injected/<variable>``: ``uids`` and ``rows``.
* ``copies/<b>``, for each copy b > 0 of a batch: its ``seed``, ``groups`` and ``injected``.
* ``batch``, of a batch: ``weight_scale`` (copies,), and ``parameters/<i>``, (copies, 1) or
  (copies, n), with the attributes ``group`` (number) and ``name``.
* Where several LPUs were simulated together: ``sent/<variable>``: ``lpus``, ``ports``, ``rows`` and
  ``counts``; and ``lpus``, a table with a row for each LPU: ``id``, ``digest`` and ``inputs``.
* ``learned/<connections>``, where connections learn: attributes ``learns`` and ``clamped``;
  ``source``, ``arrival``, ``target``, ``spikes``, ``level``, ``dosed``, ``synapses/<name>``,
  ``pre/<trace>`` and ``post/<trace>``, as `LearnedState` has them.

The file takes its name when it is complete. A kill while it is written leaves the one before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, hash_of
from ..errors import StateError
from ..io.columns import put, shown_name, stored_name
from ..io.hdf5 import read_hdf5, write_hdf5
from ..io.hdf5_files import open_hdf5, reading, written_hdf5
from ..io.write import complete_or_none
from ..plan.copies import Variants
from .learned import LEARNED_COLUMNS, learned_columns
from .snapshot import (
    Arrivals,
    GroupState,
    InjectedRows,
    LearnedState,
    Ragged,
    SentRows,
    Snapshot,
)

VERSION = 1


def write_checkpoint(
    path: Path,
    circuit: Circuit,
    snapshots: Sequence[Snapshot],
    namespace: str,
    inputs: str,
    variants: Variants | None = None,
) -> None:
    """Write a checkpoint.

    Parameters
    ----------
    circuit : Circuit
        With the parameters and connections that it has at this step.
    snapshots : sequence of Snapshot
        One; or those of the copies of a batch.
    namespace : str
        Of the random numbers.
    inputs : str
        What injects where, in words; a run that goes on compares it with its own.
    variants : Variants, optional
        The copies of a batch, with the parameters that they have at this step.

    Raises
    ------
    NeurodriverError
        When the file cannot be written.
    """
    with complete_or_none(path) as part:
        write_hdf5(circuit, part)
        _write_state(part, snapshots, namespace, inputs, circuit.digest, variants)


@dataclass(frozen=True)
class SavedLPU:
    """One of several LPUs: its id, the digest of its circuit, and what injects where, in words."""

    id: str
    digest: str
    inputs: str


def write_state(path: Path, snapshots: Sequence[Snapshot], lpus: Sequence[SavedLPU]) -> str:
    """Write a checkpoint of LPUs without their circuits: its group ``state`` alone.

    Returns
    -------
    str
        The digest of the state.
    """
    with complete_or_none(path) as part:
        return _write_state(part, snapshots, "", "", "", lpus=lpus)


def _write_state(
    part: Path,
    snapshots: Sequence[Snapshot],
    namespace: str,
    inputs: str,
    circuit_digest: str,
    variants: Variants | None = None,
    lpus: Sequence[SavedLPU] = (),
) -> str:
    first, *others = snapshots
    mode = "r+" if part.stat().st_size else "w"  # behind a circuit, or alone
    with written_hdf5(part, mode, libver=("v110", "v110")) as file:
        state = file.create_group("state")
        head = {"version": VERSION, "namespace": namespace, "inputs": inputs}
        state.attrs.update({**head, "circuit_digest": circuit_digest})
        _put_snapshot(state, first)
        for copy, snapshot in enumerate(others, 1):
            _put_snapshot(state.create_group(f"copies/{copy}"), snapshot)
        if variants is not None:
            _put_variants(state.create_group("batch"), variants)
        for column in ("id", "digest", "inputs") if lpus else ():
            texts = np.array([getattr(one, column) for one in lpus], np.str_)
            put(state.require_group("lpus"), column, texts)
        made = digest_of(state, HEAD)
        state.attrs["digest"] = made
        return made


def _put_variants(at: h5py.Group, variants: Variants) -> None:
    if variants.scales is not None:
        put(at, "weight_scale", variants.scales)
    for i, ((number, name), column) in enumerate(variants.columns.items()):
        put(at.require_group("parameters"), str(i), column)
        at[f"parameters/{i}"].attrs.update({"group": number, "name": name})


def _put_snapshot(state: h5py.Group, snapshot: Snapshot) -> None:
    state.attrs.update({n: getattr(snapshot, n) for n in ("step", "dt", "dtype")})
    state.attrs["seed"] = np.uint64(snapshot.seed)
    groups = state.create_group("groups")
    for number, group in enumerate(snapshot.groups):
        at = groups.create_group(str(number))
        at.attrs.update({"name": group.name, "count": len(group.uids)})
        if not np.array_equal(group.uids, _numbered(group.name, len(group.uids))):
            put(at, "uids", group.uids)
        for name, columns in {"states": group.states, "rows": group.rows}.items():
            _put_all(at.create_group(name), columns)
        for name, ragged in group.sub_units.items():
            one = at.create_group(f"sub_units/{stored_name(name)}")
            _put_all(one, {"values": ragged.values, "counts": ragged.counts})
        for name, arrivals in group.arrivals.items():
            one = at.create_group(f"arrivals/{stored_name(name)}")
            _put_all(one, {"sums": arrivals.sums, "unit": arrivals.unit})
    injected = state.create_group("injected")
    for variable, rows in snapshot.injected.items():
        one = injected.create_group(stored_name(variable))
        _put_all(one, {"uids": rows.uids, "rows": rows.rows})
    for variable, sent in snapshot.sent.items():
        _put_all(state.create_group(f"sent/{stored_name(variable)}"), vars(sent))
    for name, one_state in snapshot.learned.items():
        numbers = {"learns": one_state.learns, "clamped": one_state.clamped}
        state.create_group(f"learned/{stored_name(name)}").attrs.update(numbers)
    for name, place, column in learned_columns(snapshot.learned):
        head, _, last = place.rpartition("/")
        at = state.require_group(f"learned/{stored_name(name)}/{head}")
        put(at, last, column)


def _put_all(at: h5py.Group, columns: Mapping[str, NDArray[Any]]) -> None:
    for name, column in columns.items():
        put(at, name, column)


def _numbered(name: str, count: int) -> NDArray[np.str_]:
    """Return the uids that components get where nobody names them."""
    return np.strings.add(f"{name}/", np.arange(count).astype("U"))


class StoredState:
    """The state that a checkpoint holds.

    Attributes
    ----------
    snapshots : tuple of Snapshot
        One; or those of the copies of a batch.
    variants : Variants or None
        The copies of a batch.
    lpus : tuple of SavedLPU
        Of a file that `write_state` wrote.

    Raises
    ------
    NeurodriverError
        For a file that is missing, damaged, or no checkpoint of this version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with open_hdf5(path) as file, reading(path, StateError):
            state = file.get("state")
            if not isinstance(state, h5py.Group):
                raise StateError(f"{path}: no checkpoint: there is no group 'state'; see LPU.save")
            head = dict(state.attrs)
            if head.get("version") != VERSION:
                fault = f"has the version {head.get('version')!s:.20} of the format"
                raise StateError(f"{path}: {fault}; this program reads {VERSION}")
            if digest_of(state, HEAD) != head.get("digest"):
                raise StateError(f"{path}: damaged: the state differs from its digest")
            copies = [state[f"copies/{b}"] for b in range(1, len(state.get("copies", ())) + 1)]
            self.snapshots = tuple(_snapshot(one) for one in (state, *copies))
            self.variants = self._variants(state) if "batch" in state else None
            names = ("namespace", "inputs", "circuit_digest", "digest")
            self.namespace, self.inputs, self.circuit_digest, self.digest = (
                str(head[name]) for name in names
            )
            table = state.get("lpus", {})
            columns = [_column(table[n]).tolist() for n in table and ("id", "digest", "inputs")]
            self.lpus = tuple(map(SavedLPU, *columns)) if columns else ()

    def _variants(self, state: Any) -> Variants:
        seeds, at = tuple(one.seed for one in self.snapshots), state["batch"]
        stored = [at[f"parameters/{i}"] for i in range(len(at.get("parameters", ())))]
        columns = {(int(p.attrs["group"]), str(p.attrs["name"])): _column(p) for p in stored}
        scales = _column(at["weight_scale"]) if "weight_scale" in at else None
        return Variants(seeds, columns, scales)


class Checkpoint(StoredState):
    """What a checkpoint of one LPU holds.

    Parameters
    ----------
    path : Path
    models : NDComponent subclass, module, path, or nested sequence of these
        Models beside the shipped ones.

    Attributes
    ----------
    circuit : Circuit
        And the attributes of `StoredState`.
    """

    def __init__(self, path: Path, models: Any = ()) -> None:
        super().__init__(path)
        self.circuit = read_hdf5(path, models)
        if self.circuit_digest not in (self.circuit.digest, hash_of(self.circuit, layers=False)):
            raise StateError(f"{path}: damaged: the circuit differs from its digest")


def _snapshot(state: Any) -> Snapshot:
    head = state.attrs
    groups = [_group(state["groups"][str(number)]) for number in range(len(state["groups"]))]
    injected = {
        shown_name(name): InjectedRows(_column(at["uids"]), _column(at["rows"]))
        for name, at in state["injected"].items()
    }
    numbers = int(head["step"]), float(head["dt"]), str(head["dtype"]), int(head["seed"])
    sent = {
        shown_name(name): SentRows(**{part: _column(one) for part, one in at.items()})
        for name, at in state.get("sent", {}).items()
    }
    learned = {shown_name(name): _learned(at) for name, at in state.get("learned", {}).items()}
    return Snapshot(*numbers, tuple(groups), injected, sent, learned)


def _learned(at: Any) -> LearnedState:
    columns: dict[str, Any] = {name: _column(at[name]) for name in LEARNED_COLUMNS}
    named: dict[str, Any] = {
        part: {shown_name(name): _column(one) for name, one in at.get(part, {}).items()}
        for part in ("synapses", "pre", "post")
    }
    numbers: dict[str, Any] = {"learns": bool(at.attrs["learns"])}
    numbers["clamped"] = int(at.attrs["clamped"])
    return LearnedState(**numbers, **columns, **named)


def _group(at: Any) -> GroupState:
    name = str(at.attrs["name"])
    uids = _column(at["uids"]) if "uids" in at else _numbered(name, int(at.attrs["count"]))
    states, rows = (
        {shown_name(n): _column(one) for n, one in at[kind].items()} for kind in ("states", "rows")
    )
    sub_units = {
        shown_name(n): Ragged(_column(one["values"]), _column(one["counts"]))
        for n, one in at.get("sub_units", {}).items()
    }
    arrivals = {
        shown_name(n): Arrivals(_column(one["sums"]), _column(one["unit"]))
        for n, one in at.get("arrivals", {}).items()
    }
    return GroupState(name, uids, states, sub_units, rows, arrivals)


def _column(found: Any) -> NDArray[Any]:
    out = found[()]
    if out.dtype.kind == "S":
        return np.strings.decode(out, "utf-8").astype(found.attrs["dtype"])
    return np.asarray(out)


HEAD = ("version", "namespace", "inputs", "step", "dt", "dtype", "seed", "circuit_digest")


def digest_of(state: Any, names: Sequence[str]) -> str:
    """Return the hash of all data sets of a group, with their names, and of some attributes."""
    made = hashlib.sha256()
    for name in names:
        made.update(f"{name}={state.attrs[name]};".encode())
    for name, found in sorted(_data_sets(state), key=lambda one: one[0]):
        values = np.ascontiguousarray(found[()])
        made.update(f"{name}:{values.dtype.str}{values.shape};".encode())
        made.update(values.tobytes())
    return made.hexdigest()


def _data_sets(group: Any) -> Iterator[tuple[str, Any]]:
    for one in group.values():
        if isinstance(one, h5py.Group):
            yield f"{one.name}:{sorted(one.attrs.items())}", np.empty(0)
            yield from _data_sets(one)
        else:
            yield one.name, one
