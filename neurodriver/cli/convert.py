"""``neurodriver convert``: a legacy circuit file in, one of today out."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import click

from ..errors import NeurodriverError
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
@options.strict
def command(**given: Any) -> int:
    """Convert the legacy circuit file OLD to the form of today; write NEW (.gexf or .gexf.gz)."""
    from ..circuit.assemble import assemble
    from ..circuit.gexf import read_gexf
    from ..circuit.legacy import convert, is_legacy
    from ..circuit.records import no_collection
    from ..circuit.write import write_gexf

    begin = time.perf_counter()
    old, new = given["old"], given["new"]
    if old.exists() and new.exists() and old.samefile(new):
        raise NeurodriverError(f"{new}: this would replace the legacy file; name another one")
    with no_collection():
        records = read_gexf(old)
        if not is_legacy(records):
            records.faults.finish()
            raise NeurodriverError(f"{old}: not of the legacy form; nothing to convert")
        made = convert(records)
        circuit = assemble(made, (), given["strict"])
        write_gexf(made, new)
    click.echo(f"{old}: {len(records.nodes):,} nodes, {len(records.edges):,} edges, legacy form")
    for model, count in Counter(data["class"] for data in made.nodes).items():
        click.echo(f"  {count:>10,}  {model:<14} {UNITS.get(model, '')}".rstrip())
    extern = sum(data.get("extern") is True for data in made.nodes)
    delays = sum("delay" in data for data in made.edges)
    click.echo(f"  {extern:>10,}  neurons marked 'extern' (columns of a legacy input file)")
    click.echo(f"  {delays:>10,}  delays ms -> s, from the neuron to its synapse")
    size = f"{circuit.count:,} nodes, {circuit.edges:,} edges"
    click.echo(f"{new}: {size}; {time.perf_counter() - begin:.1f} s")
    return 0
