"""``neurodriver convert``: a circuit file in, one of another format or of today out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from ..circuit import Circuit
from ..errors import NeurodriverError
from ..model.loading import load_classes
from . import options


@click.command("convert")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--compress", is_flag=True, help="In HDF5, compress numbers, too.")
@options.own_models
@options.strict
def command(**given: Any) -> int:
    """Convert the circuit file OLD; write NEW (.h5, .json for SONATA, .nir, .gexf or .gexf.gz).

    OLD is any circuit that can be read: GEXF, HDF5 or a SONATA circuit_config.json. A graph in the
    form of an older version gets the form of today.
    """
    from ..io.files import is_hdf5, is_json

    begin = time.perf_counter()
    old, new = given["old"], given["new"]
    graph = not (is_hdf5(old) or is_json(old))
    if old.exists() and new.exists() and old.samefile(new):
        raise NeurodriverError(f"{new}: this would replace the file that is read; name another one")
    models = load_classes(given["model_files"])
    circuit = _of_graph(given, models) if graph else _of_columns(given, models)
    size = f"{circuit.count:,} nodes, {circuit.edges:,} edges"
    click.echo(f"{new}: {size}; {time.perf_counter() - begin:.1f} s")
    return 0


def _of_columns(given: dict[str, Any], models: Any) -> Circuit:
    """Convert a file of columns."""
    from ..io.files import check_ending

    check_ending(given["new"])
    circuit = Circuit.from_file(given["old"], models, given["strict"])
    circuit.save(given["new"], given["compress"])
    return circuit


def _of_graph(given: dict[str, Any], models: Any) -> Circuit:
    """Convert a GEXF file."""
    from ..circuit.assemble import assemble
    from ..circuit.forms import form_of
    from ..circuit.records import no_collection
    from ..io.files import HDF5, NIR, SONATA
    from ..io.gexf import read_gexf
    from ..io.write import write_gexf

    old, new, strict = given["old"], given["new"], given["strict"]
    columns = new.name.lower().endswith((*HDF5, *SONATA, *NIR))
    with no_collection():
        records = read_gexf(old)
        form = form_of(records)
        if form is None and not columns:
            records.faults.finish()
            raise NeurodriverError(f"{old}: in the form of today already; nothing to convert")
        made = records if form is None else form.convert(records)
        circuit = assemble(made, models, strict)
        if columns:
            circuit.save(new, given["compress"])
        else:
            write_gexf(made, new)
    if form is not None:
        first, *rest = form.report(records, made)
        click.echo("\n".join([f"{old}: {first}", *rest]))
    return circuit
