"""``run_exp`` of the published model of the fly brain: the same arguments, the same files.

In a script, ``from model import run_exp, default_params`` becomes ``from
neurodriver.published.shiu_2024 import run_exp, default_params``. The trials of an experiment run
together; their connections are in memory once.

Shiu, P. K. et al. A Drosophila computational brain model reveals sensorimotor processing. Nature
634, 210-219 (2024). doi:10.1038/s41586-024-07763-9. Their program is
https://github.com/philshiu/Drosophila_brain_model.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import checked_arguments, file_path, keyed, some, text, truth
from ..circuit.circuit import Circuit
from ..errors import CircuitError, Faults, NeurodriverError, near, quoted
from ..io.write import complete_or_none
from ..model.kinds import SPIKES
from ..quantities import magnitude
from ..results.export import needed
from ..run.lpu import LPU

mV, ms, Hz = 1e-3, 1e-3, 1.0
"""For scripts that write ``150 * Hz``: parameters are in volts, seconds and hertz."""

DT = 1e-4
"""Step, s: that of Brian2, in which the published program is written."""

default_params: dict[str, Any] = {
    "t_run": 1000 * ms,
    "n_run": 30,
    "v_0": -52 * mV,
    "v_rst": -52 * mV,
    "v_th": -45 * mV,
    "t_mbr": 20 * ms,
    "tau": 5 * ms,
    "t_rfc": 2.2 * ms,
    "t_dly": 1.8 * ms,
    "w_syn": 0.275 * mV,
    "r_poi": 150 * Hz,
    "r_poi2": 0 * Hz,
    "f_poi": 250,
}
"""Length of a trial and number of trials; resting, reset and threshold potential; time constants of
membrane and synapses; refractory period; delay; weight of a synapse; rates of the two kinds of
Poisson input; how many synapses one of its events is worth."""

UNITS = {
    **dict.fromkeys(("t_run", "t_mbr", "tau", "t_rfc", "t_dly"), "s"),
    **dict.fromkeys(("v_0", "v_rst", "v_th", "w_syn"), "V"),
    **dict.fromkeys(("r_poi", "r_poi2"), "Hz"),
    **dict.fromkeys(("n_run", "f_poi"), "1"),
}

TEXTS = {
    "eqs": "dv/dt=(v_0-v+g)/t_mbr:volt(unlessrefractory)"
    "dg/dt=-g/tau:volt(unlessrefractory)rfc:second",
    "eq_th": "v>v_th",
    "eq_rst": "v=v_rst;w=0;g=0*mV",
}
"""Equations of the published program, without spaces; no others can be given."""


@checked_arguments(
    exp_name=text,
    neu_exc=some,
    path_res=file_path,
    params=keyed,
    neu_slnc=some,
    neu_exc2=some,
    force_overwrite=truth,
)
def run_exp(
    exp_name: str,
    neu_exc: Sequence[int],
    path_res: str | Path,
    path_comp: str | Path,
    path_con: str | Path,
    params: Mapping[str, Any] = default_params,
    neu_slnc: Sequence[int] = (),
    neu_exc2: Sequence[int] = (),
    n_proc: int = -1,
    force_overwrite: bool = False,
) -> None:
    """Run an experiment and write its spikes to ``<path_res>/<exp_name>.parquet``.

    The file has a row for each spike: ``t`` (s), ``trial``, ``flywire_id``, ``exp_name``.

    Parameters
    ----------
    exp_name : str
    neu_exc : sequence of int
        Ids of neurons with Poisson input of the rate ``r_poi``.
    path_res, path_comp, path_con : path
        Folder of results; tables of neurons (CSV) and of connections (Parquet).
    params : mapping
        Numbers in volts, seconds and hertz, or quantities of Brian2 or pint. `default_params`
        holds for what is not given.
    neu_slnc : sequence of int
        Ids of neurons without outgoing connections.
    neu_exc2 : sequence of int
        Ids of neurons with Poisson input of the rate ``r_poi2``.
    n_proc : int
        Threads; -1 for as many as are useful. The results do not depend on it.
    force_overwrite : bool
        Run also where the file exists.

    Raises
    ------
    NeurodriverError
        For unknown ids or parameters, and tables that cannot be read.

    Notes
    -----
    The seeds of the trials are 0, 1, 2 ...; so a repeated experiment has the same spikes.
    """
    path_save = Path(path_res) / f"{exp_name}.parquet"
    if path_save.is_file() and not force_overwrite:
        why = f"{path_save} exists and force_overwrite = {force_overwrite}"
        print(f">>> Skipping experiment {exp_name} because {why}")
        return
    pd = needed("pandas")
    needed("pyarrow", "tables")
    numbers = _checked(params)
    exc, exc2, slnc = ([str(one) for one in ids] for ids in (neu_exc, neu_exc2, neu_slnc))
    print(f">>> Experiment:     {exp_name}")
    print(f"    Output file:    {path_save}")
    print(f"    Excited neurons: {len(exc) + len(exc2)}")
    if slnc:
        print(f"    Silenced neurons: {len(slnc)}")
    begin = time.perf_counter()
    brain = create_model(path_comp, path_con, numbers)
    _check_ids(brain, {"neu_exc": exc, "neu_exc2": exc2, "neu_slnc": slnc})
    ready = _stimulated(brain, exc, exc2, numbers)
    if slnc:
        ready = ready.silence(sorted(set(slnc)))
    trials = int(numbers["n_run"])
    seeds: dict[str, Any] = {"batch": trials, "seed": range(trials)} if trials > 1 else {}
    threads = None if n_proc < 1 else n_proc
    with LPU(ready, DT, threads=threads, **seeds) as lpu:
        lpu.run(duration=numbers["t_run"], record=[SPIKES])
        recording = lpu.recording
    print(f"    Elapsed time:   {int(time.perf_counter() - begin)} s")
    columns = _spikes_of(recording.copies if trials > 1 else (recording,), brain)
    table = pd.DataFrame({"t": columns["t"], "trial": columns["trial"].astype(np.int64)})
    ids = brain.uids.astype(np.int64) if _all_whole(brain.uids) else brain.uids
    table["flywire_id"] = ids[columns["id"]]
    table["exp_name"] = exp_name
    path_save.parent.mkdir(parents=True, exist_ok=True)
    with complete_or_none(path_save) as part:
        table.to_parquet(part, compression="brotli")


def _spikes_of(trials: Sequence[Any], brain: Circuit) -> dict[str, NDArray[Any]]:
    """Return time, trial and neuron of each spike: trial by trial, neuron by neuron."""
    place = {uid: i for i, uid in enumerate(brain.uids.tolist())}
    frames = []
    for trial, one in enumerate(trials):
        found, index = one.spikes.read()
        where = np.array([place[uid] for uid in one.spikes.uids], dtype=np.int64)[index]
        order = np.lexsort((found, where))
        frames.append({"t": found[order], "trial": np.full(len(order), trial), "id": where[order]})
    return {key: np.concatenate([frame[key] for frame in frames]) for key in frames[0]}


def create_model(
    path_comp: str | Path, path_con: str | Path, params: Mapping[str, Any] = default_params
) -> Circuit:
    """Return the circuit of the published tables: a neuron for each row of ``path_comp``."""
    given = _checked(params)
    neuron = {
        "resting_potential": given["v_0"] * 1e3,
        "reset_potential": given["v_rst"] * 1e3,
        "threshold": given["v_th"] * 1e3,
        "time_constant": given["t_mbr"] * 1e3,
        "tau": given["tau"] * 1e3,
        "refractory_period": given["t_rfc"] * 1e3,
    }
    return Circuit.from_tables(
        path_con, path_comp, model="LeakyIAFShiu", source="Presynaptic_Index",
        target="Postsynaptic_Index", index=True, weight="Excitatory x Connectivity",
        weight_scale=given["w_syn"] * 1e3, delay=given["t_dly"], receptor="syn", params=neuron,
    )  # fmt: skip


def _stimulated(
    brain: Circuit, exc: list[str], exc2: list[str], numbers: Mapping[str, float]
) -> Circuit:
    """Return the brain with Poisson input; its targets have no refractory period."""
    targets = [*exc, *exc2]
    if not targets:
        return brain
    made = brain.copy(params={(tuple(dict.fromkeys(targets)), "refractory_period"): 0.0})
    kick = numbers["w_syn"] * 1e3 * numbers["f_poi"]
    for name, ids, rate in (("exc", exc, numbers["r_poi"]), ("exc2", exc2, numbers["r_poi2"])):
        if ids:  # a neuron that is named twice has two inputs, as in the published program
            for number, once in enumerate(_once(ids)):
                called = name if not number else f"{name}_{number + 1}"
                made = made.stimulate(once, _per_step(rate), kick, "kick", name=called)
    return made


def _once(uids: list[str]) -> list[list[str]]:
    """Return lists in which no uid stands twice."""
    out: list[list[str]] = []
    for uid in uids:
        for one in out:
            if uid not in one:
                one.append(uid)
                break
        else:
            out.append([uid])
    return out


def _per_step(rate: float) -> float:
    """Return the rate of a Poisson source that has an event in a step with probability rate DT."""
    if not 0 <= rate * DT < 1:
        raise NeurodriverError(f"rates of Poisson input are 0 to {1 / DT:g} Hz, got {rate:g}")
    return -math.log1p(-rate * DT) / DT


def _checked(params: Mapping[str, Any]) -> dict[str, float]:
    """Return all parameters as numbers in V, s and Hz."""
    faults, out = Faults("params"), dict(default_params)
    for name, value in params.items():
        if name in TEXTS:
            if "".join(str(value).split()) != TEXTS[name]:
                faults.add(f"{name!r} is not that of the published program; no other can be run")
        elif name not in UNITS:
            faults.add(f"no parameter {quoted(name)}{near(str(name), UNITS)}")
        else:
            out[name] = _number(name, value, faults)
    if float(out["n_run"]) != int(out["n_run"]) or out["n_run"] < 1:
        faults.add(f"'n_run' must be a whole number, at least 1 (got {out['n_run']:g})")
    if faults.count:
        raise CircuitError(faults.report())
    return out


def _number(name: str, value: Any, faults: Faults) -> float:
    if hasattr(type(value), "get_best_unit"):  # of Brian2: its number is in units of the SI
        value = np.asarray(value)
    try:
        found = float(magnitude(value, UNITS[name], name))
    except (TypeError, ValueError) as error:
        faults.add(f"{name!r} must be a number in {UNITS[name]} ({error})")
        return 1.0
    if not math.isfinite(found):
        faults.add(f"{name!r} must be finite (got {found})")
    return found


def _check_ids(brain: Circuit, given: Mapping[str, list[str]]) -> None:
    faults = Faults(brain.name)
    for name, ids in given.items():
        found = brain.find(ids) if ids else np.zeros(0)
        lost = [uid for uid, number in zip(ids, found.tolist(), strict=True) if number < 0]
        faults.add_each((f"{name}: no neuron {quoted(uid)}" for uid in lost), len(lost))
    if faults.count:
        raise CircuitError(faults.report())


def _all_whole(uids: np.ndarray) -> bool:
    return bool(np.char.isdigit(uids).all())
