"""Run Brian2, and NEST on CUBA, on networks that neurodriver drew and write all their spikes.

``data/reference/trains.npz`` holds for each case and peer the rows and neurons of the spikes of the
first 0.1 s, of CUBA 0.3 s: same connections, same first values, same kicks, double precision. The
tests ask for the same spikes, all of them; a rule that differs by one step shows within a few
steps. Rounding does not show within 0.3 s: potentials then differ by 1e-13 mV (integrate-and-fire)
and 1e-10 mV (Hodgkin-Huxley).

    python scripts/make_trains_reference.py --peers peers-venv/bin/python
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks.papers import brain, example
from make_activity_reference import CASES

from neurodriver import LPU, Circuit, MemoryRecorder

HERE = Path(__file__).parent
OUTPUT = HERE.parent / "data" / "reference" / "trains.npz"
SECONDS = {"coba_lif": 0.1, "coba_hh": 0.1, "cuba_lif": 0.3, "fly": 0.1}
SEED = 1
FIRST = {"v": "initV", "ge": "initg_exc", "gi": "initg_inh"}
ROW = {"brian2": 1, "nest": 0}
"""Our row of a spike less the step that a peer gives as its time: Brian2 tells the beginning of the
step in which the threshold was passed, NEST the end."""


def joined(circuit: Circuit) -> dict[str, Any]:
    """Return connections and first values."""
    params = circuit.groups[0].params
    ends = {link.access: np.stack([link.source, link.target]) for link in circuit.connections}
    return ends | {short: params[long] for short, long in FIRST.items() if long in params}


def fly(circuit: Circuit) -> dict[str, Any]:
    """Return the steps and sources of the kicks; the table of synapses goes its own way."""
    module = example("shiu_2024")
    late = round(module.DELAY / module.DT) - 1  # kicks are late by this, besides their own step
    recorder = MemoryRecorder([("spike_state", circuit.groups[1].uids)])
    with LPU(circuit, module.DT, recorders=[recorder], seed=SEED) as lpu:
        lpu.run(duration=SECONDS["fly"])
    kicks = recorder.get("spike_state")
    step = np.rint(kicks["time"] / lpu.dt).astype(int) + late
    return {"kicks": np.stack([step, kicks["index"]])}


DRAWN = {"coba_lif": joined, "coba_hh": joined, "cuba_lif": joined, "fly": fly}
RUNS = [*((name, "brian2") for name in DRAWN), ("cuba_lif", "nest")]


def trains(python: str, name: str, peer: str, folder: Path) -> NDArray[np.int16]:
    """Return rows and neurons of a peer's spikes, (2, n)."""
    case, table = CASES[name], folder / "table.npz"
    network, spikes = folder / f"{name}.npz", folder / f"{name}_spikes.npz"
    made = example(case.example).network(seed=SEED, **case.network)[0]
    np.savez(network, **DRAWN[name](made))
    flags = {"bio": SECONDS[name], "repeat": 1, "network": network, "spikes": spikes}
    if name == "fly":
        brain(table, seed=SEED, **case.network)
        flags |= {"table": table}
    words = [word for flag, value in flags.items() for word in (f"--{flag}", str(value))]
    script = HERE / "peers" / f"{name}_{peer}.py"
    command = [python, str(script), *case.arguments, *words]
    subprocess.run(command, check=True, capture_output=True)
    held = np.load(spikes)
    step = np.rint(held["time"] / example(case.example).DT).astype(np.int64) + ROW[peer]
    order = np.lexsort((held["index"], step))
    return np.stack([step[order], held["index"][order]]).astype(np.int16)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", required=True, help="Python with Brian2 and NEST")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = {
            f"{name}_{peer}": trains(arguments.peers, name, peer, Path(scratch))
            for name, peer in RUNS
        }
    np.savez_compressed(OUTPUT, **found)
    print({name: spikes.shape[1] for name, spikes in found.items()})


if __name__ == "__main__":
    main()
