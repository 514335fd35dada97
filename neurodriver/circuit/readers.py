"""How circuits that exist already are read: the class methods ``from_...`` of `Circuit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import checked_arguments, file_path
from ..profiling.phases import phased
from .builders import BUILDERS
from .groups import Connections

if TYPE_CHECKING:
    from .circuit import Circuit
    from .projections import Projection


class CircuitReaders:
    """Base of `Circuit`: what makes one of files, graphs, tables and arrays."""

    @classmethod
    @phased("read file")
    def from_file(
        cls,
        path: str | Path,
        models: Any = (),
        strict: bool = False,
        lenient: bool = False,
    ) -> Circuit:
        """Read a circuit file: GEXF, our own HDF5 or SONATA, told by what is in it.

        Parameters
        ----------
        path : str or Path
            GEXF 1.1 to 1.3, plain or gzipped, in our form or another known one; what `save` wrote;
            the circuit_config.json of a SONATA circuit (`from_sonata`); or a file ``.nir``.
        models : NDComponent subclass, module, path, or nested sequence of these
            Models beside the shipped ones.
        strict : bool
            Turn warnings into errors.
        lenient : bool
            Of GEXF: ignore edges between models without a common variable, with a warning. An
            `LPU` that is given a file or a graph does.

        Raises
        ------
        CircuitError
            With all faults of the file.
        """
        return BUILDERS["from_file"](Path(path), models, strict, lenient)

    @classmethod
    @phased("read file")
    def from_tables(cls, edges: Any, nodes: Any = None, **columns: Any) -> Circuit:
        """Read tables of edges and nodes: Parquet, CSV or Feather, or frames.

        `neurodriver.io.tables.read_tables` explains the arguments: ``model``, and which
        column means what: ``source``, ``target``, ``weight``, ``delay``, ...
        """
        return BUILDERS["from_tables"](edges, nodes, **columns)

    @classmethod
    @phased("read file")
    def from_connectome(cls, release: Any, edges: Any, *neurons: Any, **more: Any) -> Circuit:
        """Read the tables of a connectome, as they are released.

        ``release`` is ``"flywire"``, ``"neuprint"``, ``"male_cns"``, ``"banc"``, or a
        `neurodriver.io.releases.Release`. ``edges`` and ``neurons`` are files or frames.
        `neurodriver.io.connectome.read_connectome` explains the rest.

        Examples
        --------
        >>> brain = Circuit.from_connectome(  # doctest: +SKIP
        ...     "flywire", "connections.csv.gz", "neurons.csv.gz", "consolidated_cell_types.csv.gz"
        ... )
        """
        return BUILDERS["from_connectome"](release, edges, neurons, **more)

    @classmethod
    @phased("read file")
    @checked_arguments(config=file_path)
    def from_sonata(
        cls, config: str | Path, models: Mapping[str, Any] | None = None, **more: Any
    ) -> Circuit:
        """Read a SONATA circuit of point neurons from its circuit_config.json.

        ``models`` says what a ``model_template`` becomes, where the known ones do not say it;
        `neurodriver.io.sonata.read_sonata` explains the rest.
        """
        return BUILDERS["from_sonata"](config, models, **more)

    @classmethod
    @phased("read file")
    def from_nir(cls, source: Any, *, strict: bool = False) -> Circuit:
        """Read a network of NIR from a file or a ``nir.NIRGraph``.

        `neurodriver.io.nir_read.read_nir` explains what it becomes; ``save("network.nir")`` writes
        it, and `neurodriver.io.nir_write.as_nir` returns the graph.
        """
        return BUILDERS["from_nir"](source, strict=strict)

    @classmethod
    def from_graph(
        cls,
        graph: Any,
        models: Any = (),
        strict: bool = False,
        name: str = "",
        lenient: bool = False,
    ) -> Circuit:
        """Build from a directed networkx graph, which is not changed.

        Parameters
        ----------
        graph : networkx.DiGraph or MultiDiGraph
            Nodes are components with the attribute ``class``; edges may carry ``delay`` (s),
            ``variable``, ``weight``, ``receptor`` and a reversal potential (mV).
        models, strict, lenient
            As in ``from_file``.
        name : str
            Name used in messages.
        """
        return BUILDERS["from_graph"](graph, models, strict, name, lenient)

    @classmethod
    def from_arrays(
        cls,
        groups: Sequence[tuple[Any, ...]],
        connections: Sequence[Connections | Projection] = (),
        name: str = "circuit",
        strict: bool = False,
        seed: int = 0,
    ) -> Circuit:
        """Build from columns, without an object per component.

        Parameters
        ----------
        groups : sequence of (model, count, params, uids) or (model, count, params, uids, columns)
            ``params`` are scalars or (count,) arrays; ``uids`` None for ``<model>/<number>``,
            numbered through all groups of the model that have none; ``columns`` are further
            attributes to `select` by: column -> one value or (count,) text, numbers or booleans.
        connections : sequence of Connections or Projection
            Columns, or rules, which are drawn when they are first looked at.
        name : str
            Name used in messages.
        strict : bool
            Turn warnings into errors.
        seed : int
            Seed of what projections draw.

        Raises
        ------
        CircuitError
            With all faults.
        """
        return BUILDERS["from_arrays"](groups, connections, name, strict, seed)
