"""One rank of the exchange benchmark: two LPUs that send each other the potential of N neurons.

No kernel has a component to advance, so a step is packing, exchanging and unpacking, and the loop
around them. Prints one line of JSON on rank 0: seconds of that, and of a bare ``Sendrecv`` of the
same bytes.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import numpy as np
from mpi4py import MPI

import neurodriver as nd
from neurodriver.circuit import Circuit, Connections
from neurodriver.circuit.circuit import Group, Port
from neurodriver.library import shipped
from neurodriver.manager import Manager
from neurodriver.ports import Pattern

IAF = {"resting_potential": -70.0, "threshold": -45.0, "reset_potential": -70.0,
       "capacitance": 2.0, "resistance": 10.0}  # fmt: skip
POWER = {"threshold": -55.0, "slope": 0.02, "power": 1.0, "saturation": 0.4}


def part(name: str, other: str, count: int) -> Circuit:
    """Return neurons whose potential goes out, and conductances that a potential sets."""
    models = shipped()
    numbers = np.arange(count)
    groups = []
    for model, params in (("LeakyIAF", IAF), ("PowerGPotGPot", POWER)):
        columns = {k: np.asarray(v) for k, v in params.items()}
        uids = np.strings.add(f"{name} {model} ", numbers.astype("U"))
        groups.append(Group(models[model], columns, count, uids))
    for io, where in (("out", f"/{name}/out/"), ("in", f"/{name}/in/")):
        selector = np.strings.add(where, numbers.astype("U"))
        labels = {
            "selector": selector,
            "port_type": np.full(count, "gpot"),
            "port_io": np.full(count, io),
        }
        groups.append(Group(Port, {}, count, np.strings.add("port ", selector), labels))
    index = numbers.astype(np.int32)
    links = (
        Connections("V", "", index, index + 2 * count),
        Connections("V", "V", index + 3 * count, index + count),
    )
    return Circuit(name, tuple(groups), links, name)


def seconds(count: int, steps: int) -> float:
    """Return the seconds of a step without its kernels."""
    man = Manager(timeout=120.0, threads=1)
    for name, other in (("a", "b"), ("b", "a")):
        man.add(nd.LPU, name, part(name, other, count), 1e-4, rank="ab".index(name))
    for name, other in (("a", "b"), ("b", "a")):
        sends, takes = f"/{name}/out[0:{count}]", f"/{other}/in[0:{count}]"
        pattern = Pattern.from_concat(sends, takes, from_sel=sends, to_sel=takes, data=1)
        man.connect(name, other, pattern)
    man.spawn()
    for cuts in next(iter(man.lpus.values())).backend.cuts:
        cuts[:] = 0
    man.start(steps=steps)
    spent = man.wait(return_timing=True)
    assert spent is not None
    return spent / steps


def sendrecv(count: int, rounds: int) -> float:
    """Return the seconds of a bare exchange of as many values."""
    world = MPI.COMM_WORLD
    out, into = np.zeros(count), np.zeros(count)
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(rounds):
        world.Sendrecv(out, 1 - world.rank, recvbuf=into, source=1 - world.rank)
    return (time.perf_counter() - begin) / rounds


def main() -> None:
    count, rounds = int(sys.argv[1]), int(sys.argv[2])
    steps = max(40, int(4e7 / (count + 4e4)))
    found: dict[str, list[float]] = {"ours": [], "sendrecv": []}
    for _ in range(rounds):
        found["ours"].append(seconds(count, steps))
        found["sendrecv"].append(sendrecv(count, steps))
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps({k: statistics.median(v) for k, v in found.items()}))


if __name__ == "__main__":
    main()
