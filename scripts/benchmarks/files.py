"""Reading GEXF against networkx alone; building the largest circuit; start to first step."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from neurodriver import Circuit

from .measure import HERE, median

NODES, EDGES = 100_000, 300_000


def write(path: Path) -> None:
    """Write a circuit of NODES components and EDGES edges."""
    rng = np.random.default_rng(1)
    neurons = NODES // 4
    graph = nx.MultiDiGraph()
    for i in range(neurons):
        graph.add_node(f"n{i}", **{"class": "LeakyIAF"}, resting_potential=-70.0, threshold=-45.0,
                       reset_potential=-70.0, capacitance=2.0, resistance=10.0)  # fmt: skip
    for i in range(NODES - neurons):
        graph.add_node(f"s{i}", **{"class": "AlphaSynapse"}, gmax=0.003, ar=0.11, ad=0.19)
    synapse = rng.integers(NODES - neurons, size=EDGES).tolist()
    neuron = rng.integers(neurons, size=EDGES).tolist()
    for i, (s, n) in enumerate(zip(synapse, neuron, strict=True)):
        if i % 2:
            graph.add_edge(f"n{n}", f"s{s}", delay=0.001)
        else:
            graph.add_edge(f"s{s}", f"n{n}", reverse=0.0)
    nx.write_gexf(graph, path)


def timed(call: Any) -> float:
    """Return the seconds of a call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return the rows: parsing, building, starting."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.gexf")
        write(path)
        pairs = [
            (timed(lambda: Circuit.from_file(path)), timed(lambda: nx.read_gexf(path)))
            for _ in range(rounds)
        ]
    rows = [
        {
            "case": f"GEXF of {NODES:,} nodes and {EDGES:,} edges",
            "us a step": float("nan"),
            "seconds": median([a for a, _ in pairs]),
            "peer": f"networkx alone {median([b for _, b in pairs]):.1f} s",
            "ratio": median([a / b for a, b in pairs]),
            "target": "<= 1.3 of networkx",
            "floor": "",
        }
    ]
    return [*rows, building(rounds), starting(rounds)]


def building(rounds: int) -> dict[str, Any]:
    """Return the row of building extent 30 in a process of its own."""
    # VmHWM, not ru_maxrss: that one begins at the size of the process that started this one
    code = (
        "import time; t = time.perf_counter(); "
        "from neurodriver.circuits.optic_lobe import circuit; c = circuit(30); "
        "spent = time.perf_counter() - t; "
        "peak = [x for x in open('/proc/self/status') if x.startswith('VmHWM')][0].split()[1]; "
        "print(spent, int(peak) * 1024 / 1e9)"
    )
    found = [
        [float(x) for x in subprocess.run([sys.executable, "-c", code], capture_output=True,
                                          text=True, check=True).stdout.split()]
        for _ in range(rounds)
    ]  # fmt: skip
    return {
        "case": "building extent 30, 6,022,853 edges",
        "us a step": float("nan"),
        "seconds": median([f[0] for f in found]),
        "peer": f"peak {median([f[1] for f in found]):.2f} GB",
        "ratio": float("nan"),
        "target": "< 10 s, < 1.5 GB",
        "floor": "",
    }


def starting(rounds: int, backend: str = "cpu") -> dict[str, Any]:
    """Return the row of the demo's start; the line it waits for comes right before step 0.

    The first run, which does not count, compiles the modules, as an installation does.
    """
    root = HERE.parents[1]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "neurodriver", "run",
                   str(root / "data/circuits/optic_lobe_extent3.gexf.gz"), "--dt", "5e-3",
                   "--duration", "5e-3", "-r", "V:T4a/0/0", "-o", f"{folder}/out.h5",
                   "--backend", backend]  # fmt: skip
        compiled = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        compiled["PYTHONPYCACHEPREFIX"] = f"{folder}/modules"
        for _ in range(rounds + 1):
            begin = time.perf_counter()
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, env=compiled
            ) as process:
                line = process.stdout.readline() if process.stdout else ""
                found.append(time.perf_counter() - begin)
                process.communicate()
            if "ready in" not in line or process.returncode:
                raise RuntimeError(f"the demo did not start: {line}")
    return {
        "case": "demo: from the shell to the first step, kernels cached",
        "us a step": float("nan"),
        "seconds": median(found[1:]),
        "peer": "",
        "ratio": float("nan"),
        "target": "< 1 s",
        "floor": "",
    }
