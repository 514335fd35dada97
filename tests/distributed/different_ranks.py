"""Two ranks that are asked for different things: ``different_ranks.py KIND ...``."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
from cutting import random_parts
from stepping import wire
from support import DT, between_ports, weighted_network

import neurodriver as nd
from neurodriver.error_driven import Network, Table, Trainer
from neurodriver.mpi import world

KINDS = sys.argv[1:]
HERE = world().rank


def parts(kind: str) -> None:
    """Run a circuit in two parts."""
    circuit = weighted_network(60, 3 if HERE and kind == "circuit" else 2)
    uids = circuit.uids[: 30 if HERE and kind == "inputs" else 40]
    of: Any = "auto"
    if kind == "parts":
        of = random_parts(circuit, 2, HERE)
    seed = 5 if HERE and kind == "seed" else 4
    with nd.LPU(circuit, DT, nd.StepInput("I", uids, 9.0), seed=seed, parts=of) as lpu:
        lpu.run(steps=20 if HERE and kind == "run" else 10)


def manager(kind: str) -> None:
    """Run two LPUs."""
    man = nd.Manager()
    for name in ("a", "b", "c") if HERE and kind == "ids" else ("a", "b"):
        man.add(nd.LPU, name, port(name), DT)
    delay = 0.002 if HERE and kind == "delay" else 0.001
    man.connect("a", "b", wire("/a/out", "/b/in"), delay=delay)
    if HERE and kind == "calls":
        world().gather(None)
    man.spawn()
    man.start(steps=20 if HERE and kind == "steps" else 10)
    man.wait()


def port(name: str) -> Any:
    """Return a neuron between two ports."""
    return between_ports(f"/{name}/in", f"/{name}/out")


def training(kind: str) -> None:
    """Train a network of layers."""
    from mpi4py import MPI

    net = Network(seed=2 if HERE and kind == "network" else 1)
    net.connect(net.layer("In", "input", 4), net.layer("Out", "target", 4))
    x = np.random.default_rng(HERE if kind == "environment" else 0).random((4, 4))
    epochs = 2 if HERE and kind == "epochs" else 1
    with Trainer(net, items=2, communicator=MPI.COMM_WORLD) as trainer:
        trainer.train(Table(In=x, Out=x), epochs=epochs, trials=4)


JOBS = {
    parts: ("circuit", "inputs", "parts", "seed", "run"),
    manager: ("ids", "delay", "steps", "calls"),
    training: ("network", "environment", "epochs"),
}


if __name__ == "__main__":
    for each in KINDS:
        (job,) = (one for one, kinds in JOBS.items() if each in kinds)
        try:
            job(each)
        except nd.NeurodriverError as error:
            os.write(1, f"{each}, rank {HERE}: {error}\n".encode())
    raise nd.CircuitError("the same on both ranks")
