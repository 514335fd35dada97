"""Run Brian2 on networks that neurodriver drew and write all their spikes.

``data/reference/trains.npz`` holds for each case the steps and neurons of the spikes of the first
0.1 s: same connections, same first values, same kicks, double precision. The tests ask for the same
spikes, all of them; a rule that differs by one step shows within a few steps. Rounding does not
show within 0.3 s: potentials then differ by 1e-13 mV (integrate-and-fire) and 1e-10 mV
(Hodgkin-Huxley).

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
SECONDS, SEED = 0.1, 1
FIRST = {"v": "initV", "ge": "initg_exc", "gi": "initg_inh"}


def coba(circuit: Circuit) -> dict[str, Any]:
    """Return connections and first values."""
    ends = {link.access: np.stack([link.source, link.target]) for link in circuit.connections}
    return ends | {short: circuit.groups[0].params[long] for short, long in FIRST.items()}


def fly(circuit: Circuit) -> dict[str, Any]:
    """Return the steps and sources of the kicks; the table of synapses goes its own way."""
    module = example("shiu_2024")
    late = round(module.DELAY / module.DT) - 1  # kicks are late by this, besides their own step
    recorder = MemoryRecorder([("spike_state", circuit.groups[1].uids)])
    with LPU(circuit, module.DT, recorders=[recorder], seed=SEED) as lpu:
        lpu.run(duration=SECONDS)
    kicks = recorder.get("spike_state")
    step = np.rint(kicks["time"] / lpu.dt).astype(int) + late
    return {"kicks": np.stack([step, kicks["index"]])}


DRAWN = {"coba_lif": coba, "coba_hh": coba, "fly": fly}


def trains(python: str, name: str, folder: Path) -> NDArray[np.int16]:
    """Return steps and neurons of Brian2's spikes, (2, n).

    A spike that Brian2 finds in step k shows in our row k + 1.
    """
    case, table = CASES[name], folder / "table.npz"
    network, spikes = folder / f"{name}.npz", folder / f"{name}_spikes.npz"
    made = example(case.example).network(seed=SEED, **case.network)[0]
    np.savez(network, **DRAWN[name](made))
    flags = {"bio": SECONDS, "repeat": 1, "network": network, "spikes": spikes}
    if name == "fly":
        brain(table, seed=SEED, **case.network)
        flags |= {"table": table}
    words = [word for flag, value in flags.items() for word in (f"--{flag}", str(value))]
    script = HERE / "peers" / f"{name}_brian2.py"
    command = [python, str(script), *case.arguments, *words]
    subprocess.run(command, check=True, capture_output=True)
    held = np.load(spikes)
    step = np.rint(held["time"] / example(case.example).DT).astype(np.int64) + 1
    order = np.lexsort((held["index"], step))
    return np.stack([step[order], held["index"][order]]).astype(np.int16)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", required=True, help="Python with Brian2")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = {name: trains(arguments.peers, name, Path(scratch)) for name in DRAWN}
    np.savez_compressed(OUTPUT, **found)
    print({name: spikes.shape[1] for name, spikes in found.items()})


if __name__ == "__main__":
    main()
