"""Writes experiments of two LPUs: neurons of ``left`` drive synapses of ``right``."""

from __future__ import annotations

from pathlib import Path

from circuit_files import gexf, save
from support import IAF, POWER, node

PORTS = 3

HEAD = """\
dt = 1e-4
duration = 0.03
seed = 5
"""

LEFT = """
[lpu.left]
circuit = "left.gexf"

[[lpu.left.input]]
class = "StepInput"
variable = "I"
uids = ["n0", "n1", "n2"]
value = 10.0
start = 2e-3
stop = 2e-2
"""

RIGHT = """
[lpu.right]
circuit = "right.gexf"
record = { V = "all", g = ["s1", "s0"] }
"""

PATTERN = """
[[pattern]]
between = ["left", "right"]
from = "/left/v[0:3]"
to = "/right/v[0:3]"
type = "gpot"
delay = 2e-4
"""

WHOLE = HEAD + LEFT + RIGHT + PATTERN


def circuits(folder: Path) -> None:
    """Write the circuits that the experiment names."""
    left, right = {}, {}
    for i in range(PORTS):
        iaf = {**IAF, "initV": -65.0 + i}
        port = {"class": "Port", "port_type": "gpot"}
        left[f"n{i}"] = node("LeakyIAF", iaf)
        left[f"out{i}"] = {**port, "selector": f"/left/v[{i}]", "port_io": "out"}
        right[f"in{i}"] = {**port, "selector": f"/right/v[{i}]", "port_io": "in"}
        right[f"s{i}"] = node("PowerGPotGPot", {**POWER, "threshold": -70.0, "reverse": -30.0})
        right[f"m{i}"] = node("LeakyIAF", IAF)
    out = [(f"n{i}", f"out{i}", {"variable": "V"}) for i in range(PORTS)]
    into = [e for i in range(PORTS) for e in ((f"in{i}", f"s{i}"), (f"s{i}", f"m{i}"))]
    save(folder, gexf(left, out), "left.gexf")
    save(folder, gexf(right, into), "right.gexf")


def write(folder: Path, text: str = WHOLE, name: str = "experiment.toml") -> Path:
    """Write circuits and experiment; return the path of the experiment."""
    circuits(folder)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
