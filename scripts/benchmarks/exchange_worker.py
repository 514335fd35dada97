"""One rank of the exchange benchmark: two LPUs that send each other the potential of N neurons.

    python -m benchmarks.exchange_worker COUNT ROUNDS [cuda]

On the CPU no kernel has a component to advance, so a step is packing, exchanging and unpacking, and
the loop around them. On GPUs, one for each rank where there are as many, the kernels run, too.
Prints one line of JSON on rank 0: seconds of a step, and of a bare ``Sendrecv`` of the same bytes,
on GPUs by way of page-locked memory. There it also tells the seconds of a step of one LPU alone,
with nothing to exchange, in calls of as many steps.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI

import neurodriver as nd
from neurodriver import Manager
from neurodriver.circuit import Circuit, Connections
from neurodriver.circuit.circuit import Group, Port
from neurodriver.model.library import shipped
from neurodriver.ports import Pattern

from .exchange import IAF, POWER


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
    return Circuit.from_columns(name, groups, links, source=name)


def seconds(count: int, steps: int, gpus: int = 0) -> float:
    """Return the seconds of a step: on CPUs without its kernels."""
    gc.collect()  # what the round before has built
    man = Manager(timeout=120.0, threads=1)
    for number, (name, other) in enumerate((("a", "b"), ("b", "a"))):
        where: dict[str, Any] = {"backend": "cpu"}
        if gpus:
            where = {"backend": "cuda", "device": number % gpus}
        man.add(nd.LPU, name, part(name, other, count), 1e-4, rank=number, **where)
    for name, other in (("a", "b"), ("b", "a")):
        sends, takes = f"/{name}/out[0:{count}]", f"/{other}/in[0:{count}]"
        pattern = Pattern.from_concat(sends, takes, from_sel=sends, to_sel=takes, data=1)
        man.connect(name, other, pattern)
    man.spawn()
    backend: Any = next(iter(man.lpus.values())).backend
    if not gpus:
        for cuts in backend.cuts:
            cuts[:] = 0
    man.start(steps=steps)
    spent = man.wait(return_timing=True)
    assert spent is not None
    return spent / steps


def alone(count: int, steps: int, device: int) -> float:
    """Return the seconds of a step of a GPU's LPU that exchanges nothing, in calls of 2 steps."""
    with nd.LPU(part("a", "b", count), 1e-4, backend="cuda", device=device) as lpu:
        lpu.simulation.chunk = lambda: 2  # type: ignore[method-assign]
        lpu.advance(100)
        begin = time.perf_counter()
        lpu.advance(steps)
        return (time.perf_counter() - begin) / steps


def sendrecv(count: int, rounds: int) -> float:
    """Return the seconds of a bare exchange of as many values."""
    world = MPI.COMM_WORLD
    out, into = np.zeros(count), np.zeros(count)
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(rounds):
        world.Sendrecv(out, 1 - world.rank, recvbuf=into, source=1 - world.rank)
    return (time.perf_counter() - begin) / rounds


def staged(count: int, rounds: int, number: int) -> float:
    """Return the seconds of a bare exchange from GPU to GPU, by way of page-locked memory."""
    from neurodriver.backends.cuda.device import Device

    world, device = MPI.COMM_WORLD, Device(number)
    with device.current():
        out, into = device.pinned(count, np.float64), device.pinned(count, np.float64)
        out[:] = 0
        memory = device.allocate(out.nbytes)
        device.upload(int(memory), out)
        world.Barrier()
        begin = time.perf_counter()
        for _ in range(rounds):
            device.receive(out.ctypes.data, int(memory), out.nbytes)
            device.wait()
            world.Sendrecv(out, 1 - world.rank, recvbuf=into, source=1 - world.rank)
            device.send(int(memory), into.ctypes.data, into.nbytes)
            device.wait()
        spent = (time.perf_counter() - begin) / rounds
        memory.free()
    return spent


def on_gpus(count: int, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each round."""
    from neurodriver.backends.cuda.device import device_count

    gpus = min(device_count(), 2)
    steps = max(400, int(4e8 / (count + 4e4)))
    found: dict[str, list[float]] = {"ours": [], "alone": [], "sendrecv": []}
    for _ in range(rounds):
        found["ours"].append(seconds(count, steps, gpus))
        found["alone"].append(alone(count, steps, MPI.COMM_WORLD.rank % gpus))
        found["sendrecv"].append(staged(count, steps, MPI.COMM_WORLD.rank % gpus))
    return found


def on_cpus(count: int, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each round."""
    steps = max(40, int(4e7 / (count + 4e4)))
    found: dict[str, list[float]] = {"ours": [], "sendrecv": []}
    for _ in range(rounds):
        found["ours"].append(seconds(count, steps))
        found["sendrecv"].append(sendrecv(count, steps))
    return found


def main() -> None:
    run = on_gpus if sys.argv[3:] == ["cuda"] else on_cpus
    found = run(int(sys.argv[1]), int(sys.argv[2]))
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps({k: statistics.median(v) for k, v in found.items()}))


if __name__ == "__main__":
    main()
