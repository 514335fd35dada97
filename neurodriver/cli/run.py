"""``neurodriver run``: a circuit file or an experiment in, a recording out."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..backends.choice import EXECUTORS
from ..circuit import Circuit
from ..errors import InputError, NeurodriverError, RunInterrupted, quoted
from ..model.loading import load_classes
from ..plan.target import TARGETS
from ..run.nonfinite import POLICIES
from ..run.progress import both
from . import experiments, options
from .described import read_described, with_reports, write_reports
from .reports import Pace, check_trace, profiled, tell
from .view import ViewedRun, port_option

if TYPE_CHECKING:
    from ..inputs.sonata_simulation import SonataSimulation
    from ..run.lpu import LPU

LONGEST_RUN = 2**53
"""Steps whose times are exact."""


@click.command("run")
@options.circuit_file
@click.option("--dt", type=float, callback=options.positive("seconds"),
              help="Step in seconds, for instance 1e-4.")  # fmt: skip
@click.option("--duration", type=float, callback=options.positive("seconds"),
              help="Simulated time in seconds.")  # fmt: skip
@click.option("-i", "--input", "inputs", multiple=True, type=click.Path(path_type=Path),
              help="HDF5 file with values to inject; may be repeated.")  # fmt: skip
@click.option("--input-mode", type=click.Choice(["zero", "repeat"]), default="zero",
              show_default=True, help="What an input injects after its last row.")  # fmt: skip
@click.option("-r", "--record", multiple=True, metavar="VARIABLE[:UID,...]",
              help="What to record, of which uids or populations; by default all potentials and "
                   "events.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path),
              help="HDF5 file to write.")  # fmt: skip
@click.option("-f", "--force", is_flag=True,
              help="Replace a recording that is there already.")  # fmt: skip
@click.option("--checkpoint", "every", callback=options.seconds, metavar="TIME",
              help="Save a checkpoint beside OUTPUT each TIME: 60s, 5min, 2h.")  # fmt: skip
@click.option("--resume", is_flag=True,
              help="Go on from the checkpoint beside OUTPUT, and with the recording.")  # fmt: skip
@click.option("--sample-interval", type=click.IntRange(1), default=1, show_default=True,
              help="Steps per recorded row.")  # fmt: skip
@click.option("--dtype", type=click.Choice(["float64", "float32"]), default="float64",
              show_default=True)  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), help="Default: by the circuit's size.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=0, show_default=True)
@click.option("--merge/--no-merge", default=True, show_default=True,
              help="Compute linear synapses of one target and equal kinetics as one.")  # fmt: skip
@click.option("--nonfinite", type=click.Choice(POLICIES), default="raise", show_default=True,
              help="What happens at a value that is NaN or infinite.")  # fmt: skip
@click.option("--backend", type=click.Choice(list(TARGETS)),
              help="Default: NEURODRIVER_BACKEND, or cpu.")  # fmt: skip
@click.option("--device", type=click.IntRange(0),
              help="GPU. Default: NEURODRIVER_DEVICE, or each rank its own.")  # fmt: skip
@click.option("--executor", type=click.Choice(EXECUTORS),
              help="On a GPU: one launch for many steps, or one a kernel and step.")  # fmt: skip
@click.option("--profile", is_flag=True,
              help="Print where the time went: phases, models, bytes moved.")  # fmt: skip
@click.option("--trace", type=click.Path(path_type=Path), metavar="FILE",
              help="Write a Chrome trace (JSON), for chrome://tracing or Perfetto.")  # fmt: skip
@click.option("--view", is_flag=True,
              help="Show the run in a browser, which can pause it and switch inputs.")  # fmt: skip
@click.option("--paused", is_flag=True, help="With --view: begin when the page says so.")
@port_option
@options.own_models
@options.strict
def command(**given: Any) -> int:
    """Simulate the circuit or the experiment (.toml, .yaml) in FILE and record it to HDF5.

    A circuit needs --dt, --duration and -o. A simulation_config.json of SONATA tells the first two,
    its inputs, and the reports that are written from the recording. An experiment tells all of that
    itself; -o replaces its output, --backend, --device and --executor what it says of these; -f its
    'overwrite'. --checkpoint and --resume are for both, also under mpiexec.
    """
    if not given["view"] and (given["paused"] or given["port"]):
        raise click.UsageError("--paused and --port are for --view")
    if experiments.is_experiment(given["file"]):
        replaced = ("output", "backend", "device", "executor")
        more = ["profile", "trace", "force", "every", "resume", "view", "paused", "port"]
        options.refuse_options([*replaced, *more])
        keys = {name: given[name] for name in replaced} | {"overwrite": given["force"] or None}
        show, trace, every, resume = (given[n] for n in ("profile", "trace", "every", "resume"))
        view = (given["paused"], given["port"]) if given["view"] else None
        return experiments.run(given["file"], keys, show, trace, every, resume, view)
    given["models"] = load_classes(given["model_files"])
    described = read_described(given)
    options.need_options(given, ["dt", "duration", "output"])
    sources = [given["file"], *given["inputs"], *given["model_files"]]
    check_trace(given["trace"], [given["output"], *sources])
    with profiled(given["profile"], given["trace"]) as profile, options.strictly(given["strict"]):
        _run_circuit(given, described)
    tell(profile, given["profile"], given["trace"])
    return 0


def _run_circuit(given: dict[str, Any], described: SonataSimulation | None) -> None:
    """Simulate one circuit, with the inputs that a simulation describes."""
    from ..inputs.file import file_input
    from ..plan.injection import make_slots
    from ..recorders.hdf5 import HDF5Recorder, refuse_existing
    from ..run.given import command_line
    from ..run.lpu import LPU

    begin = time.perf_counter()
    output: Path = given["output"]
    sources = [given["file"], *given["inputs"], *given["model_files"]]
    if any(output.exists() and source.exists() and output.samefile(source) for source in sources):
        raise NeurodriverError(f"{output}: the recording would overwrite an input; name another -o")
    if not given["force"] and not given["resume"]:
        refuse_existing(output)
    steps = _steps(given["duration"], given["dt"], given["sample_interval"])
    if described is None:
        circuit, own = Circuit.from_file(given["file"], given["models"], given["strict"]), []
    else:
        circuit, own = described.circuit, described.inputs
    mode = 1 if given["input_mode"] == "repeat" else 0
    inputs = [file_input(path, circuit, mode) for path in given["inputs"]]
    requests = with_reports(_requests(circuit, given["record"]), described)
    replace = given["force"] or given["resume"]
    recorder = HDF5Recorder(output, requests, given["sample_interval"], replace)
    words = click.get_current_context().obj or sys.argv
    try:
        lpu = LPU(
            circuit,
            given["dt"],
            [*own, *inputs],
            [recorder],
            dtype=given["dtype"],
            threads=given["threads"],
            seed=given["seed"],
            backend=given["backend"],
            merge=given["merge"],
            device=given["device"],
            executor=given["executor"],
            nonfinite=given["nonfinite"],
            attributes={"command": command_line(words)},
        )
    except InputError:
        for path, one in zip(given["inputs"], inputs, strict=True):  # which file is at fault
            make_slots(circuit, one.targets, str(path))
        raise
    with lpu:
        _advance(lpu, given, steps, begin)
    write_reports(described, output)


def _advance(lpu: LPU, given: dict[str, Any], steps: int, begin: float) -> None:
    """Run an LPU to its end, with a bar or a view."""
    output: Path = given["output"]
    saved = output.parent / f"{output.stem}.checkpoint.h5"
    with contextlib.ExitStack() as stack:
        if given["resume"]:
            _resume(lpu, saved, steps)
        ready = time.perf_counter() - begin
        click.echo(f"{lpu.circuit}; {steps:,} steps of {given['dt']:g} s; ready in {ready:.2f} s")
        viewed: ViewedRun | None = None
        if given["view"]:
            page = output.name, steps, given["paused"], given["port"]
            viewed = stack.enter_context(ViewedRun(*page))
            _begin(viewed, lpu, output)
        pace = Pace(steps - lpu.step, given["dt"])
        pace.start()
        advanced = both(pace, viewed.control if viewed else None)
        keep = {"checkpoint": saved, "every": given["every"]} if given["every"] else {}
        try:
            lpu.run(steps - lpu.step, progress=advanced, **keep)
        except KeyboardInterrupt as ended:
            message = f"interrupted after {lpu.step:,} of {steps:,} steps"
            why = f"; {ended}" if str(ended) else ""
            raise RunInterrupted(f"{message}; the recording holds them{why}") from None
        finally:
            pace.close()
        pace.tell(output)
        if viewed is not None:
            viewed.end()


def _begin(viewed: ViewedRun, lpu: LPU, output: Path) -> None:
    """Show a run in a browser."""
    from ..run.control import switchable
    from ..view.watched import watched_path

    watched = watched_path(output.name, output, lpu.circuit)
    viewed.begin([watched], lpu.step, switchable(lpu.inputs))


def _resume(lpu: LPU, saved: Path, steps: int) -> None:
    """Go on from a checkpoint, if there is one yet."""
    if not saved.exists():
        click.echo(f"{saved}: no checkpoint yet; the run begins at step 0")
        return
    lpu.resume(saved)
    if lpu.step > steps:
        asked = f"--duration asks for {steps:,}"
        raise NeurodriverError(f"{saved}: {lpu.step:,} steps are done; {asked}")
    click.echo(f"{saved}: goes on at step {lpu.step:,}")


def _steps(duration: float, dt: float, interval: int) -> int:
    """Return the number of steps, of which at least one is recorded."""
    steps = round(min(duration / dt, 2.0**62))
    if not interval <= steps <= LONGEST_RUN:
        allowed = f"{interval:,} to {LONGEST_RUN:,} (--sample-interval is {interval:,})"
        message = f"{duration:g} s are {steps:,} steps of {dt:g} s, allowed are {allowed}"
        raise click.BadParameter(message, param_hint="--duration")
    return steps


def _called(circuit: Circuit, name: str) -> list[str]:
    """Return a uid, or those of the population that is called so."""
    if name and circuit.find([name])[0] < 0 and name in circuit.populations:
        return list(circuit.populations[name])
    return [name] if name else []


def _requests(circuit: Circuit, texts: tuple[str, ...]) -> list[tuple[str, list[str] | None]]:
    """Return what to record: pairs of variable and uids (None: all)."""
    if not texts:
        return [(variable, None) for variable in circuit.usual_variables]
    requests: dict[str, list[str] | None] = {}
    for text in texts:
        variable, mark, names = text.partition(":")
        whole = bool(names) and circuit.find([names])[0] >= 0  # a uid may hold a comma
        uids = [names] if whole else [u for n in names.split(",") for u in _called(circuit, n)]
        if not variable or (mark and not uids):
            raise click.BadParameter(
                f"'{text}': expected VARIABLE or VARIABLE:UID,UID", param_hint="--record"
            )
        if variable in requests and (not mark or requests[variable] is None):
            raise click.BadParameter(f"'{variable}' is named twice", param_hint="--record")
        if mark:
            before = requests.get(variable) or []
            if twice := [uid for uid, n in Counter([*before, *uids]).items() if n > 1]:
                message = f"{quoted(f'{variable}:{twice[0]}')} is named twice"
                raise click.BadParameter(message, param_hint="--record")
            requests[variable] = [*before, *uids]
        else:
            requests[variable] = None
    return list(requests.items())
