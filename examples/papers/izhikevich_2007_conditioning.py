"""Conditioning: of a hundred stimuli, the response grows to the one that is followed by a reward.

The network is that of `izhikevich_2007.py`. A stimulus makes 50 random neurons fire. One of a
hundred stimuli comes every 100 to 300 ms, in random order. Up to 1 s after the first stimulus
dopamine is released, while others come. The neurons of the first stimulus reliably fire before the
reward, so their synapses grow. A response is the number of spikes within 10 ms of a stimulus.

After 3,600 s, in single precision on a GPU, for eight seeds of the noise and the wiring of seed 1:

    spikes                           first 200 s   last 200 s
    after the first stimulus         81 to 93      471 to 579
    after any other, at most                       195 to 248
    rank of the first                1 to 6        1 in 8 of 8

In all eight runs the first stimulus has the largest response after an hour, and no other one has
half of it. Its synapses are at 2.3 to 2.6 mV then, and all at 1.2 to 1.4 mV. This wiring gives it
42 excitatory neurons, where stimuli have 41 on average. It is the first of all in the first 200 s,
too, in six of eight runs: it has been shown 13 times by then, and rewarded.

Two other wirings, in one run each, in single precision on a CPU:

    seed of wiring and noise         0                2
    after the first stimulus         72, then 165     91, then 498
    after any other, at most         82, then 149     80, then 176
    rank of the first                67, then 1       1, then 1

With the wiring of seed 0 the first stimulus has 33 excitatory neurons. Counted by their spikes
alone, in eight runs on a GPU, its rank is 85 to 99 at first and 1 to 6 after an hour: 1 in four.

Izhikevich, E. M. Solving the distal reward problem through linkage of STDP and dopamine signaling.
Cereb Cortex 17, 2443-2452 (2007). https://doi.org/10.1093/cercor/bhl152

    python examples/papers/izhikevich_2007_conditioning.py [--seconds 3600] [-o out/reward.png]
    python examples/papers/izhikevich_2007_conditioning.py --copies 8 --backend cuda --dtype float32
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from izhikevich_2007 import DT, EXCITATORY, FAN_OUT, INHIBITORY, WEIGHT, Driven, LastPairs
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver.model.library import shipped

# %%
# A stimulus is a source of spikes with 50 strong connections.
SETS, SIZE, STRENGTH = 100, 50, 40.0
"""Stimuli, neurons of each, and the mV by which it moves them."""

PAUSE, LATEST = (0.1, 0.3), 1.0
"""Seconds between two stimuli, and from the first stimulus to its reward at most."""

LOOK, WINDOW = 200.0, 0.010
"""Seconds at the beginning and at the end in which responses are measured; how long one is."""


class Events(NamedTuple):
    """What comes from outside.

    Attributes
    ----------
    time, which : (n,) float64, (n,) int64
        When stimuli come, in seconds, and which of them.
    reward : (m,) float64
        When dopamine is released.
    """

    time: NDArray[np.float64]
    which: NDArray[np.int64]
    reward: NDArray[np.float64]


class Responses(NamedTuple):
    """Mean number of spikes after each stimulus.

    Attributes
    ----------
    before, after : (100,) float64
        In the first and in the last seconds.
    own, all : float
        Mean weight at the end of the synapses from neurons of the first stimulus, and of all, mV.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    own: float
    all: float


def drawn(seconds: float, seed: int = 0) -> Events:
    """Return stimuli in random order, and a reward after each of the first kind."""
    rng = np.random.default_rng([seed, 2007])
    time = np.cumsum(rng.uniform(*PAUSE, int(seconds / PAUSE[0])))
    time = np.round(time[time < seconds - WINDOW] / DT) * DT
    which = rng.integers(0, SETS, len(time))
    first = time[which == 0]
    reward = first + rng.uniform(0.0, LATEST, len(first))
    return Events(time, which, reward[reward < seconds])


def network(seed: int = 0) -> nd.Circuit:
    """Return the circuit: what learns is the projection ``learning``."""
    kinds = shipped()["Izhikevich"].presets
    exc = nd.Population(Driven, EXCITATORY, name="exc", **kinds["RS"])
    inh = nd.Population(Driven, INHIBITORY, name="inh", **kinds["FS"])
    stimuli = nd.Population("SpikeSource", SETS, name="stimuli")
    reward = nd.Population("SpikeSource", 1, name="reward")
    rule = LastPairs(dopamine=reward)
    fan_out = nd.FixedOutDegree(FAN_OUT, multapses=False)
    chosen = nd.FixedOutDegree(SIZE, multapses=False)
    links = [
        nd.Projection(
            exc, "Driven", fan_out, weight=WEIGHT, delay=DT, plasticity=rule, name="learning"
        ),
        nd.Projection(inh, exc, fan_out, weight=-WEIGHT, delay=DT, name="inhibition"),
        nd.Projection(stimuli, "Driven", chosen, weight=STRENGTH, delay=DT, name="stimulation"),
    ]
    return nd.Circuit([exc, inh, stimuli, reward], links, name="conditioning", seed=seed)


