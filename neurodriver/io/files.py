"""Circuit files by what is in them: GEXF, HDF5, SONATA; saved by the ending of the name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NeurodriverError, quoted

if TYPE_CHECKING:
    from ..circuit.circuit import Circuit

GEXF, HDF5 = (".gexf", ".gexf.gz"), (".h5", ".hdf5")
ENDINGS = "'.h5', '.hdf5', '.gexf' or '.gexf.gz'"


def read_circuit(path: Path, models: Any, strict: bool, lenient: bool) -> Circuit:
    """Return the circuit of a file; see `Circuit.from_file`."""
    if is_hdf5(path):
        from .hdf5 import read_hdf5

        return read_hdf5(path, models, strict)
    if is_json(path):
        from .sonata import read_sonata

        return read_sonata(path, own=models, strict=strict)
    from ..circuit.assemble import assemble
    from ..circuit.forms import in_our_form
    from ..circuit.records import no_collection
    from .gexf import read_gexf

    with no_collection():
        return assemble(in_our_form(read_gexf(path)), models, strict, lenient)


def save_circuit(circuit: Circuit, path: Path, compress: bool) -> None:
    """Write a circuit in the format that the ending asks for; see `Circuit.save`."""
    name = path.name.lower()
    if name.endswith(HDF5):
        from .hdf5 import write_hdf5

        write_hdf5(circuit, path, compress)
    elif name.endswith(GEXF):
        from ..circuit.records import no_collection
        from .as_records import as_records
        from .write import write_gexf

        with no_collection():
            write_gexf(as_records(circuit), path)
    else:
        raise NeurodriverError(f"{path}: the ending of the name must be {ENDINGS}")


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


def same_file(one: Path, other: Path) -> bool:
    """Whether two names lead to one file that exists."""
    return one.exists() and other.exists() and one.samefile(other)


def check_ending(path: Path) -> None:
    """Raise where no format is known by the ending of a name."""
    if not path.name.lower().endswith((*GEXF, *HDF5)):
        raise NeurodriverError(f"{quoted(path)}: the ending of the name must be {ENDINGS}")
