"""Modules for the tests: a source of counts, one that passes on, one that remembers."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurodriver import LPU, Manager, MemoryRecorder, StepInput
from neurodriver.parallel.module import Module
from neurodriver.ports import Pattern

N = 3


class Counter(Module):
    """Publishes ``1 + step + place`` at its graded ports and spikes at every third step."""

    def __init__(self, name: str, **given: Any) -> None:
        super().__init__(gpot_out=f"/{name}/v[0:{N}]", spike_out=f"/{name}/s[0:{N}]", **given)

    def run_step(self) -> None:
        super().run_step()
        self.outputs["gpot"][:] = 1.0 + self.steps + np.arange(N)
        self.outputs["spike"][:] = self.steps % 3 == 0


class Echo(Module):
    """Remembers what comes in and passes on twice as much."""

    def __init__(self, name: str, **given: Any) -> None:
        into, out, spike = f"/{name}/in[0:{N}]", f"/{name}/out[0:{N}]", f"/{name}/spk[0:{N}]"
        super().__init__(into, out, spike, **given)
        self.inputs["gpot"][:] = -1.0
        self.seen: list[Any] = []
        self.spikes: list[Any] = []
        self.calls: list[str] = []

    def pre_run(self) -> None:
        self.calls.append("pre_run")

    def run_step(self) -> None:
        self.seen.append(self.inputs["gpot"].copy())
        self.spikes.append(self.inputs["spike"].copy())
        self.outputs["gpot"][:] = 2.0 * self.inputs["gpot"]

    def post_run(self) -> None:
        self.calls.append("post_run")


def wire(source: str, target: str) -> Pattern:
    """Return a pattern that connects two selectors pair by pair."""
    return Pattern.from_concat(source, target, from_sel=source, to_sel=target, data=1)


def ends(a: str, b: str) -> Pattern:
    """Return the pattern from a Counter (or Echo) ``a`` to the graded ports of an Echo ``b``."""
    return wire(a, f"/{b}/in[0:{N}]")


def chain(ranks: dict[str, int] | None = None, kind: Any = Manager) -> Any:
    """Return a manager of a Counter and two Echoes, one after the other."""
    man = kind(timeout=60.0)
    place = ranks or {}
    for kind, name in ((Counter, "c"), (Echo, "e"), (Echo, "f")):
        man.add(kind, name, name, rank=place.get(name))
    both = wire(f"/c/v[0:{N}],/c/s[0:{N}]", f"/e/in[0:{N}],/e/spk[0:{N}]")
    man.connect("c", "e", both)
    man.connect("e", "f", ends(f"/e/out[0:{N}]", "f"))
    return man


def relays(
    ranks: dict[str, int] | None = None, kind: Any = Manager, delay: float = 0.0, **settings: Any
) -> tuple[Any, Any]:
    """Return a manager of Counter -> LPU -> Echo, and the recorder of the LPU.

    ``delay`` is on the way to the LPU.
    """
    from support import DT, IAF, POWER, build, node

    port = {"class": "Port", "port_type": "gpot"}
    circuit = build(
        {
            "in": {**port, "selector": "/l/in", "port_io": "in"},
            "s": node("PowerGPotGPot", POWER, threshold=0.0, reverse=-30.0, slope=0.001),
            "n": node("LeakyIAF", IAF, initV=-65.0),
            "out": {**port, "selector": "/l/out", "port_io": "out"},
        },
        [("in", "s"), ("s", "n"), ("n", "out", {"variable": "V"})],
    )
    recorder = MemoryRecorder([("V", ["n", "in"]), ("g", ["s"])])
    man = kind(timeout=60.0)
    place = ranks or {}
    man.add(Counter, "c", "c", rank=place.get("c"))
    drive = [StepInput("I", ["n"], 1.0, 0.0, 1.0)]
    man.add(LPU, "l", circuit, DT, drive, [recorder], rank=place.get("l"), **settings)
    man.add(Echo, "e", "e", rank=place.get("e"))
    man.connect("c", "l", wire("/c/v[0]", "/l/in"), delay=delay)
    man.connect("l", "e", wire("/l/out", "/e/in[0]"))
    return man, recorder


def run(man: Manager, steps: int) -> None:
    """Run a manager to the end."""
    man.spawn()
    man.start(steps=steps)
    man.wait()