# %%
# Spikes are recorded at the beginning and at the end.
def condition(
    circuit: nd.Circuit, events: Events, seconds: float, seeds: Sequence[int], **options: Any
) -> list[Responses]:
    """Return the responses, for each seed of the noise; all seeds run together."""
    copies, look = len(seeds), min(LOOK, seconds / 2)
    given = {
        "spike_state": ([f"stimuli/{i}" for i in range(SETS)], (events.time, events.which)),
    }
    rewards = {"spike_state": (["reward/0"], (events.reward, np.zeros(len(events.reward), int)))}
    inputs = [nd.ArrayInput(given), nd.ArrayInput(rewards)]
    names = (("exc", EXCITATORY), ("inh", INHIBITORY))
    spikes = [("spike_state", [f"{name}/{i}" for name, count in names for i in range(count)])]
    more = {"batch": copies, "seed": seeds} if copies > 1 else {"seed": seeds[0]}
    with nd.LPU(circuit, DT, inputs, **more, **options) as lpu:
        first = lpu.run(duration=look, record=spikes).recording
        if seconds > 2 * look:
            lpu.run(duration=seconds - 2 * look)
        last = lpu.run(duration=look, record=spikes).recording
        weights = lpu["learning"].get("weight").reshape(copies, -1)
    learning, stimulation = circuit.connections[0].expanded(), circuit.connections[2].expanded()
    shown = stimulation.target[stimulation.source == stimulation.source.min()]
    own = np.isin(learning.source, shown)
    out = []
    for copy, each in enumerate(weights):
        times = [one[copy] if copies > 1 else one for one in (first, last)]
        before, after = (responses(np.asarray(one.spikes.time), events) for one in times)
        out.append(Responses(before, after, float(each[own].mean()), float(each.mean())))
    return out


def responses(spikes: NDArray[np.float64], events: Events) -> NDArray[np.float64]:
    """Return how many spikes there are after each stimulus, on average, (100,).

    Only stimuli count that come while spikes were recorded, (n,) in seconds.
    """
    spikes = np.sort(spikes)
    here = (events.time >= spikes[0]) & (events.time + WINDOW < spikes[-1])
    time, which = events.time[here], events.which[here]
    # a stimulus of step k arrives with row k + 1, and the neurons fire in row k + 2
    begin, end = (np.searchsorted(spikes, time + 1.5 * DT + late) for late in (0.0, WINDOW))
    counted = np.bincount(which, end - begin, SETS)
    return counted / np.maximum(np.bincount(which, minlength=SETS), 1)


def told(found: Responses) -> str:
    """Return what came out, as a line."""
    rank = int((found.after > found.after[0]).sum()) + 1
    earlier = int((found.before > found.before[0]).sum()) + 1
    return (
        f"spikes after the first stimulus: {found.before[0]:.1f} before (number {earlier} of "
        f"{SETS}), {found.after[0]:.1f} after (number {rank}); after the others "
        f"{found.before[1:].mean():.1f} ({found.before[1:].max():.1f} at most) before, "
        f"{found.after[1:].mean():.1f} ({found.after[1:].max():.1f}) after; mean weight of its "
        f"synapses {found.own:.2f} mV, of all {found.all:.2f} mV"
    )


# %%
def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3_600.0)
    parser.add_argument("--seed", type=int, default=1, help="of wiring, stimuli and noise")
    parser.add_argument(
        "--copies", type=int, default=1, help="runs whose noise has seeds 0, 1, ..."
    )
    parser.add_argument("--backend", help="cpu or cuda")
    parser.add_argument("--dtype", default="float64", help="float64 or float32")
    parser.add_argument("-o", "--output", type=Path, help="draw a figure of the first run")
    arguments = parser.parse_args()
    circuit, seconds = network(arguments.seed), arguments.seconds
    seeds = range(arguments.copies) if arguments.copies > 1 else [arguments.seed]
    where = {"backend": arguments.backend, "dtype": arguments.dtype}
    every = condition(circuit, drawn(seconds, arguments.seed), seconds, seeds, **where)
    for seed, found in zip(seeds, every, strict=True):
        print(f"seed {seed}: {told(found)}")
    if arguments.output:
        draw(every[0], arguments.output)
        print(arguments.output)


def draw(found: Responses, output: Path) -> None:
    """Draw the responses to all stimuli, before and after."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
    for ax, title, values in zip(axes, ("first", "last"), found[:2], strict=True):
        ax.bar(np.arange(1, SETS), values[1:], color="#4477AA", width=1.0)
        ax.bar([0], values[:1], color="#CC6677", width=1.0, label="followed by a reward")
        ax.axhline(values[0], color="#CC6677", lw=0.8)
        ax.set(xlabel="stimulus", title=f"{title} {LOOK:g} s")
    axes[0].set(ylabel="spikes within 10 ms")
    axes[1].legend(frameon=False)
    axes[1].set_ylim(0, 1.15 * max(map(max, found[:2])))  # room for the legend
    figure.suptitle("Izhikevich 2007: the response to the stimulus before a reward grows")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)


if __name__ == "__main__":
    main()
