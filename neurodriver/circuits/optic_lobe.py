"""Turn the tables of the fly's optic lobe into a circuit of any size.

The optic lobe is a hexagonal lattice of columns with oblique coordinates u, v. The 65 cell types of
Lappalainen et al. (2024) repeat in each column or in each few; a filter says for a pair of types
which offsets are connected and by how many synapses. Everything here is NumPy columns: one entry
per cell or per edge.

The cells are graded: ``tau dV/dt = -V + bias + sum(weight * max(V_source, 0)) + light``, where
light, a luminance in [0, 1], enters the photoreceptors R1 to R8.

References
----------
.. [1] Lappalainen, J. K. et al. Connectome-constrained networks predict neural activity across the
   fly visual system. Nature 634, 1132-1140 (2024). https://doi.org/10.1038/s41586-024-07939-3
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neurodriver.circuit import Axis, Circuit, Connections, Offsets, Population, Projection
from neurodriver.circuit.cut import Parts, cut
from neurodriver.circuits.example import data_folder
from neurodriver.components.membranes.graded_neuron import GradedNeuron
from neurodriver.errors import CircuitError, near, quoted

if TYPE_CHECKING:
    from neurodriver.ports import Pattern

PARTS = ("retina", "lamina", "medulla", "lobula_complex")
"""The neuropils, as LPUs."""

_RETINA = frozenset(f"R{number}" for number in range(1, 9))
_LAMINA = frozenset("L1 L2 L3 L4 L5 Lawf1 Lawf2 Am C2 C3 T1".split())
_LOBULA_COMPLEX = ("T4", "T5", "CT1(Lo1)")


@dataclass(frozen=True, slots=True, eq=False)
class OpticLobe:
    """The circuit on a hexagon of columns.

    Cells are ordered by type, then by (u, v). Edges are ordered by target, then by source, so that
    they are the rows of a compressed sparse matrix as they stand.

    Attributes
    ----------
    extent
        Radius of the hexagon in columns.
    type_names
        Names of the cell types, ``(types,) str``.
    is_input, is_output
        Types that receive light, and types that the model reads out, ``(types,) bool``.
    cell_type
        Index of each cell's type, ``(cells,) int32``.
    u, v
        Column of each cell, ``(cells,) int32``.
    time_constant
        ``(cells,) float64, ms``.
    bias
        Potential at rest without input, ``(cells,) float64``, arbitrary units.
    source, target
        Cells that each edge joins, ``(edges,) int32``.
    weight
        Input per unit of the source's rectified potential, ``(edges,) float64``; inhibitory edges
        are negative (some trained strengths are zero).
    inhibitory
        Sign of each edge, ``(edges,) bool``, also where the weight is zero.
    """

    extent: int
    type_names: NDArray[np.str_]
    is_input: NDArray[np.bool_]
    is_output: NDArray[np.bool_]
    cell_type: NDArray[np.int32]
    u: NDArray[np.int32]
    v: NDArray[np.int32]
    time_constant: NDArray[np.float64]
    bias: NDArray[np.float64]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    weight: NDArray[np.float64]
    inhibitory: NDArray[np.bool_]

    @property
    def cell_count(self) -> int:
        """Number of cells."""
        return self.u.size

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return self.source.size

    @property
    def uids(self) -> NDArray[np.str_]:
        """Names of the cells such as ``"T4a/0/-3"`` (type, u, v), ``(cells,) str``."""
        numbers = np.array([f"/{number}" for number in range(-self.extent, self.extent + 1)])
        place = np.char.add(numbers[self.u + self.extent], numbers[self.v + self.extent])
        return np.char.add(self.type_names[self.cell_type], place)

    @property
    def input_cells(self) -> NDArray[np.intp]:
        """Indices of the cells that receive light, ``(inputs,) int64``."""
        return np.flatnonzero(self.is_input[self.cell_type])

    def cells_of(self, name: str) -> NDArray[np.intp]:
        """Return the indices of the cells of a type, ``(n,) int64``, ordered by (u, v)."""
        found = np.flatnonzero(self.type_names == name)
        if found.size == 0:
            raise KeyError(f"no cell type {name!r}; known: {', '.join(self.type_names)}")
        return np.flatnonzero(self.cell_type == found[0])

    def central(self, name: str) -> int:
        """Return the index of the cell of a type in the column (0, 0)."""
        cells = self.cells_of(name)
        return int(cells[(self.u[cells] == 0) & (self.v[cells] == 0)][0])

    def columns(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return u and v of the columns, each ``(columns,) int32``, ordered by (u, v)."""
        return lattice(self.extent)

    @staticmethod
    def position(u: ArrayLike, v: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return x and y of columns, in distances between neighbouring columns.

        The frame is flyvis's: y points up, against u. In it the published preferred directions of
        T4 and T5 are 180 (a), 0 (b), 90 (c) and 270 degrees (d).
        """
        oblique = np.asarray(v, dtype=np.float64)
        return oblique * (np.sqrt(3.0) / 2.0), -(np.asarray(u, dtype=np.float64) + oblique / 2.0)


class _Filters(NamedTuple):
    """The rows of the filters that end on one type, sorted by source type, -du, -dv."""

    source_type: NDArray[np.int32]
    du: NDArray[np.int32]
    dv: NDArray[np.int32]
    weight: NDArray[np.float64]
    inhibitory: NDArray[np.bool_]


def lattice(
    extent: int, kind: str = "stride", a: int = 1, b: int = 1
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the columns of a hexagon in which a type has a cell.

    Parameters
    ----------
    extent
        Radius of the hexagon in columns: ``|u|``, ``|v|`` and ``|u + v|`` are at most this.
    kind
        ``"stride"``: where ``u % a == 0`` and ``v % b == 0``; ``"tile"``: the same with a for both;
        ``"single"``: at (0, 0) alone.
    a, b
        Strides in columns.

    Returns
    -------
    u, v : (cells,) int32
        Ordered by (u, v).
    """
    if kind not in ("stride", "tile", "single"):
        raise ValueError(f"kind must be 'stride', 'tile' or 'single' (got {kind!r})")
    if extent < 0:
        raise ValueError(f"extent must not be negative (got {extent})")
    side = np.arange(-extent, extent + 1, dtype=np.int32)
    u, v = np.meshgrid(side, side, indexing="ij")
    inside = np.abs(u + v) <= extent
    if kind == "single":
        inside &= (u == 0) & (v == 0)
    else:
        inside &= (u % a == 0) & (v % (a if kind == "tile" else b) == 0)
    return u[inside], v[inside]


def expand(extent: int, folder: Path | None = None) -> OpticLobe:
    """Build the circuit on a hexagon of columns.

    An offset (du, dv) of a filter joins the source cell in column (u, v) to the target cell in
    column (u + du, v + dv) if both exist.

    Parameters
    ----------
    extent
        Radius of the hexagon in columns; 15 is the published model (721 columns).
    folder
        Where the tables are, by default `data_folder`.

    Returns
    -------
    OpticLobe
    """
    folder = data_folder("optic_lobe") if folder is None else folder
    types = _read(folder / "types.csv")
    kinds = zip(types["lattice"], types["a"], types["b"], strict=True)
    places = [lattice(extent, kind, int(a), int(b)) for kind, a, b in kinds]
    cell_type = np.repeat(np.arange(types.size, dtype=np.int32), [u.size for u, _ in places])
    u, v = (np.concatenate(columns) for columns in zip(*places, strict=True))
    edges = _edges(_read_filters(folder, types["type"].tolist()), extent, cell_type, u, v)
    constant, bias = 1e3 * types["time_constant_s"][cell_type], types["bias"][cell_type]
    takes, gives = types["input"] == 1, types["output"] == 1
    return OpticLobe(extent, types["type"], takes, gives, cell_type, u, v, constant, bias, *edges)


def circuit(extent: int) -> Circuit:
    """Return the circuit of an extent, ready to run.

    Each type of cell is a population. Node columns are ``type``, and ``u`` and ``v``, the place in
    the hexagon.

    Parameters
    ----------
    extent
        Radius of the hexagon in columns.
    """
    lobe = expand(extent)
    params = {"time_constant": lobe.time_constant, "bias": lobe.bias}
    edges = Connections("r", "r", lobe.source, lobe.target, data={"weight": lobe.weight})
    types = lobe.type_names[lobe.cell_type]
    columns = {"population": types, "type": types, "u": lobe.u, "v": lobe.v}
    groups = [(GradedNeuron, lobe.cell_count, params, lobe.uids, columns)]
    return Circuit.from_arrays(groups, [edges], name=f"optic lobe, extent {extent}")


def from_rules(extent: int, folder: Path | None = None, stored: bool | str = "auto") -> Circuit:
    """Return the circuit of an extent as populations on axes (u, v) and filters between them.

    The cells of a population are in the order of those of `circuit`, and have the same activity,
    bit by bit. Without stored connections memory does not depend on their number.

    Parameters
    ----------
    extent
        Radius of the hexagon in columns.
    folder
        Where the tables are, by default `data_folder`.
    stored
        Whether connections are stored, as `Projection` takes it.
    """
    folder = data_folder("optic_lobe") if folder is None else folder
    types, pairs = _read(folder / "types.csv"), _read(folder / "pairs.csv")
    cells = {str(row["type"]): _population(row, extent) for row in types}
    filters = _read(folder / "filters.csv")
    weight = pairs["sign"].astype(np.float64)[filters["pair"]] * filters["n_syn"]
    weight = weight * pairs["strength"][filters["pair"]]
    place = {name: number for number, name in enumerate(types["type"].tolist())}
    order = sorted(range(len(pairs)), key=lambda i: place[pairs["source"][i]])
    projections = []
    for i in order:
        source, target = str(pairs["source"][i]), str(pairs["target"][i])
        mine = filters["pair"] == i
        offsets = np.stack([filters["du"][mine], filters["dv"][mine]], axis=1)
        rule = Offsets(offsets, weight[mine])
        ends = cells[source], cells[target]
        projections.append(Projection(*ends, rule, name=f"{source} -> {target}", stored=stored))
    return Circuit([*cells.values()], projections, name=f"optic lobe, extent {extent}, by rules")


def _population(row: Any, extent: int) -> Population:
    """Return the cells of a type, a row of the table of types, on the columns of a hexagon."""
    a, b = int(row["a"]), int(row["a"] if row["lattice"] == "tile" else row["b"])
    if row["lattice"] == "single":
        a = b = 2 * extent + 1
    axes = {}
    for name, step in (("u", a), ("v", b)):
        reach = extent // step
        axes[name] = Axis.regular(2 * reach + 1, -reach * step, step)
    positions = [np.asarray(axis.positions) for axis in axes.values()]
    u, v = np.meshgrid(positions[0], positions[1], indexing="ij")
    numbers = {"time_constant": 1e3 * row["time_constant_s"], "bias": row["bias"]}
    mask = np.abs(u + v) <= extent
    return Population(GradedNeuron, name=str(row["type"]), axes=axes, mask=mask, **numbers)


def part_of(type_name: str) -> str:
    """Return which of `PARTS` holds the cells of a type.

    Cells are not cut: Tm and TmY, which lead from the medulla into the lobula complex, are in the
    medulla, and what they send goes through ports. T4 is with T5, its counterpart. The terminals of
    CT1 are two types and lie apart.
    """
    if type_name in _RETINA:
        return "retina"
    if type_name in _LAMINA:
        return "lamina"
    return "lobula_complex" if type_name.startswith(_LOBULA_COMPLEX) else "medulla"


@cache
def parts(extent: int) -> Parts:
    """Return the circuit of an extent cut into `PARTS`, wired through ports.

    Parameters
    ----------
    extent
        Radius of the hexagon in columns.
    """
    lobe = expand(extent)
    of_type = np.array([PARTS.index(part_of(name)) for name in lobe.type_names.tolist()])
    return cut(circuit(extent), of_type[lobe.cell_type], PARTS)


def lpu(name: str, extent: int) -> Circuit:
    """Return the circuit of one of `PARTS`, with its ports.

    Parameters
    ----------
    name
        ``"retina"``, ``"lamina"``, ``"medulla"`` or ``"lobula_complex"``.
    extent
        Radius of the hexagon in columns.
    """
    if name not in PARTS:
        raise CircuitError(
            f"the optic lobe has no part {quoted(name)}{near(name, PARTS)}; it has "
            f"{', '.join(PARTS)}"
        )
    return parts(extent).circuits[name]


def patterns(extent: int) -> dict[tuple[str, str], Pattern]:
    """Return the patterns between `PARTS`: (source, target) -> pattern.

    Parameters
    ----------
    extent
        Radius of the hexagon in columns.
    """
    return parts(extent).patterns()


def _edges(
    filters: Sequence[_Filters],
    extent: int,
    cell_type: NDArray[np.int32],
    u: NDArray[np.int32],
    v: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_]]:
    """Return source, target, weight and sign of all edges, ordered by target, then by source.

    The sources of one target, taken by type and falling offset, are already in the order of cells,
    so that a table of targets by filter rows, read row by row without its gaps, needs no sorting.
    """
    reach = max((int(np.abs([f.du, f.dv]).max()) for f in filters if f.du.size), default=0)
    origin = extent + reach
    grid = np.full((len(filters), 2 * origin + 1, 2 * origin + 1), -1, dtype=np.int32)
    grid[cell_type, u + origin, v + origin] = np.arange(u.size, dtype=np.int32)
    sources, counts, weights, signs = [], [], [], []
    for index, rows in enumerate(filters):
        cells = np.flatnonzero(cell_type == index)[:, np.newaxis]
        table = grid[rows.source_type, u[cells] - rows.du + origin, v[cells] - rows.dv + origin]
        exists = table >= 0
        sources.append(table[exists])
        counts.append(np.count_nonzero(exists, axis=1))
        weights.append(np.broadcast_to(rows.weight, table.shape)[exists])
        signs.append(np.broadcast_to(rows.inhibitory, table.shape)[exists])
    target = np.repeat(np.arange(u.size, dtype=np.int32), np.concatenate(counts))
    return np.concatenate(sources), target, np.concatenate(weights), np.concatenate(signs)


def _read_filters(folder: Path, types: Sequence[str]) -> list[_Filters]:
    """Read pairs and filters, one entry per target type."""
    pairs, filters = _read(folder / "pairs.csv"), _read(folder / "filters.csv")
    pair, du, dv = (filters[name].astype(np.int32) for name in ("pair", "du", "dv"))
    source_type, target_type = (
        np.array([types.index(name) for name in pairs[end].tolist()], np.int32)[pair]
        for end in ("source", "target")
    )
    sign = pairs["sign"][pair].astype(np.float64)
    weight = sign * filters["n_syn"] * pairs["strength"][pair]
    order = np.lexsort((-dv, -du, source_type, target_type))
    bounds = np.searchsorted(target_type[order], np.arange(1, len(types)))
    columns = (source_type, du, dv, weight, sign < 0)
    split = (np.split(column[order], bounds) for column in columns)
    return [_Filters(*rows) for rows in zip(*split, strict=True)]


def _read(path: Path) -> NDArray[Any]:
    """Read a table with a header; its columns are fields."""
    return np.genfromtxt(
        path, delimiter=",", names=True, dtype=None, encoding="utf-8", deletechars=""
    )
