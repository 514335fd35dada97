"""Circuit files by what is in them: GEXF, HDF5, SONATA, NIR; saved by the ending of the name.

What reads a format is imported when a file has it: all others start without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..circuit.builders import builds
from ..circuit.circuit import Circuit
from ..circuit.records import Records, from_networkx, no_collection
from ..errors import CircuitError, NeurodriverError, quoted

GEXF, HDF5, SONATA, NIR = (".gexf", ".gexf.gz"), (".h5", ".hdf5"), (".json",), (".nir",)
ENDINGS = "'.h5', '.hdf5', '.json' (SONATA), '.nir', '.gexf' or '.gexf.gz'"


@builds("from_file")
def read_circuit(path: Path, models: Any, strict: bool, lenient: bool) -> Circuit:
    """Return the circuit of a file; see `Circuit.from_file`."""
    if path.exists() and not path.is_file():
        what = "a directory" if path.is_dir() else "no regular file"
        raise CircuitError(f"{path}: cannot be read, as it is {what}; give the file of a circuit")
    if path.name.lower().endswith(NIR):
        return read_nir(path, strict=strict)
    if is_hdf5(path):
        from .hdf5 import read_hdf5

        return read_hdf5(path, models, strict)
    if is_json(path):
        return read_sonata(path, own=models, strict=strict)
    from .gexf import read_gexf

    with no_collection():
        return _assembled(read_gexf(path), models, strict, lenient)


@builds("from_graph")
def read_graph(graph: Any, models: Any, strict: bool, name: str, lenient: bool) -> Circuit:
    """Return the circuit of a networkx graph; see `Circuit.from_graph`."""
    with no_collection():
        return _assembled(from_networkx(graph, name), models, strict, lenient)


def _assembled(records: Records, models: Any, strict: bool, lenient: bool) -> Circuit:
    from ..circuit.assemble import assemble
    from ..circuit.forms import in_our_form

    return assemble(in_our_form(records), models, strict, lenient)


@builds("from_sonata")
def read_sonata(*given: Any, **more: Any) -> Circuit:
    """Return the circuit of a SONATA configuration; see `sonata.read_sonata`."""
    from . import sonata

    return sonata.read_sonata(*given, **more)


@builds("from_nir")
def read_nir(*given: Any, **more: Any) -> Circuit:
    """Return the circuit of a file or graph of NIR; see `nir_read.read_nir`."""
    from . import nir_read

    return nir_read.read_nir(*given, **more)


@builds("from_tables")
def read_tables(*given: Any, **more: Any) -> Circuit:
    """Return the circuit of tables; see `tables.read_tables`."""
    from . import tables

    return tables.read_tables(*given, **more)


@builds("from_connectome")
def read_connectome(*given: Any, **more: Any) -> Circuit:
    """Return the circuit of a connectome; see `connectome.read_connectome`."""
    from . import connectome

    return connectome.read_connectome(*given, **more)


@builds("save")
def save_circuit(circuit: Circuit, path: Path, compress: bool) -> None:
    """Write a circuit in the format that the ending asks for; see `Circuit.save`."""
    check_ending(path)
    if path.name.lower().endswith(HDF5):
        from .hdf5 import write_hdf5

        write_hdf5(circuit, path, compress)
        return
    if path.name.lower().endswith(SONATA):
        from .sonata_write import write_sonata

        write_sonata(circuit, path, compress)
        return
    if path.name.lower().endswith(NIR):
        from .nir_write import write_nir

        write_nir(circuit, path)
        return
    for group in circuit.groups:
        if group.layer is not None:
            say = (
                f"population '{group.layer.population}' ({group.name}) has axes, fields or sources"
            )
            raise CircuitError(f"{path}: {say}, which a graph does not keep; save it as .h5")
    from .as_records import as_records
    from .write import write_gexf

    with no_collection():
        write_gexf(as_records(circuit), path)


def is_hdf5(path: Path) -> bool:
    """Whether a file begins as one of HDF5 does."""
    return _begin(path).startswith(b"\x89HDF\r\n\x1a\n")


def is_json(path: Path) -> bool:
    """Whether a file begins as an object of JSON does."""
    return _begin(path).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def _begin(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(64)
    except OSError:  # whoever reads it says what is wrong
        return b""


def check_ending(path: Path) -> None:
    """Raise where no format is known by the ending of a name."""
    if not path.name.lower().endswith((*GEXF, *HDF5, *SONATA, *NIR)):
        raise NeurodriverError(f"{quoted(path)}: the ending of the name must be {ENDINGS}")
