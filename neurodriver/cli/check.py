"""``neurodriver check``: validate a circuit or an experiment and say what it needs."""

from __future__ import annotations

from typing import Any

import click

from ..circuit import Circuit
from ..model.loading import load_classes
from . import experiments, options


@click.command("check")
@options.circuit_file
@click.option("--dt", type=float, default=1e-4, show_default=True,
              callback=options.positive("seconds"),
              help="Step in seconds; delays and memory depend on it.")  # fmt: skip
@click.option("--dtype", type=click.Choice(["float64", "float32"]), default="float64",
              show_default=True)  # fmt: skip
@options.own_models
@options.strict
@click.option("--trust", is_flag=True,
              help="Import the functions and models that an experiment names.")  # fmt: skip
def command(**given: Any) -> int:
    """Validate a circuit or an experiment; print a summary, of a circuit also its memory."""
    if experiments.is_experiment(given["file"]):
        options.refuse_options(["strict", "trust"])
        with options.strictly(given["strict"]):
            return experiments.check(given["file"], given["strict"], given["trust"])
    with options.strictly(given["strict"]):
        _check_circuit(given)
    return 0


def _check_circuit(given: dict[str, Any]) -> None:
    """Validate a circuit and print its summary."""
    from ..plan.arrays import Kind
    from ..plan.compile import compile_circuit
    from ..plan.passes.draft import Recorded

    models = load_classes(given["model_files"])
    circuit = Circuit.from_file(given["file"], models, given["strict"])
    click.echo(f"{circuit.name}: {circuit.count:,} components, {circuit.edges:,} connections")
    for group in circuit.groups:
        click.echo(f"  {group.count:>10,}  {group.name}")
    program = compile_circuit(circuit, given["dt"], given["dtype"], merging=Recorded())
    layout, rows = program.layout, []
    for variable, size in layout.nbytes().items():
        ring = layout.rings[variable]
        rows.append((variable, f"{ring.depth} rows of {ring.width:,}", size))
    for (number, access), gather in program.gathers.items():
        if gather.edges:
            what = f"{program.circuit.groups[number].name} <- {access}"
            form = f"{gather.edges:,} connections, {gather.form}"
            rows.append((what, form, gather.nbytes(program.dtype.itemsize)))
    kinds = (Kind.STATE, Kind.PARAMETER, Kind.CONSTANT)
    other = sum(r.nbytes for r in program.arrays.values() if r.shape and r.key.kind in kinds)
    rows.append(("parameters and states", "", other))
    click.echo(f"memory at dt = {given['dt']:g} s, {given['dtype']}:")
    for name, what, size in rows:
        click.echo(f"  {size / 1024:>12,.1f} KiB  {name:<28} {what}")
    click.echo(f"  {sum(r[2] for r in rows) / 1024:>12,.1f} KiB  in all")
    click.echo(f"digest {circuit.digest}")
