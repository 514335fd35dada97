"""``neurodriver convert``: a circuit file in, one of another format or of today out."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import click

from ..circuit import Circuit
from ..circuit.records import Records
from ..errors import NeurodriverError
from ..model.loading import load_models
from . import options

UNITS = {
    "MorrisLecar": "potentials V -> mV, currents mA -> uA per cm^2, constants added",
    "LeakyIAF": "potentials V -> mV, R x 1000 (R C in ms), currents as they are, rest at 0 mV",
    "AlphaSynapse": "ar, ad 1/s -> 1/ms, gmax x 1000 onto MorrisLecar; reverse V -> mV",
    "PowerGPotGPot": "threshold, reverse V -> mV, slope x 1000^-power",
}
"""What became of the numbers, by model."""


@click.command("convert")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--compress", is_flag=True, help="In HDF5, compress numbers, too.")
@options.own_models
@options.strict
def command(**given: Any) -> int:
    """Convert the circuit file OLD; write NEW (.h5, .gexf or .gexf.gz).

    OLD is a legacy circuit, which gets the form of today, or any circuit that can be read: GEXF,
    HDF5, a SONATA circuit_config.json.
    """
    from ..io.files import is_hdf5, is_json

    begin = time.perf_counter()
    old, new = given["old"], given["new"]
    graph = not (is_hdf5(old) or is_json(old))
    if old.exists() and new.exists() and old.samefile(new):
        which = "legacy file" if graph else "file that is read"
        raise NeurodriverError(f"{new}: this would replace the {which}; name another one")
    models = load_models(given["model_files"])
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
    from ..circuit.records import no_collection
    from ..io.files import HDF5
    from ..io.gexf import read_gexf
    from ..io.legacy import convert, is_legacy
    from ..io.write import write_gexf

    old, new, strict = given["old"], given["new"], given["strict"]
    columns = new.name.lower().endswith(HDF5)
    with no_collection():
        records = read_gexf(old)
        legacy = is_legacy(records)
        if not legacy and not columns:
            records.faults.finish()
            raise NeurodriverError(f"{old}: not of the legacy form; nothing to convert")
        made = convert(records) if legacy else records
        circuit = assemble(made, models, strict)
        if columns:
            circuit.save(new, given["compress"])
        else:
            write_gexf(made, new)
    if legacy:
        _tell_legacy(old, records, made)
    return circuit


def _tell_legacy(old: Path, records: Records, made: Records) -> None:
    """Print what became of a legacy circuit."""
    click.echo(f"{old}: {len(records.nodes):,} nodes, {len(records.edges):,} edges, legacy form")
    for model, count in Counter(data["class"] for data in made.nodes).items():
        click.echo(f"  {count:>10,}  {model:<14} {UNITS.get(model, '')}".rstrip())
    extern = sum(data.get("extern") is True for data in made.nodes)
    delays = sum("delay" in data for data in made.edges)
    click.echo(f"  {extern:>10,}  neurons marked 'extern' (columns of a legacy input file)")
    click.echo(f"  {delays:>10,}  delays ms -> s, from the neuron to its synapse")
